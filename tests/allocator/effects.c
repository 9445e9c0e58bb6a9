/* Each effect of a simulated machine by itself: nothing where it is off, more with its parameter, in bounds. */
#include "allocator/machine/core_shares.h"
#include "allocator/machine/effects.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void assert_near(double value, double wanted, double relative) {
  if (!(fabs(value - wanted) <= relative * fabs(wanted))) fail_msg("%.9g is not within %g of %.9g", value, relative, wanted);
}

static void test_shares_are_by_weight_and_at_most_a_core(void **state) {
  (void)state;
  double shares[3];
  mz_core_shares(4, (mz_core_claim[]){{2, 1}, {1, 0.1}, {0, 1}}, 3, shares);
  assert_true(shares[0] == 1 && shares[1] == 1 && shares[2] == 0);
  mz_core_shares(2, (mz_core_claim[]){{3, 1}, {10, 0.1}}, 2, shares);
  assert_near(shares[0], 0.5, 1e-12);
  assert_near(shares[1], 0.05, 1e-12);
  mz_core_shares(2, (mz_core_claim[]){{1, 1}, {10, 0.05}}, 2, shares); /* the one would have more than a core */
  assert_near(shares[0], 1, 1e-12);
  assert_near(shares[1], 0.1, 1e-12);
  for (int i = 0; i < 200; i++) {
    mz_rng rng = mz_rng_at(5, MZ_RNG_TEST, (uint32_t)i, 0);
    mz_core_claim claims[3];
    const double cores = 1 + mz_rng_below(&rng, 64);
    double used = 0, wanted = 0;
    for (int k = 0; k < 3; k++) claims[k] = (mz_core_claim){mz_rng_below(&rng, 40), 0.05 + mz_rng_f64(&rng)};
    mz_core_shares(cores, claims, 3, shares);
    for (int k = 0; k < 3; k++) {
      assert_true(shares[k] >= 0 && shares[k] <= 1 + 1e-12);
      used += claims[k].threads * shares[k];
      wanted += claims[k].threads;
    }
    assert_near(1 + used, 1 + fmin(cores, wanted), 1e-9); /* no core idles while a thread waits */
  }
}

static void test_hardware_threads(void **state) {
  (void)state;
  for (double busy = 0; busy <= 16; busy += 0.5) {
    assert_true(mz_sim_smt_cores(0, 16, busy) == busy);
    assert_near(1 + mz_sim_smt_cores(2, 16, busy), 1 + busy, 1e-12);
    for (double smt = 1; smt < 2; smt += 0.25) {
      const double work = mz_sim_smt_cores(smt, 16, busy);
      assert_true(work <= busy && work <= mz_sim_smt_cores(smt + 0.25, 16, busy) && work <= 8 * smt + 1e-12);
      assert_true(mz_sim_smt_cores(smt, 16, busy + 0.5) >= work);
    }
  }
  assert_near(mz_sim_smt_cores(1.3, 16, 16), 8 * 1.3, 1e-12);
  assert_near(mz_sim_smt_cores(1.3, 16, 8), 8, 1e-12);
}

static void test_drivers_have_cores_of_their_own(void **state) {
  (void)state;
  for (int cores = 0; cores <= 64; cores++)
    for (int drivers = 0; drivers <= 3; drivers++) {
      const int own = mz_sim_own_cores(1, cores, drivers, 0);
      assert_int_equal(mz_sim_own_cores(0, cores, drivers, 0), 0);
      assert_true(own >= 0 && own <= drivers && (own < cores || own == 0));
      int filled = 0;
      for (int nth = 0; nth < cores; nth++) filled += mz_sim_fills_own(nth, cores, own);
      assert_int_equal(filled, own); /* as many threads as cores: one on each */
    }
  assert_int_equal(mz_sim_own_cores(1, 2, 1, 0), 1);
  assert_int_equal(mz_sim_own_cores(1, 2, 1, 1), 0); /* the other core is another's */
  assert_int_equal(mz_sim_own_cores(1, 16, 1, 14), 1);
  assert_int_equal(mz_sim_own_cores(1, 16, 1, 15), 0);
}

static void test_memory_is_shared_by_who_draws_on_it(void **state) {
  (void)state;
  const mz_sim_draw few[] = {{4, 0.5}, {0, 1}}, many[] = {{16, 0.5}, {2, 1}};
  assert_true(mz_sim_memory_stretch(0, 10, many, 2) == 1);
  assert_true(mz_sim_memory_stretch(100, 10, few, 2) == 1);
  double before = INFINITY;
  for (double bandwidth = 5; bandwidth <= 200; bandwidth *= 1.5) {
    const double stretch = mz_sim_memory_stretch(bandwidth, 10, many, 2);
    double drawn = 0;
    for (int i = 0; i < 2; i++) drawn += many[i].threads * many[i].waits * 10 / mz_sim_memory_slowness(many[i].waits, stretch, 0);
    assert_true(stretch >= 1 && stretch <= before && drawn <= bandwidth * (1 + 1e-6));
    if (stretch > 1) assert_near(drawn, bandwidth, 1e-6);
    before = stretch;
  }
  assert_true(before == 1);
  assert_near(mz_sim_memory_stretch(10, 10, (mz_sim_draw[]){{4, 1}}, 1), 4, 1e-6); /* pure streams share evenly */
  assert_true(mz_sim_memory_slowness(0, 5, 1) == 1 && mz_sim_memory_slowness(0.3, 1, 0) == 1);
  assert_near(mz_sim_memory_slowness(0.5, 2, 0), 1.5, 1e-12);
  assert_near(mz_sim_memory_slowness(0.5, 1, 0.7), 1.35, 1e-12);
}

static void test_caches(void **state) {
  (void)state;
  assert_true(mz_sim_cache_slowness(0, 1000, 1e9) == 1 && mz_sim_cache_slowness(1, 0, 1e9) == 1);
  assert_true(mz_sim_cache_slowness(1, 1000, 1000) == 1 && mz_sim_cache_slowness(1, 1000, 0) == 1);
  assert_near(mz_sim_cache_slowness(0.5, 1000, 2000), 1.25, 1e-12);
  double before = 1;
  for (double bytes = 500; bytes < 1e8; bytes *= 1.7) {
    const double slowness = mz_sim_cache_slowness(0.5, 1000, bytes);
    assert_true(slowness >= before && slowness < 1.5 && slowness <= mz_sim_cache_slowness(0.6, 1000, bytes));
    before = slowness;
  }
}

enum { DRAWS = 20000 };

static void test_spread_has_mean_1(void **state) {
  (void)state;
  mz_rng rng = mz_rng_at(1, MZ_RNG_TEST, 0, 0), untouched = rng;
  assert_true(mz_sim_spread(0, 1, &rng) == 1);
  assert_true(mz_rng_u32(&rng) == mz_rng_u32(&untouched));
  double deviation[2];
  for (int i = 0; i < 2; i++) {
    double sum = 0, squares = 0;
    for (int k = 0; k < DRAWS; k++) {
      const double factor = mz_sim_spread(0.4, i ? 16 : 1, &rng);
      assert_true(factor > 0);
      sum += factor, squares += factor * factor;
    }
    assert_near(sum / DRAWS, 1, 0.01);
    deviation[i] = sqrt(squares / DRAWS - sum * sum / DRAWS / DRAWS);
  }
  assert_near(deviation[0], 0.4, 0.05);
  assert_near(deviation[1], 0.1, 0.05);
}

static void test_tails(void **state) {
  (void)state;
  mz_rng rng = mz_rng_at(2, MZ_RNG_TEST, 0, 0);
  int hit = 0, twice = 0;
  for (int k = 0; k < DRAWS; k++) {
    mz_rng same = rng;
    assert_true(mz_sim_tail(0, 2, &same) == 1);
    const double heavier = (same = rng, mz_sim_tail(0.1, 1.5, &same)), factor = mz_sim_tail(0.1, 2, &rng);
    assert_true(factor >= 1 && factor <= 100 && heavier >= factor);
    hit += factor > 1, twice += factor > 2;
  }
  assert_near((double)hit / DRAWS, 0.1, 0.1);
  assert_near((double)twice / hit, 0.25, 0.15); /* 2^−2 */
}

static void test_a_gpu_is_flat_until_it_is_full(void **state) {
  (void)state;
  mz_sim_gpu gpu = {.latency_s = 2e-5, .speed = 50, .full = 64, .link = 1e10, .bytes = 0};
  assert_near(mz_sim_gpu_call_s(&gpu, 1, 1e-5), mz_sim_gpu_call_s(&gpu, 64, 1e-5), 1e-12);
  assert_near(mz_sim_gpu_call_s(&gpu, 128, 1e-5), 2e-5 + 128 * 1e-5 / 50, 1e-12);
  const double without = mz_sim_gpu_call_s(&gpu, 32, 1e-5);
  gpu.bytes = 1e4;
  assert_near(mz_sim_gpu_call_s(&gpu, 32, 1e-5), without + 32e-6, 1e-9);
  gpu.latency_s = 1e-3;
  assert_true(mz_sim_gpu_call_s(&gpu, 32, 1e-5) > 1e-3);
}

static void test_drift_is_a_straight_line(void **state) {
  (void)state;
  assert_true(mz_sim_drift(0, 0.7) == 1 && mz_sim_drift(3, 0) == 1 && mz_sim_drift(3, -1) == 1);
  assert_near(mz_sim_drift(3, 0.5), 2.5, 1e-12);
  assert_near(mz_sim_drift(3, 2), 4, 1e-12);
  assert_near(mz_sim_drift(-0.5, 1), 0.5, 1e-12);
}

/* Eight threads that always want to work, under a quota of two cores in periods of 10 ms. */
static void test_a_quota_lets_through_what_it_grants(void **state) {
  (void)state;
  mz_sim_quota none = {0}, q = {.cores = 2, .period_s = 0.01};
  assert_false(mz_sim_quota_stands(&none));
  assert_true(isinf(mz_sim_quota_left_s(&none, 8)));
  double now = 0, used = 0, stood = 0;
  while (now < 1 - 1e-9) {
    const double in_use = mz_sim_quota_stands(&q) ? 0 : 8, wait = mz_sim_quota_left_s(&q, in_use);
    assert_true(wait > 0 && wait <= 0.01);
    mz_sim_quota_pass(&q, wait, in_use);
    now += wait;
    used += wait * in_use;
    stood += in_use > 0 ? 0 : wait;
    assert_true(used <= 2 * (now + 0.01));
  }
  assert_near(used, 2, 1e-6);
  assert_near(stood, 0.75, 1e-6);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_shares_are_by_weight_and_at_most_a_core),
                                     cmocka_unit_test(test_hardware_threads),
                                     cmocka_unit_test(test_drivers_have_cores_of_their_own),
                                     cmocka_unit_test(test_memory_is_shared_by_who_draws_on_it),
                                     cmocka_unit_test(test_caches),
                                     cmocka_unit_test(test_spread_has_mean_1),
                                     cmocka_unit_test(test_tails),
                                     cmocka_unit_test(test_a_gpu_is_flat_until_it_is_full),
                                     cmocka_unit_test(test_drift_is_a_straight_line),
                                     cmocka_unit_test(test_a_quota_lets_through_what_it_grants)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
