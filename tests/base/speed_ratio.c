#include "base/maths/statistics.h"
#include "base/maths/rng.h"
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

static void expect_near(double got, double wanted, double relative) {
  if (!(fabs(got - wanted) <= relative * fabs(wanted))) fail_msg("%.17g, not %.17g", got, wanted);
}

static void test_speed_ratio_by_hand(void **state) {
  (void)state;
  /* logarithms 1, 2, 3 against 0, 1, 2, 3: variances of the means 1/3 and 5/12, difference of the means 1/2 */
  const double before[] = {exp(1), exp(2), exp(3)}, after[] = {1, exp(1), exp(2), exp(3)};
  const double degrees = 0.75 * 0.75 / (1.0 / 9 / 2 + 25.0 / 144 / 3);
  const double reach = mz_student_quantile(0.95, degrees) * sqrt(0.75);
  const mz_interval ratio = mz_speed_ratio(before, 3, after, 4, 0.9);
  expect_near(ratio.estimate, exp(0.5), 1e-14);
  expect_near(ratio.low, exp(0.5 - reach), 1e-12);
  expect_near(ratio.high, exp(0.5 + reach), 1e-12);
  const mz_interval inverse = mz_speed_ratio(after, 4, before, 3, 0.9);
  expect_near(inverse.low, 1.0 / ratio.high, 1e-12);
  expect_near(inverse.high, 1.0 / ratio.low, 1e-12);

  const double twos[] = {2, 2, 2}, ones[] = {1, 1};
  const mz_interval exact = mz_speed_ratio(twos, 3, ones, 2, 0.9);
  assert_true(fabs(exact.low - 2.0) < 1e-12 && fabs(exact.estimate - 2.0) < 1e-12 && fabs(exact.high - 2.0) < 1e-12);
}

static void test_speed_ratio_with_too_little(void **state) {
  (void)state;
  const double one[] = {2}, three[] = {1, 1.1, 0.9};
  mz_interval ratio = mz_speed_ratio(one, 1, three, 3, 0.9);
  assert_true(ratio.low == 0.0 && isinf(ratio.high) && ratio.estimate > 1.9 && ratio.estimate < 2.2);
  ratio = mz_speed_ratio(three, 3, one, 1, 0.9);
  assert_true(ratio.low == 0.0 && isinf(ratio.high));
  ratio = mz_speed_ratio(three, 3, NULL, 0, 0.9);
  assert_true(ratio.low == 0.0 && isinf(ratio.high) && isnan(ratio.estimate));
  /* what is no time does not count */
  const double odd[] = {NAN, 1, 0, 1.1, -1, INFINITY, 0.9};
  const mz_interval clean = mz_speed_ratio(three, 3, three, 3, 0.9);
  ratio = mz_speed_ratio(odd, COUNT(odd), three, 3, 0.9);
  assert_memory_equal(&ratio, &clean, sizeof clean);
}

static void test_one_slow_piece_among_ten_is_winsorised(void **state) {
  (void)state;
  double calm[10], disturbed[10], other[10];
  for (int i = 0; i < 10; i++) {
    calm[i] = 1.0 + 0.01 * (i < 9 ? i : 8); /* the highest two are equal */
    disturbed[i] = i == 3 ? 50.0 : 1.0 + 0.01 * (i < 3 ? i : i - 1);
    other[i] = 1.0 + 0.01 * i;
  }
  const mz_interval a = mz_speed_ratio(calm, 10, other, 10, 0.9), b = mz_speed_ratio(disturbed, 10, other, 10, 0.9);
  assert_memory_equal(&a, &b, sizeof a);
}

static void test_only_the_newest_pieces_count(void **state) {
  (void)state;
  static double long_ago[3000];
  for (int i = 0; i < 3000; i++) long_ago[i] = i < 3000 - 1024 ? 100.0 : i % 2 == 0 ? 1.0 : 1.5;
  const double now[] = {1.0, 1.5, 1.0, 1.5};
  expect_near(mz_speed_ratio(long_ago, 3000, now, 4, 0.9).estimate, 1.0, 1e-12);
}

/* 90 % intervals at the sizes that trials have, noise of 5 % and now and then a piece twice as slow. */
static void test_speed_ratio_covers_the_truth(void **state) {
  (void)state;
  enum { REPETITIONS = 1000 };
  const int sizes[][2] = {{4, 4}, {12, 6}, {32, 32}};
  for (int s = 0; s < COUNT(sizes); s++) {
    int covered = 0;
    for (int repetition = 0; repetition < REPETITIONS; repetition++) {
      mz_rng rng = mz_rng_at(13, MZ_RNG_TEST, (uint32_t)repetition, (uint64_t)s);
      double pieces[2][32];
      for (int side = 0; side < 2; side++) {
        for (int i = 0; i < sizes[s][side]; i++) {
          const double slow = mz_rng_below(&rng, 50) == 0 ? 2.0 : 1.0;
          pieces[side][i] = slow * exp(0.05 * mz_rng_normal(&rng)) / (side == 1 ? 1.2 : 1.0);
        }
      }
      const mz_interval ratio = mz_speed_ratio(pieces[0], sizes[s][0], pieces[1], sizes[s][1], 0.9);
      assert_true(ratio.low <= ratio.estimate && ratio.estimate <= ratio.high);
      covered += ratio.low <= 1.2 && 1.2 <= ratio.high;
    }
    assert_in_range(covered, (int)(0.87 * REPETITIONS), (int)(0.95 * REPETITIONS));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_speed_ratio_by_hand),
      cmocka_unit_test(test_speed_ratio_with_too_little),
      cmocka_unit_test(test_one_slow_piece_among_ten_is_winsorised),
      cmocka_unit_test(test_only_the_newest_pieces_count),
      cmocka_unit_test(test_speed_ratio_covers_the_truth),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
