#include "cli/commands.h"
#include "base/file/file.h"
#include "cli/run_argument.h"
#include "muzero/storage/run_path.h"
#include "cli/training/seeds.h"
#include "cli/training/session.h"
#include "cli/signals.h"

typedef struct train_arguments {
  mz_session_arguments session;
  const char *env, *preset, *dir, *from, *plans;
  int64_t seeds;
} train_arguments;

#define AT(field) offsetof(train_arguments, field)
static const mz_option options[] = {
    MZ_OPTION_ENV(AT(env)),
    MZ_OPTION_PRESET(AT(preset)),
    {.name = "--run",
     .type = MZ_OPTION_TEXT,
     .offset = AT(dir),
     .value = "DIR",
     .otherwise = "a new one in runs/ENV",
     .class_ = MZ_OPERATIONAL,
     .help = "the run's directory"},
    {.name = "--from",
     .type = MZ_OPTION_TEXT,
     .offset = AT(from),
     .value = "RUN",
     .otherwise = "a fresh start",
     .class_ = MZ_ALGORITHMIC,
     .help = "a run, RUN@best, RUN@ROUND or a checkpoint file whose state this new run starts with"},
    {.name = "--replay-plan",
     .type = MZ_OPTION_TEXT,
     .offset = AT(plans),
     .value = "LEDGER",
     .otherwise = "the allocator decides",
     .class_ = MZ_OPERATIONAL,
     .help = "a run, or its ledger.jsonl, whose plans this run repeats round by round while no allocator decides"},
    {.name = "--seeds",
     .type = MZ_OPTION_COUNT,
     .offset = AT(seeds),
     .value = "N",
     .fallback = "1",
     .min = 1,
     .max = 1000,
     .class_ = MZ_OPERATIONAL,
     .help = "train seeds --seed, --seed + 1, … one after another, in DIR/seed-S, and aggregate; limits hold for each"},
    {0},
};

/* RUN@best is another checkpoint tomorrow: the new run's record names the file. */
static mz_status find_from(const char *given, char out[MZ_RUN_ARGUMENT_SIZE]) {
  char run[MZ_RUN_ARGUMENT_SIZE];
  MZ_TRY(mz_run_argument(given, run));
  if (!mz_file_exists(run)) return mz_run_checkpoint_path(run, out, MZ_RUN_ARGUMENT_SIZE);
  snprintf(out, MZ_RUN_ARGUMENT_SIZE, "%s", run);
  return MZ_OK;
}

/* The plans decide, so nobody else may be asked to. */
static mz_status find_plans(const train_arguments *arguments, char out[MZ_RUN_ARGUMENT_SIZE]) {
  if (arguments->session.allocate)
    return mz_fail(MZ_E_USAGE,
                   "--replay-plan %s: takes no --allocate %s: the recorded plans are followed, leave one of the two out",
                   arguments->plans, arguments->session.allocate);
  if (mz_file_is_dir(arguments->plans)) return mz_run_argument(arguments->plans, out);
  if (snprintf(out, MZ_RUN_ARGUMENT_SIZE, "%s", arguments->plans) >= MZ_RUN_ARGUMENT_SIZE)
    return mz_fail(MZ_E_IO, "--replay-plan %s: path too long", arguments->plans);
  return MZ_OK;
}

static mz_status train(const void *given) {
  const train_arguments *arguments = given;
  const mz_env *env;
  mz_signals_handle();
  MZ_TRY(mz_env_find(arguments->env, &env));
  MZ_TRY(mz_session_check_score(env, &arguments->session));
  mz_run_options run_options = mz_session_run_options(&arguments->session);
  run_options.env = arguments->env;
  run_options.preset = arguments->preset;
  run_options.dir = arguments->dir;
  char from[MZ_RUN_ARGUMENT_SIZE], plans[MZ_RUN_ARGUMENT_SIZE];
  if (arguments->from) {
    MZ_TRY(find_from(arguments->from, from));
    run_options.from = from;
  }
  if (arguments->plans) {
    MZ_TRY(find_plans(arguments, plans));
    run_options.plans = plans;
  }
  if (arguments->seeds == 1) {
    mz_run *run;
    MZ_TRY(mz_run_open(&run, &run_options));
    return mz_session_finish(run, &arguments->session);
  }
  const mz_limits limits = mz_session_limits(&arguments->session);
  return mz_seeds_train(&run_options, (int)arguments->seeds, &limits, arguments->session.json);
}

const mz_command mz_command_train = {
    .name = "train",
    .summary = "train an agent on an environment",
    .about = "Trains an agent and stops at the first limit reached; without one, at the preset's. Shows its progress, saves "
             "checkpoints, and ends with the score. Ctrl-C finishes the round and saves; a second one stops at once. SIGUSR1 "
             "saves and continues.",
    .options = options,
    .shared = mz_session_options,
    .arguments_size = sizeof(train_arguments),
    .lists_settings = true,
    .examples = {"train tictactoe", "train cartpole --run runs/cp --seed 3 --for 5m --set learning_rate=0.001"},
    .run = train,
};
