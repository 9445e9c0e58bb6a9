#include "allocator/goodput/goodput.h"
#include "base/json/fields.h"

cJSON *mz_goodput_to_json(const mz_goodput_record *r, const mz_goodput_verdict *v) {
  const mz_goodput_evidence *e = &r->evidence;
  cJSON *o = cJSON_CreateObject();
  cJSON_AddStringToObject(o, "event", "goodput");
  cJSON_AddNumberToObject(o, "phase", (double)r->phase);
  cJSON_AddNumberToObject(o, "round", (double)r->round);
  cJSON_AddNumberToObject(o, "training", (double)r->training);
  cJSON_AddNumberToObject(o, "next", (double)r->next);
  cJSON_AddStringToObject(o, "reason", v->reason);
  cJSON_AddNumberToObject(o, "direction", v->direction);
  cJSON_AddNumberToObject(o, "reuse", v->reuse);
  cJSON_AddNumberToObject(o, "ratio", v->ratio);
  cJSON_AddNumberToObject(o, "best", v->best);
  cJSON_AddNumberToObject(o, "before", r->before.direction);
  cJSON_AddNumberToObject(o, "rests", r->before.rests);
  cJSON_AddNumberToObject(o, "fresh", e->fresh);
  cJSON_AddNumberToObject(o, "trained", e->trained);
  cJSON_AddNumberToObject(o, "fresh_s", e->fresh_s);
  cJSON_AddNumberToObject(o, "trained_s", e->trained_s);
  mz_fields_add_numbers(o, "rows", e->rows, MZ_GOODPUT_GROUPS);
  mz_fields_add_numbers(o, "passes", e->passes, MZ_GOODPUT_GROUPS);
  mz_fields_add_numbers(o, "loss", e->loss, MZ_GOODPUT_GROUPS);
  return o;
}

static mz_status read_groups(const mz_fields *f, const char *key, double out[MZ_GOODPUT_GROUPS]) {
  int count;
  MZ_TRY(mz_fields_measures(f, key, MZ_GOODPUT_GROUPS, out, &count));
  return count == MZ_GOODPUT_GROUPS ? MZ_OK : mz_fields_fail(f, key, "has %d numbers instead of %d", count, MZ_GOODPUT_GROUPS);
}

mz_status mz_goodput_from_json(mz_goodput_record *out, const cJSON *json, const char *where, mz_status code) {
  mz_goodput_record r = {0};
  mz_goodput_evidence *e = &r.evidence;
  mz_fields f;
  int rests;
  MZ_TRY(mz_fields_open(&f, json, where, code));
  MZ_TRY(mz_fields_whole(&f, "phase", 0, MZ_WHOLE_MAX, &r.phase));
  MZ_TRY(mz_fields_whole(&f, "round", 0, MZ_WHOLE_MAX, &r.round));
  MZ_TRY(mz_fields_whole(&f, "training", 1, MZ_WHOLE_MAX, &r.training));
  MZ_TRY(mz_fields_whole(&f, "next", 1, MZ_WHOLE_MAX, &r.next));
  MZ_TRY(mz_fields_int(&f, "before", -1, 1, &r.before.direction));
  MZ_TRY(mz_fields_int(&f, "rests", 0, 1, &rests));
  r.before.rests = rests != 0;
  MZ_TRY(mz_fields_number(&f, "fresh", &e->fresh));
  MZ_TRY(mz_fields_number(&f, "trained", &e->trained));
  MZ_TRY(mz_fields_number(&f, "fresh_s", &e->fresh_s));
  MZ_TRY(mz_fields_number(&f, "trained_s", &e->trained_s));
  MZ_TRY(read_groups(&f, "rows", e->rows));
  MZ_TRY(read_groups(&f, "passes", e->passes));
  MZ_TRY(read_groups(&f, "loss", e->loss));
  *out = r;
  return MZ_OK;
}
