/* Windows and observations as JSON. A measurement that is not a number is null. */
#include "base/json/fields.h"
#include "allocator/pipeline/telemetry.h"
#include <math.h>
#include <stddef.h>
#include <string.h>

/* A stage on cores has no seconds of a device, and for most others do not wait. */
enum { SAMPLE_NUMBERS_LEAST = 6, SAMPLE_NUMBERS_DEVICE, SAMPLE_NUMBERS };

/* A double of a struct, by its key. */
typedef struct number_at {
  const char *key;
  size_t offset;
} number_at;

static const number_at usage_numbers[] = {
    {"wall_s", offsetof(mz_usage, wall_s)},
    {"cpu_s", offsetof(mz_usage, cpu_s)},
    {"others_cpu_s", offsetof(mz_usage, others_cpu_s)},
    {"throttled_s", offsetof(mz_usage, throttled_s)},
    {"rss_bytes", offsetof(mz_usage, rss_bytes)},
    {"rss_peak_bytes", offsetof(mz_usage, rss_peak_bytes)},
    {"available_bytes", offsetof(mz_usage, available_bytes)},
    {"pressure_cpu", offsetof(mz_usage, pressure_cpu)},
    {"pressure_memory", offsetof(mz_usage, pressure_memory)},
    {"pressure_io", offsetof(mz_usage, pressure_io)},
    {"gpu_busy", offsetof(mz_usage, gpu_busy)},
    {"gpu_bytes", offsetof(mz_usage, gpu_bytes)},
    {"core_share_p95", offsetof(mz_usage, core_share_p95)},
};
enum { USAGE_NUMBERS = sizeof usage_numbers / sizeof *usage_numbers };

static const number_at training_numbers[] = {
    {"replay_fill", offsetof(mz_training_stage, replay_fill)},
    {"episode_length", offsetof(mz_training_stage, episode_length)},
    {"horizon", offsetof(mz_training_stage, horizon)},
    {"score_slope", offsetof(mz_training_stage, score_slope)},
};
enum { TRAINING_NUMBERS = sizeof training_numbers / sizeof *training_numbers };

/* ---- writing ---- */

static void write_numbers(cJSON *o, const number_at *numbers, int count, const void *from) {
  for (int i = 0; i < count; i++)
    cJSON_AddNumberToObject(o, numbers[i].key, *(const double *)((const char *)from + numbers[i].offset));
}

/* {"actor": [items, busy_s, cpu_s, wait_in_s, wait_out_s, elapsed_s], "learner": [likewise and device_s], "env": [likewise and
 * waited_for_s], …} */
static void write_stages(cJSON *parent, const mz_pipeline *pipeline, const mz_stage_sample *stages) {
  cJSON *o = cJSON_AddObjectToObject(parent, "stages");
  for (int i = 0; i < pipeline->stage_count; i++) {
    const mz_stage_sample *s = &stages[i];
    const double values[SAMPLE_NUMBERS] = {s->items,      s->busy_s,    s->cpu_s,    s->wait_in_s,
                                           s->wait_out_s, s->elapsed_s, s->device_s, s->waited_for_s};
    int count = SAMPLE_NUMBERS;
    while (count > SAMPLE_NUMBERS_LEAST && values[count - 1] == 0) count--;
    mz_fields_add_numbers(o, pipeline->stages[i].name, values, count);
  }
}

static void write_usage(cJSON *parent, const mz_usage *usage) {
  cJSON *o = cJSON_AddObjectToObject(parent, "usage");
  const char *missing[MZ_SENSOR_COUNT];
  int count = 0;
  for (int i = 0; i < MZ_SENSOR_COUNT; i++) {
    if (mz_usage_lacks(usage, (mz_sensor)i)) missing[count++] = mz_sensor_name((mz_sensor)i);
  }
  cJSON *names = cJSON_CreateStringArray(missing, count);
  mz_json_add(o, "missing", names);
  write_numbers(o, usage_numbers, USAGE_NUMBERS, usage);
  cJSON_AddNumberToObject(o, "samples", usage->samples);
}

static void write_training(cJSON *parent, const mz_training_stage *training) {
  write_numbers(cJSON_AddObjectToObject(parent, "training"), training_numbers, TRAINING_NUMBERS, training);
}

cJSON *mz_window_to_json(const mz_pipeline *pipeline, const mz_window *window) {
  cJSON *o = cJSON_CreateObject();
  if (window->number > 0) cJSON_AddNumberToObject(o, "number", (double)window->number);
  cJSON_AddNumberToObject(o, "phase", (double)window->phase);
  cJSON_AddNumberToObject(o, "round", (double)window->round);
  cJSON_AddNumberToObject(o, "units", window->units);
  cJSON_AddNumberToObject(o, "wall_s", window->wall_s);
  mz_fields_add_numbers(o, "round_s", window->round_s, window->round_count);
  write_stages(o, pipeline, window->stages);
  write_usage(o, &window->usage);
  write_training(o, &window->training);
  cJSON_AddNumberToObject(o, "score", window->score);
  return o;
}

cJSON *mz_observation_to_json(const mz_pipeline *pipeline, const mz_observation *observation) {
  cJSON *o = cJSON_CreateObject(), *plan = mz_plan_to_json(pipeline, &observation->plan);
  mz_json_add(o, "plan", plan);
  if (observation->run > 0) cJSON_AddNumberToObject(o, "run", observation->run);
  cJSON_AddNumberToObject(o, "unit_s", observation->unit_s);
  cJSON_AddNumberToObject(o, "round_s", observation->round_s);
  cJSON_AddNumberToObject(o, "noise", observation->noise);
  cJSON_AddNumberToObject(o, "rounds", observation->rounds);
  write_stages(o, pipeline, observation->stages);
  cJSON_AddNumberToObject(o, "cpu_s", observation->cpu_s);
  cJSON_AddNumberToObject(o, "rss_bytes", observation->rss_bytes);
  cJSON_AddNumberToObject(o, "others", observation->others);
  cJSON_AddNumberToObject(o, "waiting", observation->waiting);
  cJSON_AddNumberToObject(o, "throttled", observation->throttled);
  write_training(o, &observation->training);
  return o;
}

/* ---- reading ---- */

static mz_status read_numbers(const mz_fields *f, const number_at *numbers, int count, void *into) {
  for (int i = 0; i < count; i++) MZ_TRY(mz_fields_measure(f, numbers[i].key, (double *)((char *)into + numbers[i].offset)));
  return MZ_OK;
}

static mz_status read_stages(const mz_fields *parent, const mz_pipeline *pipeline, mz_stage_sample stages[MZ_STAGES_MAX]) {
  mz_fields f;
  MZ_TRY(mz_fields_object(parent, "stages", &f));
  for (int i = 0; i < pipeline->stage_count; i++) {
    const char *name = pipeline->stages[i].name;
    double v[SAMPLE_NUMBERS] = {0};
    int count = 0;
    MZ_TRY(mz_fields_measures(&f, name, SAMPLE_NUMBERS, v, &count));
    if (count < SAMPLE_NUMBERS_LEAST)
      return mz_fields_fail(&f, name, "has %d elements; takes %d to %d", count, SAMPLE_NUMBERS_LEAST, SAMPLE_NUMBERS);
    stages[i] = (mz_stage_sample){.items = v[0],
                                  .busy_s = v[1],
                                  .cpu_s = v[2],
                                  .wait_in_s = v[3],
                                  .wait_out_s = v[4],
                                  .elapsed_s = v[5],
                                  .device_s = v[6],
                                  .waited_for_s = v[7]};
  }
  const int count = cJSON_GetArraySize(f.object);
  if (count == pipeline->stage_count) return MZ_OK;
  return mz_fields_fail(parent, "stages", "has %d stages; the pipeline has %d", count, pipeline->stage_count);
}

static mz_status read_missing(const mz_fields *f, uint32_t *missing) {
  const cJSON *array = NULL;
  int count = 0;
  MZ_TRY(mz_fields_array(f, "missing", MZ_SENSOR_COUNT, &array, &count));
  for (const cJSON *item = array->child; item != NULL; item = item->next) {
    int sensor = 0;
    while (sensor < MZ_SENSOR_COUNT &&
           (!cJSON_IsString(item) || strcmp(item->valuestring, mz_sensor_name((mz_sensor)sensor)) != 0))
      sensor++;
    if (sensor == MZ_SENSOR_COUNT) return mz_fields_fail(f, "missing", "takes names of sensors");
    *missing |= 1u << sensor;
  }
  return MZ_OK;
}

static mz_status read_usage(const mz_fields *parent, mz_usage *usage) {
  mz_fields f;
  MZ_TRY(mz_fields_object(parent, "usage", &f));
  MZ_TRY(read_missing(&f, &usage->missing));
  MZ_TRY(read_numbers(&f, usage_numbers, USAGE_NUMBERS, usage));
  return mz_fields_int(&f, "samples", 0, INT32_MAX, &usage->samples);
}

/* Windows and observations of earlier versions have none. */
static mz_status read_training(const mz_fields *parent, mz_training_stage *training) {
  mz_fields f;
  *training = mz_training_stage_unknown();
  if (!cJSON_HasObjectItem(parent->object, "training")) return MZ_OK;
  MZ_TRY(mz_fields_object(parent, "training", &f));
  return read_numbers(&f, training_numbers, TRAINING_NUMBERS, training);
}

mz_status mz_window_from_json(const mz_pipeline *pipeline, mz_window *window, const cJSON *json, const char *where,
                              mz_status code) {
  mz_window w = {0};
  mz_fields f;
  MZ_TRY(mz_fields_open(&f, json, where, code));
  if (cJSON_HasObjectItem(f.object, "number")) MZ_TRY(mz_fields_whole(&f, "number", 1, MZ_WHOLE_MAX, &w.number));
  MZ_TRY(mz_fields_whole(&f, "phase", 0, MZ_WHOLE_MAX, &w.phase));
  MZ_TRY(mz_fields_whole(&f, "round", 0, MZ_WHOLE_MAX, &w.round));
  MZ_TRY(mz_fields_measure(&f, "units", &w.units));
  MZ_TRY(mz_fields_measure(&f, "wall_s", &w.wall_s));
  MZ_TRY(mz_fields_measures(&f, "round_s", MZ_WINDOW_ROUNDS_MAX, w.round_s, &w.round_count));
  MZ_TRY(read_stages(&f, pipeline, w.stages));
  MZ_TRY(read_usage(&f, &w.usage));
  MZ_TRY(read_training(&f, &w.training));
  MZ_TRY(mz_fields_measure(&f, "score", &w.score));
  *window = w;
  return MZ_OK;
}

/* Every knob of the pipeline and no other: what was measured under other knobs says nothing of these. */
static mz_status read_plan(const mz_fields *parent, const mz_pipeline *pipeline, mz_plan *plan) {
  mz_fields f;
  MZ_TRY(mz_fields_object(parent, "plan", &f));
  for (int i = 0; i < pipeline->knob_count; i++) {
    MZ_TRY(mz_fields_whole(&f, pipeline->knobs[i].name, 0, MZ_WHOLE_MAX, &plan->values[i]));
  }
  return mz_plan_from_json(pipeline, plan, f.object, f.where, f.code);
}

/* Observations of earlier versions have none of it. */
static mz_status read_surroundings(const mz_fields *f, mz_observation *o) {
  const char *const keys[] = {"others", "waiting", "throttled"};
  double *const values[] = {&o->others, &o->waiting, &o->throttled};
  bool any = false;
  for (int i = 0; i < 3; i++) any = any || cJSON_HasObjectItem(f->object, keys[i]);
  for (int i = 0; i < 3; i++) {
    *values[i] = NAN;
    if (any) MZ_TRY(mz_fields_measure(f, keys[i], values[i]));
  }
  return MZ_OK;
}

mz_status mz_observation_from_json(const mz_pipeline *pipeline, mz_observation *observation, const cJSON *json, const char *where,
                                   mz_status code) {
  mz_observation o = {0};
  mz_fields f;
  MZ_TRY(mz_fields_open(&f, json, where, code));
  MZ_TRY(read_plan(&f, pipeline, &o.plan));
  if (cJSON_HasObjectItem(f.object, "run")) MZ_TRY(mz_fields_int(&f, "run", 1, INT32_MAX, &o.run));
  MZ_TRY(mz_fields_measure(&f, "unit_s", &o.unit_s));
  MZ_TRY(mz_fields_measure(&f, "round_s", &o.round_s));
  MZ_TRY(mz_fields_measure(&f, "noise", &o.noise));
  MZ_TRY(mz_fields_int(&f, "rounds", 0, INT32_MAX, &o.rounds));
  MZ_TRY(read_stages(&f, pipeline, o.stages));
  MZ_TRY(mz_fields_measure(&f, "cpu_s", &o.cpu_s));
  MZ_TRY(mz_fields_measure(&f, "rss_bytes", &o.rss_bytes));
  MZ_TRY(read_surroundings(&f, &o));
  MZ_TRY(read_training(&f, &o.training));
  *observation = o;
  return MZ_OK;
}
