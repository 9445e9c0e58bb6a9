/* The exact solver of courses beside every run that there is. */
#include "invented_course.h"

static mz_course builtin;
static mz_course_oracle *oracle;

static int setup(void **unused) {
  (void)unused;
  mz_course_builtin(&builtin);
  return mz_course_oracle_create(&oracle);
}

static int teardown(void **unused) {
  (void)unused;
  mz_course_oracle_free(oracle);
  return 0;
}

/* The highest sum of rewards, by every sequence of plans. */
static double enumerate(const mz_course *course, const mz_course_state *state, bool first) {
  uint8_t mask[MZ_COURSE_PLANS_MAX];
  double best = -INFINITY;
  mz_course_mask(course, state, mask);
  for (int p = 0; p < course->plans; p++) {
    if (first && !mask[p]) continue;
    mz_course_state next = *state;
    const mz_course_result result = mz_course_step(course, &next, p);
    const double value = result.reward + (result.ended ? 0 : enumerate(course, &next, false));
    if (value > best) best = value;
  }
  return best;
}

static void check_answer(const mz_course *course, const mz_course_state *start, const mz_course_answer *answer) {
  mz_course_state state = *start;
  double value = 0;
  int violations = 0;
  for (int i = 0; !mz_course_is_over(course, &state); i++) {
    const mz_course_result result = mz_course_step(course, &state, answer->plans[i]);
    value += result.reward;
    violations = result.violations;
  }
  assert_true(fabs(value - answer->value) < 1e-9);
  assert_int_equal(violations, answer->violations);
}

static void the_solver_equals_enumeration(void **unused) {
  (void)unused;
  static mz_course course;
  int by_violations[4] = {0}, resized = 0, early = 0;
  for (uint32_t i = 0; i < 3000; i++) {
    mz_rng rng = mz_rng_at(1, MZ_RNG_TEST, i, 0);
    const int stages = 1 + (int)mz_rng_below(&rng, 4), plans = 1 + (int)mz_rng_below(&rng, 5);
    invent(&course, &rng, stages, plans);
    mz_course_state state, next;
    mz_course_begin(&course, i, &state);
    for (int ahead = (int)mz_rng_below(&rng, (uint32_t)stages); ahead > 0; ahead--) { /* also from the middle of a run */
      next = state;
      if (!mz_course_step(&course, &next, (int)mz_rng_below(&rng, (uint32_t)plans)).ended) state = next;
    }
    mz_course_answer answer;
    assert_int_equal(mz_course_solve(oracle, &course, &state, &answer), MZ_OK);
    const double expected = enumerate(&course, &state, true);
    if (fabs(answer.value - expected) > 1e-9) fail_msg("course %u: %.12g, but %.12g is best", i, answer.value, expected);
    check_answer(&course, &state, &answer);
    by_violations[answer.violations]++;
    next = state;
    for (int s = 0; !mz_course_is_over(&course, &next); s++) mz_course_step(&course, &next, answer.plans[s]);
    early += next.stage < course.stages;
    for (int s = 1; s < course.stages - state.stage; s++) resized += answer.plans[s] != answer.plans[s - 1];
  }
  assert_true(by_violations[0] > 100 && by_violations[1] > 100 && by_violations[2] > 20 && resized > 100 && early > 100);
}

/* Scores are rounded: whether a run comes to the ceiling itself hangs on the last bit. */
static void a_target_that_is_the_ceiling_is_reached_where_it_can_be(void **unused) {
  (void)unused;
  static mz_course course;
  int reached = 0;
  for (uint32_t i = 0; i < 4000; i++) {
    mz_rng rng = mz_rng_at(2, MZ_RNG_TEST, i, 0);
    const int stages = 2 + (int)mz_rng_below(&rng, 3), plans = 2 + (int)mz_rng_below(&rng, 3);
    invent(&course, &rng, stages, plans);
    course.score = between(&rng, -5, 5);
    course.target = course.ceiling = course.score + between(&rng, 0.1, 5);
    for (int s = 0; s < stages; s++)
      course.cell[s][mz_rng_below(&rng, (uint32_t)plans)].growth = mz_rng_below(&rng, 2) ? 1 : 1 - 1e-9;
    assert_int_equal(mz_course_prepare(&course, "invented"), MZ_OK);
    mz_course_state state;
    mz_course_answer answer;
    mz_course_begin(&course, i, &state);
    assert_int_equal(mz_course_solve(oracle, &course, &state, &answer), MZ_OK);
    const double expected = enumerate(&course, &state, true);
    if (fabs(answer.value - expected) > 1e-9) fail_msg("course %u: %.12g, but %.12g is best", i, answer.value, expected);
    check_answer(&course, &state, &answer);
    reached += answer.violations == 0;
  }
  assert_true(reached > 100);
}

/* On the built-in course no run of a million random changes to the answer is better, and none of the rules. */
static void the_builtin_course_is_no_easy_one(void **unused) {
  (void)unused;
  static mz_course course;
  course = builtin;
  course.spread = 0;
  assert_int_equal(mz_course_prepare(&course, "means"), MZ_OK);
  mz_course_state start;
  mz_course_begin(&course, 0, &start);
  mz_course_answer answer;
  assert_int_equal(mz_course_solve(oracle, &course, &start, &answer), MZ_OK);
  check_answer(&course, &start, &answer);
  assert_int_equal(answer.violations, 0);
  assert_true(answer.labels < 1000000);
  mz_rng rng = mz_rng_at(2, MZ_RNG_TEST, 0, 0);
  for (int trial = 0; trial < 300000; trial++) {
    mz_course_state state = start;
    double value = 0;
    int changes = 1 + (int)mz_rng_below(&rng, 3), at[3], to[3];
    for (int i = 0; i < changes; i++) {
      at[i] = (int)mz_rng_below(&rng, (uint32_t)course.stages);
      to[i] = (int)mz_rng_below(&rng, (uint32_t)course.plans);
    }
    for (int s = 0; s < course.stages; s++) {
      int plan = answer.plans[s];
      for (int i = 0; i < changes; i++)
        if (at[i] == s) plan = to[i];
      value += mz_course_step(&course, &state, plan).reward;
    }
    assert_true(value <= answer.value + 1e-9);
  }
  double values[2] = {0, 0};
  for (int rule = 0; rule < 2; rule++) {
    mz_course_state state = start;
    while (state.stage < course.stages)
      values[rule] +=
          mz_course_step(&course, &state, rule ? mz_course_greedy(&course, &state) : mz_course_static(&course, &state)).reward;
    assert_true(values[rule] < 1.1 * answer.value);
  }
}

static void memory_that_is_out_is_survived(void **unused) {
  (void)unused;
  mz_course_oracle *fresh;
  mz_course_state state;
  mz_course_answer answer, again;
  mz_course_begin(&builtin, 1, &state);
  mz_alloc_fail_after(1);
  assert_int_equal(mz_course_oracle_create(&fresh), MZ_E_MEMORY);
  mz_alloc_fail_after(0);
  assert_int_equal(mz_course_solve(oracle, &builtin, &state, &answer), MZ_OK);
  int failures = 0;
  for (long n = 1;; n++) {
    assert_int_equal(mz_course_oracle_create(&fresh), MZ_OK);
    mz_alloc_fail_after(n);
    const mz_status status = mz_course_solve(fresh, &builtin, &state, &again);
    mz_alloc_fail_after(0);
    mz_course_oracle_free(fresh);
    if (status == MZ_OK) break;
    assert_int_equal(status, MZ_E_MEMORY);
    failures++;
  }
  assert_true(failures > 3);
  assert_memory_equal(&answer, &again, sizeof answer);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_solver_equals_enumeration),
      cmocka_unit_test(a_target_that_is_the_ceiling_is_reached_where_it_can_be),
      cmocka_unit_test(the_builtin_course_is_no_easy_one),
      cmocka_unit_test(memory_that_is_out_is_survived),
  };
  return cmocka_run_group_tests_name("course_oracle", tests, setup, teardown);
}
