#include "allocator/strategies/trial.h"
#include "base/maths/rng.h"
#include <math.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static double noisy(mz_rng *rng, double seconds, double noise) { return seconds * exp(noise * mz_rng_normal(rng)); }

static mz_rounds baseline(mz_rng *rng, int count, double noise) {
  mz_rounds rounds = {0};
  for (int i = 0; i < count; i++) mz_rounds_add(&rounds, noisy(rng, 1, noise));
  return rounds;
}

/* A trial of a plan that runs `speed` times as fast: 10 rounds a window, up to `windows`. Returns the verdict, *after how many. */
static mz_verdict try_speed(uint64_t seed, double speed, double noise, double worth, bool releases, int *after) {
  mz_rng rng = mz_rng_at(seed, MZ_RNG_TEST, 0, 0);
  const mz_rounds before = baseline(&rng, 40, noise);
  mz_trial trial;
  mz_trial_begin(&trial, &before, worth, releases);
  for (*after = 1;; ++*after) {
    for (int i = 0; i < 10; i++) {
      if (mz_trial_round(&trial, noisy(&rng, 1 / speed, noise))) return MZ_VERDICT_REVERT;
    }
    mz_interval ratio;
    const mz_verdict verdict = mz_trial_window(&trial, 2, &ratio);
    assert_true(ratio.low <= ratio.estimate && ratio.estimate <= ratio.high);
    if (verdict != MZ_VERDICT_WAIT) return verdict;
  }
}

static void test_faster_plans_are_confirmed_and_slower_ones_reverted_after_two_windows(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 200; seed++) {
    int after = 0;
    assert_int_equal(try_speed(seed, 1.2, 0.02, 1, false, &after), MZ_VERDICT_CONFIRM);
    assert_int_equal(after, 2);
    assert_int_equal(try_speed(seed, 0.9, 0.02, 1, false, &after), MZ_VERDICT_REVERT);
    assert_int_equal(after, 2);
  }
}

static void test_what_is_hard_to_tell_waits_and_ends_by_the_sixth_window(void **state) {
  (void)state;
  int waited = 0, reverted = 0;
  for (uint64_t seed = 0; seed < 200; seed++) {
    int after = 0;
    reverted += try_speed(seed, 0.98, 0.08, 1, false, &after) == MZ_VERDICT_REVERT;
    waited += after > 2;
    assert_in_range(after, 2, 6);
  }
  assert_in_range(waited, 20, 200);
  assert_in_range(reverted, 150, 200); /* without proof that it is no slower than 0.97 it does not stay */
}

static void test_a_release_may_cost_a_little_speed(void **state) {
  (void)state;
  int kept_when_releasing = 0, kept_otherwise = 0;
  for (uint64_t seed = 0; seed < 200; seed++) {
    int after = 0;
    kept_when_releasing += try_speed(seed, 0.985, 0.005, 1, true, &after) == MZ_VERDICT_CONFIRM;
    kept_otherwise += try_speed(seed, 0.985, 0.005, 1, false, &after) == MZ_VERDICT_CONFIRM;
    assert_int_equal(try_speed(seed, 0.9, 0.005, 1, true, &after), MZ_VERDICT_REVERT);
  }
  assert_int_equal(kept_when_releasing, 200);
  assert_int_equal(kept_otherwise, 0); /* shown to be slower, and for nothing */
}

static void test_by_cost_a_slow_plan_may_win_and_a_fast_one_lose(void **state) {
  (void)state;
  int after = 0;
  assert_int_equal(try_speed(1, 0.6, 0.02, 2, false, &after), MZ_VERDICT_CONFIRM); /* half the price: 1.2 */
  assert_int_equal(after, 2);
  assert_int_equal(try_speed(1, 1.5, 0.02, 0.5, false, &after), MZ_VERDICT_REVERT); /* twice the price: 0.75 */
}

static void test_two_plainly_bad_rounds_end_a_trial_after_the_first_two(void **state) {
  (void)state;
  mz_rng rng = mz_rng_at(1, MZ_RNG_TEST, 0, 0);
  const mz_rounds before = baseline(&rng, 20, 0.02);
  mz_trial trial;
  mz_trial_begin(&trial, &before, 1, false);
  assert_false(mz_trial_round(&trial, 5)); /* warming up */
  assert_false(mz_trial_round(&trial, 5));
  assert_false(mz_trial_round(&trial, 1.38)); /* above 0.7 times the speed */
  assert_false(mz_trial_round(&trial, 1.55)); /* once is chance */
  assert_false(mz_trial_round(&trial, 1));
  assert_false(mz_trial_round(&trial, 1.55));
  assert_true(mz_trial_round(&trial, 1.55));
}

static void test_an_outlier_that_the_old_plan_had_too_is_no_evidence(void **state) {
  (void)state;
  mz_rng rng = mz_rng_at(1, MZ_RNG_TEST, 0, 0);
  mz_rounds before = baseline(&rng, 20, 0.02);
  mz_rounds_add(&before, 3);
  mz_trial trial;
  mz_trial_begin(&trial, &before, 1, false);
  for (int i = 0; i < 4; i++) assert_false(mz_trial_round(&trial, 2.9));
  assert_false(mz_trial_round(&trial, 3.1));
  assert_true(mz_trial_round(&trial, 3.1));
  /* At half the price a round may take twice as long before it is as bad. */
  mz_trial_begin(&trial, &before, 2, false);
  for (int i = 0; i < 4; i++) assert_false(mz_trial_round(&trial, 5.9));
  assert_false(mz_trial_round(&trial, 6.1));
  assert_true(mz_trial_round(&trial, 6.1));
}

static void test_windows_without_rounds_do_not_count(void **state) {
  (void)state;
  mz_rng rng = mz_rng_at(1, MZ_RNG_TEST, 0, 0);
  const mz_rounds before = baseline(&rng, 20, 0.02);
  mz_trial trial;
  mz_interval ratio;
  mz_trial_begin(&trial, &before, 1, false);
  for (int i = 0; i < 50; i++) assert_int_equal(mz_trial_window(&trial, 2, &ratio), MZ_VERDICT_WAIT);
  for (int i = 0; i < 20; i++) mz_trial_round(&trial, 1);
  assert_int_equal(mz_trial_window(&trial, 2, &ratio), MZ_VERDICT_WAIT); /* one window */
  mz_trial_round(&trial, 1);
  assert_int_equal(mz_trial_window(&trial, 2, &ratio), MZ_VERDICT_CONFIRM);
}

/* A round a window: the first warms up, two more are the least that an interval needs. */
static void test_too_few_rounds_to_tell_are_reverted_in_the_end(void **state) {
  (void)state;
  mz_rng rng = mz_rng_at(1, MZ_RNG_TEST, 0, 0);
  const mz_rounds before = baseline(&rng, 2, 0.3);
  mz_trial trial;
  mz_interval ratio;
  mz_trial_begin(&trial, &before, 1, false);
  for (int window = 1; window <= 5; window++) {
    mz_trial_round(&trial, noisy(&rng, 1, 0.1));
    assert_int_equal(mz_trial_window(&trial, 2, &ratio), MZ_VERDICT_WAIT);
  }
  mz_trial_round(&trial, 1);
  assert_int_equal(mz_trial_window(&trial, 2, &ratio), MZ_VERDICT_REVERT);
}

static void test_rounds_are_the_last_64_without_those_that_warm_up(void **state) {
  (void)state;
  mz_rounds rounds = {.warming = true};
  mz_rounds_add(&rounds, 1000);
  assert_int_equal(rounds.count, 0);
  for (int i = 1; i <= 100; i++) mz_rounds_add(&rounds, i);
  assert_int_equal(rounds.count, MZ_TRIAL_ROUNDS);
  assert_true(mz_rounds_median(&rounds) == 68.5); /* of 37 … 100 */
  mz_rounds_warm_up(&rounds);
  mz_rounds_add(&rounds, 1000);
  assert_true(mz_rounds_median(&rounds) == 68.5);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_faster_plans_are_confirmed_and_slower_ones_reverted_after_two_windows),
      cmocka_unit_test(test_what_is_hard_to_tell_waits_and_ends_by_the_sixth_window),
      cmocka_unit_test(test_a_release_may_cost_a_little_speed),
      cmocka_unit_test(test_by_cost_a_slow_plan_may_win_and_a_fast_one_lose),
      cmocka_unit_test(test_two_plainly_bad_rounds_end_a_trial_after_the_first_two),
      cmocka_unit_test(test_an_outlier_that_the_old_plan_had_too_is_no_evidence),
      cmocka_unit_test(test_windows_without_rounds_do_not_count),
      cmocka_unit_test(test_too_few_rounds_to_tell_are_reverted_in_the_end),
      cmocka_unit_test(test_rounds_are_the_last_64_without_those_that_warm_up),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
