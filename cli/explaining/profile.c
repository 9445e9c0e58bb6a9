#include "muzero/steering/profile.h"
#include "cli/commands.h"
#include "cli/print.h"
#include "cli/training/session.h"
#include "cli/signals.h"
#include <math.h>
#include <string.h>
#include <unistd.h>

typedef struct profile_arguments {
  mz_session_arguments session;
  const char *env, *preset, *grid;
  int64_t plans, passes;
} profile_arguments;

#define AT(field) offsetof(profile_arguments, field)
static const mz_option options[] = {
    MZ_OPTION_ENV(AT(env)),
    {.name = "--plans",
     .type = MZ_OPTION_COUNT,
     .offset = AT(plans),
     .value = "N",
     .fallback = "20",
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
     .help = "every combination of these knobs' values instead"},
    {.name = "--passes",
     .type = MZ_OPTION_COUNT,
     .offset = AT(passes),
     .value = "N",
     .fallback = "2",
     .min = 1,
     .max = 64,
     .class_ = MZ_OPERATIONAL,
     .help = "times that every plan is measured"},
    MZ_OPTION_PRESET(AT(preset)),
    {0},
};

static void show(void *context, const mz_profile_progress *p) {
  const bool json = *(const bool *)context;
  char left[MZ_TEXT_SIZE];
  if (json) {
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "event", "measurement");
    cJSON_AddNumberToObject(o, "done", p->done);
    cJSON_AddNumberToObject(o, "all", p->all);
    cJSON_AddNumberToObject(o, "round_s", p->round_s);
    cJSON_AddStringToObject(o, "plan", p->plan);
    mz_print_json(o);
  } else if (isatty(STDERR_FILENO))
    fprintf(stderr, "\r\033[K%d of %d, left %s: %s: %.4g ms a round", p->done, p->all, mz_text_time(p->left_s, left), p->plan,
            1e3 * p->round_s);
}

static bool stopping(void *context) {
  (void)context;
  return mz_signals_stopping();
}

static void print_plan(const cJSON *plan) {
  const cJSON *knob;
  cJSON_ArrayForEach(knob, plan) printf(" %s %.0f", knob->string, knob->valuedouble);
  printf("\n");
}

static void print_result(const cJSON *result, const char *history) {
  const cJSON *row;
  char shown[MZ_SHOWN_SIZE];
  printf("%12s  %-10s plan\n", "ms a round", "source");
  cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(result, "plans")) {
    if (!isfinite(mz_json_number_or_nan(row, "median_s"))) continue;
    printf("%12.4g  %-10s", 1e3 * mz_json_number_or_nan(row, "median_s"),
           cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(row, "source")));
    print_plan(cJSON_GetObjectItemCaseSensitive(row, "plan"));
  }
  printf("\nnoise of a measurement %.1f %%\nfastest %.4g ms a round:", 100 * mz_json_number_or_nan(result, "noise"),
         1e3 * mz_json_number_or_nan(result, "best_s"));
  print_plan(cJSON_GetObjectItemCaseSensitive(result, "best"));
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

static mz_status profile(const void *given) {
  const profile_arguments *arguments = given;
  mz_signals_handle();
  bool json = arguments->session.json;
  mz_profile_options profiled = {.run = mz_session_run_options(&arguments->session),
                                 .plans = (int)arguments->plans,
                                 .grid = arguments->grid,
                                 .passes = (int)arguments->passes,
                                 .for_s = isnan(arguments->session.for_s) ? 0 : arguments->session.for_s};
  profiled.run.env = arguments->env;
  profiled.run.preset = arguments->preset;
  const mz_profile_watcher watcher = {.context = &json, .progress = show, .stopping = stopping};
  cJSON *result;
  mz_status status = mz_profile(&profiled, &watcher, &result);
  if (!json && isatty(STDERR_FILENO)) fprintf(stderr, "\r\033[K");
  MZ_TRY(status);
  if (json) {
    cJSON_AddStringToObject(result, "event", "done");
    return mz_print_json(result);
  }
  print_result(result, profiled.run.history);
  cJSON_Delete(result);
  return mz_print_flush();
}

const mz_command mz_command_profile = {
    .name = "profile",
    .summary = "measure plans on this machine, for the allocator to begin with",
    .about = "Runs whole phases under plan after plan (the default, the plain one, a Latin hypercube and random draws), "
             "interleaved and repeated, and "
             "keeps what it measures in the history, where later runs of the same environment, network and machine find it. "
             "Ctrl-C or --for "
             "ends it early; what was measured is kept. --rounds, --env-steps, --updates and --until do not apply.",
    .options = options,
    .shared = mz_session_options,
    .arguments_size = sizeof(profile_arguments),
    .lists_settings = true,
    .examples = {"profile cartpole", "profile tictactoe --grid 'cpu_actor=1,2,4;mcts_storage_size=1,8,64' --for 10m"},
    .run = profile,
};
