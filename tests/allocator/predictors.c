/* Predictors on plans of random pipelines that a discrete-event simulation has timed, and the contest between them. */
#include "tests/allocator/school.h"

/* ---- lessons ---- */

static void test_a_lesson_for_each_plan_newest_first(void **state) {
  (void)state;
  school s;
  school_open(&s, 3, NULL);
  assert_true(s.lessons.count > 8 && s.lessons.count <= PLANS);
  assert_true(mz_plan_equal(&s.real.pipeline, &s.lessons.items[0].plan, &s.seen[SEEN - 1].plan));
  int windows = 0;
  for (int i = 0; i < s.lessons.count; i++) {
    const mz_lesson *l = &s.lessons.items[i];
    double mean = 0;
    int count = 0;
    for (int j = 0; j < SEEN; j++) {
      if (!mz_plan_equal(&s.real.pipeline, &l->plan, &s.seen[j].plan)) continue;
      mean += log(s.seen[j].unit_s);
      count++;
    }
    assert_int_equal(l->windows, count);
    assert_true(fabs(l->log_s - mean / count) < 0.05);
    windows += count;
  }
  assert_int_equal(windows, SEEN);
}

static double dearer_by_the_window(int window) { return exp(0.01 * window); }

static void test_lessons_are_of_one_level_of_cost(void **state) {
  (void)state;
  school still, rising;
  school_open(&still, 4, NULL);
  school_open(&rising, 4, dearer_by_the_window);
  double offset = 0;
  for (int i = 0; i < still.lessons.count; i++)
    offset += (rising.lessons.items[i].log_s - still.lessons.items[i].log_s) / still.lessons.count;
  for (int i = 0; i < still.lessons.count; i++)
    assert_true(fabs(rising.lessons.items[i].log_s - still.lessons.items[i].log_s - offset) < 0.1);
}

static void test_what_is_left_out_is_gone(void **state) {
  (void)state;
  school s;
  mz_observation room[SEEN];
  mz_lessons fewer;
  school_open(&s, 5, NULL);
  mz_lessons_without(&fewer, &s.lessons, 2, room);
  assert_int_equal(fewer.count, s.lessons.count - 1);
  assert_int_equal(fewer.observation_count, SEEN - s.lessons.items[2].windows);
  for (int i = 0; i < fewer.count; i++)
    assert_false(mz_plan_equal(&s.real.pipeline, &fewer.items[i].plan, &s.lessons.items[2].plan));
  assert_true(mz_plan_equal(&s.real.pipeline, &fewer.items[2].plan, &s.lessons.items[3].plan));
}

/* ---- predictors ---- */

static void test_names(void **state) {
  (void)state;
  const mz_predictor *p;
  for (int i = 0; mz_predictors[i]; i++) {
    assert_int_equal(mz_predictor_find(mz_predictor_name(i), "x", &p), MZ_OK);
    assert_ptr_equal(p, mz_predictors[i]);
  }
  assert_int_equal(mz_predictor_find("rige", "allocate.predictor", &p), MZ_E_CONFIG);
  assert_string_equal(mz_message(), "allocate.predictor: 'rige' is no predictor; did you mean ridge?");
  assert_int_equal(mz_predictor_chosen("auto", &p), MZ_OK);
  assert_null(p);
  assert_int_equal(mz_predictor_chosen("ridge", &p), MZ_OK);
  assert_string_equal(p->name, "ridge");
  assert_int_equal(mz_predictor_chosen("oracle of delphi", &p), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "there are auto, last, nearest"));
  assert_int_equal(mz_predictor_find("oracle of delphi", "x", &p), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "there are last, nearest, ridge, isotonic, analytic, residual"));
}

static void test_without_lessons_only_the_model_predicts(void **state) {
  (void)state;
  school s;
  school_open(&s, 6, NULL);
  mz_lessons none;
  for (int k = 0; k < s.real.pipeline.stage_count; k++) /* what the model predicts from */
    s.real.pipeline.stages[k].probes[MZ_DEVICE_CPU] =
        (mz_probes){.batch = {1}, .cpu_s = {mz_sim_truth_item_s(&s.real.simulation.stages[k], 1)}};
  lessons_init(&none, &s.real.pipeline, 4, s.seen, 0);
  assert_int_equal(none.count, 0);
  for (int i = 0; mz_predictors[i]; i++) {
    void *memory = fitted(mz_predictors[i], &none);
    const mz_prediction p = mz_predictors[i]->predict(memory, &s.seen[0].plan);
    const bool knows = mz_predictors[i] == &mz_predictor_analytic || mz_predictors[i] == &mz_predictor_residual;
    if (knows) assert_true(p.unit_s > 0 && isfinite(p.unit_s));
    if (!knows && !is_bundled(mz_predictors[i])) assert_true(isnan(p.unit_s));
    free(memory);
  }
}

static void test_one_lesson_is_what_all_predict(void **state) {
  (void)state;
  school s;
  school_open(&s, 7, NULL);
  mz_lessons one;
  lessons_init(&one, &s.real.pipeline, s.lessons.cores, s.seen, 1);
  for (int i = 0; mz_predictors[i]; i++) {
    void *memory = fitted(mz_predictors[i], &one);
    const mz_prediction p = mz_predictors[i]->predict(memory, &s.seen[0].plan);
    assert_true(fabs(log(p.unit_s / s.seen[0].unit_s)) < 0.3);
    assert_true(p.low <= p.unit_s && p.unit_s <= p.high);
    free(memory);
  }
}

static void test_the_same_lessons_give_the_same_bits(void **state) {
  (void)state;
  school s;
  school_open(&s, 8, NULL);
  for (int i = 0; mz_predictors[i]; i++) {
    void *a = fitted(mz_predictors[i], &s.lessons), *b = fitted(mz_predictors[i], &s.lessons);
    assert_memory_equal(a, b, mz_predictors[i]->memory_bytes);
    free(a);
    free(b);
  }
}

/* A quadratic of logarithms is what ridge can say exactly. */
static void test_ridge_finds_a_quadratic(void **state) {
  (void)state;
  school s;
  school_open(&s, 9, NULL);
  school_see_quadratic(&s);
  lessons_init(&s.lessons, &s.real.pipeline, s.lessons.cores, s.seen, SEEN);
  const mz_contender ridge = judged(&s.lessons, &mz_predictor_ridge), last = judged(&s.lessons, &mz_predictor_last_value);
  print_message("ridge on a quadratic: %.4f, last value %.4f\n", ridge.error, last.error);
  assert_true(ridge.error < 0.2 * last.error);
  /* Beyond the plans that were measured a knob counts as at their end. */
  void *memory = fitted(&mz_predictor_ridge, &s.lessons);
  mz_plan most = s.seen[0].plan;
  for (int i = 0; i < SEEN; i++)
    if (s.seen[i].plan.values[0] > most.values[0]) most.values[0] = s.seen[i].plan.values[0];
  mz_plan beyond = most;
  beyond.values[0] *= 16;
  assert_true(mz_predictor_ridge.predict(memory, &beyond).unit_s == mz_predictor_ridge.predict(memory, &most).unit_s);
  free(memory);
}

static void test_isotonic_keeps_the_order(void **state) {
  (void)state;
  school s;
  school_open(&s, 10, NULL);
  void *memory = fitted(&mz_predictor_isotonic, &s.lessons);
  for (uint64_t seed = 0; seed < 200; seed++) {
    const mz_plan plan = random_pipeline_plan(&s.real.pipeline, seed);
    const double now = mz_predictor_isotonic.predict(memory, &plan).unit_s;
    mz_plan more = plan;
    for (int k = 0; k < s.real.pipeline.knob_count; k++)
      more.values[k] = mz_knob_step(&s.real.pipeline.knobs[k], plan.values[k], 1);
    assert_true(mz_predictor_isotonic.predict(memory, &more).unit_s <= now * (1 + 1e-6));
  }
  free(memory);
}

/* ---- the contest ---- */

enum { PREDICTORS_MAX = 16 };

/* Mean errors over schools of `plans` plans; returns how many predictors there are. */
static int judge_schools(int plans, double errors[PREDICTORS_MAX]) {
  enum { SCHOOLS = 12 };
  int count = 0;
  memset(errors, 0, PREDICTORS_MAX * sizeof *errors);
  for (uint64_t seed = 1; seed <= SCHOOLS; seed++) {
    school s;
    mz_observation few[SEEN];
    int seen = 0;
    school_open(&s, 20 + seed, NULL);
    for (int i = 0; i < SEEN; i++)
      if (i % PLANS < plans) few[seen++] = s.seen[i];
    lessons_init(&s.lessons, &s.real.pipeline, s.real.pipeline.devices[0].cores, few, seen);
    for (count = 0; mz_predictors[count]; count++) {
      const mz_contender c = judged(&s.lessons, mz_predictors[count]);
      assert_int_equal(c.judged, s.lessons.count);
      assert_true(c.regret >= 0 && (isnan(c.tau) || fabs(c.tau) <= 1) && c.held >= 0 && c.held <= 1);
      errors[count] += c.error / SCHOOLS;
    }
  }
  for (int i = 0; i < count; i++) print_message("%2d plans: %-10s error %.3f\n", plans, mz_predictors[i]->name, errors[i]);
  return count;
}

static void test_models_beat_the_last_value(void **state) {
  (void)state;
  double errors[PREDICTORS_MAX];
  const int count = judge_schools(PLANS, errors);
  for (int i = 1; i < count; i++) assert_true(errors[i] < 0.9 * errors[0]);
}

/* A predictor that knows stages and queues needs fewer plans than one that only sees knobs. */
static void test_with_few_plans_the_model_of_the_pipeline_is_best(void **state) {
  (void)state;
  double errors[PREDICTORS_MAX];
  judge_schools(5, errors);
  int analytic = 0;
  while (mz_predictors[analytic] != &mz_predictor_analytic) analytic++;
  for (int i = 0; i < analytic; i++) assert_true(errors[analytic] < errors[i]); /* those that see only knobs */
}

/* Errors by hand: predicted 2, measured 1 and so on. */
static double told[3];
static void fit_nothing(void *memory, const mz_lessons *lessons) { *(const mz_lessons **)memory = lessons; }
static mz_prediction tell(const void *memory, const mz_plan *plan) {
  (void)memory;
  return mz_prediction_of(told[plan->values[0] - 1], 0.1);
}
static const mz_predictor oracle = {.name = "oracle", .memory_bytes = sizeof(void *), .fit = fit_nothing, .predict = tell};

static mz_lessons three_plans(mz_pipeline *pipeline, mz_observation seen[3]) {
  *pipeline = (mz_pipeline){.name = "three",
                            .stage_count = 1,
                            .device_count = 1,
                            .knob_count = 1,
                            .stages = {{.name = "work", .threads = 0, .batch = -1, .device = -1, .items = 1}},
                            .devices = {{.name = "cpu:0", .cores = 4}},
                            .knobs = {{.name = "threads", .class_ = MZ_EXACT, .scale = MZ_SCALE_LOG2, .min = 1, .max = 4}}};
  mz_lessons l;
  for (int i = 0; i < 3; i++)
    seen[i] = (mz_observation){.plan = {.values = {i + 1}}, .unit_s = exp(3 - i), .rounds = 4, .noise = 0.01};
  lessons_init(&l, pipeline, 4, seen, 3);
  return l;
}

static void test_a_common_factor_is_no_error_between_plans(void **state) {
  (void)state;
  mz_pipeline pipeline;
  mz_observation seen[3];
  const mz_lessons l = three_plans(&pipeline, seen);
  for (int i = 0; i < 3; i++) told[l.items[i].plan.values[0] - 1] = l.items[i].log_s + 0.5;
  mz_contender c = judged(&l, &oracle);
  assert_true(c.error < 1e-9);
  assert_true(fabs(c.mape - expm1(0.5)) < 1e-9);
  assert_true(c.tau == 1 && c.regret == 0);
}

static void test_taking_the_wrong_plan_for_the_best_is_regret(void **state) {
  (void)state;
  mz_pipeline pipeline;
  mz_observation seen[3];
  const mz_lessons l = three_plans(&pipeline, seen);
  for (int i = 0; i < 3; i++) told[l.items[i].plan.values[0] - 1] = -l.items[i].log_s;
  mz_contender c = judged(&l, &oracle);
  assert_true(c.tau == -1);
  assert_true(fabs(c.regret - expm1(l.items[2].log_s - l.items[0].log_s)) < 1e-9);
  told[1] = NAN;
  c = judged(&l, &oracle);
  assert_true(isinf(c.error) && c.judged == 2 && isnan(c.regret));
}

static void test_ties_go_to_the_simpler_one(void **state) {
  (void)state;
  mz_contender c[] = {{.error = 0.5}, {.error = 0.102}, {.error = 0.1}, {.error = INFINITY}};
  assert_int_equal(mz_contest_winner(c, 4), 1);
  c[1].error = 0.2;
  assert_int_equal(mz_contest_winner(c, 4), 2);
  for (int i = 0; i < 4; i++) c[i].error = INFINITY;
  assert_int_equal(mz_contest_winner(c, 4), -1);
  assert_int_equal(mz_contest_winner(c, 0), -1);
}

/* Only what was left out is judged, and it is predicted from the rest. */
static void test_what_lies_beyond_is_judged_by_itself(void **state) {
  (void)state;
  school s;
  mz_contest_room *room;
  mz_contender last, all;
  bool left_out[MZ_DRIFT_PLANS_MAX] = {0};
  school_open(&s, 35, NULL);
  for (int i = 0; i < 5; i++) left_out[2 * i] = true;
  assert_int_equal(mz_contest_room_create(&room, SEEN), MZ_OK);
  mz_contest_judge_beyond(&s.lessons, &mz_predictor_last_value, left_out, room, &last);
  mz_contest_judge_beyond(&s.lessons, &mz_predictor_analytic, left_out, room, &all);
  mz_contest_room_free(room);
  assert_int_equal(last.judged, 5);
  double mape = 0; /* "last" says what the newest of the others took: lesson 1 */
  for (int i = 0; i < 5; i++) mape += fabs(expm1(s.lessons.items[1].log_s - s.lessons.items[2 * i].log_s)) / 5;
  assert_true(fabs(last.mape - mape) < 1e-6);
  assert_int_equal(all.judged, 5);
  assert_true(all.error < last.error);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_lesson_for_each_plan_newest_first),
      cmocka_unit_test(test_lessons_are_of_one_level_of_cost),
      cmocka_unit_test(test_what_is_left_out_is_gone),
      cmocka_unit_test(test_names),
      cmocka_unit_test(test_without_lessons_only_the_model_predicts),
      cmocka_unit_test(test_one_lesson_is_what_all_predict),
      cmocka_unit_test(test_the_same_lessons_give_the_same_bits),
      cmocka_unit_test(test_ridge_finds_a_quadratic),
      cmocka_unit_test(test_isotonic_keeps_the_order),
      cmocka_unit_test(test_models_beat_the_last_value),
      cmocka_unit_test(test_with_few_plans_the_model_of_the_pipeline_is_best),
      cmocka_unit_test(test_a_common_factor_is_no_error_between_plans),
      cmocka_unit_test(test_taking_the_wrong_plan_for_the_best_is_regret),
      cmocka_unit_test(test_ties_go_to_the_simpler_one),
      cmocka_unit_test(test_what_lies_beyond_is_judged_by_itself),
  };
  return cmocka_run_group_tests(tests, open_pretrained, close_pretrained);
}
