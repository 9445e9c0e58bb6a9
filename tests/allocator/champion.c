/* The champion: which predictor drives, what it is asked, and what it falls back on. */
#include "tests/allocator/school.h"

/* ---- the champion ---- */

/* It has to be ahead of T_ana by more than chance. */
static void test_the_champion_is_the_winner_of_its_last_contest(void **state) {
  (void)state;
  school s;
  mz_champion *c;
  int count, plans;
  school_open(&s, 31, NULL);
  assert_int_equal(mz_champion_create(&c, &s.real.pipeline, s.lessons.cores, NULL, NULL, SEEN), MZ_OK);
  assert_ptr_equal(mz_champion_predictor(c), &mz_predictor_analytic);
  mz_champion_contest(c, &count, &plans);
  assert_int_equal(count, 0);
  for (int seen = 1; seen <= SEEN; seen++) {
    mz_champion_learn(c, s.seen, seen);
    const mz_contender *contenders = mz_champion_contest(c, &count, &plans);
    if (count == 0) continue;
    assert_true(plans >= 4);
    const mz_contender *winner = &contenders[mz_contest_winner(contenders, count)], *analytic = contenders;
    while (analytic->predictor != &mz_predictor_analytic) analytic++;
    const bool plainly = winner->error <= analytic->error * (1 - 2 / sqrt(2.0 * (plans - 1)));
    assert_ptr_equal(mz_champion_predictor(c), plainly ? winner->predictor : &mz_predictor_analytic);
  }
  assert_true(plans > 0.9 * s.lessons.count);
  assert_ptr_equal(mz_champion_predictor(c), &mz_predictor_analytic); /* which knows how such pipelines work */
  for (uint64_t seed = 0; seed < 20; seed++) {
    const mz_plan plan = random_pipeline_plan(&s.real.pipeline, 7000 + seed);
    const mz_prediction p = mz_champion_predict(c, &plan, &(mz_prediction)MZ_UNPREDICTED);
    assert_true(p.low > 0 && p.low <= p.unit_s && p.unit_s <= p.high);
  }
  mz_champion_free(c);
}

/* Another drives when plans cost what no model of a pipeline says. */
static void test_whoever_is_plainly_better_drives(void **state) {
  (void)state;
  school s;
  mz_champion *c;
  school_open(&s, 9, NULL);
  school_see_quadratic(&s);
  assert_int_equal(mz_champion_create(&c, &s.real.pipeline, s.lessons.cores, NULL, NULL, SEEN), MZ_OK);
  mz_champion_learn(c, s.seen, SEEN);
  assert_ptr_not_equal(mz_champion_predictor(c), &mz_predictor_analytic);
  mz_champion_free(c);
}

static void test_a_champion_may_be_set(void **state) {
  (void)state;
  school s;
  mz_champion *c;
  school_open(&s, 32, NULL);
  assert_int_equal(mz_champion_create(&c, &s.real.pipeline, s.lessons.cores, &mz_predictor_nearest, NULL, SEEN), MZ_OK);
  mz_champion_learn(c, s.seen, SEEN);
  assert_ptr_equal(mz_champion_predictor(c), &mz_predictor_nearest);
  void *memory = fitted(&mz_predictor_nearest, mz_champion_lessons(c));
  const mz_plan plan = random_pipeline_plan(&s.real.pipeline, 77);
  const mz_prediction otherwise = {.unit_s = 1, .low = 1, .high = 1, .apart_s = 2}, p = mz_champion_predict(c, &plan, &otherwise);
  assert_true(p.unit_s == mz_predictor_nearest.predict(memory, &plan).unit_s && p.apart_s == 2);
  free(memory);
  mz_champion_free(c);
}

static void test_want_of_memory_is_an_error(void **state) {
  (void)state;
  school s;
  school_open(&s, 33, NULL);
  for (int n = 1; n <= 4; n++) {
    mz_champion *c = (mz_champion *)&s;
    mz_alloc_fail_after(n);
    assert_int_equal(mz_champion_create(&c, &s.real.pipeline, 4, NULL, NULL, SEEN), MZ_E_MEMORY);
    assert_null(c);
  }
  mz_alloc_fail_after(0);
}

/* Before any plan was measured, where networks are brought along. */
static void test_a_pretrained_champion_drives_at_once(void **state) {
  (void)state;
  school s;
  mz_champion *c;
  school_open(&s, 34, NULL);
  assert_int_equal(mz_champion_create(&c, &s.real.pipeline, s.lessons.cores, &mz_predictor_mlp, pretrained, SEEN), MZ_OK);
  assert_ptr_equal(mz_champion_predictor(c), &mz_predictor_mlp);
  mz_champion_learn(c, s.seen, 1);
  assert_ptr_equal(mz_champion_predictor(c), &mz_predictor_mlp);
  const mz_plan plan = random_pipeline_plan(&s.real.pipeline, 78);
  assert_true(isfinite(mz_champion_predict(c, &plan, &(mz_prediction)MZ_UNPREDICTED).unit_s));
  mz_champion_free(c);
  assert_int_equal(mz_champion_create(&c, &s.real.pipeline, s.lessons.cores, &mz_predictor_mlp, NULL, SEEN), MZ_OK);
  assert_ptr_equal(mz_champion_predictor(c), &mz_predictor_analytic); /* without networks it is no better than others */
  mz_champion_free(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_champion_is_the_winner_of_its_last_contest),
      cmocka_unit_test(test_whoever_is_plainly_better_drives),
      cmocka_unit_test(test_a_champion_may_be_set),
      cmocka_unit_test(test_want_of_memory_is_an_error),
      cmocka_unit_test(test_a_pretrained_champion_drives_at_once),
  };
  return cmocka_run_group_tests(tests, open_pretrained, close_pretrained);
}
