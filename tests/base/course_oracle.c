/* Decision makers for courses: the exact solver beside every run that there is, the policies beside what they are defined by. */
#include "base/course/course_oracle.h"
#include "base/maths/rng.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

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

static double between(mz_rng *rng, double low, double high) { return low + (high - low) * mz_rng_f64(rng); }

/* A course of random numbers, with limits that are easy, hard or impossible to keep. */
static void invent(mz_course *out, mz_rng *rng, int stages, int plans) {
  memset(out, 0, sizeof *out);
  out->stages = stages;
  out->plans = plans;
  out->prices[MZ_COURSE_CORES] = 1;
  out->ceiling = 1;
  out->spread = mz_rng_below(rng, 2) ? 0.2 : 0;
  out->deadline_s = stages * between(rng, 20, 150);
  out->budget = stages * between(rng, 20, 200) / 3600;
  out->target = between(rng, 0.05, 0.99);
  for (int p = 0; p < plans; p++) {
    out->plan[p].amounts[MZ_COURSE_CORES] = between(rng, 0.5, 4);
    out->plan[p].batch_size = between(rng, 1, 1000);
  }
  for (int s = 0; s < stages; s++) {
    out->noise_scale[s] = between(rng, 1, 1000);
    for (int p = 0; p < plans; p++)
      out->cell[s][p] =
          (mz_course_cell){.seconds = between(rng, 10, 100), .growth = mz_rng_below(rng, 50) ? between(rng, 0, 0.7) : 1};
  }
  assert_int_equal(mz_course_prepare(out, "invented"), MZ_OK);
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
  for (int i = 0; state.stage < course->stages; i++) {
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
  int by_violations[4] = {0}, resized = 0;
  for (uint32_t i = 0; i < 1500; i++) {
    mz_rng rng = mz_rng_at(1, MZ_RNG_TEST, i, 0);
    const int stages = 1 + (int)mz_rng_below(&rng, 4), plans = 1 + (int)mz_rng_below(&rng, 5);
    invent(&course, &rng, stages, plans);
    mz_course_state state;
    mz_course_begin(&course, i, &state);
    for (int ahead = (int)mz_rng_below(&rng, (uint32_t)stages); ahead > 0; ahead--) /* also from the middle of a run */
      mz_course_step(&course, &state, (int)mz_rng_below(&rng, (uint32_t)plans));
    mz_course_answer answer;
    assert_int_equal(mz_course_solve(oracle, &course, &state, &answer), MZ_OK);
    const double expected = enumerate(&course, &state, true);
    if (fabs(answer.value - expected) > 1e-9) fail_msg("course %u: %.12g, but %.12g is best", i, answer.value, expected);
    check_answer(&course, &state, &answer);
    by_violations[answer.violations]++;
    for (int s = 1; s < course.stages - state.stage; s++) resized += answer.plans[s] != answer.plans[s - 1];
  }
  assert_true(by_violations[0] > 100 && by_violations[1] > 100 && by_violations[2] > 20 && resized > 100);
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

/* On a known course the plan redone at every stage is the plan of the start. */
static void replanning_on_a_known_course_is_exact(void **unused) {
  (void)unused;
  static mz_course course;
  for (uint32_t i = 0; i < 40; i++) {
    mz_rng rng = mz_rng_at(3, MZ_RNG_TEST, i, 0);
    invent(&course, &rng, 6, 8);
    course.spread = 0;
    assert_int_equal(mz_course_prepare(&course, "known"), MZ_OK);
    mz_course_state state;
    mz_course_begin(&course, 0, &state);
    mz_course_answer answer;
    assert_int_equal(mz_course_solve(oracle, &course, &state, &answer), MZ_OK);
    if (answer.violations > 0) continue;
    double value = 0;
    while (state.stage < course.stages) {
      int plan;
      assert_int_equal(mz_course_replan(oracle, &course, &state, &plan), MZ_OK);
      value += mz_course_step(&course, &state, plan).reward;
    }
    assert_true(fabs(value - answer.value) < 1e-9);
  }
}

/* All decide for allowed plans, and none beats clairvoyance. */
static void policies_keep_to_the_mask(void **unused) {
  (void)unused;
  double sums[3] = {0}, best = 0;
  enum { EPISODES = 60 };
  for (uint64_t seed = 0; seed < EPISODES; seed++) {
    mz_course_state start;
    mz_course_begin(&builtin, seed, &start);
    mz_course_answer answer;
    assert_int_equal(mz_course_solve(oracle, &builtin, &start, &answer), MZ_OK);
    best += answer.value;
    for (int policy = 0; policy < 3; policy++) {
      mz_course_state state = start;
      double value = 0;
      while (state.stage < builtin.stages) {
        int plan = 0;
        uint8_t mask[MZ_COURSE_PLANS_MAX];
        if (policy == 0) assert_int_equal(mz_course_replan(oracle, &builtin, &state, &plan), MZ_OK);
        if (policy == 1) plan = mz_course_greedy(&builtin, &state);
        if (policy == 2) plan = mz_course_static(&builtin, &state);
        mz_course_mask(&builtin, &state, mask);
        assert_int_equal(mask[plan], 1);
        value += mz_course_step(&builtin, &state, plan).reward;
      }
      assert_true(value <= answer.value + 1e-9);
      sums[policy] += value;
    }
  }
  print_message("clairvoyant %.4f, replan %.4f, greedy %.4f, static %.4f\n", best / EPISODES, sums[0] / EPISODES,
                sums[1] / EPISODES, sums[2] / EPISODES);
}

static void a_static_plan_stays(void **unused) {
  (void)unused;
  mz_course_state state;
  mz_course_begin(&builtin, 11, &state);
  const int plan = mz_course_static(&builtin, &state);
  while (state.stage < builtin.stages) {
    uint8_t mask[MZ_COURSE_PLANS_MAX];
    mz_course_mask(&builtin, &state, mask);
    if (mask[plan]) assert_int_equal(mz_course_static(&builtin, &state), plan);
    mz_course_step(&builtin, &state, plan);
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
      cmocka_unit_test(the_builtin_course_is_no_easy_one),
      cmocka_unit_test(replanning_on_a_known_course_is_exact),
      cmocka_unit_test(policies_keep_to_the_mask),
      cmocka_unit_test(a_static_plan_stays),
      cmocka_unit_test(memory_that_is_out_is_survived),
  };
  return cmocka_run_group_tests_name("course_oracle", tests, setup, teardown);
}
