#include "allocator/records/promise.h"
#include "base/json/fields.h"
#include <math.h>

enum { ENDS = 3 }; /* estimate, low, high */

static void add_interval(cJSON *o, const char *key, mz_interval interval) {
  mz_fields_add_numbers(o, key, (const double[ENDS]){interval.estimate, interval.low, interval.high}, ENDS);
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

static mz_status read_interval(const mz_fields *f, const char *key, mz_interval *out) {
  double ends[ENDS];
  int count;
  MZ_TRY(mz_fields_measures(f, key, ENDS, ends, &count));
  if (count != ENDS) return mz_fields_fail(f, key, "takes an estimate and two ends of its interval");
  *out = (mz_interval){ends[0], ends[1], ends[2]};
  return MZ_OK;
}

mz_status mz_promise_from_json(mz_promise *out, const cJSON *json, const char *where, mz_status code) {
  mz_fields f;
  MZ_TRY(mz_fields_open(&f, json, where, code));
  for (int r = 0; r < MZ_COURSE_RESOURCES; r++) MZ_TRY(mz_fields_number(&f, mz_course_resource_names[r], &out->amounts[r]));
  MZ_TRY(mz_fields_number(&f, "batch_size", &out->batch_size));
  MZ_TRY(mz_fields_whole(&f, "epochs", 1, MZ_WHOLE_MAX, &out->epochs));
  MZ_TRY(mz_fields_measure(&f, "deadline_s", &out->deadline_s));
  MZ_TRY(mz_fields_number(&f, "target", &out->target));
  MZ_TRY(mz_fields_measure(&f, "budget", &out->budget));
  MZ_TRY(read_interval(&f, "seconds", &out->seconds));
  MZ_TRY(read_interval(&f, "score", &out->score));
  return read_interval(&f, "cost", &out->cost);
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
