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
  assert_memory_equal(a->probe_batch, b->probe_batch, sizeof a->probe_batch);
  assert_memory_equal(a->probe_s, b->probe_s, sizeof a->probe_s);
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
    assert_true(p->items == q->items && p->bytes == q->bytes);
  }
  for (int i = 0; i < a->device_count; i++) {
    const mz_device *p = &a->devices[i], *q = &b->devices[i];
    assert_string_equal(p->name, q->name);
    assert_true(p->kind == q->kind && p->cores == q->cores);
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
  assert_true(damage_each(json, json, read_pipeline) > 100);
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
  CHECK_FAILS(stages[0].probe_s[1], INFINITY, "stage 0 'knead': probe_s: inf; takes a finite number of 0 or more");
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
  assert_string_equal(mz_message(), "--set unknown knob 'baker'; did you mean 'bakers'?");
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

/* ---- knobs ---- */

static bool is_power_of_two(int64_t value) { return value > 0 && (value & (value - 1)) == 0; }

static void test_log2_steps_reach_both_ends_and_come_back(void **state) {
  (void)state;
  mz_rng rng = mz_rng_at(5, MZ_RNG_TEST, 0, 0);
  for (int i = 0; i < 500; i++) {
    mz_knob knob = {.scale = MZ_SCALE_LOG2, .min = (int64_t)ldexp(mz_rng_f64(&rng), draw(&rng, 0, 30))};
    knob.max = knob.min + (int64_t)ldexp(mz_rng_f64(&rng), draw(&rng, 0, 52));
    int64_t way[64];
    int steps = 0;
    for (way[0] = knob.min; way[steps] < knob.max; steps++) {
      assert_true(steps + 1 < 64);
      way[steps + 1] = mz_knob_step(&knob, way[steps], 1);
      assert_true(way[steps + 1] > way[steps]);
      assert_true(way[steps] == 0 ? way[steps + 1] <= 1 : way[steps + 1] <= 2 * way[steps]);
      assert_true(way[steps + 1] == knob.max || is_power_of_two(way[steps + 1]));
    }
    assert_int_equal(way[steps], knob.max);
    assert_int_equal(mz_knob_step(&knob, knob.max, 1), knob.max);
    for (int64_t value = knob.max; steps > 0; steps--) {
      value = mz_knob_step(&knob, value, -1);
      assert_int_equal(value, way[steps - 1]);
    }
    assert_int_equal(mz_knob_step(&knob, knob.min, -1), knob.min);
  }
}

static void test_steps_between_powers_of_two_go_to_the_next_one(void **state) {
  (void)state;
  const mz_knob knob = {.scale = MZ_SCALE_LOG2, .min = 3, .max = 48};
  assert_int_equal(mz_knob_step(&knob, 3, 1), 4);
  assert_int_equal(mz_knob_step(&knob, 12, 1), 16);
  assert_int_equal(mz_knob_step(&knob, 12, -1), 8);
  assert_int_equal(mz_knob_step(&knob, 32, 1), 48);
  assert_int_equal(mz_knob_step(&knob, 48, -1), 32);
  assert_int_equal(mz_knob_step(&knob, 4, -1), 3);
  assert_int_equal(mz_knob_step(&knob, 1000, -1), 32); /* from within the range */
  assert_int_equal(mz_knob_step(&knob, 0, 1), 4);
}

static void test_choices_step_by_one(void **state) {
  (void)state;
  const mz_knob knob = {.scale = MZ_SCALE_CHOICE, .min = 0, .max = 5};
  for (int64_t value = 0; value <= 5; value++) {
    assert_int_equal(mz_knob_step(&knob, value, 1), value < 5 ? value + 1 : 5);
    assert_int_equal(mz_knob_step(&knob, value, -1), value > 0 ? value - 1 : 0);
  }
}

static void test_clamps_give_the_nearest_value_of_the_range(void **state) {
  (void)state;
  const mz_knob knob = {.min = 3, .max = 48}, pinned = {.min = 7, .max = 7};
  static const int64_t cases[][2] = {{INT64_MIN, 3}, {-1, 3}, {2, 3}, {3, 3}, {20, 20}, {48, 48}, {49, 48}, {INT64_MAX, 48}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_int_equal(mz_knob_clamp(&knob, cases[i][0]), cases[i][1]);
    assert_int_equal(mz_knob_clamp(&pinned, cases[i][0]), 7);
  }
}

/* ---- plans ---- */

static void test_plans_are_equal_by_the_pipelines_knobs(void **state) {
  (void)state;
  const mz_pipeline pipeline = bakery();
  mz_plan a = bakery_plan(), b = bakery_plan();
  b.values[BAKERY_KNOBS] = 99; /* no knob of this pipeline */
  assert_true(mz_plan_equal(&pipeline, &a, &b));
  for (int i = 0; i < BAKERY_KNOBS; i++) {
    b = a;
    b.values[i]++;
    assert_false(mz_plan_equal(&pipeline, &a, &b));
  }
}

static void test_plans_in_words(void **state) {
  (void)state;
  const mz_pipeline pipeline = bakery();
  const mz_plan plan = bakery_plan();
  mz_plan other = plan;
  other.values[KNEADERS] = 8;
  other.values[OVEN] = 2;
  char text[128];
  mz_plan_text(&pipeline, &plan, NULL, text, sizeof text);
  assert_string_equal(text, "kneaders 4 trays 16 bakers 1 oven cpu:0");
  mz_plan_text(&pipeline, &other, &plan, text, sizeof text);
  assert_string_equal(text, "kneaders 8 oven cuda:0");
  mz_plan_text(&pipeline, &plan, &plan, text, sizeof text);
  assert_string_equal(text, "");
  mz_plan_text(&pipeline, &plan, NULL, text, 20);
  assert_string_equal(text, "kneaders 4 trays 16");
}

static void test_stages_have_sizes_of_at_least_one(void **state) {
  (void)state;
  const mz_pipeline pipeline = bakery();
  const mz_plan plan = bakery_plan(), none = {0};
  assert_int_equal(mz_stage_threads(&pipeline, 0, &plan), 4);
  assert_int_equal(mz_stage_batch(&pipeline, 0, &plan), 16);
  assert_int_equal(mz_stage_threads(&pipeline, 2, &plan), 1);
  assert_int_equal(mz_stage_batch(&pipeline, 1, &plan), 1);
  assert_int_equal(mz_stage_threads(&pipeline, 0, &none), 1);
  for (int oven = 0; oven < 3; oven++) {
    mz_plan moved = plan;
    moved.values[OVEN] = oven;
    assert_int_equal(mz_stage_device(&pipeline, 1, &moved), oven);
    assert_int_equal(mz_stage_device(&pipeline, 0, &moved), 0);
  }
}

static void test_cores_are_those_of_the_largest_step(void **state) {
  (void)state;
  const mz_pipeline pipeline = bakery();
  static const struct {
    int64_t kneaders, bakers, oven;
    int cores;
  } cases[] = {
      {1, 1, 0, 2}, {2, 1, 0, 3},  {2, 8, 0, 4},  /* both on four cores */
      {2, 8, 1, 4}, {12, 1, 1, 5}, {12, 8, 1, 6}, /* on a set of cores each */
      {1, 1, 2, 2}, {4, 1, 2, 5},  {12, 8, 2, 6}, /* threads that feed the GPU */
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const mz_plan plan = {.values = {cases[i].kneaders, 1, cases[i].bakers, 4, cases[i].oven}};
    assert_int_equal(mz_plan_cores(&pipeline, &plan), cases[i].cores);
  }
  mz_pipeline packing = pipeline;
  packing.stages[2].threads = KNEADERS;
  packing.stages[0].threads = -1;
  const mz_plan plan = {.values = {3, 1, 1, 4, 0}};
  assert_int_equal(mz_plan_cores(&packing, &plan), 3); /* packing now takes most */
}

static void test_memory_and_its_sum_in_words(void **state) {
  (void)state;
  mz_pipeline pipeline = bakery();
  const mz_plan plan = bakery_plan();
  const double MiB = 1 << 20, wanted = 40 * MiB + 4 * (1.2 * MiB + 16 * (80 << 10)) + 4 * 2 * MiB;
  char text[256];
  assert_true(mz_plan_bytes(&pipeline, &plan, NULL, 0) == wanted);
  assert_true(mz_plan_bytes(&pipeline, &plan, text, sizeof text) == wanted);
  assert_string_equal(text, "fixed 40 MiB + knead 4 × (1.2 MiB + 16 × 80 KiB) + dough 4 × 2 MiB = 58 MiB");
  const mz_plan least = {.values = {1, 1, 1, 4, 0}};
  pipeline.store_count = 1; /* the first knob is 1: all but one byte is packed */
  pipeline.stores[0] = (mz_pipeline_store){.name = "flour", .bytes = 1025, .packed = 0.5};
  pipeline.stages[1].bytes_thread = 3e12;
  pipeline.queues[0].bytes = 0;
  mz_plan_bytes(&pipeline, &least, text, sizeof text);
  assert_string_equal(text, "fixed 40 MiB + knead (1.2 MiB + 80 KiB) + bake 2.7 TiB + flour 513 B = 2.7 TiB");
}

static void test_words_are_cut_between_code_points(void **state) {
  (void)state;
  const mz_pipeline pipeline = bakery();
  const mz_plan plan = bakery_plan();
  char whole[256];
  mz_plan_bytes(&pipeline, &plan, whole, sizeof whole);
  for (size_t size = 1; size <= strlen(whole) + 1; size++) {
    char cut[256];
    memset(cut, '#', sizeof cut);
    mz_plan_bytes(&pipeline, &plan, cut, size);
    const size_t length = strlen(cut);
    assert_true(length < size && length + 3 >= size); /* × is two bytes */
    assert_memory_equal(cut, whole, length);
    assert_true(((unsigned char)whole[length] & 0xC0) != 0x80);
    assert_int_equal(cut[size], '#');
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_pipelines_come_back_from_json_the_same),
      cmocka_unit_test(test_plans_come_back_from_json_the_same),
      cmocka_unit_test(test_damaged_pipelines_are_refused_by_key),
      cmocka_unit_test(test_wrong_values_are_refused_with_where_they_are),
      cmocka_unit_test(test_plans_keep_what_json_lacks_and_refuse_what_it_should_not_have),
      cmocka_unit_test(test_checks_name_the_part),
      cmocka_unit_test(test_unknown_knobs_name_the_nearest),
      cmocka_unit_test(test_knobs_are_shown_as_settings),
      cmocka_unit_test(test_log2_steps_reach_both_ends_and_come_back),
      cmocka_unit_test(test_steps_between_powers_of_two_go_to_the_next_one),
      cmocka_unit_test(test_choices_step_by_one),
      cmocka_unit_test(test_clamps_give_the_nearest_value_of_the_range),
      cmocka_unit_test(test_plans_are_equal_by_the_pipelines_knobs),
      cmocka_unit_test(test_plans_in_words),
      cmocka_unit_test(test_stages_have_sizes_of_at_least_one),
      cmocka_unit_test(test_cores_are_those_of_the_largest_step),
      cmocka_unit_test(test_memory_and_its_sum_in_words),
      cmocka_unit_test(test_words_are_cut_between_code_points),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
