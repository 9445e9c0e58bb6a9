#include "base/maths/sequence.h"
#include "base/maths/rng.h"
#include <math.h>
#include <stdbool.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static mz_sequence sequence_of(const double *values, int count) {
  mz_sequence s = {0};
  for (int i = 0; i < count; i++) mz_sequence_add(&s, values[i]);
  return s;
}

/* The Bayes factor at an end of the interval, from its definition (Gönen et al. 2005, with a prior of variance 10). */
static double factor_at(const double *values, int n, double mean) {
  double sum = 0, squares = 0;
  for (int i = 0; i < n; i++) sum += values[i];
  for (int i = 0; i < n; i++) squares += (values[i] - sum / n) * (values[i] - sum / n);
  const double t = (sum / n - mean) / sqrt(squares / (n - 1) / n), r = 1 + 10.0 * n, degrees = n - 1;
  return pow(r, -0.5) * pow((1 + t * t / degrees) / (1 + t * t / (degrees * r)), n / 2.0);
}

static void test_the_factor_is_reached_at_both_ends(void **state) {
  (void)state;
  const double values[] = {0.31, -0.02, 0.17, 0.4, 0.11, 0.26, 0.09, -0.2, 0.5, 0.33, 0.21, 0.12};
  for (int n = 3; n <= 12; n++) {
    const mz_sequence s = sequence_of(values, n);
    const mz_interval at90 = mz_sequence_interval(&s, 0.9), at50 = mz_sequence_interval(&s, 0.5);
    if (fabs(factor_at(values, n, at90.low) - 10) > 1e-9 || fabs(factor_at(values, n, at90.high) - 10) > 1e-9)
      fail_msg("%d values: factor %.12g", n, factor_at(values, n, at90.low));
    assert_true(at90.low < at50.low && at50.low < at50.estimate && at50.high < at90.high);
  }
}

static void test_with_too_few_values_anything_is_possible(void **state) {
  (void)state;
  mz_sequence s = {0};
  mz_interval none = mz_sequence_interval(&s, 0.9);
  assert_true(isnan(none.estimate) && none.low == -INFINITY && none.high == INFINITY);
  for (int i = 1; i <= 2; i++) {
    mz_sequence_add(&s, i);
    const mz_interval few = mz_sequence_interval(&s, 0.9);
    assert_true(few.estimate == (1 + i) / 2.0 && few.low == -INFINITY && few.high == INFINITY);
  }
  const double same[] = {2, 2, 2};
  s = sequence_of(same, 3);
  const mz_interval exact = mz_sequence_interval(&s, 0.9);
  assert_true(exact.low == 2 && exact.estimate == 2 && exact.high == 2);
}

/* Of 2000 sequences, those whose interval ever leaves the truth out when looked at after each of 100 values. student: with Student's
 * interval instead, which is made for one look. */
static double ever_wrong(bool student, double heavy) {
  enum { SEQUENCES = 2000, VALUES = 100 };
  int wrong = 0;
  for (int i = 0; i < SEQUENCES; i++) {
    mz_rng rng = mz_rng_at(21, MZ_RNG_TEST, (uint32_t)i, 0);
    mz_sequence s = {0};
    for (int n = 1; n <= VALUES; n++) {
      const double wide = mz_rng_f64(&rng) < heavy ? 10 : 1;
      mz_sequence_add(&s, 0.3 + 0.02 * wide * mz_rng_normal(&rng));
      if (n < 3) continue;
      const double reach = mz_student_quantile(0.95, n - 1) * sqrt(s.squares / (n - 1) / n);
      const mz_interval in = student ? (mz_interval){s.mean, s.mean - reach, s.mean + reach} : mz_sequence_interval(&s, 0.9);
      if (in.low <= 0.3 && 0.3 <= in.high) continue;
      wrong++;
      break;
    }
  }
  return (double)wrong / SEQUENCES;
}

static void test_it_holds_however_often_one_looks(void **state) {
  (void)state;
  const double sequence = ever_wrong(false, 0), disturbed = ever_wrong(false, 0.02), student = ever_wrong(true, 0);
  print_message("looked at 98 times, 90 %% intervals were ever wrong: %.1f %%, with outliers %.1f %%; Student's %.1f %%\n",
                100 * sequence, 100 * disturbed, 100 * student);
  assert_true(sequence < 0.1 && disturbed < 0.1);
  assert_true(sequence > 0.01); /* it is not that nothing ever left it */
  assert_true(student > 0.3);
}

/* A mean of one standard deviation is told from 0 within a few values, on average. */
static void test_it_tells_soon(void **state) {
  (void)state;
  double values = 0;
  for (int i = 0; i < 500; i++) {
    mz_rng rng = mz_rng_at(22, MZ_RNG_TEST, (uint32_t)i, 0);
    mz_sequence s = {0};
    do mz_sequence_add(&s, 1 + mz_rng_normal(&rng));
    while (!(mz_sequence_interval(&s, 0.9).low > 0));
    values += s.count;
  }
  assert_true(values / 500 < 16);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_factor_is_reached_at_both_ends),
      cmocka_unit_test(test_with_too_few_values_anything_is_possible),
      cmocka_unit_test(test_it_holds_however_often_one_looks),
      cmocka_unit_test(test_it_tells_soon),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
