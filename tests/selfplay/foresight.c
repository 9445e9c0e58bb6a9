/* Sums over a game against its positions one by one, and a correlation that is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/maths/rng.h"
#include "selfplay/evaluation/foresight.h"
#include <math.h>
#include <stdbool.h>

enum { MOVES = 300 };

static void assert_near(double a, double b) {
  if (!(fabs(a - b) <= 1e-9 * (1 + fabs(b)))) fail_msg("%.17g is not %.17g", a, b);
}

/* Moves of which some are another's: they bring rewards, and no value is told of them. */
static void test_sums_are_those_of_the_positions(void **unused) {
  (void)unused;
  const double discounts[] = {0, 0.5, 0.97, 1};
  for (int d = 0; d < 4; d++) {
    mz_rng rng = mz_rng_at(1, MZ_RNG_TEST, 0, (uint64_t)d);
    mz_foreseen_game game = {0};
    double values[MOVES], rewards[MOVES];
    bool own[MOVES];
    for (int i = 0; i < MOVES; i++) {
      own[i] = mz_rng_f64(&rng) < 0.7;
      values[i] = mz_rng_f64(&rng) * 4 - 1;
      rewards[i] = mz_rng_f64(&rng) < 0.3 ? mz_rng_f64(&rng) - 0.4 : 0;
      if (own[i]) mz_foreseen_game_value(&game, values[i]);
      mz_foreseen_game_reward(&game, discounts[d], rewards[i]);
    }
    mz_foresight expected = {0};
    double outcome = 0;
    for (int i = MOVES - 1; i >= 0; i--) {
      outcome = rewards[i] + discounts[d] * outcome;
      if (!own[i]) continue;
      expected.positions++;
      expected.value += values[i];
      expected.value_square += values[i] * values[i];
      expected.outcome += outcome;
      expected.outcome_square += outcome * outcome;
      expected.product += values[i] * outcome;
    }
    assert_int_equal(game.sums.positions, expected.positions);
    assert_near(game.sums.value, expected.value);
    assert_near(game.sums.value_square, expected.value_square);
    assert_near(game.sums.outcome, expected.outcome);
    assert_near(game.sums.outcome_square, expected.outcome_square);
    assert_near(game.sums.product, expected.product);
  }
}

/* Sums over five games of one position, which bring x and were told to bring a·x + b. */
static mz_foresight line(double a, double b) {
  mz_foresight all = {0};
  for (int x = 1; x <= 5; x++) {
    mz_foreseen_game game = {0};
    mz_foreseen_game_value(&game, a * x + b);
    mz_foreseen_game_reward(&game, 0.9, x);
    mz_foresight_add(&all, &game.sums);
  }
  return all;
}

static void test_bias_and_correlation(void **unused) {
  (void)unused;
  mz_foresight c = line(2, 7);
  assert_int_equal(c.positions, 5);
  assert_near(mz_foresight_bias(&c), 10);
  assert_near(mz_foresight_correlation(&c), 1);
  c = line(-0.5, 0);
  assert_near(mz_foresight_bias(&c), -4.5);
  assert_near(mz_foresight_correlation(&c), -1);
  const mz_foresight rising = line(1, 0), other = line(-1, 6); /* as often against as with the outcomes */
  c = rising;
  mz_foresight_add(&c, &other);
  assert_near(mz_foresight_correlation(&c) + 1, 1);
  c = line(0, 0.1); /* says the same of all: squares of 0.1 are inexact */
  assert_true(isnan(mz_foresight_correlation(&c)));
  const mz_foresight none = {0};
  assert_true(isnan(mz_foresight_bias(&none)) && isnan(mz_foresight_correlation(&none)));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_sums_are_those_of_the_positions),
                                     cmocka_unit_test(test_bias_and_correlation)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
