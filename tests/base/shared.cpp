/* The formulas of base that GPUs share, compiled as C++: the bits of the C library's. */
#include <cmath>
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstring>

extern "C" {
#include <cmocka.h>
}

#include "base/maths/maths.h"
#include "base/maths/rng_inline.h"

static void expect_f32(float found, float expected) { assert_int_equal(mz_bits_of_f32(found), mz_bits_of_f32(expected)); }

/* The compiler chooses the sign and the payload of a NaN. */
static void expect_f64(double found, double expected) {
  if (!std::isnan(found) || !std::isnan(expected)) assert_int_equal(mz_bits_of_f64(found), mz_bits_of_f64(expected));
}

/* Floats of all exponents and both signs, infinities and NaN among them. */
static void functions_of_floats(void **) {
  for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 10007) {
    const float x = mz_f32_of_bits((uint32_t)bits);
    expect_f32(mz_expf_inline(x), mz_expf(x));
    expect_f32(mz_logf_inline(x), mz_logf(x));
  }
}

static void expect_functions_at(double x) {
  double sine, cosine, expected_sine, expected_cosine;
  mz_sincos_inline(x, &sine, &cosine);
  mz_sincos(x, &expected_sine, &expected_cosine);
  expect_f64(sine, expected_sine);
  expect_f64(cosine, expected_cosine);
  expect_f64(mz_exp_inline(x), mz_exp(x));
  expect_f64(mz_log_inline(x), mz_log(x));
}

static void functions_of_doubles(void **) {
  for (uint64_t high = 0; high <= UINT32_MAX; high += 20011) expect_functions_at(mz_f64_of_bits(high << 32 | 0x9E3779B9u));
  mz_rng rng = mz_rng_at(3, MZ_RNG_TEST, 0, 0);
  for (int i = 0; i < 100000; i++) expect_functions_at(1400 * mz_rng_f64(&rng) - 700);
}

/* Two copies of a stream, one drawn from in C++ and one in C. */
struct streams {
  mz_rng shared, c;
};

static streams streams_at(uint32_t a) {
  const mz_rng rng = mz_rng_at(42, MZ_RNG_TEST, a, 7);
  return {rng, rng};
}

static void expect_same_streams(const streams &s) { assert_memory_equal(&s.shared, &s.c, sizeof s.c); }

static void numbers_of_streams(void **) {
  streams s = streams_at(0);
  for (int i = 0; i < 20000; i++) {
    assert_int_equal(mz_rng_u32_inline(&s.shared), mz_rng_u32(&s.c));
    expect_f32(mz_rng_f32_inline(&s.shared), mz_rng_f32(&s.c));
    expect_f32(mz_rng_normal_inline(&s.shared), mz_rng_normal(&s.c));
    expect_f32(mz_rng_gumbel_inline(&s.shared), mz_rng_gumbel(&s.c));
    expect_same_streams(s);
  }
}

static void dirichlet_of_streams(void **) {
  const float alphas[] = {0.03f, 0.3f, 1, 10};
  const int counts[] = {1, 2, 9, 362};
  for (uint32_t a = 0; a < 50; a++) {
    for (const float alpha : alphas) {
      for (const int n : counts) {
        streams s = streams_at(a);
        float shared[362], c[362];
        mz_rng_dirichlet_inline(&s.shared, alpha, n, shared);
        mz_rng_dirichlet(&s.c, alpha, n, c);
        assert_memory_equal(shared, c, (size_t)n * sizeof *c);
        expect_same_streams(s);
      }
    }
  }
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(functions_of_floats),
      cmocka_unit_test(functions_of_doubles),
      cmocka_unit_test(numbers_of_streams),
      cmocka_unit_test(dirichlet_of_streams),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
