/* Decision makers for courses, beside what they are defined by. */
#include "invented_course.h"

static mz_course builtin, means, uneven; /* uneven: runs differ in their pace, and end at the target */
static mz_course_oracle *oracle;

static int setup(void **unused) {
  (void)unused;
  mz_course_builtin(&builtin);
  means = uneven = builtin;
  means.spread = 0;
  uneven.slower = 0.5;
  uneven.faster = 0.3;
  uneven.bursts = 0.2;
  uneven.ends_at_score = 1;
  assert_int_equal(mz_course_prepare(&means, "means"), MZ_OK);
  assert_int_equal(mz_course_prepare(&uneven, "uneven"), MZ_OK);
  return mz_course_oracle_create(&oracle);
}

static int teardown(void **unused) {
  (void)unused;
  mz_course_oracle_free(oracle);
  return 0;
}

/* ---- the outlook ---- */

static double mean_stretch(const mz_course_outlook *outlook) {
  double sum = 0;
  for (int i = 0; i < outlook->count; i++) sum += mz_course_draw_stretch(&outlook->course, outlook->seeds[i]) / outlook->count;
  return sum;
}

/* Without differences in pace there is only the mean; with them, what a run has shown decides, whatever its seed is. */
static void the_outlook_is_as_slow_as_the_run(void **unused) {
  (void)unused;
  mz_course_outlook outlook;
  mz_course_state state;
  mz_course_begin(&builtin, 3, &state);
  mz_course_outlook_find(&builtin, &state, &outlook);
  assert_int_equal(outlook.count, 1);
  assert_float_equal(outlook.course.spread, 0, 0);
  double off = 0, off_typical = 0;
  int runs = 0;
  for (uint64_t seed = 0; seed < 200; seed++) {
    const double stretch = mz_course_draw_stretch(&uneven, seed);
    mz_course_begin(&uneven, seed, &state);
    for (int s = 0; s < 3 && !mz_course_is_over(&uneven, &state); s++) mz_course_step(&uneven, &state, 4);
    mz_course_outlook_find(&uneven, &state, &outlook);
    assert_int_equal(outlook.count, MZ_COURSE_OUTLOOK);
    mz_course_outlook other;
    mz_course_state stranger = state;
    stranger.seed = seed + 1000;
    mz_course_outlook_find(&uneven, &stranger, &other);
    assert_memory_equal(other.seeds, outlook.seeds, sizeof other.seeds);
    off += fabs(log(mean_stretch(&outlook) / stretch));
    off_typical += fabs(log(stretch));
    runs++;
  }
  print_message("log stretch is off by %.3f of %.3f\n", off / runs, off_typical / runs);
  assert_true(off < 0.6 * off_typical);
}

static void the_nearest_draws_are_kept(void **unused) {
  (void)unused;
  mz_course_outlook outlook;
  mz_course_state state;
  mz_course_begin(&uneven, 1, &state);
  for (int s = 0; s < 4; s++) mz_course_step(&uneven, &state, 0);
  mz_course_outlook_find(&uneven, &state, &outlook);
  double closed[MZ_COURSE_DRAWS], farthest = 0;
  const double of_run = -log(1 - state.score); /* the built-in course runs from 0 to 1 */
  int nearer = 0;
  for (int d = 0; d < MZ_COURSE_DRAWS; d++) {
    closed[d] = 0;
    for (int s = 0; s < 4; s++) closed[d] -= log(1 - mz_course_draw(&uneven, (1ull << 63) + (uint64_t)d, s, 0).growth);
  }
  for (int i = 0; i < outlook.count; i++) farthest = fmax(farthest, fabs(closed[outlook.seeds[i] - (1ull << 63)] - of_run));
  for (int d = 0; d < MZ_COURSE_DRAWS; d++) nearer += fabs(closed[d] - of_run) <= farthest;
  assert_int_equal(nearer, MZ_COURSE_OUTLOOK);
}

/* ---- the plan redone ---- */

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
    while (!mz_course_is_over(&course, &state)) {
      int plan;
      assert_int_equal(mz_course_replan(oracle, &course, &state, &plan), MZ_OK);
      value += mz_course_step(&course, &state, plan).reward;
    }
    assert_true(fabs(value - answer.value) < 1e-9);
  }
}

/* Following the best run loses nothing, and what is lost stage by stage is what a worse run is worth less. */
static void values_tell_what_a_plan_costs(void **unused) {
  (void)unused;
  double values[MZ_COURSE_PLANS_MAX];
  mz_course_state state;
  mz_course_answer best;
  mz_course_begin(&means, 0, &state);
  assert_int_equal(mz_course_solve(oracle, &means, &state, &best), MZ_OK);
  double sum = 0, rewards = 0, all;
  mz_course_state other = state;
  for (int s = 0; s < means.stages; s++) {
    assert_int_equal(mz_course_values(oracle, &means, &state, values), MZ_OK);
    assert_true(values[mz_course_best(values, means.plans)] - values[best.plans[s]] < 1e-9);
    mz_course_step(&means, &state, best.plans[s]);
  }
  for (int s = 0; s < means.stages; s++) { /* one plan kept: what is lost sums up to how much less the run is worth */
    const int plan = mz_course_static(&means, &other);
    assert_int_equal(mz_course_values(oracle, &means, &other, values), MZ_OK);
    sum += values[mz_course_best(values, means.plans)] - values[plan];
    rewards += mz_course_step(&means, &other, plan).reward;
  }
  all = best.value - rewards;
  assert_true(all > 0.1);
  assert_float_equal(sum, all, 1e-6);
}

/* ---- all of them ---- */

/* All decide for allowed plans, and none beats clairvoyance. */
static void policies_keep_to_the_mask_on(const mz_course *course, int episodes) {
  double sums[3] = {0}, best = 0;
  for (int seed = 0; seed < episodes; seed++) {
    mz_course_state start;
    mz_course_begin(course, (uint64_t)seed, &start);
    mz_course_answer answer;
    assert_int_equal(mz_course_solve(oracle, course, &start, &answer), MZ_OK);
    best += answer.value;
    for (int policy = 0; policy < 3; policy++) {
      mz_course_state state = start;
      double value = 0;
      while (!mz_course_is_over(course, &state)) {
        int plan = 0;
        uint8_t mask[MZ_COURSE_PLANS_MAX];
        if (policy == 0) assert_int_equal(mz_course_replan(oracle, course, &state, &plan), MZ_OK);
        if (policy == 1) plan = mz_course_greedy(course, &state);
        if (policy == 2) plan = mz_course_static(course, &state);
        mz_course_mask(course, &state, mask);
        assert_int_equal(mask[plan], 1);
        value += mz_course_step(course, &state, plan).reward;
      }
      assert_true(value <= answer.value + 1e-9);
      sums[policy] += value;
    }
  }
  print_message("clairvoyant %.4f, replan %.4f, greedy %.4f, static %.4f\n", best / episodes, sums[0] / episodes,
                sums[1] / episodes, sums[2] / episodes);
}

static void policies_keep_to_the_mask(void **unused) {
  (void)unused;
  policies_keep_to_the_mask_on(&builtin, 60);
  policies_keep_to_the_mask_on(&uneven, 6);
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

/* The plan that is best on the mean is too slow for slow runs. */
static void a_static_plan_reckons_with_slow_runs(void **unused) {
  (void)unused;
  static mz_course course;
  mz_course_state state;
  course = uneven;
  course.target = 0.6;
  course.deadline_s = 4000;
  assert_int_equal(mz_course_prepare(&course, "pressed"), MZ_OK);
  mz_course_begin(&course, 1, &state);
  const int plan = mz_course_static(&course, &state);
  course.slower = course.faster = course.bursts = 0;
  assert_int_equal(mz_course_prepare(&course, "even"), MZ_OK);
  const int on_mean = mz_course_static(&course, &state);
  assert_true(course.plan[plan].cost_per_s > 1.5 * course.plan[on_mean].cost_per_s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_outlook_is_as_slow_as_the_run),
      cmocka_unit_test(the_nearest_draws_are_kept),
      cmocka_unit_test(replanning_on_a_known_course_is_exact),
      cmocka_unit_test(values_tell_what_a_plan_costs),
      cmocka_unit_test(policies_keep_to_the_mask),
      cmocka_unit_test(a_static_plan_stays),
      cmocka_unit_test(a_static_plan_reckons_with_slow_runs),
  };
  return cmocka_run_group_tests_name("course_policy", tests, setup, teardown);
}
