#include "allocator/runs/stage_record.h"
#include <math.h>
#include <string.h>

const char *const mz_stage_decider_names[MZ_DECIDERS] = {"policy", "static", "replan"};

/* ---- writing ---- */

static void add_plans(cJSON *object, const char *key, uint32_t bits, int count) {
  cJSON *array = cJSON_AddArrayToObject(object, key);
  for (int p = 0; p < count; p++)
    if (bits >> p & 1) cJSON_AddItemToArray(array, cJSON_CreateNumber(p));
}

static void add_numbers(cJSON *object, const char *key, const double *values) {
  cJSON *o = cJSON_AddObjectToObject(object, key);
  for (int d = 0; d < MZ_DECIDERS; d++) cJSON_AddNumberToObject(o, mz_stage_decider_names[d], values[d]);
}

static cJSON *state_to_json(const mz_course_state *s) {
  cJSON *o = cJSON_CreateObject();
  cJSON_AddNumberToObject(o, "plan", s->plan);
  cJSON_AddNumberToObject(o, "seconds", s->seconds);
  cJSON_AddNumberToObject(o, "cost", s->cost);
  cJSON_AddNumberToObject(o, "score", s->score);
  cJSON_AddNumberToObject(o, "slope", s->slope);
  cJSON_AddNumberToObject(o, "noise_scale", s->noise_scale);
  mz_fields_add_numbers(o, "use", s->use, MZ_COURSE_RESOURCES);
  mz_fields_add_numbers(o, "stall", s->stall, MZ_COURSE_RESOURCES);
  cJSON_AddNumberToObject(o, "pace", s->pace);
  cJSON_AddNumberToObject(o, "yield", s->yield);
  return o;
}

cJSON *mz_stage_record_to_json(const mz_stage_record *r, int plan_count) {
  cJSON *o = cJSON_CreateObject();
  cJSON_AddStringToObject(o, "event", "stage");
  cJSON_AddNumberToObject(o, "phase", (double)r->phase);
  cJSON_AddNumberToObject(o, "round", (double)r->round);
  cJSON_AddNumberToObject(o, "stage", r->state.stage);
  mz_json_add_u64_hex(o, "course", r->course);
  mz_json_add_u64_hex(o, "policy", r->policy);
  cJSON_AddNumberToObject(o, "drives", r->drives);
  mz_json_add(o, "state", state_to_json(&r->state));
  add_plans(o, "mask", r->mask, plan_count);
  add_plans(o, "offered", r->offered, plan_count);
  cJSON *plans = cJSON_AddObjectToObject(o, "plans");
  for (int d = 0; d < MZ_DECIDERS; d++) cJSON_AddNumberToObject(plans, mz_stage_decider_names[d], r->plans[d]);
  add_numbers(o, "regrets", r->regrets);
  add_numbers(o, "sums", r->sums);
  cJSON_AddNumberToObject(o, "half_cost", r->half_cost);
  cJSON_AddNumberToObject(o, "chosen", r->chosen);
  cJSON_AddStringToObject(o, "reason", r->reason);
  return o;
}

cJSON *mz_stages_record_to_json(const mz_stages_record *r) {
  cJSON *o = cJSON_CreateObject();
  cJSON_AddStringToObject(o, "event", "stages");
  cJSON_AddNumberToObject(o, "phase", (double)r->phase);
  cJSON_AddNumberToObject(o, "round", (double)r->round);
  mz_json_add_u64_hex(o, "course", r->course);
  mz_json_add_u64_hex(o, "policy", r->policy);
  cJSON_AddNumberToObject(o, "drives", r->drives);
  cJSON_AddNumberToObject(o, "stages", r->stages);
  cJSON_AddNumberToObject(o, "complete", r->complete);
  cJSON_AddNumberToObject(o, "seconds", r->seconds);
  cJSON_AddNumberToObject(o, "cost", r->cost);
  cJSON_AddNumberToObject(o, "score", r->score);
  cJSON_AddNumberToObject(o, "violations", r->violations);
  add_numbers(o, "regrets", r->regrets);
  cJSON_AddNumberToObject(o, "early", r->early);
  cJSON_AddStringToObject(o, "reason", r->reason);
  return o;
}

cJSON *mz_stage_epoch_to_json(const mz_epoch *e) {
  cJSON *o = cJSON_CreateObject();
  cJSON_AddStringToObject(o, "event", "epoch");
  cJSON_AddNumberToObject(o, "number", e->number);
  cJSON_AddNumberToObject(o, "score", e->score);
  mz_fields_add_numbers(o, "use", e->use, MZ_COURSE_RESOURCES);
  mz_fields_add_numbers(o, "stall", e->stall, MZ_COURSE_RESOURCES);
  cJSON_AddNumberToObject(o, "noise_scale", e->noise_scale);
  return o;
}

/* ---- reading ---- */

static mz_status read_plans(const mz_fields *f, const char *key, uint32_t *bits) {
  double plans[MZ_COURSE_PLANS_MAX];
  int count;
  *bits = 0;
  MZ_TRY(mz_fields_measures(f, key, MZ_COURSE_PLANS_MAX, plans, &count));
  for (int i = 0; i < count; i++) {
    if (!(plans[i] >= 0 && plans[i] < MZ_COURSE_PLANS_MAX)) return mz_fields_fail(f, key, "takes numbers of plans");
    *bits |= UINT32_C(1) << (int)plans[i];
  }
  return MZ_OK;
}

static mz_status read_numbers(const mz_fields *f, const char *key, double *out) {
  mz_fields o;
  MZ_TRY(mz_fields_object(f, key, &o));
  for (int d = 0; d < MZ_DECIDERS; d++) MZ_TRY(mz_fields_number(&o, mz_stage_decider_names[d], &out[d]));
  return MZ_OK;
}

static mz_status read_shares(const mz_fields *f, const char *key, double *out) {
  int count;
  MZ_TRY(mz_fields_measures(f, key, MZ_COURSE_RESOURCES, out, &count));
  return count == MZ_COURSE_RESOURCES ? MZ_OK : mz_fields_fail(f, key, "takes %d numbers", MZ_COURSE_RESOURCES);
}

static mz_status read_state(const mz_fields *f, mz_course_state *s) {
  mz_fields o;
  MZ_TRY(mz_fields_int(f, "stage", 0, MZ_COURSE_STAGES_MAX, &s->stage));
  MZ_TRY(mz_fields_object(f, "state", &o));
  MZ_TRY(mz_fields_int(&o, "plan", -1, MZ_COURSE_PLANS_MAX - 1, &s->plan));
  MZ_TRY(mz_fields_number(&o, "seconds", &s->seconds));
  MZ_TRY(mz_fields_number(&o, "cost", &s->cost));
  MZ_TRY(mz_fields_number(&o, "score", &s->score));
  MZ_TRY(mz_fields_number(&o, "slope", &s->slope));
  MZ_TRY(mz_fields_number(&o, "noise_scale", &s->noise_scale));
  MZ_TRY(read_shares(&o, "use", s->use));
  MZ_TRY(read_shares(&o, "stall", s->stall));
  MZ_TRY(mz_fields_number(&o, "pace", &s->pace));
  return mz_fields_number(&o, "yield", &s->yield);
}

static mz_status read_bool(const mz_fields *f, const char *key, bool *out) {
  int number;
  MZ_TRY(mz_fields_int(f, key, 0, 1, &number));
  *out = number != 0;
  return MZ_OK;
}

mz_status mz_stage_record_from_json(mz_stage_record *out, const cJSON *json, const char *where, mz_status code) {
  mz_stage_record r = {0};
  mz_fields f, plans;
  MZ_TRY(mz_fields_open(&f, json, where, code));
  MZ_TRY(mz_fields_whole(&f, "phase", 0, MZ_WHOLE_MAX, &r.phase));
  MZ_TRY(mz_fields_whole(&f, "round", 0, MZ_WHOLE_MAX, &r.round));
  MZ_TRY(mz_json_get_u64_hex(json, "course", where, code, &r.course));
  MZ_TRY(mz_json_get_u64_hex(json, "policy", where, code, &r.policy));
  MZ_TRY(read_bool(&f, "drives", &r.drives));
  MZ_TRY(read_state(&f, &r.state));
  MZ_TRY(read_plans(&f, "mask", &r.mask));
  MZ_TRY(read_plans(&f, "offered", &r.offered));
  MZ_TRY(mz_fields_object(&f, "plans", &plans));
  for (int d = 0; d < MZ_DECIDERS; d++)
    MZ_TRY(mz_fields_int(&plans, mz_stage_decider_names[d], -1, MZ_COURSE_PLANS_MAX - 1, &r.plans[d]));
  MZ_TRY(read_numbers(&f, "regrets", r.regrets));
  MZ_TRY(read_numbers(&f, "sums", r.sums));
  MZ_TRY(mz_fields_measure(&f, "half_cost", &r.half_cost));
  MZ_TRY(mz_fields_int(&f, "chosen", -1, MZ_COURSE_PLANS_MAX - 1, &r.chosen));
  MZ_TRY(mz_fields_text(&f, "reason", r.reason, sizeof r.reason));
  *out = r;
  return MZ_OK;
}

mz_status mz_stages_record_from_json(mz_stages_record *out, const cJSON *json, const char *where, mz_status code) {
  mz_stages_record r = {0};
  mz_fields f;
  MZ_TRY(mz_fields_open(&f, json, where, code));
  MZ_TRY(mz_fields_whole(&f, "phase", 0, MZ_WHOLE_MAX, &r.phase));
  MZ_TRY(mz_fields_whole(&f, "round", 0, MZ_WHOLE_MAX, &r.round));
  MZ_TRY(mz_json_get_u64_hex(json, "course", where, code, &r.course));
  MZ_TRY(mz_json_get_u64_hex(json, "policy", where, code, &r.policy));
  MZ_TRY(read_bool(&f, "drives", &r.drives));
  MZ_TRY(mz_fields_int(&f, "stages", 0, MZ_COURSE_STAGES_MAX, &r.stages));
  MZ_TRY(read_bool(&f, "complete", &r.complete));
  MZ_TRY(mz_fields_number(&f, "seconds", &r.seconds));
  MZ_TRY(mz_fields_number(&f, "cost", &r.cost));
  MZ_TRY(mz_fields_number(&f, "score", &r.score));
  MZ_TRY(mz_fields_int(&f, "violations", 0, 3, &r.violations));
  MZ_TRY(read_numbers(&f, "regrets", r.regrets));
  MZ_TRY(mz_fields_measure(&f, "early", &r.early));
  MZ_TRY(mz_fields_text(&f, "reason", r.reason, sizeof r.reason));
  *out = r;
  return MZ_OK;
}

mz_status mz_stage_epoch_from_json(mz_epoch *out, const cJSON *json, const char *where, mz_status code) {
  mz_epoch e = {0};
  mz_fields f;
  MZ_TRY(mz_fields_open(&f, json, where, code));
  MZ_TRY(mz_fields_int(&f, "number", 1, INT32_MAX, &e.number));
  MZ_TRY(mz_fields_measure(&f, "score", &e.score));
  MZ_TRY(read_shares(&f, "use", e.use));
  MZ_TRY(read_shares(&f, "stall", e.stall));
  MZ_TRY(mz_fields_measure(&f, "noise_scale", &e.noise_scale));
  *out = e;
  return MZ_OK;
}
