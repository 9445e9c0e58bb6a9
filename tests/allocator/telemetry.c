#include "allocator/pipeline/telemetry.h"
#include "invented.h"

/* ---- chance ---- */

/* A measurement: sometimes there is none. */
static double draw_measure(mz_rng *rng) { return draw(rng, 0, 9) == 0 ? NAN : draw_amount(rng); }

static void draw_stages(mz_rng *rng, int count, mz_stage_sample *out) {
  for (int i = 0; i < count; i++) {
    out[i] = (mz_stage_sample){.items = draw_measure(rng),
                               .busy_s = draw_measure(rng),
                               .cpu_s = draw_measure(rng),
                               .device_s = i % 2 ? draw_measure(rng) : 0,
                               .wait_in_s = draw_measure(rng),
                               .wait_out_s = draw_measure(rng),
                               .elapsed_s = draw_measure(rng),
                               .waited_for_s = i % 3 ? draw_measure(rng) : 0};
  }
}

static mz_training_stage draw_training(mz_rng *rng) {
  return (mz_training_stage){draw_measure(rng), draw_measure(rng), draw_measure(rng), -draw_measure(rng)};
}

enum { USAGE = 13 };
static void usage_values(const mz_usage *u, const double *out[USAGE]) {
  const double *const values[USAGE] = {&u->wall_s,          &u->cpu_s,          &u->others_cpu_s,    &u->throttled_s,
                                       &u->rss_bytes,       &u->rss_peak_bytes, &u->available_bytes, &u->pressure_cpu,
                                       &u->pressure_memory, &u->pressure_io,    &u->gpu_busy,        &u->gpu_bytes,
                                       &u->core_share_p95};
  memcpy(out, values, sizeof values);
}

static mz_window draw_window(mz_rng *rng, const mz_pipeline *pipeline) {
  mz_window w = {.phase = draw(rng, 0, 1 << 30), .round = (int64_t)(mz_rng_f64(rng) * 0x1p53), .units = draw_measure(rng)};
  w.wall_s = draw_measure(rng);
  w.score = draw_measure(rng) - draw_amount(rng);
  w.round_count = draw(rng, 0, MZ_WINDOW_ROUNDS_MAX);
  for (int i = 0; i < w.round_count; i++) w.round_s[i] = draw_measure(rng);
  draw_stages(rng, pipeline->stage_count, w.stages);
  w.usage = (mz_usage){.missing = mz_rng_below(rng, 1u << MZ_SENSOR_COUNT), .samples = draw(rng, 0, 1000)};
  const double *usage[USAGE];
  usage_values(&w.usage, usage);
  for (int i = 0; i < USAGE; i++) *(double *)usage[i] = draw_measure(rng);
  w.training = draw_training(rng);
  return w;
}

/* ---- comparing ---- */

static void assert_same_number(double a, double b) { assert_true(a == b || (isnan(a) && isnan(b))); }

static void assert_same_stages(const mz_stage_sample *a, const mz_stage_sample *b, int count) {
  assert_memory_equal(a, b, (size_t)count * sizeof *a); /* no measurement is the same NaN everywhere */
}

static void assert_same_usage(const mz_usage *a, const mz_usage *b) {
  assert_int_equal(a->missing, b->missing);
  assert_int_equal(a->samples, b->samples);
  const double *x[USAGE], *y[USAGE];
  usage_values(a, x);
  usage_values(b, y);
  for (int i = 0; i < USAGE; i++) assert_same_number(*x[i], *y[i]);
}

static void assert_same_training(const mz_training_stage *a, const mz_training_stage *b) {
  assert_same_number(a->replay_fill, b->replay_fill);
  assert_same_number(a->episode_length, b->episode_length);
  assert_same_number(a->horizon, b->horizon);
  assert_same_number(a->score_slope, b->score_slope);
}

static void assert_same_window(const mz_window *a, const mz_window *b, int stage_count) {
  assert_true(a->phase == b->phase && a->round == b->round);
  assert_same_number(a->units, b->units);
  assert_same_number(a->wall_s, b->wall_s);
  assert_int_equal(a->round_count, b->round_count);
  for (int i = 0; i < a->round_count; i++) assert_same_number(a->round_s[i], b->round_s[i]);
  assert_same_stages(a->stages, b->stages, stage_count);
  assert_same_usage(&a->usage, &b->usage);
  assert_same_training(&a->training, &b->training);
  assert_same_number(a->score, b->score);
}

/* ---- JSON ---- */

static void test_windows_come_back_from_json_the_same(void **state) {
  (void)state;
  for (uint32_t seed = 0; seed < 200; seed++) {
    mz_rng rng = mz_rng_at(seed, MZ_RNG_TEST, 2, 0);
    mz_pipeline pipeline;
    draw_pipeline(&rng, &pipeline);
    const mz_window window = draw_window(&rng, &pipeline);
    mz_window back;
    cJSON *json = through_text(mz_window_to_json(&pipeline, &window));
    assert_int_equal(mz_window_from_json(&pipeline, &back, json, "line", MZ_E_CHECKPOINT), MZ_OK);
    assert_same_window(&window, &back, pipeline.stage_count);
    cJSON_Delete(json);
  }
}

static void test_observations_come_back_from_json_the_same(void **state) {
  (void)state;
  for (uint32_t seed = 0; seed < 200; seed++) {
    mz_rng rng = mz_rng_at(seed, MZ_RNG_TEST, 3, 0);
    mz_pipeline pipeline;
    draw_pipeline(&rng, &pipeline);
    mz_observation observation = {.plan = draw_plan(&rng, &pipeline), .unit_s = draw_measure(&rng), .rounds = draw(&rng, 0, 99)};
    mz_observation back;
    double *const numbers[] = {&observation.round_s, &observation.noise,   &observation.cpu_s,    &observation.rss_bytes,
                               &observation.others,  &observation.waiting, &observation.throttled},
                  *const again[] = {&back.round_s, &back.noise,   &back.cpu_s,    &back.rss_bytes,
                                    &back.others,  &back.waiting, &back.throttled};
    enum { NUMBERS = sizeof numbers / sizeof *numbers };
    for (int i = 0; i < NUMBERS; i++) *numbers[i] = draw_measure(&rng);
    observation.training = draw_training(&rng);
    draw_stages(&rng, pipeline.stage_count, observation.stages);
    cJSON *json = through_text(mz_observation_to_json(&pipeline, &observation));
    assert_int_equal(mz_observation_from_json(&pipeline, &back, json, "line", MZ_E_CHECKPOINT), MZ_OK);
    assert_true(mz_plan_equal(&pipeline, &observation.plan, &back.plan));
    assert_same_number(observation.unit_s, back.unit_s);
    for (int i = 0; i < NUMBERS; i++) assert_same_number(*numbers[i], *again[i]);
    assert_int_equal(observation.rounds, back.rounds);
    assert_same_stages(observation.stages, back.stages, pipeline.stage_count);
    assert_same_training(&observation.training, &back.training);
    /* Earlier versions had nothing of what else happened, and nothing of the stage of training. */
    cJSON_DeleteItemFromObject(json, "others");
    cJSON_DeleteItemFromObject(json, "waiting");
    cJSON_DeleteItemFromObject(json, "throttled");
    cJSON_DeleteItemFromObject(json, "training");
    assert_int_equal(mz_observation_from_json(&pipeline, &back, json, "line", MZ_E_CHECKPOINT), MZ_OK);
    assert_true(isnan(back.others) && isnan(back.waiting) && isnan(back.throttled));
    const mz_training_stage unknown = mz_training_stage_unknown();
    assert_same_training(&back.training, &unknown);
    cJSON_Delete(json);
  }
}

static mz_window bakery_window(void) {
  mz_window window = {
      .phase = 3, .round = 40, .units = 8, .wall_s = 12, .round_count = 3, .round_s = {1.5, 1, 1.25}, .score = NAN};
  window.stages[0] = (mz_stage_sample){.items = 800, .busy_s = 16, .cpu_s = 12, .wait_in_s = 2, .wait_out_s = 4, .elapsed_s = 8};
  window.stages[1] = (mz_stage_sample){.items = 80, .busy_s = 4, .cpu_s = 4, .wait_in_s = 1, .elapsed_s = 5};
  window.usage = (mz_usage){
      .missing = 1u << MZ_SENSOR_GPU | 1u << MZ_SENSOR_THROTTLED, .wall_s = 12, .cpu_s = 20, .rss_bytes = 5e7, .samples = 48};
  window.training = (mz_training_stage){.replay_fill = 0.5, .episode_length = 7.5, .horizon = NAN, .score_slope = -0.125};
  return window;
}

static void test_windows_as_text(void **state) {
  (void)state;
  const mz_pipeline pipeline = bakery();
  const mz_window window = bakery_window();
  cJSON *json = mz_window_to_json(&pipeline, &window);
  char *line = mz_json_line(json);
  assert_string_equal(
      line, "{\"phase\":3,\"round\":40,\"units\":8,\"wall_s\":12,\"round_s\":[1.5,1,1.25],\"stages\":{\"knead\":[800,16,12,2,"
            "4,8],\"bake\":[80,4,4,1,0,5],\"pack\":[0,0,0,0,0,0]},\"usage\":{\"missing\":[\"throttled\",\"gpu\"],\"wall_s\":"
            "12,\"cpu_s\":20,\"others_cpu_s\":0,\"throttled_s\":0,\"rss_bytes\":50000000,\"rss_peak_bytes\":0,"
            "\"available_bytes\":0,\"pressure_cpu\":0,\"pressure_memory\":0,\"pressure_io\":0,\"gpu_busy\":0,\"gpu_bytes\":"
            "0,\"core_share_p95\":0,\"samples\":48},\"training\":{\"replay_fill\":0.5,\"episode_length\":7.5,\"horizon\":null,"
            "\"score_slope\":-0.125},"
            "\"score\":null}");
  free(line);
  cJSON_Delete(json);
}

static mz_status read_window(const cJSON *json) {
  const mz_pipeline pipeline = bakery();
  mz_window window = {.phase = -7};
  const mz_status status = mz_window_from_json(&pipeline, &window, json, "ledger.jsonl:9: window", MZ_E_CHECKPOINT);
  assert_true((window.phase == -7) == (status != MZ_OK)); /* untouched */
  return status;
}

static mz_status read_observation(const cJSON *json) {
  const mz_pipeline pipeline = bakery();
  mz_observation observation = {.rounds = -7};
  const mz_status status = mz_observation_from_json(&pipeline, &observation, json, "history", MZ_E_CHECKPOINT);
  assert_true((observation.rounds == -7) == (status != MZ_OK));
  return status;
}

static void test_damaged_json_is_refused_by_key(void **state) {
  (void)state;
  const mz_pipeline pipeline = bakery();
  const mz_window window = bakery_window();
  const mz_plan plan = bakery_plan();
  mz_observation observation;
  assert_true(mz_observation_from_window(&observation, &plan, &window));

  cJSON *json = through_text(mz_window_to_json(&pipeline, &window));
  assert_true(damage_each(json, json, read_window, "training") > 60);
  assert_int_equal(read_window(json), MZ_OK); /* all is as it was */
  cJSON_Delete(json);
  json = through_text(mz_observation_to_json(&pipeline, &observation));
  assert_true(damage_each(json, json, read_observation, "training") > 45);
  assert_int_equal(read_observation(json), MZ_OK);
  cJSON_Delete(json);
}

static void test_wrong_values_are_refused_with_where_they_are(void **state) {
  (void)state;
  const mz_pipeline pipeline = bakery();
  const mz_window window = bakery_window();
  static const char *const wrong[][3] = {
      {"[80,4,", "[80,", "ledger.jsonl:9: window: stages: 'bake' has 5 elements; takes 6 to 8"},
      {"[80,4,", "[80,1,2,3,4,", "ledger.jsonl:9: window: stages: 'bake' has 9 elements; at most 8"},
      {"[80,4,", "[80,true,", "ledger.jsonl:9: window: stages: 'bake' takes numbers or null"},
      {"\"bake\":", "\"fry\":[],\"bake\":", "ledger.jsonl:9: window: 'stages' has 4 stages; the pipeline has 3"},
      {"\"gpu\"]", "\"tpu\"]", "ledger.jsonl:9: window: usage: 'missing' takes names of sensors"},
      {"\"phase\":3", "\"phase\":-3", "ledger.jsonl:9: window: 'phase' takes a whole number, 0 … 9007199254740992"},
      {"[1.5,", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,",
       "ledger.jsonl:9: window: 'round_s' has 33 elements; at most 32"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    expect_json_error(mz_window_to_json(&pipeline, &window), read_window, wrong[i][0], wrong[i][1], wrong[i][2]);
  }
}

static void test_observations_under_other_knobs_are_refused(void **state) {
  (void)state;
  const mz_pipeline pipeline = bakery();
  const mz_window window = bakery_window();
  const mz_plan plan = bakery_plan();
  mz_observation observation;
  assert_true(mz_observation_from_window(&observation, &plan, &window));
  expect_json_error(mz_observation_to_json(&pipeline, &observation), read_observation, "\"bakers\":1,", "",
                    "history: plan: 'bakers' is missing");
  expect_json_error(mz_observation_to_json(&pipeline, &observation), read_observation, "\"bakers\":1,",
                    "\"bakers\":1,\"baker\":1,", "history: unknown knob 'baker'; did you mean 'bakers'?");
}

static void test_sensors_have_names_of_their_own(void **state) {
  (void)state;
  for (int i = 0; i < MZ_SENSOR_COUNT; i++) {
    for (int j = 0; j < i; j++) assert_string_not_equal(mz_sensor_name((mz_sensor)i), mz_sensor_name((mz_sensor)j));
  }
  assert_string_equal(mz_sensor_name(MZ_SENSOR_CPU), "cpu");
  assert_string_equal(mz_sensor_name(MZ_SENSOR_GPU), "gpu");
}

/* ---- quantising ---- */

static void assert_near(double quantised, double value) {
  if (isnan(value)) {
    assert_true(isnan(quantised));
    return;
  }
  assert_true(fabs(quantised - value) <= 5.0000001e-6 * fabs(value)); /* half a unit of the sixth digit of 1.00000 */
  char digits[32];
  snprintf(digits, sizeof digits, "%.6g", quantised);
  assert_true(strtod(digits, NULL) == quantised); /* six digits say it all */
}

static void test_quantising_keeps_six_digits_and_is_done_once(void **state) {
  (void)state;
  for (uint32_t seed = 0; seed < 100; seed++) {
    mz_rng rng = mz_rng_at(seed, MZ_RNG_TEST, 4, 0);
    mz_pipeline pipeline;
    draw_pipeline(&rng, &pipeline);
    const mz_window window = draw_window(&rng, &pipeline);
    mz_window once = window;
    mz_window_quantise(&once);
    assert_true(once.phase == window.phase && once.round == window.round && once.round_count == window.round_count);
    assert_true(once.usage.missing == window.usage.missing && once.usage.samples == window.usage.samples);
    assert_near(once.units, window.units);
    assert_near(once.wall_s, window.wall_s);
    assert_near(once.score, window.score);
    for (int i = 0; i < window.round_count; i++) assert_near(once.round_s[i], window.round_s[i]);
    for (int i = 0; i < pipeline.stage_count; i++) {
      assert_near(once.stages[i].items, window.stages[i].items);
      assert_near(once.stages[i].device_s, window.stages[i].device_s);
      assert_near(once.stages[i].elapsed_s, window.stages[i].elapsed_s);
    }
    assert_near(once.usage.cpu_s, window.usage.cpu_s);
    assert_near(once.usage.core_share_p95, window.usage.core_share_p95);
    mz_window twice = once;
    mz_window_quantise(&twice);
    assert_same_window(&once, &twice, pipeline.stage_count);
  }
}

static void test_quantising_makes_what_is_not_finite_nan(void **state) {
  (void)state;
  mz_window window = {.units = 1234567, .wall_s = INFINITY, .score = -INFINITY, .round_count = 1, .round_s = {0.1 + 0.2}};
  window.usage.cpu_s = -0.000123456499;
  mz_window_quantise(&window);
  assert_true(window.units == 1234570 && window.round_s[0] == 0.3 && window.usage.cpu_s == -0.000123456);
  assert_true(isnan(window.wall_s) && isnan(window.score));
}

/* ---- observations ---- */

static void test_observations_are_per_unit(void **state) {
  (void)state;
  const mz_window window = bakery_window();
  const mz_pipeline pipeline = bakery();
  const mz_plan plan = bakery_plan();
  mz_observation o;
  memset(&o, 0x55, sizeof o);
  assert_true(mz_observation_from_window(&o, &plan, &window));
  assert_true(mz_plan_equal(&pipeline, &o.plan, &plan));
  assert_true(o.unit_s == 1.5 && o.round_s == 1.25 && o.cpu_s == 2.5 && o.rss_bytes == 5e7);
  assert_int_equal(o.rounds, 3);
  const mz_stage_sample knead = {.items = 100, .busy_s = 2, .cpu_s = 1.5, .wait_in_s = 0.25, .wait_out_s = 0.5, .elapsed_s = 1};
  assert_same_stages(&o.stages[0], &knead, 1);
  assert_true(o.stages[1].items == 10 && o.stages[2].items == 0);
  /* logs of 1.5, 1, 1.25 */
  const double a = log(1.5), b = log(1.25), mean = (a + b) / 3;
  const double wanted = sqrt(((a - mean) * (a - mean) + mean * mean + (b - mean) * (b - mean)) / 2);
  assert_true(fabs(o.noise - wanted) <= 1e-14);
}

static void test_noise_of_many_rounds_is_robust(void **state) {
  (void)state;
  const mz_plan plan = bakery_plan();
  mz_window window = bakery_window();
  mz_rng rng = mz_rng_at(11, MZ_RNG_TEST, 0, 0);
  window.round_count = MZ_WINDOW_ROUNDS_MAX;
  for (int i = 0; i < window.round_count; i++) window.round_s[i] = 2 * exp(0.05 * (double)mz_rng_normal(&rng));
  mz_observation calm, hit;
  assert_true(mz_observation_from_window(&calm, &plan, &window));
  assert_true(calm.noise > 0.03 && calm.noise < 0.07);
  assert_true(fabs(log(calm.round_s / 2)) < 0.03);
  for (int i = 0; i < 3; i++) window.round_s[i] *= 20; /* the machine was busy otherwise */
  assert_true(mz_observation_from_window(&hit, &plan, &window));
  assert_true(hit.noise < 1.3 * calm.noise);
  assert_true(fabs(log(hit.round_s / calm.round_s)) < 0.02);

  window.round_count = 8; /* deviations from log 2: twice each of 0.05, 0.15, 0.25, 0.35 */
  for (int i = 0; i < 8; i++) window.round_s[i] = 2 * exp((i - 3.5) / 10);
  assert_true(mz_observation_from_window(&calm, &plan, &window));
  assert_true(fabs(calm.noise - 1.4826 * 0.2) < 1e-12);
}

static void test_rounds_that_are_no_times_do_not_count(void **state) {
  (void)state;
  const mz_plan plan = bakery_plan();
  mz_window window = bakery_window();
  mz_observation o;
  window.round_s[0] = NAN;
  window.round_s[2] = 0;
  assert_true(mz_observation_from_window(&o, &plan, &window));
  assert_true(o.rounds == 1 && o.round_s == 1 && o.noise == 0);
  window.round_count = 0;
  assert_true(mz_observation_from_window(&o, &plan, &window));
  assert_true(o.rounds == 0 && isnan(o.round_s) && o.noise == 0);
}

static void test_missing_sensors_are_not_zero(void **state) {
  (void)state;
  const mz_plan plan = bakery_plan();
  mz_window window = bakery_window();
  mz_observation o;
  window.usage.missing = 1u << MZ_SENSOR_CPU;
  assert_true(mz_observation_from_window(&o, &plan, &window));
  assert_true(isnan(o.cpu_s) && o.rss_bytes == 5e7);
  window.usage.missing = 1u << MZ_SENSOR_RSS;
  assert_true(mz_observation_from_window(&o, &plan, &window));
  assert_true(o.cpu_s == 2.5 && isnan(o.rss_bytes));
}

static void test_windows_without_work_give_none(void **state) {
  (void)state;
  const mz_plan plan = bakery_plan();
  static const double wrong[][2] = {{0, 12}, {0.5, 12}, {NAN, 12}, {INFINITY, 12}, {8, 0}, {8, -1}, {8, NAN}, {8, INFINITY}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    mz_window window = bakery_window();
    mz_observation o = {.rounds = -7};
    window.units = wrong[i][0];
    window.wall_s = wrong[i][1];
    assert_false(mz_observation_from_window(&o, &plan, &window));
    assert_int_equal(o.rounds, -7);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_windows_come_back_from_json_the_same),
      cmocka_unit_test(test_observations_come_back_from_json_the_same),
      cmocka_unit_test(test_windows_as_text),
      cmocka_unit_test(test_damaged_json_is_refused_by_key),
      cmocka_unit_test(test_wrong_values_are_refused_with_where_they_are),
      cmocka_unit_test(test_observations_under_other_knobs_are_refused),
      cmocka_unit_test(test_sensors_have_names_of_their_own),
      cmocka_unit_test(test_quantising_keeps_six_digits_and_is_done_once),
      cmocka_unit_test(test_quantising_makes_what_is_not_finite_nan),
      cmocka_unit_test(test_observations_are_per_unit),
      cmocka_unit_test(test_noise_of_many_rounds_is_robust),
      cmocka_unit_test(test_rounds_that_are_no_times_do_not_count),
      cmocka_unit_test(test_missing_sensors_are_not_zero),
      cmocka_unit_test(test_windows_without_work_give_none),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
