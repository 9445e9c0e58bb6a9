#include "muzero/compare/profile_record.h"
#include "base/file/file.h"
#include "base/json/json.h"
#include "base/maths/statistics.h"
#include <math.h>
#include <string.h>

enum { FILE_MOST = 64 << 20, SEEN_MAX = 4096, SERIALS_MAX = 256 };

typedef struct reader {
  mz_profile_record *out;
  const char *env;
  const mz_pipeline *pipeline;
  const mz_plan *plan;
  char where[MZ_MESSAGE_MAX / 2]; /* "--costs FILE: line 3" */
  double serials[SERIALS_MAX];
  int serial_count;
} reader;

static bool is_amount(double value) { return isfinite(value) && value >= 0; }

static mz_status read_stages(const reader *r, const cJSON *stages, mz_observation *out) {
  const cJSON *row;
  if (stages && !cJSON_IsObject(stages)) return mz_fail(MZ_E_CONFIG, "%s: stages: takes a JSON object", r->where);
  cJSON_ArrayForEach(row, stages) {
    int s = 0;
    while (s < r->pipeline->stage_count && strcmp(r->pipeline->stages[s].name, row->string) != 0) s++;
    if (s == r->pipeline->stage_count) return mz_fail(MZ_E_CONFIG, "%s: there is no stage '%s'", r->where, row->string);
    mz_stage_sample *stage = &out->stages[s];
    stage->items = mz_json_number_or_nan(row, "items");
    stage->busy_s = mz_json_number_or_nan(row, "busy_s");
    stage->cpu_s = mz_json_number_or_nan(row, "cpu_s");
    stage->elapsed_s = mz_json_number_or_nan(row, "elapsed_s");
    if (!is_amount(stage->items) || !is_amount(stage->busy_s) || !is_amount(stage->cpu_s) || !is_amount(stage->elapsed_s))
      return mz_fail(MZ_E_CONFIG, "%s: stage %s: items, busy_s, cpu_s and elapsed_s are numbers from 0 on", r->where,
                     row->string);
  }
  return MZ_OK;
}

static mz_status read_plan(reader *r, const cJSON *row) {
  mz_observation seen = {.plan = *r->plan};
  const cJSON *seconds;
  MZ_TRY(mz_plan_from_json(r->pipeline, &seen.plan, mz_json_item(row, "plan"), r->where, MZ_E_CONFIG));
  MZ_TRY(read_stages(r, mz_json_item(row, "stages"), &seen));
  cJSON_ArrayForEach(seconds, mz_json_item(row, "unit_s")) {
    seen.unit_s = cJSON_GetNumberValue(seconds);
    if (!(seen.unit_s > 0) || !isfinite(seen.unit_s)) return mz_fail(MZ_E_CONFIG, "%s: unit_s: not seconds above 0", r->where);
    if (r->out->count == SEEN_MAX) return mz_fail(MZ_E_CONFIG, "%s: more than %d measurements", r->where, SEEN_MAX);
    r->out->seen[r->out->count++] = seen;
  }
  return MZ_OK;
}

static mz_status read_profile(reader *r, const cJSON *profile) {
  const cJSON *row;
  const char *env = mz_json_text_or_empty(profile, "env");
  if (strcmp(env, r->env) != 0) return mz_fail(MZ_E_CONFIG, "%s: is a profile of '%s', not of %s", r->where, env, r->env);
  if (cJSON_IsString(mz_json_item(profile, "machine_simulated")))
    return mz_fail(MZ_E_CONFIG, "%s: its figures are simulated; what was measured is needed", r->where);
  const double serial = mz_json_number_or_nan(profile, "learner_serial");
  if (serial >= 0 && serial <= 1 && r->serial_count < SERIALS_MAX) r->serials[r->serial_count++] = serial;
  cJSON_ArrayForEach(row, mz_json_item(profile, "plans")) MZ_TRY(read_plan(r, row));
  return MZ_OK;
}

/* The last event of a profile has its plans; the others are passed over. */
static mz_status read_line(reader *r, const char *line, size_t size) {
  cJSON *json;
  MZ_TRY(mz_json_parse(line, size, r->where, false, MZ_E_CONFIG, &json));
  const mz_status status = cJSON_IsArray(mz_json_item(json, "plans")) ? read_profile(r, json) : MZ_OK;
  cJSON_Delete(json);
  return status;
}

static mz_status read_lines(reader *r, const char *path, const char *what, const char *text, size_t size) {
  const char *end = text + size;
  for (int number = 1; text < end; number++) {
    const char *newline = memchr(text, '\n', (size_t)(end - text)), *stop = newline ? newline : end;
    snprintf(r->where, sizeof r->where, "%s %s: line %d", what, path, number);
    if (stop > text) MZ_TRY(read_line(r, text, (size_t)(stop - text)));
    text = stop + 1;
  }
  if (r->out->count > 0) return MZ_OK;
  return mz_fail(MZ_E_CONFIG, "%s %s: holds no profile; `muzero profile %s --json` prints one", what, path, r->env);
}

mz_status mz_profile_record_read(mz_profile_record *out, const char *path, const char *what, const char *env,
                                 const mz_pipeline *pipeline, const mz_plan *plan) {
  reader *r;
  uint8_t *text = NULL;
  size_t size;
  *out = (mz_profile_record){.serial = NAN};
  MZ_TRY(mz_alloc(&r, 1, sizeof *r));
  *r = (reader){.out = out, .env = env, .pipeline = pipeline, .plan = plan};
  mz_status status;
  MZ_TRY_CLEANUP(mz_alloc(&out->seen, SEEN_MAX, sizeof *out->seen));
  MZ_TRY_CLEANUP(mz_file_read(path, FILE_MOST, &text, &size));
  MZ_TRY_CLEANUP(read_lines(r, path, what, (const char *)text, size));
  if (r->serial_count > 0) out->serial = mz_median(r->serials, r->serial_count);
cleanup:
  free(text);
  free(r);
  if (status != MZ_OK) mz_profile_record_free(out);
  return status;
}

void mz_profile_record_free(mz_profile_record *record) {
  free(record->seen);
  *record = (mz_profile_record){0};
}
