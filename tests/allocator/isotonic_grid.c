/* Monotone regression on grids against the exact one of scattered points, and SciPy. */
#include "allocator/model/isotonic_grid.h"
#include "base/maths/rng.h"
#include "isotonic_case.h"
#include <math.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { MOST = 6000, AXES_MOST = 4, LINES_MOST = 6000 };

typedef struct problem {
  mz_isotonic_grid grid;
  int cells;
  double at[AXES_MOST][LINES_MOST], y[MOST], weight[MOST], fitted[MOST], low[MOST], high[MOST];
  double exact[MOST];         /* of observed cells */
  double x[MOST * AXES_MOST]; /* of cells; coordinates rise where values do */
} problem;

static problem p;

static void begin(int axes, const int *counts, const bool *falls) {
  p.grid = (mz_isotonic_grid){.axes = axes, .y = p.y, .weight = p.weight, .fitted = p.fitted, .low = p.low, .high = p.high};
  for (int a = 0; a < axes; a++) {
    p.grid.axis[a] = (mz_isotonic_grid_axis){.count = counts[a], .at = p.at[a], .falls = falls[a]};
    for (int k = 0; k < counts[a]; k++) p.at[a][k] = k;
  }
  p.cells = mz_isotonic_grid_cells(&p.grid);
  assert_true(p.cells <= MOST);
  for (int c = 0; c < p.cells; c++)
    for (int a = axes - 1, rest = c; a >= 0; rest /= counts[a--])
      p.x[c * axes + a] = falls[a] ? -p.at[a][rest % counts[a]] : p.at[a][rest % counts[a]];
}

static void draw(mz_rng *rng, double trend, int empty_percent) {
  for (int c = 0; c < p.cells; c++) {
    p.y[c] = mz_rng_normal(rng);
    for (int a = 0; a < p.grid.axes; a++) p.y[c] += trend * p.x[c * p.grid.axes + a];
    p.weight[c] = (int)mz_rng_below(rng, 100) < empty_percent ? 0 : 0.2 + mz_rng_f64(rng);
  }
}

/* Draws a grid of up to `lines` lines on each axis. */
static void draw_grid(mz_rng *rng, int axes, int lines, double trend, int empty_percent) {
  int counts[AXES_MOST];
  bool falls[AXES_MOST];
  for (int a = 0; a < axes; a++) {
    counts[a] = 1 + (int)mz_rng_below(rng, (uint32_t)lines);
    falls[a] = mz_rng_below(rng, 2);
  }
  begin(axes, counts, falls);
  draw(rng, trend, empty_percent);
}

static void fit(void) { assert_int_equal(mz_isotonic_grid_fit(&p.grid), MZ_OK); }

static bool is_below(int a, int b) {
  for (int i = 0; i < p.grid.axes; i++)
    if (p.x[a * p.grid.axes + i] > p.x[b * p.grid.axes + i]) return false;
  return true;
}

static void fit_exactly(void) {
  static double x[MOST * AXES_MOST], y[MOST], weight[MOST], fitted[MOST];
  mz_isotonic_points points = {.axes = p.grid.axes, .x = x, .y = y, .weight = weight};
  int cells[MOST];
  void *scratch;
  for (int c = 0; c < p.cells; c++) {
    if (p.weight[c] == 0) continue;
    for (int a = 0; a < points.axes; a++) x[points.count * points.axes + a] = p.x[c * points.axes + a];
    y[points.count] = p.y[c];
    weight[points.count] = p.weight[c];
    cells[points.count++] = c;
  }
  assert_int_equal(mz_alloc(&scratch, MZ_ISOTONIC_SCRATCH_BYTES(points.count), 1), MZ_OK);
  mz_isotonic_fit(&points, fitted, scratch);
  free(scratch);
  for (int i = 0; i < points.count; i++) p.exact[cells[i]] = fitted[i];
}

static void assert_order_holds(void) {
  for (int i = 0; i < p.cells; i++)
    for (int j = 0; j < p.cells; j++)
      if (is_below(i, j)) assert_true(p.fitted[i] <= p.fitted[j]);
}

static void assert_bounds_are_theirs(void) {
  for (int c = 0; c < p.cells; c++) {
    double low = -INFINITY, high = INFINITY;
    for (int i = 0; i < p.cells; i++) {
      if (p.weight[i] > 0 && is_below(i, c)) low = fmax(low, p.fitted[i]);
      if (p.weight[i] > 0 && is_below(c, i)) high = fmin(high, p.fitted[i]);
    }
    assert_true(low == p.low[c] && high == p.high[c]);
    if (p.weight[c] > 0) assert_true(low == p.fitted[c] && high == p.fitted[c]);
  }
}

static void assert_is_exact(void) {
  fit_exactly();
  for (int c = 0; c < p.cells; c++)
    if (p.weight[c] > 0) assert_true(fabs(p.fitted[c] - p.exact[c]) <= 1e-9);
}

static void test_it_is_the_exact_one(void **state) {
  (void)state;
  int projected = 0;
  for (uint64_t seed = 0; seed < 600; seed++) {
    mz_rng rng = mz_rng_at(seed, MZ_RNG_TEST, 9, 0);
    const int axes = 1 + (int)(seed % 4);
    draw_grid(&rng, axes, (int[]){30, 8, 5, 4}[axes - 1], (double[]){0, 0.2, 1}[seed / 4 % 3],
              (int[]){0, 0, 10, 50, 80}[seed / 12 % 5]);
    fit();
    assert_order_holds();
    assert_bounds_are_theirs();
    assert_is_exact();
    projected += !p.grid.partitioned;
  }
  assert_true(projected > 300); /* else this would compare the exact one with itself */
}

static void test_960_cells(void **state) {
  (void)state;
  int projected = 0;
  for (uint64_t seed = 0; seed < 12; seed++) {
    mz_rng rng = mz_rng_at(seed, MZ_RNG_TEST, 10, 0);
    begin(4, (int[]){5, 6, 8, 4}, (bool[]){false, true, false, true});
    draw(&rng, (double[]){0.1, 1, 3}[seed % 3], (int[]){0, 10, 60, 95}[seed / 3]);
    fit();
    assert_order_holds();
    assert_is_exact();
    projected += !p.grid.partitioned;
  }
  assert_true(projected > 0);
}

/* More cells than can be fitted exactly: the certificate alone tells how good the fit is, so its conditions are tested here. The
 * optimum f has Σ w (y − f) f = 0 and Σ w (y − f) = 0, and Σ w (y − f) ≤ 0 over each upper set, here those of a level. */
static void test_a_large_grid(void **state) {
  (void)state;
  mz_rng rng = mz_rng_at(3, MZ_RNG_TEST, 11, 0);
  begin(3, (int[]){20, 15, 20}, (bool[]){true, false, false});
  draw(&rng, 0.05, 15);
  fit();
  assert_order_holds();
  assert_false(p.grid.partitioned);
  assert_true(p.grid.error <= 1e-8);
  double inner = 0, total = 0, along[8] = {0};
  for (int c = 0; c < p.cells; c++) {
    const double rest = p.weight[c] * (p.y[c] - p.fitted[c]);
    inner += rest * p.fitted[c];
    total += rest;
    for (int k = 0; k < 8; k++)
      if (p.fitted[c] >= 0.2 * k) along[k] += rest;
  }
  assert_true(fabs(inner) < 1e-9 && fabs(total) < 1e-9);
  for (int k = 0; k < 8; k++) assert_true(along[k] < 1e-9);
}

static void test_it_is_scipys(void **state) {
  (void)state;
  cJSON *cases = read_isotonic_cases();
  const cJSON *one;
  int count = 0;
  cJSON_ArrayForEach(one, cJSON_GetObjectItem(cases, "grids")) {
    double wanted[MOST], counts[AXES_MOST], falls[AXES_MOST];
    const int axes = read_numbers(one, "counts", counts, AXES_MOST);
    read_numbers(one, "falls", falls, AXES_MOST);
    begin(axes, (int[]){(int)counts[0], (int)counts[1], (int)counts[2], (int)counts[3]},
          (bool[]){falls[0] > 0, falls[1] > 0, falls[2] > 0, falls[3] > 0});
    read_numbers(one, "y", p.y, MOST);
    read_numbers(one, "weight", p.weight, MOST);
    read_numbers(one, "fitted", wanted, MOST);
    fit();
    for (int c = 0; c < p.cells; c++)
      if (p.weight[c] > 0) assert_true(fabs(p.fitted[c] - wanted[c]) <= 1e-9);
    count++;
  }
  assert_int_equal(count, 7);
  cJSON_Delete(cases);
}

/* ---- edges ---- */

static void test_few_observations(void **state) {
  (void)state;
  mz_rng rng = mz_rng_at(1, MZ_RNG_TEST, 12, 0);
  begin(2, (int[]){4, 5}, (bool[]){false, true});
  draw(&rng, 0, 100);
  fit(); /* none */
  assert_true(p.grid.least == 0 && p.grid.most == 0 && p.grid.error == 0);
  mz_interval i = mz_isotonic_grid_at(&p.grid, (double[]){1, 1}, (mz_isotonic_noise){.absolute = 1});
  assert_true(i.estimate == 0 && isinf(i.low) && isinf(i.high));
  p.weight[7] = 1e-9;
  p.y[7] = 3;
  fit(); /* one */
  for (int c = 0; c < p.cells; c++) assert_true(p.fitted[c] == 3);
  draw(&rng, 1, 0);
  for (int c = 0; c < p.cells; c++) p.y[c] = 0.1;
  fit(); /* all the same */
  for (int c = 0; c < p.cells; c++) assert_true(p.fitted[c] == 0.1);
  begin(0, NULL, NULL);
  assert_int_equal(p.cells, 1);
  draw(&rng, 1, 0);
  fit(); /* a grid without axes */
  assert_true(p.fitted[0] == p.y[0]);
  begin(1, (int[]){9}, (bool[]){false});
  draw(&rng, 0, 0);
  for (int c = 0; c < p.cells; c++) p.y[c] = -c;
  fit(); /* falls all along */
  for (int c = 0; c < p.cells; c++) assert_true(fabs(p.fitted[c] - p.fitted[0]) == 0);
}

static void test_ranges_may_be_huge(void **state) {
  (void)state;
  int projected = 0;
  for (uint64_t seed = 0; seed < 60; seed++) {
    mz_rng rng = mz_rng_at(seed, MZ_RNG_TEST, 13, 0);
    draw_grid(&rng, 2, 8, 0.1, 10);
    for (int c = 0; c < p.cells; c++) {
      p.weight[c] *= seed % 2 ? 1 : pow(10, 15 * mz_rng_f64(&rng) - 6);
      p.y[c] *= seed % 2 ? pow(10, 15 * mz_rng_f64(&rng) - 6) : 1;
    }
    fit();
    assert_order_holds();
    double least = INFINITY, most = -INFINITY;
    for (int c = 0; c < p.cells; c++) {
      if (p.weight[c] == 0) continue;
      least = fmin(least, p.y[c]);
      most = fmax(most, p.y[c]);
    }
    fit_exactly();
    for (int c = 0; c < p.cells; c++)
      if (p.weight[c] > 0) assert_true(fabs(p.fitted[c] - p.exact[c]) <= (seed % 2 ? 1.1e-10 * (most - least) : 1e-9));
    projected += !p.grid.partitioned;
  }
  assert_true(projected > 0);
}

static void test_memory_that_cannot_be_had(void **state) {
  (void)state;
  for (long n = 1; n < 60; n++) {
    mz_rng rng = mz_rng_at(2, MZ_RNG_TEST, 14, 0);
    begin(2, (int[]){20, 20}, (bool[]){false, false});
    draw(&rng, 0, 30);
    mz_alloc_fail_after(n);
    const mz_status status = mz_isotonic_grid_fit(&p.grid);
    mz_alloc_fail_after(0);
    assert_true(status == MZ_OK || status == MZ_E_MEMORY);
    if (status == MZ_OK) {
      assert_true(n > 3);
      return;
    }
  }
  fail();
}

/* ---- between cells ---- */

static void test_between_and_beyond_lines(void **state) {
  (void)state;
  const mz_isotonic_noise none = {0}, some = {.absolute = 0.5};
  begin(2, (int[]){2, 2}, (bool[]){false, true});
  for (int c = 0; c < 4; c++) {
    p.y[c] = (double[]){3, 1, 7, 4}[c];
    p.weight[c] = 1;
  }
  p.at[0][1] = 10;
  p.at[1][1] = 10;
  fit();
  mz_interval i = mz_isotonic_grid_at(&p.grid, (double[]){10, 0}, none);
  assert_true(i.estimate == 7 && i.low == 7 && i.high == 7);
  i = mz_isotonic_grid_at(&p.grid, (double[]){5, 5}, some);
  assert_true(i.estimate == 4 && i.low == 0.5 && i.high == 7.5);
  i = mz_isotonic_grid_at(&p.grid, (double[]){5, 10}, none);
  assert_true(i.estimate == 2.5 && i.low == 1 && i.high == 4);
  i = mz_isotonic_grid_at(&p.grid, (double[]){99, -99}, none);
  assert_true(i.estimate == 7 && i.low == 7 && isinf(i.high));
  i = mz_isotonic_grid_at(&p.grid, (double[]){-99, 5}, none);
  assert_true(i.estimate == 2 && isinf(i.low) && i.high == 3);
  i = mz_isotonic_grid_at(&p.grid, (double[]){99, 99}, none);
  assert_true(i.estimate == 4 && isinf(i.low) && isinf(i.high));
}

static void test_every_query_keeps_the_order(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 60; seed++) {
    mz_rng rng = mz_rng_at(seed, MZ_RNG_TEST, 15, 0);
    const int axes = 1 + (int)(seed % 4);
    draw_grid(&rng, axes, 5, 0.3, (int[]){0, 30, 80}[seed % 3]);
    fit();
    for (int n = 0; n < 1000; n++) {
      const mz_isotonic_noise noise = {.absolute = 0.1 * (n % 2), .relative = 0.3 * (n % 3)};
      double x[AXES_MOST], above[AXES_MOST];
      for (int a = 0; a < axes; a++) {
        x[a] = 0.5 * mz_rng_below(&rng, 14) - 1;
        above[a] = x[a] + (p.grid.axis[a].falls ? -0.5 : 0.5) * mz_rng_below(&rng, 3);
      }
      const mz_interval first = mz_isotonic_grid_at(&p.grid, x, noise), second = mz_isotonic_grid_at(&p.grid, above, noise);
      assert_true(first.estimate <= second.estimate && first.low <= second.low && first.high <= second.high);
      assert_true(first.low <= first.estimate && first.estimate <= first.high);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_it_is_the_exact_one),
      cmocka_unit_test(test_960_cells),
      cmocka_unit_test(test_a_large_grid),
      cmocka_unit_test(test_it_is_scipys),
      cmocka_unit_test(test_few_observations),
      cmocka_unit_test(test_ranges_may_be_huge),
      cmocka_unit_test(test_memory_that_cannot_be_had),
      cmocka_unit_test(test_between_and_beyond_lines),
      cmocka_unit_test(test_every_query_keeps_the_order),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
