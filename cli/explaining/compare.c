#include "muzero/compare/compare.h"
#include "cli/commands.h"
#include "cli/print.h"
#include "cli/training/session.h"
#include "cli/signals.h"
#include <math.h>
#include <string.h>
#include <unistd.h>

typedef struct compare_arguments {
  mz_session_arguments session;
  const char *env, *preset, *dir, *arms, *scenario, *machine;
  int64_t seeds, block;
} compare_arguments;

#define AT(field) offsetof(compare_arguments, field)
static const mz_option options[] = {
    MZ_OPTION_ENV(AT(env)),
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
     .help = "what changes from block to block, alike for every arm: cores=1@10-19;neighbour=2@20-29;stream=1@30-"},
    {.name = "--machine",
     .type = MZ_OPTION_TEXT,
     .offset = AT(machine),
     .value = "TEXT",
     .otherwise = "this machine",
     .class_ = MZ_OPERATIONAL,
     .help = "a simulated one instead, in virtual time: sim:cores=64,numa=2,gpus=4; takes --rounds; every figure is labelled "
             "simulated"},
    MZ_OPTION_PRESET(AT(preset)),
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
    cJSON_AddNumberToObject(o, "seed", p->seed + 1);
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
  fprintf(stderr, "\r\033[Kseed %d of %d, block %lld: %s %s; %.0f %% done%s%s", p->seed + 1, p->seeds, (long long)p->block + 1,
          mz_text_shown(p->arm, arm), mz_text_time(p->wall_s, took), 100 * p->done, isnan(p->left_s) ? "" : ", left ",
          isnan(p->left_s) ? "" : left);
}

static bool stopping(void *context) {
  (void)context;
  return mz_signals_stopping();
}

/* "blocks 4 to 6, cores 1: rule 3.12 s, greedy 3.40 s". */
static void print_segments(const cJSON *summary) {
  static const char *const things[] = {"cores", "neighbour", "stream"};
  char text[MZ_TEXT_SIZE], shown[MZ_SHOWN_SIZE];
  const cJSON *segments = cJSON_GetObjectItemCaseSensitive(summary, "segments"), *segment, *arm;
  if (cJSON_GetArraySize(segments) > 0) printf("\nwall time by segment of the scenario\n");
  cJSON_ArrayForEach(segment, segments) {
    printf("  blocks %.0f to %.0f", mz_json_number_or_nan(segment, "first"), mz_json_number_or_nan(segment, "last"));
    for (size_t i = 0; i < sizeof things / sizeof *things; i++) {
      const double value = mz_json_number_or_nan(segment, things[i]);
      if (value > 0) printf(", %s %g", things[i], value);
    }
    const char *before = ": ";
    cJSON_ArrayForEach(arm, cJSON_GetObjectItemCaseSensitive(segment, "wall_s")) {
      printf("%s%s %s", before, mz_text_shown(arm->string, shown), mz_text_time(cJSON_GetNumberValue(arm), text));
      before = ", ";
    }
    printf("\n");
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
    printf("%-44s %9s %9s %9s %8.2g %8s %8.0f%s%s\n", mz_json_text_or_empty(row, "name"),
           mz_text_time(mz_json_number_or_nan(row, "wall_s"), a), mz_text_number(mz_json_number_or_nan(row, "core_s"), b),
           mz_text_number(mz_json_number_or_nan(row, "core_reserved_s"), c), mz_json_number_or_nan(row, "cost"),
           mz_text_number(mz_json_number_or_nan(row, "score"), d), mz_json_number_or_nan(row, "reached"),
           mz_json_text_or_empty(row, "crashed")[0] ? "  crashed: " : "", mz_json_text_or_empty(row, "crashed"));
  }
  printf("\nwall time, a over b\n");
  cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(summary, "ratios")) {
    if (strcmp(mz_json_text_or_empty(row, "metric"), "wall_s") != 0 &&
        strcmp(mz_json_text_or_empty(row, "metric"), "wall_settled_s") != 0)
      continue;
    const cJSON *ends = cJSON_GetObjectItemCaseSensitive(row, "ci95");
    printf("  %-16s / %-44s %.3f  [%.3f, %.3f]  n %.0f%s\n", mz_json_text_or_empty(row, "a"), mz_json_text_or_empty(row, "b"),
           mz_json_number_or_nan(row, "ratio"), cJSON_GetNumberValue(cJSON_GetArrayItem(ends, 0)),
           cJSON_GetNumberValue(cJSON_GetArrayItem(ends, 1)), mz_json_number_or_nan(row, "n"),
           strcmp(mz_json_text_or_empty(row, "metric"), "wall_s") != 0 ? "  (second half)" : "");
  }
  print_segments(summary);
  printf("\n");
  cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(summary, "ratios")) if (mz_json_text_or_empty(row, "claim")[0])
      printf("Claim%s: %s.\n", simulated ? ", simulated" : "", mz_json_text_or_empty(row, "claim"));
  cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(summary, "sentences")) printf("%s\n", row->valuestring);
  printf("\n  report  %s/report.html\n", mz_text_shown(dir, shown));
}

static mz_status compare(const void *given) {
  const compare_arguments *arguments = given;
  mz_signals_handle(); /* the arms' processes inherit it, and leave stopping to this one */
  bool json = arguments->session.json;
  mz_compare_options compared = {.run = mz_session_run_options(&arguments->session),
                                 .arms = arguments->arms,
                                 .seeds = (int)arguments->seeds,
                                 .dir = arguments->dir,
                                 .limits = mz_session_limits(&arguments->session),
                                 .scenario = arguments->scenario,
                                 .machine = arguments->machine,
                                 .block_phases = (int)arguments->block};
  compared.run.env = arguments->env;
  compared.run.preset = arguments->preset;
  if (!arguments->session.history) compared.run.history = "none"; /* arms that adapt begin knowing nothing */
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
             "core-seconds and priced "
             "cost with 95 % intervals. Without a limit it stops at the preset's. A difference is claimed only where the "
             "interval excludes "
             "none, after Holm's correction, and where it exceeds what the first arm shows against its own twin. Arms that "
             "differ in exact "
             "knobs must end with the same digest; that is checked. Ctrl-C keeps finished seeds; the same command resumes it.",
    .options = options,
    .shared = mz_session_options,
    .arguments_size = sizeof(compare_arguments),
    .lists_settings = true,
    .examples = {"compare cartpole --seeds 5",
                 "compare tictactoe --arms rule,fixed:cpu_actor=1,mcts_storage_size=64,greedy --rounds 400 --run runs/c"},
    .run = compare,
};
