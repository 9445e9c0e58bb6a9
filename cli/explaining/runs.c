#include "base/file/file.h"
#include "base/log.h"
#include "base/machine/clock.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/print.h"
#include "muzero/storage/run_list.h"
#include "muzero/storage/run_standing.h"
#include <math.h>
#include <string.h>

typedef struct runs_arguments {
  const char *folder;
  bool json;
} runs_arguments;

#define AT(field) offsetof(runs_arguments, field)
static const mz_option options[] = {
    {.name = "FOLDER",
     .type = MZ_OPTION_TEXT,
     .offset = AT(folder),
     .value = "optional",
     .help = "a folder of runs, or of folders of runs; by default " MZ_RUNS_FOLDER ", where `train` puts them"},
    {.name = "--json",
     .type = MZ_OPTION_SWITCH,
     .offset = AT(json),
     .class_ = MZ_OPERATIONAL,
     .help = "JSON on stdout; one line per run"},
    {0},
};

static double age_s(const mz_run_entry *entry) { return fmax(0, mz_clock_unix_s() - (double)entry->saved_ns * 1e-9); }

static const char *age_text(const mz_run_entry *entry, char out[MZ_TEXT_SIZE]) {
  const double days = age_s(entry) / 86400;
  if (entry->saved_ns < 0 || days < 2) return mz_text_time(entry->saved_ns < 0 ? NAN : age_s(entry), out);
  snprintf(out, MZ_TEXT_SIZE, "%.0f days", floor(days));
  return out;
}

/* Numbers that a damaged run does not tell are null. */
static mz_status print_as_json(const mz_run_entry *entry, const mz_run_standing *run) {
  const bool told = !run->damage[0];
  cJSON *object = cJSON_CreateObject();
  cJSON_AddStringToObject(object, "name", entry->path);
  cJSON_AddItemToObject(object, "env", run->env[0] ? cJSON_CreateString(run->env) : cJSON_CreateNull());
  if (told)
    mz_json_add_u64(object, "seed", run->seed);
  else
    cJSON_AddNullToObject(object, "seed");
  cJSON_AddNumberToObject(object, "rounds", told ? (double)run->counters.rounds : NAN);
  cJSON_AddNumberToObject(object, "env_steps", told ? (double)run->counters.env_steps : NAN);
  cJSON_AddNumberToObject(object, "updates", told ? (double)run->counters.updates : NAN);
  cJSON_AddNumberToObject(object, "score", run->score);
  cJSON_AddNumberToObject(object, "best_score", run->best_score);
  cJSON_AddNumberToObject(object, "wall_s", run->wall_s);
  cJSON_AddNumberToObject(object, "age_s", entry->saved_ns < 0 ? NAN : age_s(entry));
  cJSON_AddBoolToObject(object, "in_progress", run->locked);
  cJSON_AddItemToObject(object, "damage", told ? cJSON_CreateNull() : cJSON_CreateString(run->damage));
  return mz_print_json(object);
}

static void print_row(const mz_run_entry *entry, const mz_run_standing *run, int width) {
  char name[MZ_PRINTABLE_SIZE(MZ_RUN_PATH_MAX)], env[MZ_PRINTABLE_SIZE(sizeof run->env)],
      steps[MZ_TEXT_SIZE] = "-", rounds[MZ_TEXT_SIZE] = "-", score[MZ_TEXT_SIZE], wall[MZ_TEXT_SIZE], age[MZ_TEXT_SIZE],
      damage[MZ_SHOWN_SIZE];
  if (!run->damage[0]) {
    snprintf(rounds, sizeof rounds, "%lld", (long long)run->counters.rounds);
    mz_text_count((double)run->counters.env_steps, steps);
  }
  mz_text_printable(entry->path, name, sizeof name);
  width += (int)strlen(name) - mz_text_columns(name, strlen(name)); /* printf pads by bytes */
  printf("  %-*s %-14s %8s %8s %8s %9s %9s%s\n", width, name, run->env[0] ? mz_text_printable(run->env, env, sizeof env) : "-",
         rounds, steps, mz_text_number(run->score, score), mz_text_time(run->wall_s, wall), age_text(entry, age),
         run->locked ? "  in progress" : "");
  if (run->damage[0]) printf("    damaged: %s\n", mz_text_shown(run->damage, damage));
}

static void print_head(const mz_run_list *list, int *width) {
  *width = (int)strlen("run");
  for (int i = 0; i < list->count; i++) {
    char name[MZ_PRINTABLE_SIZE(MZ_RUN_PATH_MAX)];
    mz_text_printable(list->items[i].path, name, sizeof name);
    const int length = mz_text_columns(name, strlen(name));
    if (length > *width) *width = length;
  }
  printf("  %-*s %-14s %8s %8s %8s %9s %9s\n", *width, "run", "environment", "rounds", "moves", "score", "wall time", "age");
}

static mz_status print_all(const mz_run_list *list, bool json) {
  int width = 0;
  if (!json) print_head(list, &width);
  for (int i = 0; i < list->count; i++) {
    mz_run_standing run;
    MZ_TRY(mz_run_standing_read(list->items[i].path, &run));
    if (json)
      MZ_TRY(print_as_json(&list->items[i], &run));
    else
      print_row(&list->items[i], &run, width);
  }
  return MZ_OK;
}

static mz_status runs(const void *given) {
  const runs_arguments *arguments = given;
  const char *folder = arguments->folder ? arguments->folder : MZ_RUNS_FOLDER;
  if (!mz_file_exists(folder))
    return mz_fail(MZ_E_IO, "%s: there is no such folder%s", folder,
                   arguments->folder ? "" : "; `muzero train ENV` makes it, and `muzero runs FOLDER` lists another one");
  mz_run_list list;
  MZ_TRY(mz_run_list_read(&list, folder));
  mz_status status = MZ_OK;
  if (list.count > 0)
    status = print_all(&list, arguments->json);
  else
    mz_log_write(MZ_LOG_INFO, "%s: no runs here", folder);
  mz_run_list_deinit(&list);
  return status;
}

const mz_command mz_command_runs = {
    .name = "runs",
    .summary = "list the runs in a folder",
    .about =
        "Lists the runs in a folder and in the folders in it, the newest first, as their latest checkpoints tell: the last "
        "score, wall time of training, and how long ago they were saved. Runs that train now, or are damaged, are shown as such.",
    .options = options,
    .arguments_size = sizeof(runs_arguments),
    .examples = {"runs", "runs experiments/lr --json"},
    .run = runs,
};
