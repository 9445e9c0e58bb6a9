#include "base/file/file.h"
#include "cli/commands.h"
#include "cli/explaining/envs_own.h"
#include "cli/print.h"
#include "envs/own/shared_object.h"
#include "envs/trace.h"
#include "envs/variants.h"
#include "envs/worker/options.h"
#include "muzero/library/include/muzero.h"
#include "base/config/config_value.h"
#include <errno.h>
#include <limits.h>
#include <string.h>

typedef struct envs_arguments {
  const char *env, *actions;
  const char *new_name;
  bool pixels, trace, check, json;
  int64_t steps, seed, players;
} envs_arguments;

#define AT(field) offsetof(envs_arguments, field)
static const mz_option options[] = {
    {.name = "ENV",
     .type = MZ_OPTION_TEXT,
     .offset = AT(env),
     .value = "optional",
     .help =
         "an environment, a variant of it, the path of your own (./mine.so), gym:ID or spiel:NAME; without it, all are listed"},
    {.name = "--new",
     .type = MZ_OPTION_TEXT,
     .offset = AT(new_name),
     .value = "NAME",
     .class_ = MZ_OPERATIONAL,
     .help = "write a folder NAME with a small environment in C, to change into your own"},
    {.name = "--players",
     .type = MZ_OPTION_COUNT,
     .offset = AT(players),
     .value = "N",
     .otherwise = "1",
     .min = 1,
     .max = 2,
     .class_ = MZ_OPERATIONAL,
     .help = "of the game that --new writes"},
    {.name = "--pixels",
     .type = MZ_OPTION_SWITCH,
     .offset = AT(pixels),
     .class_ = MZ_OPERATIONAL,
     .help = "the game that --new writes shows pictures of bytes, stacked"},
    {.name = "--check",
     .type = MZ_OPTION_SWITCH,
     .offset = AT(check),
     .class_ = MZ_OPERATIONAL,
     .help = "play your own environment in many ways and look for mistakes; the exit status is 3 where there are any"},
    {.name = "--trace",
     .type = MZ_OPTION_SWITCH,
     .offset = AT(trace),
     .class_ = MZ_OPERATIONAL,
     .help = "one JSON line per step, to compare with the reference implementation"},
    {.name = "--steps",
     .type = MZ_OPTION_COUNT,
     .offset = AT(steps),
     .value = "N",
     .otherwise = "100; all of --actions",
     .min = 1,
     .max = INT_MAX,
     .class_ = MZ_OPERATIONAL,
     .help = "lines of the trace"},
    {.name = "--actions",
     .type = MZ_OPTION_TEXT,
     .offset = AT(actions),
     .value = "FILE",
     .otherwise = "uniformly random legal ones",
     .class_ = MZ_OPERATIONAL,
     .help = "actions of the trace: numbers, with spaces, commas, brackets or line ends between them"},
    {.name = "--seed",
     .type = MZ_OPTION_COUNT,
     .offset = AT(seed),
     .value = "N",
     .otherwise = "1",
     .min = 0,
     .max = 9.2e18,
     .class_ = MZ_OPERATIONAL,
     .help = "of the trace, as the reference implementation's reset takes it; of the first game of --check"},
    {.name = "--json",
     .type = MZ_OPTION_SWITCH,
     .offset = AT(json),
     .class_ = MZ_OPERATIONAL,
     .help = "JSON on stdout; one line per environment"},
    {0},
};

enum { ACTIONS_BYTES_MAX = 256 << 20 };

static mz_status read_actions(const char *path, int32_t **out, int *count) {
  uint8_t *text;
  size_t size;
  *count = 0;
  MZ_TRY(mz_file_read(path, ACTIONS_BYTES_MAX, &text, &size));
  mz_status status = mz_alloc(out, size / 2 + 1, sizeof **out); /* a number and a separator take two bytes */
  const char *at = (const char *)text;
  while (status == MZ_OK) {
    at += strspn(at, " \t\r\n,[]");
    if (!*at) break;
    char *end;
    errno = 0;
    const long action = strtol(at, &end, 10);
    if (end == at || errno || action < INT32_MIN || action > INT32_MAX || !strchr(" \t\r\n,[]", *end))
      status = mz_fail(MZ_E_CONFIG, "%s: action %d: '%.20s' is no whole number", path, *count, at);
    else
      (*out)[(*count)++] = (int32_t)action;
    at = end;
  }
  if (status == MZ_OK && at != (const char *)text + size)
    status = mz_fail(MZ_E_CONFIG, "%s: not a text: byte %td is 0", path, at - (const char *)text);
  free(text);
  if (status != MZ_OK) free(*out);
  return status;
}

static mz_status print_line(void *context, cJSON *object) {
  (void)context;
  char *line = mz_json_line(object);
  if (!line) return mz_fail(MZ_E_MEMORY, "out of memory while printing a trace");
  const int written = puts(line);
  free(line);
  return written < 0 ? mz_print_flush() : MZ_OK;
}

static uint64_t seed_of(const envs_arguments *arguments) {
  return arguments->seed == MZ_COUNT_UNSET ? 1 : (uint64_t)arguments->seed;
}

static mz_status trace(const mz_env *env, const envs_arguments *arguments) {
  int32_t *actions = NULL;
  mz_trace_options trace_options = {.seed = seed_of(arguments)};
  if (arguments->actions) {
    MZ_TRY(read_actions(arguments->actions, &actions, &trace_options.action_count));
    trace_options.actions = actions;
  }
  const bool given = arguments->steps != MZ_COUNT_UNSET;
  trace_options.steps = given ? (int)arguments->steps : actions ? 0 : 100;
  const mz_status status = mz_env_trace(env, &trace_options, print_line, NULL);
  free(actions);
  return status;
}

static void describe_worker_options(const char *name) {
  const mz_worker_option *option;
  printf("\noptions, as in %s,workers=2\n", name);
  for (int i = 0; (option = mz_worker_option_at(i)); i++)
    printf("  %-12s %s; %s%g … %g\n", option->key, option->help, option->whole ? "whole numbers " : "", option->min, option->max);
  if (strncmp(name, "gym:", 4) == 0)
    printf("  %-12s a package that registers environments\n  %-12s a wrapper: module:Class(arguments)\n"
           "  others go to gymnasium.make\n",
           "import", "wrap");
}

static void describe_file_options(const char *name) {
  const mz_worker_option *workers = mz_worker_option_named("workers"), *timeout = mz_worker_option_named("timeout");
  printf("\noptions, as in %s:isolate=1,workers=2\n", name);
  printf("  %-12s 1: other processes play it, and a crash of theirs is survived; results do not depend on it\n", "isolate");
  printf("  %-12s %s; whole numbers %g … %g\n", workers->key, workers->help, workers->min, workers->max);
  printf("  %-12s %s; %g … %g\n", timeout->key, timeout->help, timeout->min, timeout->max);
}

static void describe_options(const mz_env *env) {
  if (mz_worker_env_is_name(env->name)) {
    describe_worker_options(env->name);
    return;
  }
  if (mz_env_file_of(env)) {
    describe_file_options(env->name);
    return;
  }
  mz_settings_table table;
  const mz_config config = mz_env_config(env, &table);
  if (table.count > 0) printf("\noptions, as in %.*s:", (int)strcspn(env->name, ":"), env->name);
  for (int i = 0; i < table.count; i++) {
    char value[MZ_SETTING_TEXT_MAX];
    mz_config_text(&config, i, value, sizeof value);
    printf("%s%s=%s", i > 0 ? "," : "", table.rows[i].key, value);
  }
  for (int i = 0; i < table.count; i++) {
    char range[128];
    mz_setting_value_range(&table.rows[i], range, sizeof range);
    printf("%s  %-12s %s; %s; default %s\n", i > 0 ? "" : "\n", table.rows[i].key, table.rows[i].help, range,
           table.rows[i].fallback);
  }
}

static void describe(const mz_env *env) {
  const mz_spec *spec = &env->spec;
  printf("%s: %s\n\n%s\n\n", env->name, env->title, env->rules);
  printf("  observation  %d × %d × %d, %s: %s\n", spec->obs_shape[0], spec->obs_shape[1], spec->obs_shape[2],
         spec->obs_kind == MZ_OBS_U8 ? "bytes" : "floats", env->observation);
  if (spec->obs_scale > 0) printf("               networks read a byte times %g\n", (double)spec->obs_scale);
  if (spec->frames > 1) printf("               the last %d frames, the oldest first\n", spec->frames);
  printf("  actions      %d\n  players      %d%s\n", spec->actions, spec->players,
         spec->turns == MZ_TURNS_TOLD ? ", who moves next is told after each move" : "");
  if (spec->max_moves > 0) printf("  time limit   %d moves\n", spec->max_moves);
  if (spec->symmetries > 1) printf("  symmetries   %d\n", spec->symmetries);
  printf("  rewards      %g to %g a step, %g to %g a game\n", (double)spec->reward_min, (double)spec->reward_max,
         (double)spec->return_min, (double)spec->return_max);
  for (const mz_env_baseline *at = env->baselines; at && at->name; at++)
    printf("%s%s%s", at == env->baselines ? "  baselines    " : ", ", at->name, at[1].name ? "" : "\n");
  describe_options(env);
}

static mz_status list_json(void) {
  for (int i = 0; i < mz_env_count(); i++) MZ_TRY(mz_print_json(mz_env_to_json(mz_env_at(i))));
  return MZ_OK;
}

static mz_status list(void) {
  const char *name;
  for (size_t i = 0; (name = muzero_env_name(i)) != NULL; i++) {
    muzero_env_info info = MUZERO_ENV_INFO_INIT;
    MZ_TRY((mz_status)(int)muzero_env_describe(name, &info));
    printf("  %-12s %s\n", info.name, info.title);
  }
  return MZ_OK;
}

static mz_status envs(const void *given) {
  const envs_arguments *arguments = given;
  if (!arguments->trace && (arguments->actions || arguments->steps != MZ_COUNT_UNSET))
    return mz_fail(MZ_E_USAGE, "%s: belongs to --trace", arguments->actions ? "--actions" : "--steps");
  if (arguments->seed != MZ_COUNT_UNSET && !arguments->trace && !arguments->check)
    return mz_fail(MZ_E_USAGE, "--seed: belongs to --trace or --check");
  if (arguments->players != MZ_COUNT_UNSET && !arguments->new_name) return mz_fail(MZ_E_USAGE, "--players: belongs to --new");
  if (arguments->pixels && (!arguments->new_name || arguments->players == 2))
    return mz_fail(MZ_E_USAGE, "--pixels: belongs to --new, without --players 2");
  if (arguments->new_name && (arguments->env || arguments->trace || arguments->check || arguments->json))
    return mz_fail(MZ_E_USAGE, "--new %s: stands alone, but for --players and --pixels", arguments->new_name);
  if (arguments->trace && arguments->check) return mz_fail(MZ_E_USAGE, "--check: not with --trace");
  if (arguments->new_name)
    return mz_envs_new(arguments->new_name, arguments->pixels         ? MZ_TEMPLATE_PIXELS
                                            : arguments->players == 2 ? MZ_TEMPLATE_TWO_PLAYERS
                                                                      : MZ_TEMPLATE_ONE_PLAYER);
  if (!arguments->env && arguments->check)
    return mz_fail(MZ_E_USAGE, "--check: takes the path of your own environment: ./mine.so");
  if (!arguments->env && arguments->trace) return mz_fail(MZ_E_USAGE, "--trace: of which environment? `muzero envs` lists them");
  if (!arguments->env) return arguments->json ? list_json() : list();
  if (arguments->check) return mz_envs_check(arguments->env, seed_of(arguments), arguments->json);
  const mz_env *env;
  MZ_TRY(mz_env_find(arguments->env, &env));
  if (arguments->trace) return trace(env, arguments);
  if (arguments->json) return mz_print_json(mz_env_to_json(env));
  describe(env);
  return MZ_OK;
}

const mz_command mz_command_envs = {
    .name = "envs",
    .summary = "list the environments, describe or trace one, begin and check your own",
    .about = "Lists the environments, or describes one: rules, observation, actions, rewards. With --trace, plays one and prints "
             "every step as JSON. --new begins an environment of your own, --check looks for mistakes in it.",
    .options = options,
    .arguments_size = sizeof(envs_arguments),
    .examples = {"envs cartpole --trace --steps 20 --seed 1", "envs --new mine --players 2"},
    .run = envs,
};
