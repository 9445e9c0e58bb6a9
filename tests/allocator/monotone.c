/* The test of monotonicity: it refutes as often as it says where nothing depends on an axis, finds what was planted, and cuts
 * there. */
#include "allocator/model/monotone.h"
#include "base/maths/rng.h"
#include <math.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { MOST = 1024, AXES = 3 };

static double x[MOST * AXES], y[MOST], weight[MOST];

/* Lays out a grid of a × b points, `copies` of each, whose third coordinate says nothing. */
static mz_isotonic_points lay(int a, int b, int copies) {
  mz_isotonic_points p = {.axes = AXES, .x = x, .y = y, .weight = weight};
  for (int i = 0; i < a * b * copies; i++) {
    x[3 * i] = i % a;
    x[3 * i + 1] = i / a % b;
    x[3 * i + 2] = 0;
    y[i] = 0;
    weight[i] = 1;
  }
  p.count = a * b * copies;
  return p;
}

static mz_monotone tested(const mz_isotonic_points *p, int axis, uint64_t seed) {
  mz_monotone found;
  assert_int_equal(mz_monotone_test(p, axis, 0.05, seed, &found), MZ_OK);
  assert_true(found.rise_p >= 0.001 && found.rise_p <= 1 && found.fall_p >= 0.001 && found.fall_p <= 1);
  return found;
}

/* ---- the level ---- */

enum { SEEDS = 500 };

typedef struct shares {
  double rises, falls; /* of tests with a probability of at most 0.1 */
} shares;

static void count(shares *s, const mz_monotone *found) {
  s->rises += (found->rise_p <= 0.1) / (double)SEEDS;
  s->falls += (found->fall_p <= 0.1) / (double)SEEDS;
}

/* Four standard deviations of a share of 0.1 of 500: 0.054. */
static void assert_level(const shares *s) {
  assert_true(s->rises > 0.046 && s->rises < 0.154);
  assert_true(s->falls > 0.046 && s->falls < 0.154);
}

static void test_its_level_holds_where_nothing_depends_on_the_axis(void **state) {
  (void)state;
  shares plain = {0}, tailed = {0};
  for (uint64_t seed = 0; seed < SEEDS; seed++) {
    mz_rng rng = mz_rng_at(seed, MZ_RNG_TEST, 20, 0);
    const mz_isotonic_points p = lay(5, 4, 1);
    for (int i = 0; i < p.count; i++) y[i] = mz_rng_normal(&rng) + 10 * x[3 * i + 1]; /* depends on another axis */
    mz_monotone found = tested(&p, 0, seed);
    assert_false(found.by_residuals);
    assert_int_equal(found.pairs, 4 * 10);
    count(&plain, &found);
    for (int i = 0; i < p.count; i++) { /* observations as uncertain as their weights say, with heavy tails */
      weight[i] = pow(10, 2 * mz_rng_f64(&rng));
      y[i] = mz_rng_normal(&rng) / (0.1 + mz_rng_f64(&rng)) / sqrt(weight[i]) - 5 * x[3 * i + 1];
    }
    found = tested(&p, 0, seed);
    count(&tailed, &found);
  }
  assert_level(&plain);
  assert_level(&tailed);
}

/* Points without equals: y rises along two axes, and does not depend on the third. */
static void test_its_level_holds_for_residuals(void **state) {
  (void)state;
  shares s = {0};
  for (uint64_t seed = 0; seed < SEEDS; seed++) {
    mz_rng rng = mz_rng_at(seed, MZ_RNG_TEST, 21, 0);
    mz_isotonic_points p = lay(24, 1, 1);
    for (int i = 0; i < p.count; i++) {
      for (int a = 0; a < AXES; a++) x[3 * i + a] = mz_rng_f64(&rng);
      y[i] = 0.3 * mz_rng_normal(&rng) + 2 * x[3 * i + 1] + x[3 * i + 2];
    }
    const mz_monotone found = tested(&p, 0, seed);
    assert_true(found.by_residuals);
    count(&s, &found);
  }
  assert_level(&s);
}

/* y depends on the second axis alone, which the first one follows closely. */
static void test_another_axis_is_not_taken_for_this_one(void **state) {
  (void)state;
  shares s = {0};
  for (uint64_t seed = 0; seed < SEEDS; seed++) {
    mz_rng rng = mz_rng_at(seed, MZ_RNG_TEST, 28, 0);
    const mz_isotonic_points p = lay(24, 1, 1);
    for (int i = 0; i < p.count; i++) {
      x[3 * i + 1] = mz_rng_f64(&rng);
      x[3 * i] = x[3 * i + 1] + 0.2 * mz_rng_f64(&rng);
      y[i] = 0.1 * mz_rng_normal(&rng) + x[3 * i + 1];
    }
    const mz_monotone found = tested(&p, 0, seed);
    count(&s, &found);
  }
  assert_true(s.rises < 0.2 && s.falls < 0.2);
}

/* Counts, of all orders of five weighted observations, those that are as concordant. */
static int count_orders(double order[5][2], int fixed, double wanted) {
  double sum = 0;
  int orders = 0;
  for (int k = fixed; fixed < 5 && k < 5; k++) {
    for (int c = 0; c < 2; c++) {
      const double swapped = order[fixed][c];
      order[fixed][c] = order[k][c];
      order[k][c] = swapped;
    }
    orders += count_orders(order, fixed + 1, wanted);
    for (int c = 0; c < 2; c++) {
      const double swapped = order[fixed][c];
      order[fixed][c] = order[k][c];
      order[k][c] = swapped;
    }
  }
  if (fixed < 5) return orders;
  for (int a = 0; a < 5; a++)
    for (int b = 0; b < a; b++) sum += (order[a][0] > order[b][0] ? 1 : -1) / (1 / order[a][1] + 1 / order[b][1]);
  return sum >= wanted - 1e-9;
}

static void test_it_counts_orders(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 60; seed++) {
    mz_rng rng = mz_rng_at(seed, MZ_RNG_TEST, 29, 0);
    const mz_isotonic_points p = lay(5, 1, 1);
    double order[5][2], pairs = 0;
    for (int i = 0; i < 5; i++) {
      order[i][0] = y[i] = mz_rng_normal(&rng);
      order[i][1] = weight[i] = pow(10, 3 * mz_rng_f64(&rng));
      for (int j = 0; j < i; j++) pairs += 1 / (1 / weight[i] + 1 / weight[j]);
    }
    const mz_monotone found = tested(&p, 0, seed);
    const double wanted = count_orders(order, 0, found.concordance * pairs) / 120.;
    assert_true(fabs(found.rise_p - wanted) <= 4.5 * sqrt(wanted * (1 - wanted) / 1000) + 0.001);
  }
}

/* A rise is refuted no more often than independence of the axis is. */
static void test_what_rises_is_confirmed(void **state) {
  (void)state;
  int confirmed = 0, refuted = 0;
  for (uint64_t seed = 0; seed < 200; seed++) {
    mz_rng rng = mz_rng_at(seed, MZ_RNG_TEST, 22, 0);
    const mz_isotonic_points p = lay(6, 4, 1);
    for (int i = 0; i < p.count; i++) y[i] = mz_rng_normal(&rng) + 0.7 * x[3 * i] - 3 * x[3 * i + 1];
    const mz_monotone found = tested(&p, 0, seed);
    confirmed += found.verdict == MZ_MONOTONE_CONFIRMED;
    refuted += found.verdict == MZ_MONOTONE_REFUTED;
  }
  assert_true(confirmed > 150 && refuted < 10);
}

/* ---- what is planted ---- */

static void test_a_peak_is_found_and_cut(void **state) {
  (void)state;
  for (int peak = 0; peak < 6; peak++) {
    int refuted = 0, at_peak = 0;
    for (uint64_t seed = 0; seed < 40; seed++) {
      mz_rng rng = mz_rng_at(seed, MZ_RNG_TEST, 23, (uint64_t)peak);
      const mz_isotonic_points p = lay(8, 5, 2);
      /* a steep rise, and beyond it a slight fall */
      for (int i = 0; i < p.count; i++) {
        const double from = x[3 * i] - peak;
        y[i] = (from < 0 ? 10 * from : -0.3 * from) + 0.05 * mz_rng_normal(&rng) + 7 * sin(x[3 * i + 1]);
      }
      const mz_monotone found = tested(&p, 0, seed);
      refuted += found.verdict == MZ_MONOTONE_REFUTED;
      at_peak += found.peak == peak && found.beyond == (7 - peak) * 10;
      if (found.verdict != MZ_MONOTONE_REFUTED) continue;
      assert_true(mz_monotone_cuts(&found, peak + 1) && !mz_monotone_cuts(&found, peak));
      assert_true(found.fall_from >= peak && found.fall_to > found.fall_from);
    }
    assert_true(refuted == 40 && at_peak == 40);
  }
}

/* A dip within a rise refutes the order, but nothing is cut from where the best values are. */
static void test_a_dip_is_found(void **state) {
  (void)state;
  mz_rng rng = mz_rng_at(1, MZ_RNG_TEST, 24, 0);
  const mz_isotonic_points p = lay(7, 6, 2);
  for (int i = 0; i < p.count; i++) y[i] = (double[]){0, 5, 6, 3, 2, 8, 9}[(int)x[3 * i]] + 0.1 * mz_rng_normal(&rng);
  const mz_monotone found = tested(&p, 0, 1);
  assert_int_equal(found.verdict, MZ_MONOTONE_REFUTED);
  assert_true(found.fall_from == 2 && found.fall_to == 4 && found.peak == 6 && found.beyond == 0);
  assert_false(mz_monotone_cuts(&found, 6));
  const mz_monotone other = tested(&p, 1, 1);
  assert_int_equal(other.verdict, MZ_MONOTONE_NOT_REFUTED);
}

/* Few strata have all coordinates, and those with the greatest ones are the slow ones. */
static void test_the_peak_is_not_misled_by_missing_points(void **state) {
  (void)state;
  mz_isotonic_points p = lay(6, 8, 1);
  int kept = 0;
  for (int i = 0; i < p.count; i++) {
    const double a = x[3 * i], b = x[3 * i + 1];
    if (b > 0 && (b < 4) != (a < 3)) continue;
    x[3 * kept] = a;
    x[3 * kept + 1] = b;
    y[kept++] = a - (b >= 4 ? 20 : 0);
  }
  p.count = kept;
  const mz_monotone found = tested(&p, 0, 3);
  assert_true(found.peak == 5 && found.beyond == 0);
}

static void test_scattered_points_show_it_by_residuals(void **state) {
  (void)state;
  mz_rng rng = mz_rng_at(5, MZ_RNG_TEST, 25, 0);
  mz_isotonic_points p = lay(200, 1, 1);
  for (int i = 0; i < p.count; i++) {
    for (int a = 0; a < AXES; a++) x[3 * i + a] = mz_rng_f64(&rng);
    y[i] = 0.1 * mz_rng_normal(&rng) + 2 * x[3 * i + 1] - 4 * fabs(x[3 * i] - 0.4);
  }
  const mz_monotone found = tested(&p, 0, 1);
  assert_true(found.by_residuals && found.verdict == MZ_MONOTONE_REFUTED);
  assert_true(found.peak > 0.25 && found.peak < 0.55);
  assert_int_equal(tested(&p, 1, 1).verdict, MZ_MONOTONE_CONFIRMED);
}

/* ---- edges ---- */

static void test_there_is_nothing_to_test(void **state) {
  (void)state;
  mz_isotonic_points p = lay(1, 1, 1);
  p.count = 0;
  mz_monotone found = tested(&p, 0, 1);
  assert_true(found.verdict == MZ_MONOTONE_NOT_REFUTED && found.rise_p == 1 && found.fall_p == 1 && found.pairs == 0);
  p.count = 1;
  found = tested(&p, 0, 1);
  assert_true(found.verdict == MZ_MONOTONE_NOT_REFUTED && found.pairs == 0 && found.peak == 0);
  p = lay(1, 9, 1); /* one coordinate */
  found = tested(&p, 0, 1);
  assert_true(found.verdict == MZ_MONOTONE_NOT_REFUTED && found.rise_p == 1);
  p = lay(5, 5, 1); /* all observations equal */
  found = tested(&p, 0, 1);
  assert_true(found.verdict == MZ_MONOTONE_NOT_REFUTED && found.rise_p == 1 && found.fall_p == 1 && found.concordance == 0);
  p = lay(2, 1, 1); /* two points show nothing */
  y[1] = -1;
  found = tested(&p, 0, 1);
  assert_true(found.verdict == MZ_MONOTONE_NOT_REFUTED && found.concordance == -1 && found.fall_p > 0.4);
  p = (mz_isotonic_points){
      .count = 9, .axes = 1, .x = (double[]){1e-6, 1e-3, 1, 1e3, 1e6, 1e7, 1e8, 5e8, 1e9}, .y = x, .weight = weight};
  for (int i = 0; i < 9; i++) x[i] = pow(10, i);
  found = tested(&p, 0, 1); /* one axis */
  assert_true(found.verdict == MZ_MONOTONE_CONFIRMED && found.concordance == 1 && found.peak == 1e9);
}

static void test_many_coordinates_are_grouped(void **state) {
  (void)state;
  mz_rng rng = mz_rng_at(6, MZ_RNG_TEST, 26, 0);
  const mz_isotonic_points p = lay(60, 8, 1);
  for (int i = 0; i < p.count; i++) y[i] = -fabs(x[3 * i] - 30) + mz_rng_normal(&rng);
  const mz_monotone found = tested(&p, 0, 1);
  assert_int_equal(found.verdict, MZ_MONOTONE_REFUTED);
  assert_true(fabs(found.peak - 30) <= 4);
}

static void test_the_same_seed_gives_the_same(void **state) {
  (void)state;
  mz_rng rng = mz_rng_at(7, MZ_RNG_TEST, 27, 0);
  const mz_isotonic_points p = lay(6, 6, 1);
  for (int i = 0; i < p.count; i++) y[i] = mz_rng_normal(&rng);
  const mz_monotone first = tested(&p, 0, 4), second = tested(&p, 0, 4), other = tested(&p, 0, 5);
  assert_true(first.rise_p == second.rise_p && first.fall_p == second.fall_p);
  assert_true(first.rise_p != other.rise_p && fabs(first.rise_p - other.rise_p) < 0.1);
}

static void test_memory_that_cannot_be_had(void **state) {
  (void)state;
  const mz_isotonic_points p = lay(6, 6, 1);
  mz_monotone found;
  mz_alloc_fail_after(1);
  assert_int_equal(mz_monotone_test(&p, 0, 0.05, 1, &found), MZ_E_MEMORY);
  mz_alloc_fail_after(0);
}

/* ---- what is said ---- */

static void test_the_cut_is_said(void **state) {
  (void)state;
  char text[200];
  mz_monotone found = {.verdict = MZ_MONOTONE_REFUTED, .fall_p = 0.002, .peak = 16, .beyond = 12, .fall_from = 4, .fall_to = 8};
  mz_monotone_say_cut(&found, "seconds per epoch rise again", "cpu_actor", text, sizeof text);
  assert_string_equal(text, "seconds per epoch rise again beyond cpu_actor = 16 (p = 0.002): plans beyond it are left out");
  found.beyond = 0;
  mz_monotone_say_cut(&found, "seconds per epoch rise again", "cpu_actor", text, sizeof text);
  assert_string_equal(text, "seconds per epoch rise again between cpu_actor = 4 and 8 (p = 0.002), but the best is at the end, "
                            "16: no plans are left out");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_its_level_holds_where_nothing_depends_on_the_axis),
      cmocka_unit_test(test_its_level_holds_for_residuals),
      cmocka_unit_test(test_another_axis_is_not_taken_for_this_one),
      cmocka_unit_test(test_it_counts_orders),
      cmocka_unit_test(test_what_rises_is_confirmed),
      cmocka_unit_test(test_a_peak_is_found_and_cut),
      cmocka_unit_test(test_a_dip_is_found),
      cmocka_unit_test(test_the_peak_is_not_misled_by_missing_points),
      cmocka_unit_test(test_scattered_points_show_it_by_residuals),
      cmocka_unit_test(test_there_is_nothing_to_test),
      cmocka_unit_test(test_many_coordinates_are_grouped),
      cmocka_unit_test(test_the_same_seed_gives_the_same),
      cmocka_unit_test(test_memory_that_cannot_be_had),
      cmocka_unit_test(test_the_cut_is_said),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
