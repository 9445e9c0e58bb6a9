/* metrics.jsonl and the small files beside it, as series. */
#include "base/file/file.h"
#include "muzero/report/data.h"
#include "muzero/report/jsonl.h"
#include "muzero/run_score.h"
#include "muzero/settings.h"
#include "muzero/storage/phase_metric.h"
#include "muzero/storage/stored_env.h"
#include <math.h>
#include <string.h>

#define OWN_TIME "own_s" /* the sum of phase_s so far */

/* Series of the page: metrics (phase_metric.h), and OWN_TIME. */
static const char *const columns[] = {
    "phase",       "env_steps",    "wall_s",       OWN_TIME,           "score",       "loss",
    "policy_loss", "value_loss",   "reward_loss",  "prequential_loss", "noise_scale", "actor_busy",
    "batch_busy",  "learner_busy", "learner_wait", "batch_wait",       "env_busy",    "env_wait",
};
static const char *const sums[] = {"cpu_s", "reserved_core_s", "cost"};
enum { COLUMNS = sizeof columns / sizeof columns[0], SUMS = sizeof sums / sizeof sums[0], KNOBS_MAX = 32, WARNINGS_MAX = 16 };

/* A cell is a sum over the records of its row, divided when all are in. */
typedef struct table {
  int64_t stride, rows, records;
  double *cells;   /* (COLUMNS + KNOBS_MAX, rows) */
  int32_t *counts; /* the same shape */
  char knobs[KNOBS_MAX][64];
  int knob_count;
  double sums[SUMS], own_s;
  double best; /* score of an evaluation; NAN: none yet */
} table;

static void put(table *t, int column, bool mean, double value) {
  if (!isfinite(value)) return;
  const int64_t at = column * t->rows + t->records / t->stride;
  t->cells[at] = mean ? t->cells[at] + value : value;
  t->counts[at] = mean ? t->counts[at] + 1 : 1;
}

/* −1: no more fit. */
static int knob_column(table *t, const char *name) {
  for (int i = 0; i < t->knob_count; i++)
    if (strcmp(t->knobs[i], name) == 0) return COLUMNS + i;
  if (t->knob_count == KNOBS_MAX || strlen(name) >= sizeof t->knobs[0]) return -1;
  snprintf(t->knobs[t->knob_count], sizeof t->knobs[0], "%s", name);
  return COLUMNS + t->knob_count++;
}

static void put_record(table *t, const cJSON *record) {
  const cJSON *evaluated = cJSON_GetObjectItemCaseSensitive(record, "evaluated");
  t->own_s += mz_report_number(record, "phase_s");
  if (!cJSON_IsFalse(evaluated)) t->best = fmax(t->best, mz_report_number(record, "score"));
  for (int c = 0; c < COLUMNS; c++) {
    const mz_phase_metric *metric = mz_phase_metric_find(columns[c]);
    const mz_metric_rule rule = metric ? metric->rule : MZ_METRIC_LAST;
    if (rule == MZ_METRIC_EVALUATED && cJSON_IsFalse(evaluated)) continue;
    put(t, c, rule == MZ_METRIC_MEAN, metric ? mz_report_number(record, columns[c]) : t->own_s);
  }
  const cJSON *knob;
  cJSON_ArrayForEach(knob, cJSON_GetObjectItemCaseSensitive(record, "plan")) {
    const int column = knob->string ? knob_column(t, knob->string) : -1;
    if (column >= 0 && cJSON_IsNumber(knob)) put(t, column, false, knob->valuedouble);
  }
  for (int i = 0; i < SUMS; i++) t->sums[i] += mz_report_number(record, sums[i]); /* one record without it: there is no sum */
  t->records++;
}

static cJSON *column_series(table *t, int column) {
  const int64_t used = (t->records + t->stride - 1) / t->stride;
  double *cells = t->cells + column * t->rows;
  const int32_t *counts = t->counts + column * t->rows;
  for (int64_t i = 0; i < used; i++) cells[i] = counts[i] ? cells[i] / counts[i] : NAN;
  return mz_report_series(cells, used);
}

static void add_series(table *t, cJSON *to) {
  cJSON *series = cJSON_AddObjectToObject(to, "columns");
  for (int c = 0; c < COLUMNS; c++) cJSON_AddItemToObject(series, columns[c], column_series(t, c));
  cJSON *plan = cJSON_AddObjectToObject(to, "plan");
  for (int k = 0; k < t->knob_count; k++) cJSON_AddItemToObject(plan, t->knobs[k], column_series(t, COLUMNS + k));
}

/* Each diagnosis once, with the phase that first had it. */
static void add_warning(cJSON *warnings, const cJSON *record) {
  const cJSON *text = cJSON_GetObjectItemCaseSensitive(record, "warning");
  if (!cJSON_IsString(text)) return;
  cJSON *seen;
  cJSON_ArrayForEach(seen, warnings) {
    const cJSON *before = cJSON_GetObjectItemCaseSensitive(seen, "text");
    if (!cJSON_IsString(before) || strcmp(before->valuestring, text->valuestring) != 0) continue;
    cJSON *count = cJSON_GetObjectItemCaseSensitive(seen, "count");
    if (count) cJSON_SetNumberValue(count, count->valuedouble + 1);
    return;
  }
  if (cJSON_GetArraySize(warnings) == WARNINGS_MAX) return;
  cJSON *warning = cJSON_CreateObject();
  cJSON_AddStringToObject(warning, "text", text->valuestring);
  cJSON_AddNumberToObject(warning, "first", mz_report_number(record, "phase"));
  cJSON_AddNumberToObject(warning, "count", 1);
  cJSON_AddItemToArray(warnings, warning);
}

static mz_status read_metrics(mz_jsonl *lines, table *t, cJSON *to) {
  cJSON *warnings = cJSON_AddArrayToObject(to, "warnings"), *last = NULL;
  mz_status status;
  for (;;) {
    cJSON *record;
    MZ_TRY_CLEANUP(mz_jsonl_next(lines, &record));
    if (!record) break;
    const cJSON *event = cJSON_GetObjectItemCaseSensitive(record, "event");
    if (!cJSON_IsString(event) || strcmp(event->valuestring, "phase") != 0) {
      cJSON_Delete(record);
      continue;
    }
    put_record(t, record);
    add_warning(warnings, record);
    cJSON_Delete(last);
    last = record;
  }
  cJSON_AddNumberToObject(to, "phases", (double)t->records);
  cJSON_AddNumberToObject(to, "stride", (double)t->stride);
  cJSON_AddNumberToObject(to, "best_score", t->best);
  add_series(t, to);
  cJSON *totals = cJSON_AddObjectToObject(to, "sums");
  for (int i = 0; i < SUMS; i++) cJSON_AddNumberToObject(totals, sums[i], t->records ? t->sums[i] : NAN);
  if (last) cJSON_AddItemToObject(to, "last", last);
  return MZ_OK;
cleanup:
  cJSON_Delete(last);
  return status;
}

static mz_status add_metrics(const char *path, cJSON *to) {
  mz_jsonl lines;
  table t = {.best = NAN};
  mz_status status;
  MZ_TRY_CLEANUP(mz_jsonl_open(&lines, path));
  const int64_t count = mz_jsonl_count(&lines);
  t.stride = mz_report_stride(count);
  t.rows = (count + t.stride - 1) / t.stride;
  MZ_TRY_CLEANUP(mz_alloc(&t.cells, (size_t)(t.rows * (COLUMNS + KNOBS_MAX)), sizeof *t.cells));
  MZ_TRY_CLEANUP(mz_alloc(&t.counts, (size_t)(t.rows * (COLUMNS + KNOBS_MAX)), sizeof *t.counts));
  MZ_TRY_CLEANUP(read_metrics(&lines, &t, to));
cleanup:
  free(t.cells);
  free(t.counts);
  mz_jsonl_close(&lines);
  return status;
}

/* Members of a file, by path, under shorter names. */
static mz_status add_members(const char *dir, const char *file, const char *const (*members)[2], size_t count, cJSON *to) {
  char path[640];
  MZ_TRY(mz_path_join(path, sizeof path, dir, file));
  cJSON *json;
  MZ_TRY(mz_report_json(path, &json));
  for (size_t i = 0; i < count; i++) {
    const cJSON *item = mz_report_member(json, members[i][0]);
    if (item) cJSON_AddItemToObject(to, members[i][1], cJSON_Duplicate(item, true));
  }
  cJSON_Delete(json);
  return MZ_OK;
}

/* Leaves the name out where the environment or its opponent is not known. */
static mz_status add_score_name(const char *dir, cJSON *to) {
  char path[640], name[MZ_SCORE_NAME_MAX];
  MZ_TRY(mz_path_join(path, sizeof path, dir, "config.json"));
  cJSON *config;
  MZ_TRY(mz_report_json(path, &config));
  const cJSON *opponent = mz_report_member(config, "settings.eval.opponent");
  const mz_env *found;
  if (mz_stored_env_find(config, dir, path, MZ_E_CONFIG, &found) == MZ_OK)
    cJSON_AddStringToObject(to, "score_name", mz_score_name(found, cJSON_IsString(opponent) ? opponent->valuestring : "", name));
  cJSON_Delete(config);
  return MZ_OK;
}

static mz_status add_all(const char *dir, cJSON *to) {
  static const char *const of_config[][2] = {
      {"env", "env"}, {"seed", "seed"}, {"settings.train.target", "target"}, {"settings.allocate.strategy", "strategy"}};
  static const char *const of_machine[][2] = {{"muzero", "version"}, {"isa", "isa"}, {"cores", "cores"}};
  MZ_TRY(add_members(dir, "config.json", of_config, sizeof of_config / sizeof of_config[0], to));
  if (mz_report_number(to, "target") >= MZ_SCORE_NONE) cJSON_DeleteItemFromObjectCaseSensitive(to, "target");
  MZ_TRY(add_members(dir, "env.json", of_machine, sizeof of_machine / sizeof of_machine[0], to));
  MZ_TRY(add_score_name(dir, to));
  char path[640];
  MZ_TRY(mz_path_join(path, sizeof path, dir, "metrics.jsonl"));
  MZ_TRY(add_metrics(path, to));
  MZ_TRY(mz_path_join(path, sizeof path, dir, "ledger.jsonl"));
  cJSON *ledger = NULL;
  if (mz_file_exists(path)) MZ_TRY(mz_report_ledger(path, &ledger));
  cJSON_AddItemToObject(to, "ledger", ledger ? ledger : cJSON_CreateNull());
  return MZ_OK;
}

mz_status mz_report_run(const char *dir, const char *name, cJSON **out) {
  cJSON *run = cJSON_CreateObject();
  cJSON_AddStringToObject(run, "name", name);
  cJSON_AddStringToObject(run, "path", dir);
  const mz_status status = add_all(dir, run);
  if (status == MZ_OK)
    *out = run;
  else
    cJSON_Delete(run);
  return status;
}
