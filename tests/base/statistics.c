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

static void shuffle(double *a, double *b, int *c, int n, mz_rng *rng) {
  for (int i = n - 1; i > 0; i--) {
    const int j = (int)mz_rng_below(rng, (uint32_t)i + 1);
    const double x = a[i], y = b[i];
    const int z = c[i];
    a[i] = a[j], b[i] = b[j], c[i] = c[j];
    a[j] = x, b[j] = y, c[j] = z;
  }
}

/* ---- of one sample ---- */

static void test_median_and_quantiles(void **state) {
  (void)state;
  double odd[] = {5, 1, 3}, even[] = {4, 1, 3, 2}, one[] = {7};
  assert_true(mz_median(odd, 3) == 3.0);
  assert_true(mz_median(even, 4) == 2.5);
  assert_true(mz_median(one, 1) == 7.0 && mz_quantile(one, 1, 0.0) == 7.0 && mz_quantile(one, 1, 1.0) == 7.0);
  double tens[] = {40, 10, 30, 20, 50};
  assert_true(mz_quantile(tens, 5, 0.0) == 10.0 && mz_quantile(tens, 5, 1.0) == 50.0);
  assert_true(mz_quantile(tens, 5, 0.25) == 20.0);
  expect_near(mz_quantile(tens, 5, 0.9), 46.0, 1e-15);
}

static void test_iqm_by_hand(void **state) {
  (void)state;
  double four[] = {1000, 2, 3, -50}; /* the middle two */
  assert_true(mz_iqm(four, 4) == 2.5);
  double five[] = {1000, 0, 10, 100, 1}; /* three quarters of 1 and of 100 */
  expect_near(mz_iqm(five, 5), 34.3, 1e-15);
  double one[] = {3}, two[] = {1, 2};
  assert_true(mz_iqm(one, 1) == 3.0 && mz_iqm(two, 2) == 1.5);
}

/* Every value is there four times: the middle half is a whole number of values. */
static void test_iqm_against_its_definition(void **state) {
  (void)state;
  mz_rng rng = mz_rng_at(1, MZ_RNG_TEST, 0, 0);
  for (int n = 1; n <= 40; n++) {
    double values[40], fourfold[160];
    for (int i = 0; i < n; i++) values[i] = mz_rng_normal(&rng);
    for (int i = 0; i < 4 * n; i++) fourfold[i] = values[i / 4];
    mz_quantile(fourfold, 4 * n, 0.5); /* sorts */
    double sum = 0.0;
    for (int i = n; i < 3 * n; i++) sum += fourfold[i];
    const double wanted = sum / (2 * n);
    assert_true(fabs(mz_iqm(values, n) - wanted) < 1e-14);
  }
}

/* ---- bootstrap ---- */

static const mz_resampling usual = {.resamples = 10000, .level = 0.95, .null = 0.0, .seed = 7};

/* The resampled mean of {0, 1} is 0, 1/2 or 1 with probability 1/4, 1/2, 1/4. */
static void test_bootstrap_of_two_values(void **state) {
  (void)state;
  const double values[] = {0, 1};
  mz_resampling how = usual;
  mz_bootstrapped out;
  how.level = 0.4; /* between the 30th and the 70th percentile */
  assert_int_equal(mz_bootstrap(values, NULL, 2, mz_mean, &how, &out), MZ_OK);
  assert_true(out.interval.estimate == 0.5 && out.interval.low == 0.5 && out.interval.high == 0.5);
  assert_true(fabs(out.p - 0.5) < 0.03); /* 2 · P(mean <= 0); six standard deviations */
  how.level = 0.6;                       /* 20th and 80th */
  how.null = 0.5;
  assert_int_equal(mz_bootstrap(values, NULL, 2, mz_mean, &how, &out), MZ_OK);
  assert_true(out.interval.low == 0.0 && out.interval.high == 1.0);
  assert_true(out.p == 1.0); /* three quarters on either side */
  how.null = -0.001;
  assert_int_equal(mz_bootstrap(values, NULL, 2, mz_mean, &how, &out), MZ_OK);
  expect_near(out.p, 2.0 / 10001, 1e-15);
}

/* All 4^4 resamples of four pairs, counted. */
static void test_ratio_against_every_resample(void **state) {
  (void)state;
  const double a[] = {3, 1, 4, 1.5}, b[] = {2, 2, 2.5, 1};
  double all[256];
  for (int code = 0; code < 256; code++) {
    double up = 0, down = 0;
    for (int draw = 0; draw < 4; draw++) {
      const int i = code >> 2 * draw & 3;
      up += a[i], down += b[i];
    }
    all[code] = up / down;
  }
  for (int percent = 10; percent <= 90; percent += 20) {
    mz_resampling how = usual;
    how.resamples = 20000;
    how.null = mz_quantile(all, 256, percent / 100.0) + 1e-9; /* off the lattice of exact ties */
    int below = 0;
    for (int i = 0; i < 256; i++) below += all[i] <= how.null;
    const double wanted = 2.0 * fmin(below, 256 - below) / 256;
    mz_bootstrapped out;
    assert_int_equal(mz_bootstrap_ratio(a, b, NULL, 4, &how, &out), MZ_OK);
    expect_near(out.interval.estimate, 9.5 / 7.5, 1e-15);
    assert_true(fabs(out.p - wanted) < 0.03); /* four standard deviations of 2 · share */
    assert_true(out.interval.low >= mz_quantile(all, 256, 0.018) && out.interval.low <= mz_quantile(all, 256, 0.032));
    assert_true(out.interval.high >= mz_quantile(all, 256, 0.968) && out.interval.high <= mz_quantile(all, 256, 0.982));
  }
}

/* A resample whose denominators do not add up to more than 0 is beyond all others on the side of its numerators. */
static void test_ratio_of_denominators_of_either_sign(void **state) {
  (void)state;
  const double a[] = {1, 1, 1, 1}, minus[] = {-1, -1, -1, -1}, b[] = {3, 3, 3, -1};
  mz_resampling how = usual;
  how.resamples = 2000;
  mz_bootstrapped up, down;
  assert_int_equal(mz_bootstrap_ratio(a, b, NULL, 4, &how, &up), MZ_OK);
  assert_int_equal(mz_bootstrap_ratio(minus, b, NULL, 4, &how, &down), MZ_OK);
  assert_true(up.interval.estimate == 0.5 && up.interval.low > 0); /* 4 / 12 at the least, 13 of 256 have no sum above 0 */
  assert_true(isinf(up.interval.high) && up.interval.high > 0);
  assert_true(down.interval.low == -up.interval.high && down.interval.high == -up.interval.low);
}

static void test_strata_are_resampled_apart(void **state) {
  (void)state;
  const double values[] = {10, 1, 10, 1, 10};
  const int stratum[] = {5, -2, 5, -2, 5};
  mz_bootstrapped apart, together;
  assert_int_equal(mz_bootstrap(values, stratum, 5, mz_mean, &usual, &apart), MZ_OK);
  assert_int_equal(mz_bootstrap(values, NULL, 5, mz_mean, &usual, &together), MZ_OK);
  assert_true(apart.interval.low == 6.4 && apart.interval.high == 6.4); /* nothing varies within a stratum */
  assert_true(together.interval.low < 4.0 && together.interval.high > 8.0);
  const double ones[] = {1, 1, 1, 1, 1};
  assert_int_equal(mz_bootstrap_ratio(values, ones, stratum, 5, &usual, &apart), MZ_OK);
  assert_true(apart.interval.low == 6.4 && apart.interval.high == 6.4);
}

static void test_bootstrap_is_deterministic_and_forgets_order(void **state) {
  (void)state;
  enum { N = 24 };
  double a[N], b[N];
  int stratum[N];
  mz_rng rng = mz_rng_at(3, MZ_RNG_TEST, 0, 0);
  for (int i = 0; i < N; i++) {
    a[i] = 5.0 + mz_rng_normal(&rng);
    b[i] = 5.0 + mz_rng_normal(&rng);
    stratum[i] = i % 3;
  }
  mz_bootstrapped first[2], again[2];
  assert_int_equal(mz_bootstrap(a, stratum, N, mz_iqm, &usual, &first[0]), MZ_OK);
  assert_int_equal(mz_bootstrap_ratio(a, b, stratum, N, &usual, &first[1]), MZ_OK);
  for (int round = 0; round < 3; round++) {
    assert_int_equal(mz_bootstrap(a, stratum, N, mz_iqm, &usual, &again[0]), MZ_OK);
    assert_int_equal(mz_bootstrap_ratio(a, b, stratum, N, &usual, &again[1]), MZ_OK);
    assert_memory_equal(first, again, sizeof first);
    shuffle(a, b, stratum, N, &rng);
  }
  mz_resampling other = usual;
  other.seed = 8;
  assert_int_equal(mz_bootstrap(a, stratum, N, mz_iqm, &other, &again[0]), MZ_OK);
  assert_true(again[0].interval.estimate == first[0].interval.estimate);
  assert_true(again[0].interval.low != first[0].interval.low);
  const double width = first[0].interval.high - first[0].interval.low;
  assert_true(fabs(again[0].interval.low - first[0].interval.low) < 0.1 * width);
}

/* How often 95 % intervals hold the truth, and how often p < 0.05 where nothing is there: 400 samples of 40 from three strata.
 * The bounds are those of a binomial, at three standard deviations (1.1 %) around 95 %, and a percentile interval's known lack of
 * about one more per cent at this size. */
static void test_bootstrap_covers_the_truth(void **state) {
  (void)state;
  enum { REPETITIONS = 400, N = 40 };
  mz_statistic statistics[] = {mz_mean, mz_iqm};
  for (int s = 0; s < COUNT(statistics); s++) {
    int covered = 0, rejected = 0, found = 0;
    for (int repetition = 0; repetition < REPETITIONS; repetition++) {
      mz_rng rng = mz_rng_at(11, MZ_RNG_TEST, (uint32_t)repetition, (uint64_t)s);
      double values[N], shifted[N];
      int stratum[N];
      for (int i = 0; i < N; i++) {
        values[i] = mz_rng_normal(&rng);
        shifted[i] = values[i] + 1.0;
        stratum[i] = i % 3;
      }
      const mz_resampling how = {.resamples = 400, .level = 0.95, .null = 0.0, .seed = (uint64_t)repetition};
      mz_bootstrapped out;
      assert_int_equal(mz_bootstrap(values, stratum, N, statistics[s], &how, &out), MZ_OK);
      covered += out.interval.low <= 0.0 && 0.0 <= out.interval.high;
      rejected += out.p < 0.05;
      assert_int_equal(mz_bootstrap(shifted, stratum, N, statistics[s], &how, &out), MZ_OK);
      found += out.p < 0.05;
    }
    assert_in_range(covered, (int)(0.907 * REPETITIONS), (int)(0.984 * REPETITIONS));
    assert_in_range(rejected, (int)(0.016 * REPETITIONS), (int)(0.093 * REPETITIONS));
    assert_true(found >= (int)(0.99 * REPETITIONS)); /* six standard errors away */
  }
}

/* Of how many of 400 series that depend on their past (an autoregression of 0.5), 100 values each, the interval holds the truth. */
static int covered_in_runs_of(int run) {
  enum { REPETITIONS = 400, N = 100 };
  int covered = 0;
  for (int repetition = 0; repetition < REPETITIONS; repetition++) {
    mz_rng rng = mz_rng_at(12, MZ_RNG_TEST, (uint32_t)repetition, 0);
    double values[N], last = mz_rng_normal(&rng) / sqrt(0.75);
    for (int i = 0; i < N; i++) values[i] = last = 0.5 * last + mz_rng_normal(&rng);
    const mz_resampling how = {.resamples = 400, .level = 0.95, .null = 0.0, .run = run, .seed = (uint64_t)repetition};
    mz_bootstrapped out;
    assert_int_equal(mz_bootstrap(values, NULL, N, mz_mean, &how, &out), MZ_OK);
    covered += out.interval.low <= 0.0 && 0.0 <= out.interval.high;
  }
  return covered;
}

/* The mean of such a series spreads √3 times as much as that of independent values: drawn singly they hold it for 74 %. */
static void test_runs_keep_what_neighbours_share(void **state) {
  (void)state;
  const int singly = covered_in_runs_of(1), in_runs = covered_in_runs_of(10);
  print_message("95 %% intervals of dependent values: %d of 400 hold the truth drawn singly, %d in runs of 10\n", singly,
                in_runs);
  assert_true(singly < 0.81 * 400);
  assert_true(in_runs > 0.86 * 400);
  const double values[] = {1, 2, 4, 8, 16}; /* one run: every resample is the sample, turned */
  const mz_resampling how = {.resamples = 100, .level = 0.95, .run = 5};
  mz_bootstrapped out;
  assert_int_equal(mz_bootstrap(values, NULL, 5, mz_mean, &how, &out), MZ_OK);
  assert_true(out.interval.low == out.interval.high && fabs(out.interval.low - 6.2) < 1e-12);
}

static void test_memory_that_cannot_be_had(void **state) {
  (void)state;
  const double values[] = {1, 2, 3};
  double p[] = {0.01, 0.02};
  mz_bootstrapped out;
  for (long nth = 1; nth <= 4; nth++) {
    mz_alloc_fail_after(nth);
    assert_int_equal(mz_bootstrap(values, NULL, 3, mz_mean, &usual, &out), MZ_E_MEMORY);
  }
  mz_alloc_fail_after(1);
  assert_int_equal(mz_holm(p, 2), MZ_E_MEMORY);
  mz_alloc_fail_after(0);
  assert_true(p[0] == 0.01 && p[1] == 0.02);
}

/* ---- Holm ---- */

static void test_holm(void **state) {
  (void)state;
  double p[] = {0.01, 0.04, 0.03, 0.005}; /* 0.005·4, 0.01·3, 0.03·2, and 0.04·1 raised to the one before */
  const double wanted[] = {0.03, 0.06, 0.06, 0.02};
  assert_int_equal(mz_holm(p, 4), MZ_OK);
  for (int i = 0; i < 4; i++) expect_near(p[i], wanted[i], 1e-15);
  double equal[] = {0.02, 0.02, 0.9}, alone[] = {0.2};
  assert_int_equal(mz_holm(equal, 3), MZ_OK);
  expect_near(equal[0], 0.06, 1e-15);
  expect_near(equal[1], 0.06, 1e-15);
  expect_near(equal[2], 0.9, 1e-15);
  assert_int_equal(mz_holm(alone, 1), MZ_OK);
  assert_true(alone[0] == 0.2);
  double large[] = {0.6, 0.5};
  assert_int_equal(mz_holm(large, 2), MZ_OK);
  assert_true(large[0] == 1.0 && large[1] == 1.0);
  assert_int_equal(mz_holm(NULL, 0), MZ_OK);
}

/* ---- Student's distribution ---- */

static void test_student_against_closed_forms(void **state) {
  (void)state;
  for (int i = 1; i < 2000; i++) {
    const double p = i / 2000.0, away = 2.0 * p - 1.0;
    if (i == 1000) continue;
    expect_near(mz_student_quantile(p, 1.0), tan(acos(-1.0) * (p - 0.5)), 1e-11); /* Cauchy */
    expect_near(mz_student_quantile(p, 2.0), away * sqrt(2.0 / (1.0 - away * away)), 1e-11);
    const double alpha = 4.0 * p * (1.0 - p), q = cos(acos(sqrt(alpha)) / 3.0) / sqrt(alpha);
    expect_near(mz_student_quantile(p, 4.0), copysign(2.0 * sqrt(fabs(q - 1.0)), away), 1e-9); /* q − 1 cancels near the middle */
  }
  assert_true(fabs(mz_student_quantile(0.5, 3.0)) < 1e-15);
}

static void test_student_against_a_table(void **state) {
  (void)state;
  static const struct {
    double degrees, p90, p95, p975, p99, p995;
  } table[] = {
      {1, 3.078, 6.314, 12.706, 31.821, 63.657}, {3, 1.638, 2.353, 3.182, 4.541, 5.841},  {5, 1.476, 2.015, 2.571, 3.365, 4.032},
      {8, 1.397, 1.860, 2.306, 2.896, 3.355},    {13, 1.350, 1.771, 2.160, 2.650, 3.012}, {30, 1.310, 1.697, 2.042, 2.457, 2.750},
      {120, 1.289, 1.658, 1.980, 2.358, 2.617},
  };
  for (int i = 0; i < COUNT(table); i++) {
    const double n = table[i].degrees;
    assert_true(fabs(mz_student_quantile(0.90, n) - table[i].p90) <= 0.0005001);
    assert_true(fabs(mz_student_quantile(0.95, n) - table[i].p95) <= 0.0005001);
    assert_true(fabs(mz_student_quantile(0.975, n) - table[i].p975) <= 0.0005001);
    assert_true(fabs(mz_student_quantile(0.99, n) - table[i].p99) <= 0.0005001);
    assert_true(fabs(mz_student_quantile(0.995, n) - table[i].p995) <= 0.0005001);
  }
  /* the normal distribution is the limit, from above: z (1 + (z² + 1) / 4n) */
  const double z = 1.6448536269514722;
  expect_near(mz_student_quantile(0.95, 1e6), z * (1.0 + (z * z + 1.0) / 4e6), 1e-9);
}

/* Between the tabulated degrees: the density, integrated by Simpson's rule up to the quantile, gives the probability back. */
static void test_student_against_integration(void **state) {
  (void)state;
  const double degrees[] = {0.7, 1.5, 2.5, 4.959, 17.3, 400.0}, ps[] = {0.6, 0.9, 0.95, 0.99};
  for (int i = 0; i < COUNT(degrees); i++) {
    for (int j = 0; j < COUNT(ps); j++) {
      const double n = degrees[i], t = mz_student_quantile(ps[j], n);
      enum { STEPS = 20000 };
      double sum = 0.0;
      for (int k = 0; k <= STEPS; k++) {
        const double x = t * k / STEPS;
        sum += (k == 0 || k == STEPS ? 1 : k % 2 == 1 ? 4 : 2) * pow(1.0 + x * x / n, -0.5 * (n + 1.0));
      }
      const double scale = exp(lgamma(0.5 * (n + 1.0)) - lgamma(0.5 * n)) / sqrt(acos(-1.0) * n);
      expect_near(0.5 + scale * sum * t / STEPS / 3.0, ps[j], 1e-9);
      expect_near(mz_student_quantile(1.0 - ps[j], n), -t, 1e-13);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_median_and_quantiles),         cmocka_unit_test(test_iqm_by_hand),
      cmocka_unit_test(test_iqm_against_its_definition),   cmocka_unit_test(test_bootstrap_of_two_values),
      cmocka_unit_test(test_ratio_against_every_resample), cmocka_unit_test(test_ratio_of_denominators_of_either_sign),
      cmocka_unit_test(test_strata_are_resampled_apart),   cmocka_unit_test(test_bootstrap_is_deterministic_and_forgets_order),
      cmocka_unit_test(test_bootstrap_covers_the_truth),   cmocka_unit_test(test_runs_keep_what_neighbours_share),
      cmocka_unit_test(test_memory_that_cannot_be_had),    cmocka_unit_test(test_holm),
      cmocka_unit_test(test_student_against_closed_forms), cmocka_unit_test(test_student_against_a_table),
      cmocka_unit_test(test_student_against_integration),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
