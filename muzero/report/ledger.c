/* ledger.jsonl: what was predicted and observed by phase, what the stages did, and the decisions. Read as JSON and not through
 * the allocator's types, so that a ledger of another version still shows what both know. */
#include "allocator/pipeline/pipeline.h"
#include "muzero/report/data.h"
#include "muzero/report/jsonl.h"
#include <math.h>
#include <string.h>

enum { PHASE, PREDICTED, LOW, HIGH, OBSERVED, VALUES };
enum { BUSY, WAIT_IN, WAIT_OUT, USES };
static const char *const value_keys[VALUES] = {"phase", "predicted", "low", "high", "observed"};
static const char *const use_keys[USES] = {"busy", "wait_in", "wait_out"};
static const int use_places[USES] = {1, 3, 4}; /* in a stage's array of a window (mz_window_to_json) */

/* One row for every `stride`-th decision that a window belongs to. */
typedef struct series {
  int64_t stride, rows, seen, used;
  double *values; /* (VALUES, rows) */
  double *uses;   /* (USES, MZ_STAGES_MAX, rows) threads */
  struct {
    char name[MZ_NAME_MAX], threads[MZ_NAME_MAX]; /* threads: the knob that sets them, or "" */
  } stages[MZ_STAGES_MAX];
  int stage_count;
} series;

static void copy_name(char out[MZ_NAME_MAX], const cJSON *of) {
  const cJSON *name = cJSON_GetObjectItemCaseSensitive(of, "name");
  snprintf(out, MZ_NAME_MAX, "%s", cJSON_IsString(name) ? name->valuestring : "");
}

static bool is_new_stage(const series *s, const char *name) {
  for (int i = 0; i < s->stage_count; i++)
    if (strcmp(s->stages[i].name, name) == 0) return false;
  return name[0] != '\0';
}

static void add_stages(series *s, const cJSON *open) {
  const cJSON *stage, *knobs = mz_report_member(open, "pipeline.knobs");
  if (s->stage_count > 0) return; /* a later section has the same pipeline */
  cJSON_ArrayForEach(stage, mz_report_member(open, "pipeline.stages")) {
    if (s->stage_count == MZ_STAGES_MAX) return;
    const double threads = mz_report_number(stage, "threads");
    char name[MZ_NAME_MAX];
    copy_name(name, stage);
    if (!is_new_stage(s, name)) continue;
    memcpy(s->stages[s->stage_count].name, name, sizeof name);
    copy_name(s->stages[s->stage_count].threads,
              threads >= 0 && threads < MZ_PLAN_KNOBS_MAX ? cJSON_GetArrayItem(knobs, (int)threads) : NULL);
    s->stage_count++;
  }
}

static void put_row(series *s, const cJSON *decision) {
  const cJSON *window = cJSON_GetObjectItemCaseSensitive(decision, "window");
  if (!cJSON_IsObject(window) || s->seen++ % s->stride != 0) return;
  for (int v = 0; v < VALUES; v++) s->values[v * s->rows + s->used] = mz_report_number(decision, value_keys[v]);
  const cJSON *stages = cJSON_GetObjectItemCaseSensitive(window, "stages");
  const bool measured = !(mz_report_number(window, "units") <= 0); /* a window without work holds no times */
  double wall = mz_report_number(window, "usage.wall_s");
  if (!(wall > 0)) wall = mz_report_number(window, "wall_s");
  for (int i = 0; i < s->stage_count; i++) {
    const cJSON *stage = cJSON_GetObjectItemCaseSensitive(stages, s->stages[i].name);
    for (int u = 0; u < USES; u++) {
      const cJSON *seconds = cJSON_GetArrayItem(stage, use_places[u]);
      s->uses[(u * MZ_STAGES_MAX + i) * s->rows + s->used] =
          cJSON_IsNumber(seconds) && measured && wall > 0 ? seconds->valuedouble / wall : NAN;
    }
  }
  s->used++;
}

typedef struct decisions { /* the table */
  cJSON *array, *newest;
  int count, left_out;
} decisions;

/* One more decision to keep, after one to keep. */
static void count_keep(cJSON *entry, const cJSON *decision) {
  cJSON *count = cJSON_GetObjectItemCaseSensitive(entry, "count");
  cJSON_SetNumberValue(count, count->valuedouble + 1);
  const cJSON *phase = cJSON_GetObjectItemCaseSensitive(decision, "phase");
  const cJSON *reason = cJSON_GetObjectItemCaseSensitive(decision, "reason");
  if (phase) cJSON_ReplaceItemInObjectCaseSensitive(entry, "until", cJSON_Duplicate(phase, true));
  if (reason) cJSON_ReplaceItemInObjectCaseSensitive(entry, "reason", cJSON_Duplicate(reason, true));
}

static void put_decision(decisions *d, const cJSON *decision) {
  static const char *const keys[] = {"phase",   "action", "reverted", "predictor", "observed",   "plan",   "next",
                                     "binding", "reason", "ratio",    "ratio_low", "ratio_high", "refused"};
  const cJSON *action = cJSON_GetObjectItemCaseSensitive(decision, "action");
  if (!cJSON_IsString(action)) return;
  const bool begins = !cJSON_HasObjectItem(decision, "window"), keep = !begins && strcmp(action->valuestring, "keep") == 0;
  if (keep && d->newest && cJSON_HasObjectItem(d->newest, "count")) {
    count_keep(d->newest, decision);
    return;
  }
  d->newest = cJSON_CreateObject();
  mz_report_copy(d->newest, decision, keys, sizeof keys / sizeof keys[0]);
  if (begins) cJSON_ReplaceItemInObjectCaseSensitive(d->newest, "action", cJSON_CreateString("begin"));
  if (keep) cJSON_AddNumberToObject(d->newest, "count", 1);
  if (keep) cJSON_AddNumberToObject(d->newest, "until", mz_report_number(decision, "phase"));
  cJSON_AddItemToArray(d->array, d->newest);
  if (++d->count <= MZ_POINTS_MAX) return;
  cJSON_DeleteItemFromArray(d->array, 0);
  d->count--;
  d->left_out++;
}

static mz_status read_ledger(mz_jsonl *lines, series *s, cJSON *to) {
  decisions d = {.array = cJSON_AddArrayToObject(to, "decisions")};
  for (;;) {
    cJSON *line;
    MZ_TRY(mz_jsonl_next(lines, &line));
    if (!line) break;
    const cJSON *event = cJSON_GetObjectItemCaseSensitive(line, "event");
    const cJSON *strategy = cJSON_GetObjectItemCaseSensitive(line, "strategy");
    const char *name = cJSON_IsString(event) ? event->valuestring : "";
    if (strcmp(name, "open") == 0) {
      add_stages(s, line);
      cJSON_DeleteItemFromObjectCaseSensitive(to, "strategy"); /* the newest section's */
      if (strategy) mz_json_add(to, "strategy", cJSON_Duplicate(strategy, true));
    } else if (strcmp(name, "decision") == 0) {
      put_row(s, line);
      put_decision(&d, line);
    }
    cJSON_Delete(line);
  }
  cJSON_AddNumberToObject(to, "left_out", d.left_out);
  return MZ_OK;
}

static void add_series(series *s, cJSON *to) {
  cJSON_AddNumberToObject(to, "stride", (double)s->stride);
  cJSON *stages = cJSON_AddArrayToObject(to, "stages");
  for (int i = 0; i < s->stage_count; i++) {
    cJSON *stage = cJSON_CreateObject();
    cJSON_AddStringToObject(stage, "name", s->stages[i].name);
    if (s->stages[i].threads[0]) cJSON_AddStringToObject(stage, "threads", s->stages[i].threads);
    cJSON_AddItemToArray(stages, stage);
  }
  cJSON *values = cJSON_AddObjectToObject(to, "series");
  for (int v = 0; v < VALUES; v++)
    cJSON_AddItemToObject(values, value_keys[v], mz_report_series(s->values + v * s->rows, s->used));
  for (int u = 0; u < USES; u++) {
    cJSON *use = cJSON_AddObjectToObject(to, use_keys[u]);
    for (int i = 0; i < s->stage_count; i++)
      cJSON_AddItemToObject(use, s->stages[i].name, mz_report_series(s->uses + (u * MZ_STAGES_MAX + i) * s->rows, s->used));
  }
}

mz_status mz_report_ledger(const char *path, cJSON **out) {
  mz_jsonl lines;
  series s = {0};
  cJSON *to = cJSON_CreateObject();
  mz_status status;
  MZ_TRY_CLEANUP(mz_jsonl_open(&lines, path));
  const int64_t count = mz_jsonl_count(&lines);
  s.stride = mz_report_stride(count);
  s.rows = (count + s.stride - 1) / s.stride;
  MZ_TRY_CLEANUP(mz_alloc(&s.values, (size_t)(s.rows * VALUES), sizeof *s.values));
  MZ_TRY_CLEANUP(mz_alloc(&s.uses, (size_t)(s.rows * USES * MZ_STAGES_MAX), sizeof *s.uses));
  MZ_TRY_CLEANUP(read_ledger(&lines, &s, to));
  add_series(&s, to);
  *out = to;
  to = NULL;
cleanup:
  cJSON_Delete(to);
  free(s.values);
  free(s.uses);
  mz_jsonl_close(&lines);
  return status;
}
