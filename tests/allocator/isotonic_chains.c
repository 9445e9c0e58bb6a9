/* Dykstra's projections alone, carried on until the certificate says that they are done, against the exact regression. */
#include "allocator/model/isotonic_chains.h"
#include "allocator/model/isotonic.h"
#include "base/maths/rng.h"
#include <math.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { SIDE_MOST = 12, POINTS = SIDE_MOST * SIDE_MOST };

static double x[2 * POINTS], y[POINTS], weight[POINTS], exact[POINTS], fitted[POINTS];
static int start[2 * SIDE_MOST + 1], member[2 * POINTS];

/* Draws a square of points; rows and columns are the chains. */
static mz_isotonic_chains draw(int side, double trend, uint64_t seed) {
  mz_rng rng = mz_rng_at(seed, MZ_RNG_TEST, 16, 0);
  int members = 0;
  for (int i = 0; i < side * side; i++) {
    const int row = i / side;
    x[2 * i] = row;
    x[2 * i + 1] = i % side;
    y[i] = mz_rng_normal(&rng) + trend * (x[2 * i] + x[2 * i + 1]);
    weight[i] = 0.1 + mz_rng_f64(&rng);
  }
  for (int k = 0; k < 2 * side; k++) {
    start[k] = members;
    for (int j = 0; j < side; j++) member[members++] = k < side ? k * side + j : j * side + k - side;
  }
  start[2 * side] = members;
  void *scratch;
  const mz_isotonic_points points = {.count = side * side, .axes = 2, .x = x, .y = y, .weight = weight};
  assert_int_equal(mz_alloc(&scratch, MZ_ISOTONIC_SCRATCH_BYTES(points.count), 1), MZ_OK);
  mz_isotonic_fit(&points, exact, scratch);
  free(scratch);
  return (mz_isotonic_chains){
      .points = side * side, .count = 2 * side, .y = y, .weight = weight, .start = start, .member = member};
}

static double distance(int points) {
  double most = 0;
  for (int i = 0; i < points; i++) most = fmax(most, fabs(fitted[i] - exact[i]));
  return most;
}

static void test_projections_come_to_the_optimum(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 100; seed++) {
    const mz_isotonic_chains chains = draw(1 + (int)(seed % SIDE_MOST), (double[]){0, 0.1, 0.5, -0.2}[seed % 4], seed);
    mz_isotonic_fitted found;
    assert_int_equal(mz_isotonic_chains_fit(&chains, 20000, 1e-10, fitted, &found), MZ_OK);
    assert_true(found.error <= 1e-10 && found.sweeps < 20000);
    assert_true(distance(chains.points) <= 1e-9);
  }
}

/* However early they end, the order holds, and the error is no smaller than the truth. */
static void test_the_error_is_a_bound(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 100; seed++) {
    for (int sweeps = 1; sweeps < 40; sweeps += 3) {
      const mz_isotonic_chains chains = draw(SIDE_MOST, 0.1, seed);
      mz_isotonic_fitted found;
      assert_int_equal(mz_isotonic_chains_fit(&chains, sweeps, 0, fitted, &found), MZ_OK);
      assert_true(found.sweeps <= sweeps && isfinite(found.error));
      assert_true(distance(chains.points) <= found.error + 1e-12);
      for (int k = 0; k < chains.count; k++)
        for (int m = start[k]; m + 1 < start[k + 1]; m++) assert_true(fitted[member[m]] <= fitted[member[m + 1]]);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_projections_come_to_the_optimum),
      cmocka_unit_test(test_the_error_is_a_bound),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
