#include "allocator/records/promise.h"
#include <math.h>

static void add_interval(cJSON *o, const char *key, mz_interval interval) {
  cJSON_AddItemToObject(o, key, cJSON_CreateDoubleArray((const double[]){interval.estimate, interval.low, interval.high}, 3));
}

cJSON *mz_promise_to_json(const mz_promise *p) {
  cJSON *o = cJSON_CreateObject();
  cJSON_AddStringToObject(o, "event", "promise");
  cJSON_AddNumberToObject(o, "phase", 0);
  cJSON_AddNumberToObject(o, "round", 0);
  for (int r = 0; r < MZ_COURSE_RESOURCES; r++) cJSON_AddNumberToObject(o, mz_course_resource_names[r], p->amounts[r]);
  cJSON_AddNumberToObject(o, "batch_size", p->batch_size);
  cJSON_AddNumberToObject(o, "epochs", (double)p->epochs);
  cJSON_AddNumberToObject(o, "deadline_s", p->deadline_s);
  cJSON_AddNumberToObject(o, "target", p->target);
  cJSON_AddNumberToObject(o, "budget", p->budget);
  add_interval(o, "seconds", p->seconds);
  add_interval(o, "score", p->score);
  add_interval(o, "cost", p->cost);
  return o;
}

/* null: not finite. */
static double nth(const cJSON *list, int i) {
  const cJSON *item = cJSON_GetArrayItem(list, i);
  return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

static mz_status read_interval(const cJSON *json, const char *key, const char *where, mz_status code, mz_interval *out) {
  const cJSON *list = cJSON_GetObjectItemCaseSensitive(json, key);
  if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) != 3)
    return mz_fail(code, "%s: '%s' takes an estimate and two ends of its interval", where, key);
  *out = (mz_interval){nth(list, 0), nth(list, 1), nth(list, 2)};
  return MZ_OK;
}

mz_status mz_promise_from_json(mz_promise *out, const cJSON *json, const char *where, mz_status code) {
  double epochs;
  for (int r = 0; r < MZ_COURSE_RESOURCES; r++)
    MZ_TRY(mz_json_get_number(json, mz_course_resource_names[r], where, code, &out->amounts[r]));
  MZ_TRY(mz_json_get_number(json, "batch_size", where, code, &out->batch_size));
  MZ_TRY(mz_json_get_number(json, "epochs", where, code, &epochs));
  MZ_TRY(mz_json_get_number(json, "target", where, code, &out->target));
  out->epochs = (int64_t)epochs;
  out->deadline_s = mz_json_number_or_nan(json, "deadline_s");
  out->budget = mz_json_number_or_nan(json, "budget");
  MZ_TRY(read_interval(json, "seconds", where, code, &out->seconds));
  MZ_TRY(read_interval(json, "score", where, code, &out->score));
  return read_interval(json, "cost", where, code, &out->cost);
}

/* An end that is not finite bounds nothing. */
static bool within(double value, mz_interval interval) { return !(value < interval.low) && !(value > interval.high); }

cJSON *mz_kept_promise_to_json(const mz_promise *p, const mz_kept_promise *k) {
  cJSON *o = cJSON_CreateObject();
  cJSON_AddStringToObject(o, "event", "outcome");
  cJSON_AddNumberToObject(o, "phase", (double)k->phase);
  cJSON_AddNumberToObject(o, "round", (double)k->round);
  cJSON_AddStringToObject(o, "reason", k->reason);
  cJSON_AddNumberToObject(o, "epochs", (double)k->epochs);
  cJSON_AddNumberToObject(o, "seconds", k->seconds);
  cJSON_AddNumberToObject(o, "score", k->score);
  cJSON_AddNumberToObject(o, "cost", k->cost);
  cJSON_AddBoolToObject(o, "in_time", !(k->seconds > p->deadline_s));
  cJSON_AddBoolToObject(o, "reached", k->score >= p->target);
  cJSON_AddBoolToObject(o, "affordable", !(k->cost > p->budget));
  if (k->epochs != p->epochs) return o; /* it ended before its time: the intervals are of all epochs */
  cJSON_AddBoolToObject(o, "seconds_within", within(k->seconds, p->seconds));
  cJSON_AddBoolToObject(o, "score_within", within(k->score, p->score));
  cJSON_AddBoolToObject(o, "cost_within", within(k->cost, p->cost));
  return o;
}
