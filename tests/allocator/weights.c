#include "allocator/model/member_weights.h"
#include "base/maths/rng.h"
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

enum { MEMBERS = 40, ROUNDS = 200 };
static const double TINY = 1e-12;

static double sum(const double *weights, int count) {
  double total = 0;
  for (int i = 0; i < count; i++) total += weights[i];
  return total;
}

/* Mostly of one order, some idle, some a thousand times as fast, some not measured. */
static double some_performance(mz_rng *rng) {
  const uint32_t kind = mz_rng_below(rng, 8);
  return kind == 0 ? 0 : kind == 1 ? NAN : kind == 2 ? 1000 * mz_rng_f64(rng) : mz_rng_f64(rng);
}

static void they_begin_equal(void **state) {
  (void)state;
  double weights[3];
  mz_weights_init(weights, 3);
  for (int i = 0; i < 3; i++) assert_true(weights[i] == 1.0 / 3);
}

static void sum_floor_and_change_hold_whatever_is_measured(void **state) {
  (void)state;
  for (int count = 1; count <= MEMBERS; count++) {
    mz_rng rng = mz_rng_at(1, MZ_RNG_TEST, (uint32_t)count, 0);
    double weights[MEMBERS], before[MEMBERS], performance[MEMBERS];
    mz_weights_init(weights, count);
    for (int round = 0; round < ROUNDS; round++) {
      memcpy(before, weights, sizeof weights);
      for (int i = 0; i < count; i++) performance[i] = some_performance(&rng);
      mz_weights_update(weights, performance, count);
      assert_true(fabs(sum(weights, count) - 1) < TINY);
      for (int i = 0; i < count; i++) {
        assert_true(weights[i] >= 0.5 / count - TINY);
        assert_true(fabs(weights[i] - before[i]) <= 0.2 * before[i] + TINY);
      }
    }
  }
}

static void a_small_step_is_the_moving_average(void **state) {
  (void)state;
  double weights[2] = {0.5, 0.5};
  mz_weights_update(weights, (const double[]){3, 2}, 2); /* shares 0.6 and 0.4 */
  assert_true(fabs(weights[0] - 0.53) < TINY && fabs(weights[1] - 0.47) < TINY);
}

static void a_large_step_is_a_fifth(void **state) {
  (void)state;
  double weights[2] = {0.5, 0.5};
  mz_weights_update(weights, (const double[]){1, 0}, 2); /* the average alone would go to 0.65 */
  assert_true(fabs(weights[0] - 0.6) < TINY && fabs(weights[1] - 0.4) < TINY);
}

/* Members strictly within their bounds are all shifted by the same amount from where the average would put them: the optimality
 * condition of a projection onto bounds and a sum. */
static void what_bounds_cut_off_is_spread_evenly(void **state) {
  (void)state;
  mz_rng rng = mz_rng_at(2, MZ_RNG_TEST, 0, 0);
  double weights[8], before[8], performance[8];
  mz_weights_init(weights, 8);
  int bound = 0;
  for (int round = 0; round < ROUNDS; round++) {
    double total = 0, shift = NAN;
    for (int i = 0; i < 8; i++) total += performance[i] = mz_rng_f64(&rng);
    memcpy(before, weights, sizeof weights);
    mz_weights_update(weights, performance, 8);
    for (int i = 0; i < 8; i++) {
      const double target = before[i] + 0.3 * (performance[i] / total - before[i]);
      const double low = fmax(0.8 * before[i], 0.5 / 8), high = 1.2 * before[i];
      if (weights[i] < low + TINY || weights[i] > high - TINY) {
        bound++;
        continue;
      }
      if (isnan(shift)) shift = weights[i] - target;
      assert_true(fabs(weights[i] - target - shift) < TINY);
    }
  }
  assert_true(bound > 0); /* the bounds were met */
}

static void steady_performance_is_reached(void **state) {
  (void)state;
  static const double performance[4] = {40, 30, 20, 10}, slow[4] = {1, 1, 1, 0};
  double weights[4];
  mz_weights_init(weights, 4);
  for (int round = 0; round < ROUNDS; round++) mz_weights_update(weights, performance, 4);
  assert_true(fabs(weights[3] - 0.125) < TINY); /* its floor, where its share is 0.1: the others give a third of the rest each */
  for (int i = 0; i < 3; i++) assert_true(fabs(weights[i] - (performance[i] / 100 - 0.025 / 3)) < 1e-6);
  for (int round = 0; round < ROUNDS; round++) mz_weights_update(weights, slow, 4);
  for (int i = 0; i < 3; i++) assert_true(fabs(weights[i] - 0.875 / 3) < 1e-6);
  assert_true(fabs(weights[3] - 0.125) < TINY);
}

static void members_that_were_not_measured_keep_their_weights(void **state) {
  (void)state;
  double weights[3] = {0.5, 0.3, 0.2}, same[3];
  mz_weights_update(weights, (const double[]){NAN, 1, 1}, 3);
  assert_true(fabs(weights[0] - 0.5) < TINY);
  assert_true(fabs(weights[1] - (0.3 - 0.3 * 0.05)) < TINY); /* of the half that the two hold, equal shares are a quarter each */
  memcpy(same, weights, sizeof weights);
  mz_weights_update(weights, (const double[]){NAN, NAN, INFINITY}, 3);
  mz_weights_update(weights, (const double[]){0, 0, NAN}, 3);
  assert_memory_equal(weights, same, sizeof weights);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(they_begin_equal),
      cmocka_unit_test(sum_floor_and_change_hold_whatever_is_measured),
      cmocka_unit_test(a_small_step_is_the_moving_average),
      cmocka_unit_test(a_large_step_is_a_fifth),
      cmocka_unit_test(what_bounds_cut_off_is_spread_evenly),
      cmocka_unit_test(steady_performance_is_reached),
      cmocka_unit_test(members_that_were_not_measured_keep_their_weights),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
