#include "allocator/strategies/trial.h"
#include "base/maths/rng.h"
#include <math.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { WINDOW_ROUNDS = 10 };
static const double GAIN_MIN = 0.03;

/* A machine on which the new plan runs `speed` times as fast; both slow down by `drift` with every window. */
typedef struct bench {
  mz_rng rng;
  double speed, noise, drift, slowness;
} bench;

static bench bench_of(uint64_t seed, double speed, double noise) {
  return (bench){.rng = mz_rng_at(seed, MZ_RNG_TEST, 0, 0), .speed = speed, .noise = noise, .slowness = 1};
}

static double round_s(bench *b, mz_side side) {
  return b->slowness * exp(b->noise * mz_rng_normal(&b->rng)) / (side == MZ_SIDE_NEW ? b->speed : 1);
}

/* false: given up. */
static bool run_window(bench *b, mz_trial *trial, int rounds) {
  for (int i = 0; i < rounds; i++)
    if (mz_trial_round(trial, round_s(b, trial->side))) return false;
  mz_trial_window(trial, true);
  b->slowness *= 1 + b->drift;
  return true;
}

static bool run_block(bench *b, mz_trial *trial, int rounds) {
  const int before = trial->blocks;
  bool goes_on = true;
  while (goes_on && trial->blocks == before) goes_on = run_window(b, trial, rounds);
  return goes_on;
}

static mz_trial begin(bench *b, double worth, double concession, uint64_t seed) {
  mz_rounds old = {0};
  mz_trial trial;
  for (int i = 0; i < 40; i++) mz_rounds_add(&old, round_s(b, MZ_SIDE_OLD));
  mz_trial_begin(&trial, &old, worth, concession, GAIN_MIN, seed);
  return trial;
}

/* Until the verdict; *pairs: that it took. */
static mz_verdict run(bench *b, mz_trial *trial, int *pairs) {
  mz_interval ratio;
  mz_verdict verdict = MZ_VERDICT_WAIT;
  while (verdict == MZ_VERDICT_WAIT) {
    if (!run_window(b, trial, WINDOW_ROUNDS)) return MZ_VERDICT_REVERT;
    verdict = mz_trial_verdict(trial, 3, &ratio);
    assert_true(!(ratio.low > ratio.estimate) && !(ratio.estimate > ratio.high));
  }
  *pairs = trial->ratios.count;
  return verdict;
}

typedef struct outcome {
  int confirmed, pairs; /* of 300 trials; in all */
} outcome;

static outcome try_speed(double speed, double noise, double worth, double concession, double drift) {
  outcome o = {0};
  for (uint64_t seed = 0; seed < 300; seed++) {
    bench b = bench_of(seed, speed, noise);
    mz_trial trial = begin(&b, worth, concession, seed);
    int pairs = 0;
    b.drift = drift;
    o.confirmed += run(&b, &trial, &pairs) == MZ_VERDICT_CONFIRM;
    o.pairs += pairs;
    assert_in_range(pairs, 1, MZ_TRIAL_PAIRS_MAX);
  }
  return o;
}

static void test_what_is_plain_is_told_within_few_pairs(void **state) {
  (void)state;
  const outcome faster = try_speed(1.2, 0.03, 1, 0, 0), slower = try_speed(0.83, 0.03, 1, 0, 0);
  assert_int_equal(faster.confirmed, 300);
  assert_int_equal(slower.confirmed, 0);
  assert_in_range(faster.pairs, 900, 1100);
  assert_in_range(slower.pairs, 300, 310);
}

static void test_a_plan_that_is_as_fast_does_not_stay(void **state) {
  (void)state;
  assert_in_range(try_speed(1, 0.05, 1, 0, 0).confirmed, 0, 15);    /* told faster by chance: 5 % at the most */
  assert_in_range(try_speed(0.99, 0.05, 1, 0, 0).confirmed, 0, 15); /* however often it was looked at */
  assert_in_range(try_speed(1, 0.02, 1, 0, 0).pairs, 900, 1500);    /* soon shown to gain less than 3 % */
}

static void test_a_plan_that_releases_may_be_a_little_slower(void **state) {
  (void)state;
  assert_in_range(try_speed(1, 0.03, 1, 0.0305, 0).confirmed, 285, 300);
  assert_in_range(try_speed(0.985, 0.01, 1, 0.0305, 0).confirmed, 285, 300);
  assert_in_range(try_speed(0.985, 0.01, 1, 0.01, 0).confirmed, 0, 15); /* what others conceded is not his */
  assert_in_range(try_speed(0.96, 0.03, 1, 0.0305, 0).confirmed, 0, 15);
}

/* While rounds become half a per cent longer with every window, 2 % with every pair, which a comparison of one plan's rounds with the
 * other's before them would take for the new plan's fault. */
static void test_what_changes_meanwhile_meets_both(void **state) {
  (void)state;
  assert_in_range(try_speed(1.1, 0.02, 1, 0, 0.005).confirmed, 290, 300);
  assert_in_range(try_speed(1, 0.02, 1, 0, 0.005).confirmed, 0, 15);
}

static void test_by_cost_a_slow_plan_may_win_and_a_fast_one_lose(void **state) {
  (void)state;
  assert_int_equal(try_speed(0.8, 0.02, 2, 0, 0).confirmed, 300); /* half the price: 1.6 */
  assert_int_equal(try_speed(1.5, 0.02, 0.5, 0, 0).confirmed, 0); /* twice the price: 0.75 */
}

/* ---- the first pair: before, between and after ---- */

/* By what a second costs, and beyond what is conceded. */
static void test_two_blocks_judge_by_price_and_concession(void **state) {
  (void)state;
  for (int i = 0; i < 4; i++) {
    bench b = bench_of(9, 0.9, 0.01);
    mz_trial trial = begin(&b, i == 1 ? 1.2 : 1, i == 2 ? 0.2 : i == 3 ? 0.03 : 0, 9);
    mz_interval ratio;
    run_block(&b, &trial, WINDOW_ROUNDS);
    assert_int_equal(mz_trial_verdict(&trial, 3, &ratio), MZ_VERDICT_WAIT);
    run_block(&b, &trial, WINDOW_ROUNDS);
    assert_int_equal(mz_trial_verdict(&trial, 3, &ratio), i == 0 || i == 3 ? MZ_VERDICT_REVERT : MZ_VERDICT_WAIT);
  }
}

/* A pair that was disturbed, and rounds of the old plan that are not known, leave it to the pairs. */
static void test_without_rounds_before_and_after_pairs_judge(void **state) {
  (void)state;
  bench b = bench_of(10, 0.9, 0.01);
  mz_trial trial = begin(&b, 1, 0, 1), unknown;
  for (int i = 0; i < 6; i++) mz_trial_round(&trial, round_s(&b, MZ_SIDE_NEW));
  mz_trial_window(&trial, false);
  while (trial.ratios.count < 1) run_block(&b, &trial, WINDOW_ROUNDS);
  assert_false(trial.slower);
  mz_trial_begin(&unknown, &(mz_rounds){0}, 1, 0, GAIN_MIN, 1);
  while (unknown.ratios.count < 1) run_block(&b, &unknown, WINDOW_ROUNDS);
  assert_false(unknown.slower);
}

/* Twice as fast, or half as fast, with a block of each. Not so where one round of the other plan was as good. */
static void test_what_every_round_shows_needs_no_interval(void **state) {
  (void)state;
  mz_interval ratio;
  for (int slow = 0; slow < 2; slow++) {
    bench b = bench_of(5, slow ? 0.5 : 2, 0.05);
    for (int one = 0; one < 2; one++) {
      mz_trial trial;
      mz_rounds old = {0};
      if (one) mz_rounds_add(&old, slow ? 1.9 : 0.55);
      mz_trial_begin(&trial, &old, 1, 0, GAIN_MIN, 1);
      run_block(&b, &trial, 4);
      assert_int_equal(mz_trial_verdict(&trial, 3, &ratio), MZ_VERDICT_WAIT);
      run_block(&b, &trial, 4);
      const mz_verdict wanted = one ? MZ_VERDICT_WAIT : slow ? MZ_VERDICT_REVERT : MZ_VERDICT_CONFIRM;
      assert_int_equal(mz_trial_verdict(&trial, 3, &ratio), wanted);
    }
  }
}

static void test_orders_differ_and_begin_with_the_new_plan(void **state) {
  (void)state;
  int new_first = 0;
  for (uint64_t seed = 0; seed < 50; seed++) {
    bench b = bench_of(seed, 1, 0.01);
    mz_trial trial = begin(&b, 1, 0, seed);
    assert_int_equal(trial.side, MZ_SIDE_NEW);
    for (int pair = 0; pair < 16; pair++) {
      const mz_side first = trial.side;
      run_block(&b, &trial, 4);
      assert_true(trial.side != first);
      run_block(&b, &trial, 4);
      new_first += pair > 0 && first == MZ_SIDE_NEW;
    }
    assert_int_equal(trial.ratios.count, 16);
  }
  assert_in_range(new_first, 340, 360); /* of 750: 50 first pairs are not counted */
}

static void test_two_plainly_bad_rounds_end_a_trial_after_the_first_two(void **state) {
  (void)state;
  bench b = bench_of(1, 1, 0.02);
  mz_trial trial = begin(&b, 1, 0, 1);
  assert_false(mz_trial_round(&trial, 5)); /* warming up */
  assert_false(mz_trial_round(&trial, 5));
  assert_false(mz_trial_round(&trial, 1.38)); /* above 0.7 times the speed */
  assert_false(mz_trial_round(&trial, 1.6));  /* once is chance */
  assert_false(mz_trial_round(&trial, 1));
  assert_false(mz_trial_round(&trial, 1.6));
  assert_true(mz_trial_round(&trial, 1.6));
  /* The old plan's rounds are no reason. */
  trial = begin(&b, 1, 0, 1);
  run_block(&b, &trial, WINDOW_ROUNDS);
  assert_int_equal(trial.side, MZ_SIDE_OLD);
  for (int i = 0; i < 10; i++) assert_false(mz_trial_round(&trial, 5));
}

static void test_an_outlier_that_the_old_plan_had_too_is_no_evidence(void **state) {
  (void)state;
  bench b = bench_of(1, 1, 0.02);
  mz_rounds old = {0};
  mz_trial trial;
  for (int i = 0; i < 20; i++) mz_rounds_add(&old, round_s(&b, MZ_SIDE_OLD));
  mz_rounds_add(&old, 3);
  mz_trial_begin(&trial, &old, 1, 0, GAIN_MIN, 1);
  for (int i = 0; i < 4; i++) assert_false(mz_trial_round(&trial, 2.9));
  assert_false(mz_trial_round(&trial, 3.1));
  assert_true(mz_trial_round(&trial, 3.1));
  /* At half the price a round may take twice as long before it is as bad. */
  mz_trial_begin(&trial, &old, 2, 0, GAIN_MIN, 1);
  for (int i = 0; i < 4; i++) assert_false(mz_trial_round(&trial, 5.9));
  assert_false(mz_trial_round(&trial, 6.1));
  assert_true(mz_trial_round(&trial, 6.1));
  /* Without rounds of the old plan nothing is plain. */
  mz_trial_begin(&trial, &(mz_rounds){0}, 1, 0, GAIN_MIN, 1);
  for (int i = 0; i < 10; i++) assert_false(mz_trial_round(&trial, 100));
}

/* Nobody leads until the first pair tells; then the one that was faster so far does. */
static void test_the_plan_that_leads_has_longer_blocks(void **state) {
  (void)state;
  for (int faster = 0; faster < 2; faster++) {
    bench b = bench_of(3, faster ? 1.3 : 0.8, 0.02);
    mz_trial trial = begin(&b, 1, 0, 3);
    for (int block = 0; block < 20; block++) {
      const mz_side side = trial.side;
      int windows = 0;
      for (; trial.side == side && trial.blocks == block; windows++) run_window(&b, &trial, 4);
      const mz_side leads = faster ? MZ_SIDE_NEW : MZ_SIDE_OLD;
      assert_int_equal(windows, block >= 2 && side == leads ? MZ_TRIAL_LEAD : 1);
    }
  }
}

static void test_blocks_without_rounds_continue(void **state) {
  (void)state;
  bench b = bench_of(1, 1.2, 0.02);
  mz_trial trial = begin(&b, 1, 0, 1);
  for (int i = 0; i < 50; i++) mz_trial_window(&trial, true);
  assert_int_equal(trial.blocks, 0);
  mz_trial_round(&trial, 1); /* warms up */
  mz_trial_window(&trial, true);
  mz_trial_round(&trial, 1);
  mz_trial_window(&trial, true);
  assert_int_equal(trial.blocks, 1);
  assert_int_equal(trial.side, MZ_SIDE_OLD);
}

/* A pair of which a block was disturbed is begun anew; a trial in which that never ends is over at last. */
static void test_disturbed_pairs_are_begun_anew(void **state) {
  (void)state;
  mz_interval ratio;
  bench b = bench_of(1, 1.2, 0.02);
  mz_trial trial = begin(&b, 1, 0, 1);
  run_block(&b, &trial, 4);
  for (int i = 0; i < 4; i++) mz_trial_round(&trial, 7);
  mz_trial_window(&trial, false);
  assert_int_equal(trial.ratios.count, 0);
  for (int i = 0; i < 6; i++) run_block(&b, &trial, 4);
  assert_int_equal(trial.ratios.count, 3);
  assert_int_equal(mz_trial_verdict(&trial, 3, &ratio), MZ_VERDICT_CONFIRM);
  assert_true(ratio.low < 1.2 && 1.2 < ratio.high);

  trial = begin(&b, 1, 0, 1);
  int blocks = 0;
  for (; mz_trial_verdict(&trial, 3, &ratio) == MZ_VERDICT_WAIT; blocks++) {
    for (int i = 0; i < 4; i++) mz_trial_round(&trial, 1);
    mz_trial_window(&trial, false);
  }
  assert_int_equal(blocks, 4 * MZ_TRIAL_PAIRS_MAX);
  assert_int_equal(mz_trial_verdict(&trial, 3, &ratio), MZ_VERDICT_REVERT);

  trial = begin(&b, 1, 0, 1);
  for (int i = 0; i < 2; i++) run_block(&b, &trial, 4);
  assert_int_equal(trial.ratios.count, 1);
  while (mz_trial_verdict(&trial, 3, &ratio) == MZ_VERDICT_WAIT) {
    for (int i = 0; i < 4; i++) mz_trial_round(&trial, 1);
    mz_trial_window(&trial, false);
  }
  assert_int_equal(mz_trial_verdict(&trial, 3, &ratio), MZ_VERDICT_REVERT);
  assert_true(isnan(ratio.estimate)); /* one pair shows nothing */
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
      cmocka_unit_test(test_what_is_plain_is_told_within_few_pairs),
      cmocka_unit_test(test_a_plan_that_is_as_fast_does_not_stay),
      cmocka_unit_test(test_a_plan_that_releases_may_be_a_little_slower),
      cmocka_unit_test(test_what_changes_meanwhile_meets_both),
      cmocka_unit_test(test_by_cost_a_slow_plan_may_win_and_a_fast_one_lose),
      cmocka_unit_test(test_two_blocks_judge_by_price_and_concession),
      cmocka_unit_test(test_without_rounds_before_and_after_pairs_judge),
      cmocka_unit_test(test_what_every_round_shows_needs_no_interval),
      cmocka_unit_test(test_orders_differ_and_begin_with_the_new_plan),
      cmocka_unit_test(test_two_plainly_bad_rounds_end_a_trial_after_the_first_two),
      cmocka_unit_test(test_an_outlier_that_the_old_plan_had_too_is_no_evidence),
      cmocka_unit_test(test_the_plan_that_leads_has_longer_blocks),
      cmocka_unit_test(test_blocks_without_rounds_continue),
      cmocka_unit_test(test_disturbed_pairs_are_begun_anew),
      cmocka_unit_test(test_rounds_are_the_last_64_without_those_that_warm_up),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
