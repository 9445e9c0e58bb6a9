#include "muzero/compare/simulated_profile.h"
#include "cli/commands.h"
#include "cli/explaining/score_profile.h"
#include "cli/print.h"
#include "cli/training/session.h"
#include "cli/signals.h"
#include "muzero/knobs.h"
#include <math.h>
#include <string.h>
#include <unistd.h>

typedef struct profile_arguments {
  mz_session_arguments session;
  const char *env, *preset, *grid, *machine, *costs, *against;
  int64_t plans, passes, again, seeds, epochs;
  bool score;
} profile_arguments;

#define FIXED_PLANS "does not apply to a profile, which measures fixed plans by phases; leave it out"
#define AT(field) offsetof(profile_arguments, field)
static const mz_option options[] = {
    MZ_OPTION_ENV(AT(env)),
    {.name = "--plans",
     .type = MZ_OPTION_COUNT,
     .offset = AT(plans),
     .value = "N",
     .otherwise = "20",
     .min = 0,
     .max = 500,
     .class_ = MZ_OPERATIONAL,
     .help = "plans drawn besides the default and the plain one"},
    {.name = "--grid",
     .type = MZ_OPTION_TEXT,
     .offset = AT(grid),
     .value = "K=V,V;K=V,…",
     .otherwise = "plans are drawn",
     .class_ = MZ_OPERATIONAL,
     .help = "every combination of these knobs' values instead; with --score: cores=1,2;batch_size=64,128"},
    {.name = "--score",
     .type = MZ_OPTION_SWITCH,
     .offset = AT(score),
     .class_ = MZ_OPERATIONAL,
     .help =
         "learning curves instead, for plans of whole runs: short runs over a grid of cores and batch sizes, each for twice the "
         "epochs that it takes to reach --until (or the preset's target)"},
    {.name = "--seeds",
     .type = MZ_OPTION_COUNT,
     .offset = AT(seeds),
     .value = "N",
     .otherwise = "5",
     .min = 3,
     .max = 64,
     .class_ = MZ_OPERATIONAL,
     .help = "with --score: runs of each batch size on the most cores; --seed is the first"},
    {.name = "--epochs",
     .type = MZ_OPTION_COUNT,
     .offset = AT(epochs),
     .value = "N",
     .otherwise = "by the preset's limits",
     .min = 1,
     .max = 512,
     .class_ = MZ_OPERATIONAL,
     .help = "with --score: the most epochs of a run; an epoch is a phase"},
    {.name = "--passes",
     .type = MZ_OPTION_COUNT,
     .offset = AT(passes),
     .value = "N",
     .otherwise = "2",
     .min = 1,
     .max = 64,
     .class_ = MZ_OPERATIONAL,
     .help = "times that every plan is measured"},
    {.name = "--again",
     .type = MZ_OPTION_COUNT,
     .offset = AT(again),
     .value = "N",
     .otherwise = "as --passes, 5 at least",
     .min = 0,
     .max = 64,
     .class_ = MZ_OPERATIONAL,
     .help = "times that the five best and the default are measured once more; 0: none, so the best may only have been lucky"},
    {.name = "--machine",
     .type = MZ_OPTION_TEXT,
     .offset = AT(machine),
     .value = "TEXT",
     .otherwise = "this machine",
     .class_ = MZ_OPERATIONAL,
     .help = "a simulated one instead, in virtual time: sim:cores=64,numa=2,gpus=4; every figure is labelled simulated, and none "
             "goes into a history"},
    {.name = "--costs",
     .type = MZ_OPTION_TEXT,
     .offset = AT(costs),
     .value = "FILE",
     .otherwise = "stages are timed here",
     .class_ = MZ_OPERATIONAL,
     .help = "with --machine: what a profile measured the stages to cost, FILE having its --json lines"},
    {.name = "--against",
     .type = MZ_OPTION_TEXT,
     .offset = AT(against),
     .value = "FILE",
     .otherwise = "plans are drawn, or --grid's",
     .class_ = MZ_OPERATIONAL,
     .help = "with --machine: simulate the plans that another profile measured, and compare"},
    MZ_OPTION_PRESET(AT(preset)),
    MZ_OPTION_HISTORY(AT(session.history), "where measurements are kept; none: nowhere, as with --machine"),
    {.name = "--allocate", .type = MZ_OPTION_TEXT, .refused = FIXED_PLANS},
    {.name = "--rounds", .type = MZ_OPTION_COUNT, .refused = FIXED_PLANS},
    {.name = "--env-steps", .type = MZ_OPTION_COUNT, .refused = FIXED_PLANS},
    {.name = "--updates", .type = MZ_OPTION_COUNT, .refused = FIXED_PLANS},
    {0},
};

enum { PLANS = 20, PASSES = 2, SEEDS = 5 }; /* where the user gives none */

typedef struct view {
  bool json, simulated;
} view;

static void show(void *context, const mz_profile_progress *p) {
  const view *v = context;
  char left[MZ_TEXT_SIZE];
  if (v->json) {
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "event", "measurement");
    cJSON_AddNumberToObject(o, "done", p->done);
    cJSON_AddNumberToObject(o, "all", p->all);
    cJSON_AddNumberToObject(o, "round_s", p->round_s);
    cJSON_AddStringToObject(o, "plan", p->plan);
    if (v->simulated) cJSON_AddTrueToObject(o, "simulated");
    mz_print_json(o);
  } else if (isatty(STDERR_FILENO))
    mz_print_progress("%d of %d, left %s: %s: %.4g ms a round", p->done, p->all, mz_text_time(p->left_s, left), p->plan,
                      1e3 * p->round_s);
}

static bool stopping(void *context) {
  (void)context;
  return mz_signals_stopping();
}

static void print_result(const cJSON *result, const char *history) {
  const cJSON *row;
  char shown[MZ_SHOWN_SIZE];
  printf("%12s  %-10s plan\n", "ms a round", "source");
  cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(result, "plans")) {
    if (!isfinite(mz_json_number_or_nan(row, "median_s"))) continue;
    printf("%12.4g  %-10s %s\n", 1e3 * mz_json_number_or_nan(row, "median_s"), mz_json_text_or_empty(row, "source"),
           mz_json_text_or_empty(row, "text"));
  }
  const double noise = mz_json_number_or_nan(result, "noise");
  printf("\n");
  if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(result, "stopped"))) printf("stopped early\n");
  if (isfinite(noise)) printf("noise of a measurement %.1f %%\n", 100 * noise);
  if (isnan(mz_json_number_or_nan(result, "best_s"))) {
    printf("nothing was measured\n");
    return;
  }
  printf("fastest %.4g ms a round: %s\n", 1e3 * mz_json_number_or_nan(result, "best_s"),
         mz_json_text_or_empty(result, "best_text"));
  const double ratio = mz_json_number_or_nan(result, "ratio"), low = mz_json_number_or_nan(result, "ratio_low");
  if (isnan(ratio))
    printf("it was not measured again, so it may only have been lucky\n");
  else if (ratio == 1 && low == 1)
    printf("that is the default: measured again, no plan was faster\n");
  else
    printf("measured again it ran %.3g times as fast as the default (90 %%: %.3g to %.3g)%s\n", ratio, low,
           mz_json_number_or_nan(result, "ratio_high"), low > 1 ? "" : ": no claim");
  if (history && strcmp(history, "none") != 0) printf("kept in %s\n", mz_text_shown(history, shown));
}

/* ---- a simulated machine ---- */

static void print_percent(const char *name, const cJSON *result, const char *median, const char *p90) {
  printf("%-16s median %.1f %%, 90 %% of plans within %.1f %%\n", name, 100 * mz_json_number_or_nan(result, median),
         100 * mz_json_number_or_nan(result, p90));
}

static void print_agreement(const cJSON *result) {
  const cJSON *row;
  printf("%12s %12s %8s  plan\n", "measured, ms", "simulated", "error");
  cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(result, "plans")) {
    printf("%12.4g %12.4g %+7.1f%%  %s\n", 1e3 * mz_json_number_or_nan(row, "measured_s"),
           1e3 * mz_json_number_or_nan(row, "simulated_s"), 100 * mz_json_number_or_nan(row, "error"),
           mz_json_text_or_empty(row, "text"));
  }
  printf("\n");
  print_percent("error", result, "median_error", "p90_error");
  printf("%-16s %.1f %%, median error with its sign %+.1f %%\n", "worst error",
         100 * mz_json_number_or_nan(result, "worst_error"), 100 * mz_json_number_or_nan(result, "bias"));
  if (isfinite(mz_json_number_or_nan(result, "noise_median")))
    print_percent("measured twice", result, "noise_median", "noise_p90");
  printf("%-16s %.1f %%: time of the plan that is simulated to be fastest over that of the fastest\n", "regret",
         100 * mz_json_number_or_nan(result, "regret"));
  if (isfinite(mz_json_number_or_nan(result, "noise_regret")))
    printf("%-16s %.1f %%: of one half of the measurements' choice by the other half\n", "",
           100 * mz_json_number_or_nan(result, "noise_regret"));
}

static void print_label(const cJSON *result) {
  char shown[MZ_SHOWN_SIZE];
  const char *machine = mz_json_text_or_empty(result, "machine_simulated");
  if (machine[0]) printf("Every figure is simulated, in virtual time, on %s\n\n", mz_text_shown(machine, shown));
}

/* Options of learning curves and those of plans: they do nothing to each other's measurements. */
static mz_status check_kind(const profile_arguments *a) {
  const char *of_curves = !isnan(a->session.until)      ? "--until"
                          : a->seeds != MZ_COUNT_UNSET  ? "--seeds"
                          : a->epochs != MZ_COUNT_UNSET ? "--epochs"
                                                        : NULL;
  const char *of_plans = a->plans != MZ_COUNT_UNSET    ? "--plans"
                         : a->passes != MZ_COUNT_UNSET ? "--passes"
                         : a->again != MZ_COUNT_UNSET  ? "--again"
                                                       : NULL;
  if (!a->score && of_curves) return mz_fail(MZ_E_USAGE, "%s: belongs to --score", of_curves);
  if (a->score && of_plans) return mz_fail(MZ_E_USAGE, "%s: not with --score, which measures learning curves", of_plans);
  return MZ_OK;
}

static mz_status check(const profile_arguments *arguments) {
  MZ_TRY(check_kind(arguments));
  const char *needs = arguments->costs ? "--costs" : "--against";
  if (!arguments->machine && (arguments->costs || arguments->against))
    return mz_fail(MZ_E_USAGE, "%s: needs --machine sim:…, a machine to simulate", needs);
  if (arguments->score && arguments->machine)
    return mz_fail(MZ_E_USAGE, "--machine: nothing is learned on a simulated machine; leave it out, or leave out --score");
  const char *device = arguments->session.device;
  MZ_TRY(mz_session_check_machine(arguments->machine, strcmp(device, "auto") != 0 ? device : NULL));
  if (arguments->against && arguments->grid)
    return mz_fail(MZ_E_USAGE, "--against: simulates the plans of its file; leave --grid out");
  if (arguments->plans != MZ_COUNT_UNSET && (arguments->grid || arguments->against))
    return mz_fail(MZ_E_USAGE, "--plans: not with %s, which names the plans", arguments->grid ? "--grid" : "--against");
  return MZ_OK;
}

/* ---- all of it ---- */

static mz_profile_options options_of(const profile_arguments *arguments) {
  mz_profile_options out = {.run = mz_session_run_options(&arguments->session),
                            .plans = arguments->plans == MZ_COUNT_UNSET ? PLANS : (int)arguments->plans,
                            .grid = arguments->grid,
                            .passes = arguments->passes == MZ_COUNT_UNSET ? PASSES : (int)arguments->passes,
                            .again = arguments->again == MZ_COUNT_UNSET ? MZ_PROFILE_AGAIN_CHOSEN : (int)arguments->again,
                            .for_s = isnan(arguments->session.for_s) ? 0 : arguments->session.for_s};
  out.run.env = arguments->env;
  out.run.preset = arguments->preset;
  if (arguments->machine && !arguments->session.history) out.run.history = "none";
  return out;
}

static mz_status profile_score(const profile_arguments *arguments) {
  const mz_profile_options common = options_of(arguments);
  const mz_score_profile_options asked = {.run = common.run,
                                          .grid = arguments->grid,
                                          .seeds = arguments->seeds == MZ_COUNT_UNSET ? SEEDS : (int)arguments->seeds,
                                          .epochs = arguments->epochs == MZ_COUNT_UNSET ? 0 : arguments->epochs,
                                          .until = arguments->session.until,
                                          .for_s = common.for_s};
  return mz_score_profile_show(&asked, arguments->session.json);
}

static mz_status profile(const void *given) {
  const profile_arguments *arguments = given;
  MZ_TRY(check(arguments));
  mz_signals_handle();
  if (arguments->score) return profile_score(arguments);
  const mz_profile_options asked = options_of(arguments);
  const mz_simulated_profile_options simulated = {
      .profile = asked, .machine = arguments->machine, .costs = arguments->costs, .against = arguments->against};
  view shown = {.json = arguments->session.json, .simulated = arguments->machine != NULL};
  const mz_profile_watcher watcher = {.context = &shown, .progress = show, .stopping = stopping};
  cJSON *result;
  mz_status status = arguments->against   ? mz_simulated_against(&simulated, &watcher, &result)
                     : arguments->machine ? mz_simulated_profile(&simulated, &watcher, &result)
                                          : mz_profile(&asked, &watcher, &result);
  if (!shown.json && isatty(STDERR_FILENO)) fprintf(stderr, "\r\033[K");
  MZ_TRY(status);
  if (shown.json) {
    cJSON_AddStringToObject(result, "event", "done");
    return mz_print_json(result);
  }
  print_label(result);
  if (arguments->against)
    print_agreement(result);
  else
    print_result(result, asked.run.history);
  cJSON_Delete(result);
  return mz_print_flush();
}

const mz_command mz_command_profile = {
    .name = "profile",
    .summary = "measure plans on this machine, for the allocator to begin with",
    .about = "Runs whole phases under plan after plan (the default, the plain one, a Latin hypercube and random draws), "
             "interleaved and repeated, and keeps what it measures in the history, where later runs of the same environment, "
             "network and machine find it. Ctrl-C or --for ends it early; what was measured is kept. With --machine the plans "
             "are measured on a simulated machine; --costs and --against take what profiles printed with --json. With --score "
             "it measures learning curves, which `plan --target` plans whole runs by; --until belongs to it.",
    .options = options,
    .shared = mz_session_options,
    .arguments_size = sizeof(profile_arguments),
    .lists_settings = true,
    .examples = {"profile tictactoe --grid 'cpu_actor=1,2,4;mcts_storage_size=1,8,64' --for 10m",
                 "profile cartpole --machine sim:cores=64,numa=2"},
    .run = profile,
};
