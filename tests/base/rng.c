#include "base/maths/rng.h"
#include <math.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef struct known_answer {
  uint32_t counter[4], key[2], out[4];
} known_answer;

/* philox4x32-10 of the kat_vectors that come with Random123. */
static void test_philox_known_answers(void **state) {
  (void)state;
  static const known_answer cases[] = {
      {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
       {0xffffffff, 0xffffffff},
       {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       {0xa4093822, 0x299f31d0},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    uint32_t out[4];
    mz_philox4x32(cases[i].counter, cases[i].key, out);
    assert_memory_equal(out, cases[i].out, sizeof out);
  }
}

static void test_stream_is_the_blocks_of_its_counter(void **state) {
  (void)state;
  mz_rng rng = mz_rng_at(42, MZ_RNG_NOISE, 7, 0xABCDEF01234567u);
  const mz_rng start = rng;
  assert_int_equal(start.counter[1], 7);
  assert_int_equal(start.counter[2], 0x01234567);
  assert_int_equal(start.counter[3], 3u << 24 | 0xABCDEF);
  for (uint32_t block = 0; block < 3; block++) {
    const uint32_t counter[4] = {block, start.counter[1], start.counter[2], start.counter[3]};
    uint32_t expected[4];
    mz_philox4x32(counter, start.key, expected);
    for (int i = 0; i < 4; i++) assert_int_equal(mz_rng_u32(&rng), expected[i]);
  }
}

static void test_each_name_is_another_stream(void **state) {
  (void)state;
  const mz_rng streams[] = {
      mz_rng_at(1, MZ_RNG_ENV, 0, 0),          mz_rng_at(2, MZ_RNG_ENV, 0, 0), mz_rng_at(1u | 1ull << 32, MZ_RNG_ENV, 0, 0),
      mz_rng_at(1, MZ_RNG_NOISE, 0, 0),        mz_rng_at(1, MZ_RNG_ENV, 1, 0), mz_rng_at(1, MZ_RNG_ENV, 0, 1),
      mz_rng_at(1, MZ_RNG_ENV, 0, 1ull << 32),
  };
  enum { N = sizeof streams / sizeof *streams };
  for (int i = 0; i < N; i++) {
    for (int k = 0; k < i; k++) {
      mz_rng a = streams[i], b = streams[k];
      assert_true(mz_rng_u64(&a) != mz_rng_u64(&b));
    }
  }
}

/* Certifies keys and the order of words: a change here changes every run. */
static void test_streams_stay_what_they_are(void **state) {
  (void)state;
  mz_rng rng = mz_rng_at(1, MZ_RNG_TEST, 2, 3);
  assert_true(mz_rng_u64(&rng) == 0x508d3707e961c379u);
  assert_true(mz_rng_u64(&rng) == 0xf5f671d67413c30eu);
}

/* Mean and variance of n draws, by the sums of the test. */
static void check_moments(double sum, double squares, int n, double mean, double variance, double fourth) {
  const double got_mean = sum / n, got_variance = squares / n - got_mean * got_mean;
  assert_true(fabs(got_mean - mean) < 5 * sqrt(variance / n));
  assert_true(fabs(got_variance - variance) < 5 * sqrt((fourth - variance * variance) / n));
}

static void test_units_are_within_and_uniform(void **state) {
  (void)state;
  mz_rng rng = mz_rng_at(5, MZ_RNG_TEST, 0, 0);
  enum { N = 200000 };
  const double variance = 1.0 / 12, fourth = 1.0 / 80;
  double sum32 = 0, sum64 = 0, squares32 = 0, squares64 = 0;
  for (int i = 0; i < N; i++) {
    const float x = mz_rng_f32(&rng);
    const double y = mz_rng_f64(&rng);
    assert_true(x >= 0 && x < 1 && y >= 0 && y < 1);
    sum32 += (double)x;
    sum64 += y;
    squares32 += (double)x * (double)x;
    squares64 += y * y;
  }
  check_moments(sum32, squares32, N, 0.5, variance, fourth);
  check_moments(sum64, squares64, N, 0.5, variance, fourth);
}

static void test_below_is_fair(void **state) {
  (void)state;
  enum { N = 60000, SIDES = 6 };
  const double expected = (double)N / SIDES;
  mz_rng rng = mz_rng_at(6, MZ_RNG_TEST, 0, 0);
  int counts[SIDES] = {0};
  for (int i = 0; i < N; i++) counts[mz_rng_below(&rng, SIDES)]++;
  double chi2 = 0;
  for (int i = 0; i < SIDES; i++) chi2 += (counts[i] - expected) * (counts[i] - expected) / expected;
  assert_true(chi2 < 25.7); /* 5 degrees of freedom, p = 1e-4 */
  for (int i = 0; i < 100; i++) assert_int_equal(mz_rng_below(&rng, 1), 0);
}

static uint64_t next_scripted(void *context) {
  const uint64_t **cursor = context;
  return *(*cursor)++;
}

/* 2^32 mod 3 = 1: of the words, 0 is the one too many and must be drawn again. */
static void test_below_rejects_the_biased_word(void **state) {
  (void)state;
  static const uint64_t words[] = {0, 0, 0x55555556ull << 32, 0xFFFFFFFFull << 32};
  const uint64_t *cursor = words;
  const mz_generator generator = {.context = &cursor, .next64 = next_scripted};
  assert_int_equal(mz_generator_below(&generator, 3), 1);
  assert_ptr_equal(cursor, words + 3);
  assert_int_equal(mz_generator_below(&generator, 3), 2);
}

static void test_generator_draws_from_its_stream(void **state) {
  (void)state;
  mz_rng rng = mz_rng_at(7, MZ_RNG_TEST, 0, 0), same = rng;
  const mz_generator generator = mz_generator_from_rng(&rng);
  for (int i = 0; i < 100; i++) assert_true(mz_generator_f64(&generator) == mz_rng_f64(&same));
}

static double half(void *context) {
  ++*(int *)context;
  return 0.5;
}
static uint32_t last(void *context, uint32_t n) {
  ++*(int *)context;
  return n - 1;
}

/* A generator may have doubles and bounded draws of its own, for those of a reference take other words than next64 gives. */
static void test_generator_draws_in_its_own_way(void **state) {
  (void)state;
  int draws = 0;
  const mz_generator generator = {.context = &draws, .next64 = next_scripted, .f64 = half, .below = last};
  assert_true(mz_generator_f64(&generator) == 0.5);
  assert_int_equal(mz_generator_below(&generator, 7), 6);
  assert_int_equal(draws, 2);
}

static void test_normal_and_gumbel_have_their_moments(void **state) {
  (void)state;
  enum { N = 200000 };
  const double pi = 3.141592653589793, euler = 0.5772156649015329;
  mz_rng rng = mz_rng_at(8, MZ_RNG_TEST, 0, 0);
  double sum = 0, squares = 0;
  int beyond = 0;
  for (int i = 0; i < N; i++) {
    const double x = (double)mz_rng_normal(&rng);
    sum += x;
    squares += x * x;
    beyond += fabs(x) > 1.959964;
  }
  check_moments(sum, squares, N, 0, 1, 3);
  assert_true(fabs(beyond - 0.05 * N) < 5 * sqrt(0.05 * 0.95 * N));

  sum = squares = 0;
  for (int i = 0; i < N; i++) {
    const double x = (double)mz_rng_gumbel(&rng);
    assert_true(isfinite(x));
    sum += x;
    squares += x * x;
  }
  const double variance = pi * pi / 6;
  check_moments(sum, squares, N, euler, variance, 5.4 * variance * variance); /* kurtosis 5.4 */
}

static void test_dirichlet_has_its_moments(void **state) {
  (void)state;
  enum { N = 20000, K = 5 };
  static const float alphas[] = {0.03f, 0.3f, 1.0f, 10.0f};
  for (size_t a = 0; a < sizeof alphas / sizeof *alphas; a++) {
    mz_rng rng = mz_rng_at(9, MZ_RNG_TEST, (uint32_t)a, 0);
    double sum = 0, squares = 0;
    for (int i = 0; i < N; i++) {
      float p[K];
      mz_rng_dirichlet(&rng, alphas[a], K, p);
      double total = 0;
      for (int k = 0; k < K; k++) {
        assert_true(p[k] >= 0 && p[k] <= 1);
        total += (double)p[k];
      }
      assert_true(fabs(total - 1) < 1e-6);
      sum += (double)p[0];
      squares += (double)p[0] * (double)p[0];
    }
    const double mean = 1.0 / K, variance = mean * (1 - mean) / (K * (double)alphas[a] + 1);
    assert_true(fabs(sum / N - mean) < 5 * sqrt(variance / N));
    assert_true(fabs(squares / N - sum / N * sum / N - variance) < 0.05 * variance);
  }
}

static void test_dirichlet_of_tiny_alpha_is_a_vertex(void **state) {
  (void)state;
  enum { K = 4, N = 1000 };
  mz_rng rng = mz_rng_at(10, MZ_RNG_TEST, 0, 0);
  int vertices = 0, at[K] = {0};
  for (int i = 0; i < N; i++) {
    float p[K], sum = 0;
    int largest = 0;
    mz_rng_dirichlet(&rng, 1e-4f, K, p); /* every gamma draw underflows: must not become 0/0 */
    for (int k = 0; k < K; k++) {
      sum += p[k];
      if (p[k] > p[largest]) largest = k;
    }
    assert_true(fabsf(sum - 1) < 1e-6f);
    vertices += p[largest] > 0.999f;
    at[largest]++;
  }
  assert_true(vertices > 0.98 * N); /* but for two in a thousand */
  for (int k = 0; k < K; k++) assert_in_range(at[k], 180, 320);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_philox_known_answers),           cmocka_unit_test(test_stream_is_the_blocks_of_its_counter),
      cmocka_unit_test(test_each_name_is_another_stream),    cmocka_unit_test(test_streams_stay_what_they_are),
      cmocka_unit_test(test_units_are_within_and_uniform),   cmocka_unit_test(test_below_is_fair),
      cmocka_unit_test(test_below_rejects_the_biased_word),  cmocka_unit_test(test_generator_draws_from_its_stream),
      cmocka_unit_test(test_generator_draws_in_its_own_way), cmocka_unit_test(test_normal_and_gumbel_have_their_moments),
      cmocka_unit_test(test_dirichlet_has_its_moments),      cmocka_unit_test(test_dirichlet_of_tiny_alpha_is_a_vertex),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
