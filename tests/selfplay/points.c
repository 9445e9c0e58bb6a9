/* Intervals of points against Wilson's formula, and against what they promise: how often they hold the truth. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/maths/rng.h"
#include "selfplay/evaluation/points.h"
#include <math.h>

enum { UNITS_MAX = 400 };

static void wins(double *units, int n, int won) {
  for (int i = 0; i < n; i++) units[i] = i < won;
}

/* For wins and losses alone the interval is Agresti & Coull's interval, which holds Wilson's. */
static void test_wins_and_losses(void **unused) {
  (void)unused;
  const double z = 1.959963984540054;
  double units[UNITS_MAX];
  for (int n = 1; n <= UNITS_MAX; n = n * 2 + 1) {
    for (int won = 0; won <= n; won += n < 20 ? 1 : n / 7) {
      wins(units, n, won);
      const mz_interval i = mz_points_interval(units, n);
      const double p = (double)won / n, m = n + z * z, q = (won + z * z / 2) / m, half = z * sqrt(q * (1 - q) / m);
      assert_true(i.estimate == p);
      assert_true(fabs(i.low - fmax(q - half, 0)) < 1e-12 && fabs(i.high - fmin(q + half, 1)) < 1e-12);
      const double wilson = z * sqrt(p * (1 - p) / n + z * z / (4.0 * n * n)) / (1 + z * z / n);
      assert_true(i.low <= q - wilson + 1e-12 && i.high >= fmin(q + wilson, 1) - 1e-12);
      assert_true(i.low <= p && p <= i.high && i.low < i.high);
    }
  }
  wins(units, 400, 380); /* 95 % of 400 games */
  const mz_interval i = mz_points_interval(units, 400);
  assert_true(fabs(i.low - 0.9236) < 1e-4 && fabs(i.high - 0.9678) < 1e-4);
}

static void test_draws_vary_less(void **unused) {
  (void)unused;
  double decided[100], drawn[100];
  for (int i = 0; i < 100; i++) decided[i] = i % 2, drawn[i] = i < 50 ? 0.5 : i % 2;
  const mz_interval a = mz_points_interval(decided, 100), b = mz_points_interval(drawn, 100);
  assert_true(a.estimate == 0.5 && b.estimate == 0.5);
  const double ratio = (b.high - b.low) / (a.high - a.low);
  assert_true(ratio > sqrt(0.5) && ratio < sqrt(0.5) + 0.02); /* half the variance, and the four that were added */
}

/* The share of samples whose interval holds the truth, where `draw` makes one unit of n. */
static double coverage(int n, double truth, double (*draw)(mz_rng *rng), uint32_t purpose) {
  enum { SAMPLES = 4000 };
  int held = 0;
  for (int s = 0; s < SAMPLES; s++) {
    mz_rng rng = mz_rng_at(1, MZ_RNG_TEST, purpose, (uint64_t)s);
    double units[UNITS_MAX];
    for (int i = 0; i < n; i++) units[i] = draw(&rng);
    const mz_interval interval = mz_points_interval(units, n);
    held += interval.low <= truth && truth <= interval.high;
  }
  return (double)held / SAMPLES;
}

static double a_strong_player(mz_rng *rng) { return mz_rng_f64(rng) < 0.95; }
static double a_player_who_draws(mz_rng *rng) {
  const double u = mz_rng_f64(rng);
  return u < 0.3 ? 1 : u < 0.8 ? 0.5 : 0; /* 0.55 */
}
static double pairs_that_depend(mz_rng *rng) { return mz_rng_f64(rng) < 0.9; } /* both games of an opening end alike */
static double pairs_that_balance(mz_rng *rng) {                                /* the first to move wins, now and then both */
  return mz_rng_f64(rng) < 0.1 ? 1 : 0.5;                                      /* 0.55 */
}

static void test_intervals_hold_the_truth(void **unused) {
  (void)unused;
  const struct {
    double truth;
    double (*draw)(mz_rng *rng);
    int n;
  } cases[] = {{0.95, a_strong_player, 400},   {0.95, a_strong_player, 100},   {0.55, a_player_who_draws, 100},
               {0.55, a_player_who_draws, 10}, {0.9, pairs_that_depend, 50},   {0.9, pairs_that_depend, 10},
               {0.55, pairs_that_balance, 50}, {0.55, pairs_that_balance, 200}};
  for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const double held = coverage(cases[i].n, cases[i].truth, cases[i].draw, i);
    const double least = cases[i].n < 50 ? 0.92 : 0.94; /* of ten games few intervals are possible */
    if (held < least) fail_msg("case %u: %.4f of the intervals hold the truth", i, held);
    if (cases[i].n >= 100 && held > 0.98) fail_msg("case %u: the interval is too wide: %.4f", i, held);
  }
}

static void test_elo(void **unused) {
  (void)unused;
  assert_true(mz_elo_of_points(0.5) == 0);
  assert_true(fabs(mz_elo_of_points(10.0 / 11) - 400) < 1e-9); /* ten to one */
  assert_true(fabs(mz_elo_of_points(0.64) - 99.95) < 0.01);
  assert_true(mz_elo_of_points(1) == INFINITY && mz_elo_of_points(0) == -INFINITY);
  for (double p = 0.01; p < 1; p += 0.07) assert_true(fabs(mz_points_of_elo(mz_elo_of_points(p)) - p) < 1e-12);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_wins_and_losses),
      cmocka_unit_test(test_draws_vary_less),
      cmocka_unit_test(test_intervals_hold_the_truth),
      cmocka_unit_test(test_elo),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
