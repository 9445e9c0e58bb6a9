#include "muzero/compare/compare.h"
#include "muzero/compare/scenario.h"
#include "muzero/compare/suite.h"
#include "cli/commands.h"
#include "cli/print.h"
#include "cli/training/session.h"
#include "cli/signals.h"
#include <math.h>
#include <string.h>
#include <unistd.h>

typedef struct compare_arguments {
  mz_session_arguments session;
  const char *env, *preset, *dir, *arms, *scenario, *machine, *curves;
  int64_t seeds, block, together;
  bool suite;
} compare_arguments;

static const double SUITE_S = 10;

#define AT(field) offsetof(compare_arguments, field)
static const mz_option options[] = {
    {.name = "ENV",
     .type = MZ_OPTION_TEXT,
     .offset = AT(env),
     .value = "optional",
     .help = "an environment; `muzero envs` lists them; left out with --suite"},
    {.name = "--arms",
     .type = MZ_OPTION_TEXT,
     .offset = AT(arms),
     .value = "A,B,…",
     .fallback = "rule,default,oversubscribed,demand,greedy",
     .class_ = MZ_OPERATIONAL,
     .help =
         "default (every knob at its least), oversubscribed, rule (one actor a core), fixed:k=v,…, or a strategy, which begins "
         "at default; the first one's twin measures the noise"},
    {.name = "--seeds",
     .type = MZ_OPTION_COUNT,
     .offset = AT(seeds),
     .value = "N",
     .fallback = "3",
     .min = 1,
     .max = 1000,
     .class_ = MZ_OPERATIONAL,
     .help = "seeds --seed, --seed + 1, …"},
    {.name = "--block",
     .type = MZ_OPTION_COUNT,
     .offset = AT(block),
     .value = "PHASES",
     .fallback = "0",
     .min = 0,
     .max = 1e6,
     .class_ = MZ_OPERATIONAL,
     .help = "phases that an arm runs before it is the next one's turn; 0: chosen"},
    {.name = "--scenario",
     .type = MZ_OPTION_TEXT,
     .offset = AT(scenario),
     .value = "TEXT",
     .otherwise = "the machine stays as it is",
     .class_ = MZ_OPERATIONAL,
     .help = "what changes from block to block, alike for every arm: cores=1@10-19; neighbour, stream, quota, memory likewise, "
             "several with ';' between them"},
    {.name = "--together",
     .type = MZ_OPTION_COUNT,
     .offset = AT(together),
     .value = "N",
     .fallback = "1",
     .min = 1,
     .max = MZ_TOGETHER_MAX,
     .class_ = MZ_OPERATIONAL,
     .help = "so many runs of an arm at once, with seeds of their own; needs a limit by rounds, moves or updates"},
    {.name = "--suite",
     .type = MZ_OPTION_SWITCH,
     .offset = AT(suite),
     .class_ = MZ_OPERATIONAL,
     .help = "twelve workloads instead of one environment: the arms beside the best fixed plan of each; --for is the time of an "
             "arm with a seed (10s)"},
    {.name = "--machine",
     .type = MZ_OPTION_TEXT,
     .offset = AT(machine),
     .value = "TEXT",
     .otherwise = "this machine",
     .class_ = MZ_OPERATIONAL,
     .help =
         "a simulated one instead, in virtual time: sim:cores=64,numa=2,gpus=4; takes --rounds, or --until S: whole runs, whose "
         "scores grow by learning curves in the history; every figure is labelled simulated"},
    {.name = "--curves",
     .type = MZ_OPTION_TEXT,
     .offset = AT(curves),
     .value = "FILE",
     .otherwise = "--history's",
     .class_ = MZ_OPERATIONAL,
     .help = "with --machine and --until: another history, by whose learning curves scores grow; plans know those of --history "
             "alone"},
    MZ_OPTION_PRESET(AT(preset)),
    {.name = "--history",
     .type = MZ_OPTION_TEXT,
     .offset = AT(session.history),
     .value = "FILE",
     .otherwise = "none",
     .class_ = MZ_OPERATIONAL,
     .help = "measured phases, which arms that adapt begin with; learning curves with --machine and --until, then by default of "
             "$XDG_DATA_HOME/muzero/history.db"},
    {.name = "--allocate",
     .type = MZ_OPTION_TEXT,
     .refused = "an arm names its own strategy, as in --arms rule,greedy; leave it out"},
    {.name = "--run",
     .type = MZ_OPTION_TEXT,
     .offset = AT(dir),
     .value = "DIR",
     .otherwise = "a new one in runs/compare",
     .class_ = MZ_OPERATIONAL,
     .help = "the comparison's directory; one that was interrupted continues"},
    {0},
};

static void show(void *context, const mz_compare_progress *p) {
  const bool json = *(const bool *)context;
  if (json) {
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "event", "block");
    mz_json_add_u64(o, "seed", p->run_seed);
    cJSON_AddNumberToObject(o, "block", (double)p->block + 1);
    cJSON_AddStringToObject(o, "arm", p->arm);
    cJSON_AddNumberToObject(o, "wall_s", p->wall_s);
    cJSON_AddNumberToObject(o, "done", p->done);
    if (p->simulated) cJSON_AddTrueToObject(o, "simulated");
    if (p->trouble[0]) cJSON_AddStringToObject(o, "trouble", p->trouble);
    mz_print_json(o);
    return;
  }
  char took[MZ_TEXT_SIZE], left[MZ_TEXT_SIZE], arm[MZ_SHOWN_SIZE], trouble[MZ_SHOWN_SIZE];
  const bool terminal = isatty(STDERR_FILENO);
  if (p->trouble[0])
    fprintf(stderr, "%s%s: %s\n", terminal ? "\r\033[K" : "", mz_text_shown(p->arm, arm), mz_text_shown(p->trouble, trouble));
  if (!terminal) return;
  mz_text_time(p->left_s, left);
  mz_print_progress("seed %d of %d, block %lld: %s %s; %.0f %% done%s%s", p->seed + 1, p->seeds, (long long)p->block + 1,
                    mz_text_shown(p->arm, arm), mz_text_time(p->wall_s, took), 100 * p->done, isnan(p->left_s) ? "" : ", left ",
                    isnan(p->left_s) ? "" : left);
}

static bool stopping(void *context) {
  (void)context;
  return mz_signals_stopping();
}

/* "blocks 4 to 6, cores 1: rule 3.12 s, greedy 3.40 s; greedy / rule 1.09 [1.05, 1.13]". */
static void print_segment(const cJSON *segment) {
  char text[MZ_TEXT_SIZE], shown[MZ_SHOWN_SIZE];
  const cJSON *arm, *row;
  printf("  blocks %.0f to %.0f", mz_json_number_or_nan(segment, "first"), mz_json_number_or_nan(segment, "last"));
  for (int thing = 0; thing < MZ_SCENARIO_THINGS; thing++) {
    const char *name = mz_scenario_thing_name((mz_scenario_thing)thing);
    const double value = mz_json_number_or_nan(segment, name);
    if (value > 0) printf(", %s %g%s", name, value, thing == MZ_SCENARIO_MEMORY ? " %" : "");
  }
  const char *before = ": ";
  cJSON_ArrayForEach(arm, cJSON_GetObjectItemCaseSensitive(segment, "wall_s")) {
    printf("%s%s %s", before, mz_text_shown(arm->string, shown), mz_text_time(cJSON_GetNumberValue(arm), text));
    before = ", ";
  }
  cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(segment, "ratios")) {
    const cJSON *ends = cJSON_GetObjectItemCaseSensitive(row, "ci95");
    printf("; %s / %s %.3f [%.3f, %.3f]", mz_json_text_or_empty(row, "a"), mz_json_text_or_empty(row, "b"),
           mz_json_number_or_nan(row, "ratio"), cJSON_GetNumberValue(cJSON_GetArrayItem(ends, 0)),
           cJSON_GetNumberValue(cJSON_GetArrayItem(ends, 1)));
  }
  printf("\n");
}

static void print_room(const cJSON *room) {
  const cJSON *ends = cJSON_GetObjectItemCaseSensitive(room, "ci95"), *row;
  if (mz_json_text_or_empty(room, "none")[0]) {
    printf("room for adapting: %s\n", mz_json_text_or_empty(room, "none"));
    return;
  }
  printf("room for adapting: %.1f %% of the best fixed plan's time [%.1f, %.1f]\n", 100 * mz_json_number_or_nan(room, "room"),
         100 * cJSON_GetNumberValue(cJSON_GetArrayItem(ends, 0)), 100 * cJSON_GetNumberValue(cJSON_GetArrayItem(ends, 1)));
  cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(room, "captured")) {
    ends = cJSON_GetObjectItemCaseSensitive(row, "ci95");
    printf("  captured by %s: %.2f [%.2f, %.2f]\n", mz_json_text_or_empty(row, "arm"), mz_json_number_or_nan(row, "share"),
           cJSON_GetNumberValue(cJSON_GetArrayItem(ends, 0)), cJSON_GetNumberValue(cJSON_GetArrayItem(ends, 1)));
  }
}

static void print_scenario(const cJSON *summary) {
  const cJSON *segment;
  printf("\nwall time by segment of the scenario\n");
  cJSON_ArrayForEach(segment, cJSON_GetObjectItemCaseSensitive(summary, "segments")) print_segment(segment);
  print_room(cJSON_GetObjectItemCaseSensitive(summary, "room"));
}

static bool is_metric(const cJSON *row, const char *metric) { return strcmp(mz_json_text_or_empty(row, "metric"), metric) == 0; }

static void print_ratio(const cJSON *row, const char *end) {
  const cJSON *ends = cJSON_GetObjectItemCaseSensitive(row, "ci95");
  printf("  %-16s / %-44s %.3f  [%.3f, %.3f]  n %.0f%s\n", mz_json_text_or_empty(row, "a"), mz_json_text_or_empty(row, "b"),
         mz_json_number_or_nan(row, "ratio"), cJSON_GetNumberValue(cJSON_GetArrayItem(ends, 0)),
         cJSON_GetNumberValue(cJSON_GetArrayItem(ends, 1)), mz_json_number_or_nan(row, "n"), end);
}

/* Shows what a plan of a whole run saves, for arms that learn otherwise and are paired by seed. */
static void print_costs(const cJSON *summary) {
  const cJSON *row;
  bool any = false;
  cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(summary, "ratios")) {
    char end[640];
    if (!is_metric(row, "cost") || strcmp(mz_json_text_or_empty(row, "unit"), "seed") != 0) continue;
    if (!any) printf("\npriced cost, a over b\n");
    any = true;
    const char *unclaimed = mz_json_text_or_empty(row, "unclaimed");
    snprintf(end, sizeof end, "  best seed %.3f%s%s", mz_json_number_or_nan(row, "least"), unclaimed[0] ? "  none: " : "",
             unclaimed);
    print_ratio(row, end);
  }
}

/* Shows how many seeds of each arm broke a limit; an arm that did not begin is said to. */
static void print_violations(const cJSON *summary) {
  static const char *const keys[] = {"deadline", "budget", "score", "refused"};
  const cJSON *limits = cJSON_GetObjectItemCaseSensitive(summary, "limits"), *row;
  if (!limits) return;
  printf("\n%-44s %9s %9s %9s %9s   seeds that broke a limit, or did not begin\n", "", keys[0], keys[1], keys[2], keys[3]);
  cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(summary, "arms")) {
    const cJSON *counts = cJSON_GetObjectItemCaseSensitive(row, "violations");
    printf("%-44s", mz_json_text_or_empty(row, "name"));
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) printf(" %9.0f", mz_json_number_or_nan(counts, keys[i]));
    const double late_s = mz_json_number_or_nan(counts, "late_s");
    printf(late_s > 0 ? "   late by %.3g s at the most\n" : "\n", late_s);
  }
}

/* The table, the ratios of wall time, the claims, and what must be said beside them. */
static void print_summary(const cJSON *summary, const char *dir) {
  char a[MZ_TEXT_SIZE], b[MZ_TEXT_SIZE], c[MZ_TEXT_SIZE], d[MZ_TEXT_SIZE], shown[MZ_SHOWN_SIZE];
  const cJSON *row;
  const bool simulated = mz_json_text_or_empty(summary, "machine_simulated")[0];
  if (simulated)
    printf("Every figure is simulated, in virtual time, on %s\n\n",
           mz_text_shown(mz_json_text_or_empty(summary, "machine_simulated"), shown));
  printf("%-44s %9s %9s %9s %8s %8s %8s\n", "arm (means over seeds)", "wall", "core-s", "reserved", "cost", "score", "reached");
  cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(summary, "arms")) {
    const char *crashed = mz_json_text_or_empty(row, "crashed"), *refused = mz_json_text_or_empty(row, "refused");
    if (refused[0]) {
      printf("%-44s did not begin: %s\n", mz_json_text_or_empty(row, "name"), refused);
      continue;
    }
    printf("%-44s %9s %9s %9s %8.2g %8s %8.0f%s%s\n", mz_json_text_or_empty(row, "name"),
           mz_text_time(mz_json_number_or_nan(row, "wall_s"), a), mz_text_number(mz_json_number_or_nan(row, "core_s"), b),
           mz_text_number(mz_json_number_or_nan(row, "core_reserved_s"), c), mz_json_number_or_nan(row, "cost"),
           mz_text_number(mz_json_number_or_nan(row, "score"), d), mz_json_number_or_nan(row, "reached"),
           crashed[0] ? "  crashed: " : "", crashed);
  }
  print_violations(summary);
  printf("\nwall time, a over b\n");
  cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(summary, "ratios")) {
    if (is_metric(row, "wall_s")) print_ratio(row, "");
    if (is_metric(row, "wall_settled_s")) print_ratio(row, "  (second half)");
  }
  print_costs(summary);
  if (cJSON_GetObjectItemCaseSensitive(summary, "segments")) print_scenario(summary);
  printf("\n");
  cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(summary, "ratios")) if (mz_json_text_or_empty(row, "claim")[0])
      printf("Claim%s: %s.\n", simulated ? ", simulated" : "", mz_json_text_or_empty(row, "claim"));
  cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(summary, "sentences")) printf("%s\n", row->valuestring);
  printf("\n  report  %s/report.html\n", mz_text_shown(dir, shown));
}

/* ---- the suite ---- */

/* What follows the kind of an arm is left out: "fixed:cpu_actor=2,…" is "fixed". */
static void print_kind(const char *arm) { printf(" %14.*s", (int)strcspn(arm, ":"), arm); }

static void print_suite(const cJSON *summary) {
  const cJSON *row, *arm, *list = cJSON_GetObjectItemCaseSensitive(summary, "workloads");
  const cJSON *arms = cJSON_GetObjectItemCaseSensitive(summary, "arms");
  printf("time over that of the best fixed plan\n%-18s %8s", "", "A/A");
  cJSON_ArrayForEach(arm, arms) print_kind(mz_json_text_or_empty(arm, "arm"));
  cJSON_ArrayForEach(row, list) {
    const cJSON *noise = cJSON_GetObjectItemCaseSensitive(row, "noise");
    printf("\n%-18s ± %4.1f %%", mz_json_text_or_empty(row, "name"),
           100 * fmax(cJSON_GetNumberValue(cJSON_GetArrayItem(noise, 1)) - 1,
                      1 - cJSON_GetNumberValue(cJSON_GetArrayItem(noise, 0))));
    cJSON_ArrayForEach(arm, cJSON_GetObjectItemCaseSensitive(row, "arms")) printf(" %14.3f", mz_json_number_or_nan(arm, "ratio"));
  }
  printf("\n%-18s %8s", "mean", "");
  cJSON_ArrayForEach(arm, arms) printf(" %14.3f", mz_json_number_or_nan(arm, "mean"));
  printf("\n%-18s %8s", "worst", "");
  cJSON_ArrayForEach(arm, arms) printf(" %14.3f", mz_json_number_or_nan(arm, "worst"));
  printf("\n");
}

static mz_status suite(const compare_arguments *arguments) {
  bool json = arguments->session.json;
  const mz_limits limits = mz_session_limits(&arguments->session);
  if (arguments->env || arguments->preset || arguments->machine || arguments->curves || arguments->session.history ||
      arguments->scenario || arguments->together > 1 || arguments->block > 0 || limits.rounds || limits.updates ||
      limits.env_steps || limits.until)
    return mz_fail(
        MZ_E_USAGE,
        "--suite: has its own environments and lengths; only --arms, --seeds, --for, --run, --set, --seed, --threads, --device, "
        "--watchdog and --json go with it");
  mz_signals_handle();
  mz_suite_options suite_options = {.run = mz_session_run_options(&arguments->session),
                                    .arms = arguments->arms,
                                    .seeds = (int)arguments->seeds,
                                    .dir = arguments->dir,
                                    .seconds = limits.for_s > 0 ? limits.for_s : SUITE_S};
  suite_options.run.history = "none";
  const mz_compare_watcher watcher = {.context = &json, .progress = show, .stopping = stopping};
  cJSON *summary;
  char dir[600];
  MZ_TRY(mz_suite(&suite_options, &watcher, &summary, dir, sizeof dir));
  if (!json && isatty(STDERR_FILENO)) fprintf(stderr, "\r\033[K");
  if (json) {
    cJSON_AddStringToObject(summary, "event", "done");
    cJSON_AddStringToObject(summary, "run", dir);
    return mz_print_json(summary);
  }
  char shown[MZ_SHOWN_SIZE];
  print_suite(summary);
  printf("\n  suite   %s/suite.json\n", mz_text_shown(dir, shown));
  cJSON_Delete(summary);
  return mz_print_flush();
}

static mz_status compare(const void *given) {
  const compare_arguments *arguments = given;
  if (arguments->suite) return suite(arguments);
  if (!arguments->env) return mz_fail(MZ_E_USAGE, "compare: needs ENV, or --suite; `muzero envs` lists the environments");
  const char *device = arguments->session.device;
  MZ_TRY(mz_session_check_machine(arguments->machine, strcmp(device, "auto") != 0 ? device : NULL));
  mz_signals_handle(); /* the arms' processes inherit it, and leave stopping to this one */
  bool json = arguments->session.json;
  mz_compare_options compared = {.run = mz_session_run_options(&arguments->session),
                                 .arms = arguments->arms,
                                 .seeds = (int)arguments->seeds,
                                 .dir = arguments->dir,
                                 .limits = mz_session_limits(&arguments->session),
                                 .scenario = arguments->scenario,
                                 .together = (int)arguments->together,
                                 .machine = arguments->machine,
                                 .curves = arguments->curves,
                                 .block_phases = (int)arguments->block};
  compared.run.env = arguments->env;
  compared.run.preset = arguments->preset;
  const bool by_curves = arguments->machine && compared.limits.until;           /* nothing else is read of the history */
  if (!arguments->session.history && !by_curves) compared.run.history = "none"; /* arms that adapt begin knowing nothing */
  const mz_compare_watcher watcher = {.context = &json, .progress = show, .stopping = stopping};
  cJSON *summary;
  char dir[600];
  mz_status status = mz_compare(&compared, &watcher, &summary, dir, sizeof dir);
  if (!json && isatty(STDERR_FILENO)) fprintf(stderr, "\r\033[K");
  MZ_TRY(status);
  if (json) {
    cJSON *event = cJSON_CreateString("done");
    cJSON_AddItemToObject(summary, "event", event);
    cJSON_AddStringToObject(summary, "run", dir);
    return mz_print_json(summary);
  }
  status = mz_json_show(summary);
  if (status == MZ_OK) print_summary(summary, dir);
  cJSON_Delete(summary);
  return status == MZ_OK ? mz_print_flush() : status;
}

const mz_command mz_command_compare = {
    .name = "compare",
    .summary = "compare ways of using the machine: fixed plans and allocators, taking turns",
    .about = "Runs arms × seeds, each arm in a process of its own, advanced in turns block by block, and reports wall time, "
             "core-seconds and priced cost with 95 % intervals. Limits are those of each run; without any they are the preset's. "
             "A difference is claimed only where the interval excludes no difference, after Holm's correction, and where it "
             "exceeds what the first arm shows against its own twin. Arms that differ in exact knobs must end with the same "
             "digest; that is checked. Ctrl-C keeps finished seeds; the same command with --run DIR resumes it.",
    .options = options,
    .shared = mz_session_options,
    .arguments_size = sizeof(compare_arguments),
    .lists_settings = true,
    .examples = {"compare cartpole --seeds 5",
                 "compare tictactoe --arms rule,fixed:cpu_actor=1,mcts_storage_size=64,greedy --rounds 400 --run runs/c"},
    .run = compare,
};
