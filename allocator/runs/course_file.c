#include "allocator/runs/course_file.h"
#include "base/json/fields.h"
#include "base/file/file.h"
#include <math.h>
#include <string.h>

enum { FILE_BYTES_MAX = 1 << 22, STAGE_COUNT_MAX = 1 << 20 };

/* ---- writing ---- */

static cJSON *error_to_json(const mz_course_fit_error *error) {
  cJSON *o = cJSON_CreateObject();
  cJSON_AddNumberToObject(o, "seconds", error->seconds);
  cJSON_AddNumberToObject(o, "score", error->score);
  cJSON_AddNumberToObject(o, "seconds_noise", error->seconds_noise);
  cJSON_AddNumberToObject(o, "score_noise", error->score_noise);
  cJSON_AddNumberToObject(o, "seconds_count", error->seconds_count);
  cJSON_AddNumberToObject(o, "score_count", error->score_count);
  return o;
}

static cJSON *fitted_to_json(const mz_fitted_course *fitted, const mz_pipeline *pipeline) {
  cJSON *o = cJSON_CreateObject();
  cJSON_AddNumberToObject(o, "version", MZ_FITTED_VERSION);
  cJSON_AddStringToObject(o, "env", fitted->env);
  cJSON_AddStringToObject(o, "network", fitted->network);
  cJSON_AddStringToObject(o, "learning", fitted->learning);
  if (fitted->simulated[0]) cJSON_AddStringToObject(o, "simulated", fitted->simulated);
  cJSON_AddNumberToObject(o, "epochs", fitted->epochs);
  cJSON *plans = cJSON_AddArrayToObject(o, "plans"), *composed = cJSON_AddArrayToObject(o, "composed");
  for (int p = 0; p < fitted->course.plans; p++) {
    cJSON_AddItemToArray(plans, mz_plan_to_json(pipeline, &fitted->plans[p]));
    cJSON_AddItemToArray(composed, cJSON_CreateNumber(fitted->composed[p]));
  }
  mz_json_add(o, "error", error_to_json(&fitted->error));
  cJSON_AddStringToObject(o, "notes", fitted->notes);
  return o;
}

mz_status mz_course_file_write(const char *path, const mz_fitted_course *fitted, const mz_pipeline *pipeline) {
  cJSON *json = mz_course_to_json(&fitted->course);
  mz_json_add(json, "fitted", fitted_to_json(fitted, pipeline));
  char *text = mz_json_page(json);
  cJSON_Delete(json);
  if (text == NULL) return mz_fail(MZ_E_MEMORY, "%s: no memory to write a course", path);
  const mz_status status = mz_file_write_output(path, text, strlen(text));
  free(text);
  return status;
}

/* ---- reading ---- */

static mz_status read_error(const mz_fields *fitted, mz_course_fit_error *out) {
  mz_fields f;
  MZ_TRY(mz_fields_object(fitted, "error", &f));
  MZ_TRY(mz_fields_measure(&f, "seconds", &out->seconds));
  MZ_TRY(mz_fields_measure(&f, "score", &out->score));
  MZ_TRY(mz_fields_measure(&f, "seconds_noise", &out->seconds_noise));
  MZ_TRY(mz_fields_measure(&f, "score_noise", &out->score_noise));
  MZ_TRY(mz_fields_int(&f, "seconds_count", 0, STAGE_COUNT_MAX, &out->seconds_count));
  MZ_TRY(mz_fields_int(&f, "score_count", 0, STAGE_COUNT_MAX, &out->score_count));
  out->usable = mz_course_fit_error_is_small(out);
  return MZ_OK;
}

static mz_status read_plans(const mz_fields *f, const mz_pipeline *pipeline, mz_fitted_course *out) {
  const cJSON *plans;
  double composed[MZ_COURSE_PLANS_MAX];
  int count, p = 0;
  MZ_TRY(mz_fields_array(f, "plans", MZ_COURSE_PLANS_MAX, &plans, &count));
  if (count != out->course.plans) return mz_fields_fail(f, "plans", "has %d plans, and the course %d", count, out->course.plans);
  for (const cJSON *item = plans->child; item != NULL; item = item->next, p++) {
    char where[300];
    snprintf(where, sizeof where, "%.200s: fitted: plans[%d]", f->where, p);
    if (!cJSON_IsObject(item) || cJSON_GetArraySize(item) != pipeline->knob_count)
      return mz_fail(MZ_E_CONFIG, "%s: takes a value for each of the %d knobs of pipeline '%s'", where, pipeline->knob_count,
                     pipeline->name);
    MZ_TRY(mz_plan_from_json(pipeline, &out->plans[p], item, where, MZ_E_CONFIG));
  }
  MZ_TRY(mz_fields_measures(f, "composed", MZ_COURSE_PLANS_MAX, composed, &count));
  if (count != out->course.plans)
    return mz_fields_fail(f, "composed", "has %d numbers, and the course %d plans", count, out->course.plans);
  for (int i = 0; i < count; i++) out->composed[i] = composed[i] > 0;
  return MZ_OK;
}

static mz_status read_fitted(const mz_fields *root, const mz_pipeline *pipeline, mz_fitted_course *out) {
  mz_fields f;
  int version;
  if (!cJSON_HasObjectItem(root->object, "fitted"))
    return mz_fail(MZ_E_CONFIG,
                   "%s: this course was not fitted to runs ('fitted' is missing); `muzero plan ENV --course FILE` fits "
                   "one",
                   root->where);
  MZ_TRY(mz_fields_object(root, "fitted", &f));
  MZ_TRY(mz_fields_int(&f, "version", 0, 1 << 20, &version));
  if (version != MZ_FITTED_VERSION)
    return mz_fail(MZ_E_CONFIG, "%s: fitted: version %d: this program reads version %d; fit the course anew", root->where,
                   version, MZ_FITTED_VERSION);
  MZ_TRY(mz_fields_text(&f, "env", out->env, sizeof out->env));
  MZ_TRY(mz_fields_text(&f, "network", out->network, sizeof out->network));
  MZ_TRY(mz_fields_text(&f, "learning", out->learning, sizeof out->learning));
  if (cJSON_HasObjectItem(f.object, "simulated")) MZ_TRY(mz_fields_text(&f, "simulated", out->simulated, sizeof out->simulated));
  MZ_TRY(mz_fields_int(&f, "epochs", out->course.stages, 1 << 30, &out->epochs));
  MZ_TRY(mz_fields_text(&f, "notes", out->notes, sizeof out->notes));
  MZ_TRY(read_plans(&f, pipeline, out));
  return read_error(&f, &out->error);
}

static mz_status read_text(mz_fitted_course *out, const char *text, size_t size, const char *path, const mz_pipeline *pipeline) {
  cJSON *json;
  mz_fields root;
  MZ_TRY(mz_course_read(&out->course, text, size, path));
  MZ_TRY(mz_json_parse(text, size, path, true, MZ_E_CONFIG, &json));
  mz_status status = mz_fields_open(&root, json, path, MZ_E_CONFIG);
  if (status == MZ_OK) status = read_fitted(&root, pipeline, out);
  cJSON_Delete(json);
  return status;
}

mz_status mz_course_file_read(mz_fitted_course *out, const char *path, const mz_pipeline *pipeline) {
  uint8_t *text = NULL;
  size_t size;
  memset(out, 0, sizeof *out);
  MZ_TRY(mz_file_read(path, FILE_BYTES_MAX, &text, &size));
  const mz_status status = read_text(out, (const char *)text, size, path, pipeline);
  free(text);
  return status;
}
