#include "muzero/report/report.h"
#include "base/file/file.h"
#include "cli/commands.h"
#include "cli/print.h"
#include "cli/run_argument.h"

typedef struct report_arguments {
  mz_text_list runs;
  const char *out;
  bool json;
} report_arguments;

#define AT(field) offsetof(report_arguments, field)
static const mz_option options[] = {
    {.name = "RUN",
     .type = MZ_OPTION_LIST,
     .offset = AT(runs),
     .help = "directories of runs, of comparisons, or of seeds (what `train --seeds` leaves); another folder of runs stands for "
             "its newest"},
    {.name = "--out",
     .type = MZ_OPTION_TEXT,
     .offset = AT(out),
     .value = "FILE",
     .otherwise = "RUN/report.html",
     .class_ = MZ_OPERATIONAL,
     .help = "where to write the page; by default into the first RUN"},
    MZ_OPTION_JSON(AT(json)),
    {0},
};

/* A comparison's directory and that of seeds hold runs, too, and stand for all of them. */
static mz_status find_run(const char *given, char out[MZ_RUN_ARGUMENT_SIZE]) {
  char path[MZ_RUN_ARGUMENT_SIZE];
  const char *const own[] = {"metrics.jsonl", "compare.json"};
  bool whole = mz_file_is_dir(given) && mz_report_has_seeds(given);
  for (int i = 0; i < 2; i++) whole |= mz_path_join(path, sizeof path, given, own[i]) == MZ_OK && mz_file_exists(path);
  if (whole) {
    snprintf(out, MZ_RUN_ARGUMENT_SIZE, "%s", given);
    return MZ_OK;
  }
  return mz_run_argument_whole(given, "a report", out);
}

static mz_status report(const void *given) {
  const report_arguments *arguments = given;
  char path[4096];
  static char paths[MZ_LIST_MAX][MZ_RUN_ARGUMENT_SIZE];
  const char *runs[MZ_LIST_MAX];
  for (int i = 0; i < arguments->runs.count; i++) {
    MZ_TRY(find_run(arguments->runs.items[i], paths[i]));
    runs[i] = paths[i];
  }
  if (arguments->out)
    snprintf(path, sizeof path, "%s", arguments->out);
  else
    MZ_TRY(mz_path_join(path, sizeof path, runs[0], "report.html"));
  MZ_TRY(mz_report_write(path, runs, arguments->runs.count));
  if (!arguments->json) {
    char shown[MZ_PRINTABLE_SIZE(sizeof path)];
    printf("%s\n", mz_text_printable(path, shown, sizeof shown));
    return MZ_OK;
  }
  cJSON *object = cJSON_CreateObject();
  cJSON_AddStringToObject(object, "report", path);
  cJSON_AddNumberToObject(object, "runs", arguments->runs.count);
  return mz_print_json(object);
}

const mz_command mz_command_report = {
    .name = "report",
    .summary = "one HTML page with the plots of runs or of a comparison",
    .about =
        "Writes one self-contained page: score and loss, what the stages did, the plan, predictions against observations and "
        "decisions in words; of several runs of one environment their curves together; of seeds each one, their median, worst "
        "and best; of a comparison its table, intervals and claims. It opens in any browser, without a network.",
    .options = options,
    .arguments_size = sizeof(report_arguments),
    .examples = {"report runs/cp", "report runs/a runs/b --out both.html"},
    .run = report,
};
