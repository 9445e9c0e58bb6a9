/* Monotone regression of scattered points against brute force, the conditions that only the optimum meets, and SciPy. */
#include "allocator/model/isotonic.h"
#include "base/maths/rng.h"
#include "isotonic_case.h"
#include <math.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { MOST = MZ_ISOTONIC_POINTS_MAX, AXES_MOST = 6, BRUTE = 8 };

typedef struct problem {
  mz_isotonic_points points;
  double x[MOST * AXES_MOST], y[MOST], weight[MOST], fitted[MOST];
} problem;

static problem p;

static void begin(int count, int axes) {
  p.points = (mz_isotonic_points){.count = count, .axes = axes, .x = p.x, .y = p.y, .weight = p.weight};
}

static void draw(int count, int axes, int values, uint64_t seed) {
  mz_rng rng = mz_rng_at(seed, MZ_RNG_TEST, 7, (uint64_t)count);
  begin(count, axes);
  for (int i = 0; i < count; i++) {
    p.y[i] = mz_rng_normal(&rng);
    p.weight[i] = 0.2 + mz_rng_f64(&rng);
    for (int a = 0; a < axes; a++) {
      p.x[i * axes + a] = mz_rng_below(&rng, (uint32_t)values);
      p.y[i] += 0.3 * p.x[i * axes + a];
    }
  }
}

static void fit(void) {
  void *scratch;
  assert_int_equal(mz_alloc(&scratch, MZ_ISOTONIC_SCRATCH_BYTES(p.points.count), 1), MZ_OK);
  mz_isotonic_fit(&p.points, p.fitted, scratch);
  free(scratch);
}

static bool is_below(int a, int b) {
  for (int i = 0; i < p.points.axes; i++)
    if (p.x[a * p.points.axes + i] > p.x[b * p.points.axes + i]) return false;
  return true;
}

static void assert_order_holds(void) {
  for (int i = 0; i < p.points.count; i++)
    for (int j = 0; j < p.points.count; j++)
      if (is_below(i, j)) assert_true(p.fitted[i] <= p.fitted[j]);
}

static bool is_upper_set(unsigned members) {
  for (int i = 0; i < p.points.count; i++)
    for (int j = 0; j < p.points.count; j++)
      if (members >> i & 1 && !(members >> j & 1) && is_below(i, j)) return false;
  return true;
}

/* ---- brute force ---- */

static long double mean_of(unsigned members) {
  long double sum = 0, weights = 0;
  for (int i = 0; i < p.points.count; i++) {
    if (!(members >> i & 1)) continue;
    sum += (long double)p.weight[i] * p.y[i];
    weights += p.weight[i];
  }
  return sum / weights;
}

/* The optimum at i is the maximum over upper sets U with i of the minimum over lower sets L with i of the mean of U ∩ L
 * (Robertson, Wright & Dykstra 1988). */
static double brute_force(int i) {
  const unsigned all = (1u << p.points.count) - 1;
  long double most = -INFINITY;
  for (unsigned upper = 0; upper <= all; upper++) {
    if (!(upper >> i & 1) || !is_upper_set(upper)) continue;
    long double least = INFINITY;
    for (unsigned other = 0; other <= all; other++) {
      if (other >> i & 1 || !is_upper_set(other)) continue;
      least = fminl(least, mean_of(upper & ~other));
    }
    most = fmaxl(most, least);
  }
  return (double)most;
}

static void assert_is_brute_force(double tolerance) {
  fit();
  assert_order_holds();
  for (int i = 0; i < p.points.count; i++) assert_true(fabs(p.fitted[i] - brute_force(i)) <= tolerance);
}

static void test_it_is_brute_force(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 150; seed++) {
    draw(1 + (int)(seed % BRUTE), 1 + (int)(seed / BRUTE % 4), 2 + (int)(seed % 5), seed);
    if (seed % 3 == 0)
      for (int i = 0; i < p.points.count; i++) p.y[i] = round(p.y[i]); /* ties */
    assert_is_brute_force(1e-9);
  }
}

static void test_ranges_may_be_huge(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 60; seed++) {
    draw(7, 2, 4, seed);
    for (int i = 0; i < p.points.count; i++) p.y[i] = copysign(pow(10, 15 * fabs(sin(3.0 * i + (double)seed)) - 6), p.y[i]);
    assert_is_brute_force(1e-9 * 1e9);
    draw(7, 2, 4, seed);
    for (int i = 0; i < p.points.count; i++) p.weight[i] = pow(10, 15 * fabs(sin(3.0 * i + (double)seed)) - 6);
    assert_is_brute_force(1e-9);
    draw(7, 2, 4, seed);
    for (int i = 0; i < p.points.count; i++) p.y[i] += 1e9;
    assert_is_brute_force(1e-6);
  }
}

/* ---- conditions ---- */

/* The projection f of y on a convex cone: ⟨y − f, f⟩ = 0 and ⟨y − f, g⟩ ≤ 0 for all g in it; indicators of upper sets, and
 * constants, generate this one. */
static void test_it_is_the_projection(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 60; seed++) {
    draw(9, 1 + (int)(seed % 3), 4, seed);
    fit();
    assert_order_holds();
    double inner = 0, total = 0;
    for (int i = 0; i < p.points.count; i++) {
      inner += p.weight[i] * (p.y[i] - p.fitted[i]) * p.fitted[i];
      total += p.weight[i] * (p.y[i] - p.fitted[i]);
    }
    assert_true(fabs(inner) < 1e-12 && fabs(total) < 1e-12);
    for (unsigned members = 0; members < 1u << p.points.count; members++) {
      if (!is_upper_set(members)) continue;
      double along = 0;
      for (int i = 0; i < p.points.count; i++)
        if (members >> i & 1) along += p.weight[i] * (p.y[i] - p.fitted[i]);
      assert_true(along < 1e-12);
    }
  }
}

static void test_it_is_scipys(void **state) {
  (void)state;
  cJSON *cases = read_isotonic_cases();
  const cJSON *one;
  int count = 0;
  cJSON_ArrayForEach(one, cJSON_GetObjectItem(cases, "scattered")) {
    double wanted[MOST];
    begin(read_numbers(one, "y", p.y, MOST), cJSON_GetObjectItem(one, "axes")->valueint);
    read_numbers(one, "x", p.x, MOST * AXES_MOST);
    read_numbers(one, "weight", p.weight, MOST);
    read_numbers(one, "fitted", wanted, MOST);
    fit();
    for (int i = 0; i < p.points.count; i++) assert_true(fabs(p.fitted[i] - wanted[i]) <= 1e-9);
    count++;
  }
  assert_int_equal(count, 9);
  cJSON_Delete(cases);
}

static void test_as_many_points_as_there_may_be(void **state) {
  (void)state;
  for (int axes = 1; axes <= AXES_MOST; axes++) {
    draw(MOST, axes, axes < 3 ? 1000 : 4, (uint64_t)axes);
    fit();
    assert_order_holds();
    double total = 0, inner = 0;
    for (int i = 0; i < MOST; i++) {
      total += p.weight[i] * (p.y[i] - p.fitted[i]);
      inner += p.weight[i] * (p.y[i] - p.fitted[i]) * p.fitted[i];
    }
    assert_true(fabs(total) < 1e-9 && fabs(inner) < 1e-9);
  }
}

/* ---- edges ---- */

static void test_few_and_equal_points(void **state) {
  (void)state;
  begin(0, 3);
  fit();
  draw(1, 3, 5, 1);
  fit();
  assert_true(p.fitted[0] == p.y[0]);
  draw(5, 2, 1, 2); /* all at one place */
  fit();
  for (int i = 1; i < 5; i++) assert_true(p.fitted[i] == p.fitted[0]);
  draw(40, 2, 4, 3);
  for (int i = 0; i < 40; i++) p.y[i] = 0.1;
  fit();
  for (int i = 0; i < 40; i++) assert_true(p.fitted[i] == 0.1);
  draw(6, 0, 1, 4); /* no axes: nothing tells points apart */
  fit();
  for (int i = 1; i < 6; i++) assert_true(p.fitted[i] == p.fitted[0]);
  draw(40, 1, 1000, 5); /* falls all along: one level */
  for (int i = 0; i < 40; i++) p.y[i] = -p.x[i];
  fit();
  for (int i = 1; i < 40; i++) assert_true(p.fitted[i] == p.fitted[0]);
}

/* Means that are equal but for rounding: the order holds all the same. */
static void test_rounding_does_not_break_the_order(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 300; seed++) {
    draw(60, 2, 12, seed);
    for (int i = 0; i < p.points.count; i++) {
      p.y[i] = 0.1 * round(2 * sin(5.0 * i + (double)seed));
      p.weight[i] = 0.1 * (1 + (i + (int)seed) % 7);
    }
    fit();
    assert_order_holds();
  }
}

/* ---- between points ---- */

static void test_between_points_there_are_bounds(void **state) {
  (void)state;
  begin(3, 2);
  for (int i = 0; i < 6; i++) p.x[i] = (double[]){1, 1, 2, 3, 4, 4}[i];
  for (int i = 0; i < 3; i++) p.y[i] = (double[]){1, 2, 5}[i];
  for (int i = 0; i < 3; i++) p.weight[i] = 1;
  double low, high;
  fit();
  mz_isotonic_bounds(&p.points, p.fitted, (double[]){3, 3}, &low, &high);
  assert_true(low == 2 && high == 5);
  mz_isotonic_bounds(&p.points, p.fitted, (double[]){2, 2}, &low, &high);
  assert_true(low == 1 && high == 2);
  mz_isotonic_bounds(&p.points, p.fitted, (double[]){0, 9}, &low, &high);
  assert_true(isinf(low) && low < 0 && isinf(high));
  mz_isotonic_bounds(&p.points, p.fitted, (double[]){2, 3}, &low, &high);
  assert_true(low == 2 && high == 2);
}

static void test_the_envelope(void **state) {
  (void)state;
  const mz_isotonic_noise none = {0}, some = {.absolute = 0.5, .relative = 0.1};
  mz_interval i = mz_isotonic_envelope(1, 3, 0, 9, none);
  assert_true(i.estimate == 2 && i.low == 1 && i.high == 3);
  i = mz_isotonic_envelope(-10, 20, -10, 20, some);
  assert_true(i.estimate == 5 && fabs(i.low + 11.5) < 1e-12 && fabs(i.high - 22.5) < 1e-12);
  i = mz_isotonic_envelope(-INFINITY, 3, 1, 9, none);
  assert_true(i.estimate == 2 && isinf(i.low) && i.high == 3);
  i = mz_isotonic_envelope(3, INFINITY, 1, 9, some);
  assert_true(i.estimate == 6 && fabs(i.low - 2.2) < 1e-12 && isinf(i.high));
}

static mz_interval at(const double *x, double least, double most) {
  double low, high;
  mz_isotonic_bounds(&p.points, p.fitted, x, &low, &high);
  return mz_isotonic_envelope(low, high, least, most, (mz_isotonic_noise){.absolute = 0.1, .relative = 0.2});
}

static void test_every_query_keeps_the_order(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 20; seed++) {
    const int axes = 1 + (int)(seed % 4);
    draw(30, axes, 6, seed);
    fit();
    double least = INFINITY, most = -INFINITY;
    for (int i = 0; i < 30; i++) {
      least = fmin(least, p.fitted[i]);
      most = fmax(most, p.fitted[i]);
    }
    mz_rng rng = mz_rng_at(seed, MZ_RNG_TEST, 8, 0);
    for (int n = 0; n < 2000; n++) {
      double x[AXES_MOST], above[AXES_MOST];
      for (int a = 0; a < axes; a++) {
        x[a] = 0.5 * mz_rng_below(&rng, 16) - 1;
        above[a] = x[a] + 0.5 * mz_rng_below(&rng, 3);
      }
      const mz_interval first = at(x, least, most), second = at(above, least, most);
      assert_true(first.estimate <= second.estimate && first.low <= second.low && first.high <= second.high);
      assert_true(first.low <= first.estimate && first.estimate <= first.high);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_it_is_brute_force),
      cmocka_unit_test(test_ranges_may_be_huge),
      cmocka_unit_test(test_it_is_the_projection),
      cmocka_unit_test(test_it_is_scipys),
      cmocka_unit_test(test_as_many_points_as_there_may_be),
      cmocka_unit_test(test_few_and_equal_points),
      cmocka_unit_test(test_rounding_does_not_break_the_order),
      cmocka_unit_test(test_between_points_there_are_bounds),
      cmocka_unit_test(test_the_envelope),
      cmocka_unit_test(test_every_query_keeps_the_order),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
