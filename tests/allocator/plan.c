/* Steps of knobs, plans in words, their cores and memory. */
#include "allocator/pipeline/allocation_settings.h"
#include "invented.h"

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

/* On a GPU a stage takes the GPU's memory, and less of the host's. */
static void test_memory_of_a_gpu(void **state) {
  (void)state;
  const double MiB = 1 << 20;
  mz_pipeline pipeline = bakery(), back;
  mz_plan plan = bakery_plan();
  char text[256];
  pipeline.stages[1].bytes_thread = 100 * MiB;
  pipeline.stages[1].batch = TRAYS;
  pipeline.stages[1].on_gpu = (mz_gpu_bytes){.host_thread = 2 * MiB, .fixed = 30 * MiB, .thread = 10 * MiB, .slot = MiB};
  pipeline.devices[2].memory = 100 * MiB;
  snprintf(pipeline.devices[2].model, sizeof pipeline.devices[2].model, "Oven 9");
  assert_true(mz_plan_gpu_bytes(&pipeline, &plan, 2, NULL, 0) == 0);
  const double on_cpu = mz_plan_bytes(&pipeline, &plan, NULL, 0);
  plan.values[OVEN] = 2;
  assert_true(fabs(mz_plan_bytes(&pipeline, &plan, NULL, 0) - (on_cpu - 98 * MiB)) < 1);
  plan.values[BAKERS] = 2;
  assert_true(mz_plan_gpu_bytes(&pipeline, &plan, 2, text, sizeof text) == 82 * MiB);
  assert_string_equal(text, "bake 30 MiB + 2 × (10 MiB + 16 × 1 MiB) = 82 MiB");
  assert_true(mz_plan_gpu_bytes(&pipeline, &plan, 0, NULL, 0) == 0);
  assert_int_equal(mz_plan_overfull(&pipeline, &plan), -1);
  const mz_bounds bounds = {.cpu_max = 6, .gpu_max = 1, .memory_max = 1e12};
  plan.values[BAKERS] = 4;
  assert_int_equal(mz_plan_overfull(&pipeline, &plan), 2);
  assert_string_equal(mz_plan_refused(&pipeline, &bounds, &plan), "limits.gpu_memory");
  assert_true(mz_plan_shrink(&pipeline, 1e12, &plan));
  assert_true(mz_plan_gpu_bytes(&pipeline, &plan, 2, NULL, 0) <= 100 * MiB);
  assert_int_equal(plan.values[KNEADERS], 4); /* what is not on the GPU stays */
  pipeline.devices[2].memory = 35 * MiB;
  assert_false(mz_plan_shrink(&pipeline, 1e12, &plan));
  cJSON *json = mz_pipeline_to_json(&pipeline);
  assert_int_equal(mz_pipeline_from_json(&back, json, "line", MZ_E_CHECKPOINT), MZ_OK);
  assert_memory_equal(&back.stages[1].on_gpu, &pipeline.stages[1].on_gpu, sizeof back.stages[1].on_gpu);
  assert_true(back.devices[2].memory == 35 * MiB);
  assert_string_equal(back.devices[2].model, "Oven 9");
  cJSON_Delete(json);
}

/* A knob that places a stage is narrowed to the devices next to each other that are alike. */
static void test_kinds_that_are_kept(void **state) {
  (void)state;
  static const char *const models[] = {"", "", "A", "B", "B", "A"};
  static const struct { int64_t at, min, max; } expected[] = {{0, 0, 1}, {1, 0, 1}, {2, 2, 2}, {3, 3, 4}, {4, 3, 4}, {5, 5, 5}};
  for (int i = 0; i < 6; i++) {
    mz_pipeline pipeline = bakery();
    mz_plan plan = bakery_plan();
    pipeline.device_count = 6;
    for (int d = 2; d < 6; d++) {
      pipeline.devices[d].kind = MZ_DEVICE_CUDA;
      snprintf(pipeline.devices[d].model, sizeof pipeline.devices[d].model, "%s", models[d]);
    }
    pipeline.knobs[OVEN].max = 5;
    plan.values[OVEN] = expected[i].at;
    mz_pipeline_keep_kinds(&pipeline, &plan);
    assert_int_equal(pipeline.knobs[OVEN].min, expected[i].min);
    assert_int_equal(pipeline.knobs[OVEN].max, expected[i].max);
    assert_int_equal(pipeline.knobs[BAKERS].max, 8);
  }
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
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_log2_steps_reach_both_ends_and_come_back),
                                     cmocka_unit_test(test_steps_between_powers_of_two_go_to_the_next_one),
                                     cmocka_unit_test(test_choices_step_by_one),
                                     cmocka_unit_test(test_clamps_give_the_nearest_value_of_the_range),
                                     cmocka_unit_test(test_plans_are_equal_by_the_pipelines_knobs),
                                     cmocka_unit_test(test_plans_in_words),
                                     cmocka_unit_test(test_stages_have_sizes_of_at_least_one),
                                     cmocka_unit_test(test_cores_are_those_of_the_largest_step),
                                     cmocka_unit_test(test_memory_and_its_sum_in_words),
                                     cmocka_unit_test(test_memory_of_a_gpu),
                                     cmocka_unit_test(test_kinds_that_are_kept),
                                     cmocka_unit_test(test_words_are_cut_between_code_points)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
