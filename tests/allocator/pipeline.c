#include "allocator/pipeline/pipeline.h"
#include "invented.h"

/* ---- JSON ---- */

static void assert_same_stage(const mz_pipeline_stage *a, const mz_pipeline_stage *b) {
  assert_string_equal(a->name, b->name);
  assert_int_equal(a->step, b->step);
  assert_int_equal(a->threads, b->threads);
  assert_int_equal(a->batch, b->batch);
  assert_int_equal(a->device, b->device);
  assert_int_equal(a->gives_way, b->gives_way);
  assert_true(a->items == b->items && a->groups == b->groups && a->serial == b->serial);
  assert_memory_equal(a->probes, b->probes, sizeof a->probes);
  assert_true(a->bytes_thread == b->bytes_thread && a->bytes_slot == b->bytes_slot);
}

static void assert_same(const mz_pipeline *a, const mz_pipeline *b) {
  assert_string_equal(a->name, b->name);
  assert_true(a->unit_samples == b->unit_samples);
  assert_true(a->handoff_s == b->handoff_s && a->bytes_fixed == b->bytes_fixed);
  assert_int_equal(a->store_count, b->store_count);
  for (int i = 0; i < a->store_count; i++) {
    assert_string_equal(a->stores[i].name, b->stores[i].name);
    assert_int_equal(a->stores[i].raw, b->stores[i].raw);
    assert_true(a->stores[i].bytes == b->stores[i].bytes && a->stores[i].packed == b->stores[i].packed);
  }
  assert_int_equal(a->stage_count, b->stage_count);
  assert_int_equal(a->queue_count, b->queue_count);
  assert_int_equal(a->device_count, b->device_count);
  assert_int_equal(a->knob_count, b->knob_count);
  for (int i = 0; i < a->stage_count; i++) assert_same_stage(&a->stages[i], &b->stages[i]);
  for (int i = 0; i < a->queue_count; i++) {
    const mz_pipeline_queue *p = &a->queues[i], *q = &b->queues[i];
    assert_string_equal(p->name, q->name);
    assert_true(p->from == q->from && p->to == q->to && p->capacity == q->capacity);
    assert_true(p->items == q->items && p->bytes == q->bytes && p->batched == q->batched);
  }
  for (int i = 0; i < a->device_count; i++) {
    const mz_device *p = &a->devices[i], *q = &b->devices[i];
    assert_string_equal(p->name, q->name);
    assert_true(p->kind == q->kind && p->cores == q->cores && p->whole_cores == q->whole_cores);
  }
  for (int i = 0; i < a->knob_count; i++) {
    const mz_knob *p = &a->knobs[i], *q = &b->knobs[i];
    assert_string_equal(p->name, q->name);
    assert_string_equal(p->setting, q->setting);
    assert_true(p->class_ == q->class_ && p->scale == q->scale && p->min == q->min && p->max == q->max);
  }
}

static void test_pipelines_come_back_from_json_the_same(void **state) {
  (void)state;
  for (uint32_t seed = 0; seed < 200; seed++) {
    mz_rng rng = mz_rng_at(seed, MZ_RNG_TEST, 0, 0);
    mz_pipeline pipeline, back;
    draw_pipeline(&rng, &pipeline);
    assert_int_equal(mz_pipeline_check(&pipeline), MZ_OK);
    cJSON *json = through_text(mz_pipeline_to_json(&pipeline));
    assert_int_equal(mz_pipeline_from_json(&back, json, "line", MZ_E_CHECKPOINT), MZ_OK);
    assert_same(&pipeline, &back);
    cJSON_Delete(json);
  }
}

static void test_plans_come_back_from_json_the_same(void **state) {
  (void)state;
  for (uint32_t seed = 0; seed < 200; seed++) {
    mz_rng rng = mz_rng_at(seed, MZ_RNG_TEST, 1, 0);
    mz_pipeline pipeline;
    draw_pipeline(&rng, &pipeline);
    const mz_plan plan = draw_plan(&rng, &pipeline);
    mz_plan back = {0};
    cJSON *json = through_text(mz_plan_to_json(&pipeline, &plan));
    assert_int_equal(mz_plan_from_json(&pipeline, &back, json, "line", MZ_E_CHECKPOINT), MZ_OK);
    assert_true(mz_plan_equal(&pipeline, &plan, &back));
    cJSON_Delete(json);
  }
}

static mz_status read_pipeline(const cJSON *json) {
  mz_pipeline pipeline = bakery();
  pipeline.name[0] = 'B';
  const mz_status status = mz_pipeline_from_json(&pipeline, json, "ledger.jsonl:1: pipeline", MZ_E_CHECKPOINT);
  if (status != MZ_OK) assert_string_equal(pipeline.name, "Bakery"); /* untouched */
  return status;
}

static void test_damaged_pipelines_are_refused_by_key(void **state) {
  (void)state;
  const mz_pipeline pipeline = bakery();
  cJSON *json = through_text(mz_pipeline_to_json(&pipeline));
  assert_int_equal(read_pipeline(json), MZ_OK);
  assert_true(damage_each(json, json, read_pipeline, "") > 100);
  assert_int_equal(read_pipeline(json), MZ_OK); /* all is as it was */
  cJSON_Delete(json);
}

static void expect_bakery_error(const char *find, const char *put, const char *message) {
  const mz_pipeline pipeline = bakery();
  expect_json_error(mz_pipeline_to_json(&pipeline), read_pipeline, find, put, message);
}

static void test_wrong_values_are_refused_with_where_they_are(void **state) {
  (void)state;
  expect_bakery_error("\"kind\":\"cpu\"", "\"kind\":\"cpus\"",
                      "ledger.jsonl:1: pipeline: devices[0]: 'kind' takes no 'cpus'; nearest valid value: cpu");
  expect_bakery_error("\"min\":4", "\"min\":4.5",
                      "ledger.jsonl:1: pipeline: knobs[3]: 'min' takes a whole number, 0 … 9007199254740992");
  expect_bakery_error("\"min\":4", "\"min\":5",
                      "ledger.jsonl:1: pipeline: pipeline 'bakery': knob 3 'shelves': min is above max");
  expect_bakery_error("\"step\":1", "\"step\":12", "ledger.jsonl:1: pipeline: stages[2]: 'step' takes a whole number, 0 … 11");
  expect_bakery_error("\"probe_s\":[0.002,", "\"probe_s\":[",
                      "ledger.jsonl:1: pipeline: stages[0]: 'probe_s' has 1 elements; 'probe_batch' has 2");
  expect_bakery_error("\"probe_s\":[0.002,", "\"probe_s\":[0.002,1,1,1,",
                      "ledger.jsonl:1: pipeline: stages[0]: 'probe_s' has 5 elements; at most 4");
  mz_pipeline timed = bakery();
  timed.stages[0].probes[MZ_DEVICE_CUDA] = (mz_probes){.batch = {8}, .cpu_s = {0.25}, .device_s = {0.5}};
  expect_json_error(mz_pipeline_to_json(&timed), read_pipeline, "\"device_s\":[0.5]", "\"device_s\":[]",
                    "ledger.jsonl:1: pipeline: stages[0]: probes_cuda: 'device_s' has 0 elements; 'batch' has 1");
  expect_bakery_error("\"bakers\"", "\"bakers who bake the bread of the day\"",
                      "ledger.jsonl:1: pipeline: knobs[2]: 'name' takes at most 31 bytes");
  expect_bakery_error("\"queues\":[{", "\"queues\":[7,{", "ledger.jsonl:1: pipeline: queues[0]: takes a JSON object");
  expect_bakery_error("\"items\":100", "\"items\":null", "ledger.jsonl:1: pipeline: stages[0]: 'items' takes a number");
}

static mz_status read_plan(const char *text, mz_plan *plan) {
  const mz_pipeline pipeline = bakery();
  cJSON *json = NULL;
  assert_int_equal(mz_json_parse(text, strlen(text), "text", false, MZ_E_CONFIG, &json), MZ_OK);
  const mz_status status = mz_plan_from_json(&pipeline, plan, json, "ledger.jsonl:2", MZ_E_CHECKPOINT);
  cJSON_Delete(json);
  return status;
}

static void test_plans_keep_what_json_lacks_and_refuse_what_it_should_not_have(void **state) {
  (void)state;
  const mz_pipeline pipeline = bakery();
  mz_plan plan = bakery_plan();
  assert_int_equal(read_plan("{\"bakers\":2,\"oven\":1}", &plan), MZ_OK);
  const mz_plan wanted = {.values = {4, 16, 2, 4, 1}};
  assert_true(mz_plan_equal(&pipeline, &plan, &wanted));

  static const char *const wrong[][2] = {
      {"{\"kneaders\":1,\"baker\":2}", "ledger.jsonl:2: unknown knob 'baker'; did you mean 'bakers'?"},
      {"{\"kneaders\":1,\"xyzzy\":2}",
       "ledger.jsonl:2: unknown knob 'xyzzy'; the knobs of a plan are kneaders, trays, bakers, shelves, oven"},
      {"{\"kneaders\":1,\"bakers\":\"2\"}", "ledger.jsonl:2: 'bakers' takes a whole number, 0 … 9007199254740992"},
      {"{\"kneaders\":1,\"bakers\":-1}", "ledger.jsonl:2: 'bakers' takes a whole number, 0 … 9007199254740992"},
      {"{\"kneaders\":1,\"bakers\":null}", "ledger.jsonl:2: 'bakers' takes a whole number, 0 … 9007199254740992"},
      {"[1]", "ledger.jsonl:2: takes a JSON object"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    assert_int_equal(read_plan(wrong[i][0], &plan), MZ_E_CHECKPOINT);
    assert_string_equal(mz_message(), wrong[i][1]);
    assert_true(mz_plan_equal(&pipeline, &plan, &wanted));
  }
}

/* ---- checks ---- */

static void check_fails(const mz_pipeline *pipeline, const char *message) {
  assert_int_equal(mz_pipeline_check(pipeline), MZ_E_CONFIG);
  assert_string_equal(mz_message(), message);
}

/* One field of the bakery is other than it should be. */

#define CHECK_FAILS(field, value, message)                                                                                       \
  do {                                                                                                                           \
    mz_pipeline wrong = bakery();                                                                                                \
    wrong.field = value;                                                                                                         \
    check_fails(&wrong, "pipeline 'bakery': " message);                                                                          \
  } while (0)

static void test_checks_name_the_part(void **state) {
  (void)state;
  const mz_pipeline right = bakery();
  assert_int_equal(mz_pipeline_check(&right), MZ_OK);
  CHECK_FAILS(stage_count, 0, "takes at least one stage");
  CHECK_FAILS(stage_count, 13, "13 stages; 0 … 12 can be described");
  CHECK_FAILS(knob_count, -1, "-1 knobs; 0 … 16 can be described");
  CHECK_FAILS(stages[1].name[0], '\0', "stage 1 '': takes a name of 1 … 31 bytes");
  CHECK_FAILS(devices[1].name[4], '0', "device 1 'cpu:0': the name is there twice");
  CHECK_FAILS(devices[1].cores, 0, "device 1 'cpu:1': a CPU device has at least 1 core");
  CHECK_FAILS(stages[1].threads, 5, "stage 1 'bake': threads: index 5 is not in -1 … 4");
  CHECK_FAILS(stages[1].batch, -2, "stage 1 'bake': batch: index -2 is not in -1 … 4");
  CHECK_FAILS(knobs[OVEN].max, 3, "stage 1 'bake': its device's knob reaches beyond the devices");
  CHECK_FAILS(stages[0].step, -1, "stage 0 'knead': step: index -1 is not in 0 … 11");
  CHECK_FAILS(stages[2].items, NAN, "stage 2 'pack': items: nan; takes a finite number of 0 or more");
  CHECK_FAILS(stages[2].bytes_slot, -1, "stage 2 'pack': bytes_slot: -1; takes a finite number of 0 or more");
  CHECK_FAILS(stages[2].serial, 1.5, "stage 2 'pack': serial is a share, at most 1");
  CHECK_FAILS(stages[0].probes[MZ_DEVICE_CPU].cpu_s[1], INFINITY,
              "stage 0 'knead': a probe's cpu_s: inf; takes a finite number of 0 or more");
  CHECK_FAILS(queues[0].to, 3, "queue 0 'dough': to: index 3 is not in 0 … 2");
  CHECK_FAILS(queues[0].from, -1, "queue 0 'dough': from: index -1 is not in 0 … 2");
  CHECK_FAILS(queues[0].capacity, 9, "queue 0 'dough': capacity: index 9 is not in -1 … 4");
  CHECK_FAILS(knobs[TRAYS].min, 26, "knob 1 'trays': min is above max");
  CHECK_FAILS(knobs[TRAYS].min, -1, "knob 1 'trays': takes a range within 0 … 2^53");
  CHECK_FAILS(bytes_fixed, -1, "unit_samples, handoff_s and bytes_fixed are finite and 0 or more");
  mz_pipeline no_cpu = bakery();
  no_cpu.devices[0].kind = no_cpu.devices[1].kind = MZ_DEVICE_CUDA;
  check_fails(&no_cpu, "pipeline 'bakery': takes at least one CPU device");
}

static void test_unknown_knobs_name_the_nearest(void **state) {
  (void)state;
  const mz_pipeline pipeline = bakery();
  int knob = 0;
  assert_int_equal(mz_pipeline_find_knob(&pipeline, "bakers", "--set", &knob), MZ_OK);
  assert_int_equal(knob, BAKERS);
  assert_int_equal(mz_pipeline_knob(&pipeline, "baker"), -1);
  assert_int_equal(mz_pipeline_find_knob(&pipeline, "baker", "--set", &knob), MZ_E_CONFIG);
  assert_string_equal(mz_message(), "--set: unknown knob 'baker'; did you mean 'bakers'?");
}

/* A knob is found by its name in records and by its setting's key, and shown by the latter. */
static void test_knobs_are_shown_as_settings(void **state) {
  (void)state;
  mz_pipeline pipeline = bakery(), back;
  snprintf(pipeline.knobs[BAKERS].setting, sizeof pipeline.knobs[BAKERS].setting, "staff.bakers");
  cJSON *json = mz_pipeline_to_json(&pipeline);
  assert_int_equal(mz_pipeline_from_json(&back, json, "line", MZ_E_CHECKPOINT), MZ_OK);
  cJSON_Delete(json);
  assert_same(&pipeline, &back);
  assert_int_equal(mz_pipeline_knob(&back, "bakers"), BAKERS);
  assert_int_equal(mz_pipeline_knob(&back, "staff.bakers"), BAKERS);
  mz_plan plan = {0}, other = {0};
  char text[200];
  other.values[BAKERS] = 2;
  mz_plan_text(&back, &other, &plan, text, sizeof text);
  assert_string_equal(text, "staff.bakers 2");
  json = mz_plan_to_json(&back, &other); /* records keep their names */
  assert_true(cJSON_HasObjectItem(json, "bakers"));
  cJSON_Delete(json);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_pipelines_come_back_from_json_the_same),
                                     cmocka_unit_test(test_plans_come_back_from_json_the_same),
                                     cmocka_unit_test(test_damaged_pipelines_are_refused_by_key),
                                     cmocka_unit_test(test_wrong_values_are_refused_with_where_they_are),
                                     cmocka_unit_test(test_plans_keep_what_json_lacks_and_refuse_what_it_should_not_have),
                                     cmocka_unit_test(test_checks_name_the_part),
                                     cmocka_unit_test(test_unknown_knobs_name_the_nearest),
                                     cmocka_unit_test(test_knobs_are_shown_as_settings)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
