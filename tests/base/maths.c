#include "base/maths/maths.h"
#include "base/maths/maths_inline.h"
#include "base/maths/rng.h"
#include <math.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The reference is the C library in long double (64-bit mantissa): 11 bits beyond double. */

static double ulps32(float got, long double want) {
  const float nearest = fabsf((float)want);
  return (double)(fabsl((long double)got - want) / (long double)(nextafterf(nearest, INFINITY) - nearest));
}

static double ulps64(double got, long double want) {
  const double nearest = fabs((double)want);
  return (double)(fabsl((long double)got - want) / (long double)(nextafter(nearest, INFINITY) - nearest));
}

static void test_expf_and_logf_over_all_magnitudes(void **state) {
  (void)state;
  double worst_exp = 0, worst_log = 0;
  for (uint32_t bits = 1; bits < 0x7f800000u; bits += 1009) { /* a prime: every exponent, all sorts of mantissas */
    const float x = mz_f32_of_bits(bits);
    if (x <= 88.7f) worst_exp = fmax(worst_exp, ulps32(mz_expf(x), expl((long double)x)));
    if (x <= 87.3f) worst_exp = fmax(worst_exp, ulps32(mz_expf(-x), expl(-(long double)x)));
    worst_log = fmax(worst_log, ulps32(mz_logf(x), logl((long double)x))); /* subnormal ones too */
  }
  for (int i = 0; i < 340000; i++) { /* around the zero of the logarithm, and the ends of its interval */
    const float x = 0.25f + 1.1e-5f * (float)i;
    worst_log = fmax(worst_log, ulps32(mz_logf(x), logl((long double)x)));
    worst_exp = fmax(worst_exp, ulps32(mz_expf(x - 2), expl((long double)(x - 2))));
  }
  assert_true(worst_exp <= 2 && worst_log <= 2);
}

static void test_edges_of_float_functions(void **state) {
  (void)state;
  assert_true(mz_expf(0.0f) == 1.0f && mz_expf(-0.0f) == 1.0f);
  assert_true(mz_expf(-87.31f) == 0.0f && mz_expf(-INFINITY) == 0.0f && mz_expf(-3e38f) == 0.0f);
  assert_true(mz_expf(-87.3f) > 0.0f && isfinite(mz_expf(88.7f)));
  assert_true(isinf(mz_expf(88.8f)) && isinf(mz_expf(INFINITY)) && isinf(mz_expf(3e38f)));
  assert_true(isnan(mz_expf(NAN)));
  assert_true(mz_logf(1.0f) == 0.0f);
  assert_true(mz_logf(0.0f) == -INFINITY && mz_logf(-0.0f) == -INFINITY && mz_logf(INFINITY) == INFINITY);
  assert_true(isnan(mz_logf(-1.0f)) && isnan(mz_logf(-INFINITY)) && isnan(mz_logf(NAN)));
}

static void test_exp_and_log(void **state) {
  (void)state;
  mz_rng rng = mz_rng_at(1, MZ_RNG_TEST, 0, 0);
  double worst_exp = 0, worst_log = 0;
  for (int i = 0; i < 1000000; i++) {
    const double u = mz_rng_f64(&rng);
    const double x = i % 2 != 0 ? -745.0 + 1454.7 * u : 4 * u - 2;
    worst_exp = fmax(worst_exp, ulps64(mz_exp(x), expl((long double)x)));
    const double y = i % 2 != 0 ? mz_f64_of_bits(1 + (uint64_t)(u * 0x1.ffcp62)) : 0.5 + u;
    worst_log = fmax(worst_log, ulps64(mz_log(y), logl((long double)y)));
  }
  assert_true(worst_exp <= 2 && worst_log <= 2);
}

static void test_edges_of_double_functions(void **state) {
  (void)state;
  assert_true(mz_exp(0.0) == 1.0);
  assert_true(mz_exp(-746.0) == 0.0 && mz_exp(-1e300) == 0.0 && mz_exp(-INFINITY) == 0.0);
  assert_true(mz_exp(-745.0) == 0x1p-1074); /* the smallest there is */
  assert_true(isfinite(mz_exp(709.7)) && isinf(mz_exp(709.8)) && isinf(mz_exp(1e300)) && isinf(mz_exp(INFINITY)));
  assert_true(isnan(mz_exp(NAN)));
  assert_true(mz_log(1.0) == 0.0);
  assert_true(mz_log(0.0) == -INFINITY && mz_log(-0.0) == -INFINITY && mz_log(INFINITY) == INFINITY);
  assert_true(isnan(mz_log(-1.0)) && isnan(mz_log(NAN)));
}

static double worst_sincos(double x) {
  double sine, cosine;
  mz_sincos(x, &sine, &cosine);
  return fmax(ulps64(sine, sinl((long double)x)), ulps64(cosine, cosl((long double)x)));
}

static void test_sincos(void **state) {
  (void)state;
  mz_rng rng = mz_rng_at(2, MZ_RNG_TEST, 0, 0);
  double worst = 0;
  for (int i = 0; i < 500000; i++) {
    const double u = 2 * mz_rng_f64(&rng) - 1;
    worst = fmax(worst, worst_sincos(u));                                                  /* CartPole's angles */
    worst = fmax(worst, worst_sincos(1e5 * u));                                            /* the whole range */
    worst = fmax(worst, worst_sincos(mz_f64_of_bits(mz_bits_of_f64(u) & ~(63ull << 52)))); /* tiny ones */
  }
  for (int n = 1; n < 63600; n++) { /* next to multiples of π/2, where the reduction cancels most */
    const double x = (double)(n * 1.57079632679489661923132169163975144L);
    worst = fmax(worst, worst_sincos(x));
    worst = fmax(worst, worst_sincos(-nextafter(x, INFINITY)));
  }
  assert_true(worst <= 1);
}

static void test_edges_of_sincos(void **state) {
  (void)state;
  double sine, cosine;
  mz_sincos(0.0, &sine, &cosine);
  assert_true(sine == 0.0 && cosine == 1.0);
  static const double beyond[] = {INFINITY, -INFINITY, NAN, 1e16, -1e300};
  for (size_t i = 0; i < sizeof beyond / sizeof *beyond; i++) {
    mz_sincos(beyond[i], &sine, &cosine);
    assert_true(isnan(sine) && isnan(cosine));
  }
  for (int i = 0; i < 73; i++) { /* up to 2^50 nothing is promised but a point near the circle */
    const double x = 1e5 * mz_exp(0.315 * i);
    mz_sincos(x, &sine, &cosine);
    assert_true(fabs(sine * sine + cosine * cosine - 1) < 1e-6);
  }
}

/* Loops over the inline bodies are vectorised: must give the same bits as the calls. */
static void test_vectorised_bodies_give_the_same_bits(void **state) {
  (void)state;
  enum { N = 1003 }; /* with a tail */
  static float x[N], e[N], l[N];
  static double s[N], c[N];
  for (int i = 0; i < N; i++) x[i] = (float)i * 0.17f - 60.0f;
  for (int i = 0; i < N; i++) e[i] = mz_expf_inline(x[i]);
  for (int i = 0; i < N; i++) l[i] = mz_logf_inline(x[i] + 61.0f);
  for (int i = 0; i < N; i++) mz_sincos_inline((double)x[i], &s[i], &c[i]);
  for (int i = 0; i < N; i++) {
    double sine, cosine;
    mz_sincos((double)x[i], &sine, &cosine);
    assert_true(e[i] == mz_expf(x[i]) && l[i] == mz_logf(x[i] + 61.0f) && s[i] == sine && c[i] == cosine);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_expf_and_logf_over_all_magnitudes),
      cmocka_unit_test(test_edges_of_float_functions),
      cmocka_unit_test(test_exp_and_log),
      cmocka_unit_test(test_edges_of_double_functions),
      cmocka_unit_test(test_sincos),
      cmocka_unit_test(test_edges_of_sincos),
      cmocka_unit_test(test_vectorised_bodies_give_the_same_bits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
