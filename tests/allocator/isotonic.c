/* Monotone regression against the conditions that only the optimum meets, over every upper set of small orders. */
#include "allocator/model/isotonic.h"
#include "base/maths/rng.h"
#include <math.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static bool is_below(const mz_isotonic *s, int a, int b) {
  for (int i = 0; i < s->axes; i++)
    if (s->x[a][i] > s->x[b][i]) return false;
  return true;
}

static void draw(mz_isotonic *s, int count, int axes, int values, uint64_t seed) {
  mz_rng rng = mz_rng_at(seed, MZ_RNG_TEST, 7, (uint64_t)count);
  *s = (mz_isotonic){.count = count, .axes = axes};
  for (int i = 0; i < count; i++) {
    s->y[i] = mz_rng_normal(&rng);
    s->weight[i] = 0.2 + mz_rng_f64(&rng);
    for (int a = 0; a < axes; a++) {
      s->x[i][a] = mz_rng_below(&rng, (uint32_t)values);
      s->y[i] += 0.3 * s->x[i][a];
    }
  }
}

static bool is_upper_set(const mz_isotonic *s, unsigned members) {
  for (int i = 0; i < s->count; i++)
    for (int j = 0; j < s->count; j++)
      if (members >> i & 1 && !(members >> j & 1) && is_below(s, i, j)) return false;
  return true;
}

/* The projection f of y on a convex cone: ⟨y − f, f⟩ = 0 and ⟨y − f, g⟩ ≤ 0 for all g in it; indicators of upper sets, and
 * constants, generate this one. */
static void test_it_is_the_projection(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 60; seed++) {
    mz_isotonic s;
    draw(&s, 9, 1 + (int)(seed % 3), 4, seed);
    mz_isotonic_fit(&s);
    double inner = 0, total = 0;
    for (int i = 0; i < s.count; i++) {
      inner += s.weight[i] * (s.y[i] - s.fitted[i]) * s.fitted[i];
      total += s.weight[i] * (s.y[i] - s.fitted[i]);
      for (int j = 0; j < s.count; j++)
        if (is_below(&s, i, j)) assert_true(s.fitted[i] <= s.fitted[j] + 1e-7);
    }
    assert_true(fabs(inner) < 1e-6 && fabs(total) < 1e-6);
    for (unsigned members = 0; members < 1u << s.count; members++) {
      if (!is_upper_set(&s, members)) continue;
      double along = 0;
      for (int i = 0; i < s.count; i++)
        if (members >> i & 1) along += s.weight[i] * (s.y[i] - s.fitted[i]);
      assert_true(along < 1e-6);
    }
  }
}

static void test_many_points_are_monotone_within_their_range(void **state) {
  (void)state;
  mz_isotonic s;
  draw(&s, MZ_ISOTONIC_POINTS_MAX, 6, 3, 5);
  mz_isotonic_fit(&s);
  for (int i = 0; i < s.count; i++)
    for (int j = 0; j < s.count; j++)
      if (is_below(&s, i, j)) assert_true(s.fitted[i] <= s.fitted[j] + 1e-6);
}

static void test_between_points_there_are_bounds(void **state) {
  (void)state;
  mz_isotonic s = {.count = 3, .axes = 2, .x = {{1, 1}, {2, 3}, {4, 4}}, .y = {1, 2, 5}, .weight = {1, 1, 1}};
  double low, high;
  mz_isotonic_fit(&s);
  mz_isotonic_bounds(&s, (double[]){3, 3}, &low, &high);
  assert_true(low == 2 && high == 5);
  mz_isotonic_bounds(&s, (double[]){2, 2}, &low, &high);
  assert_true(low == 1 && high == 2);
  mz_isotonic_bounds(&s, (double[]){0, 9}, &low, &high);
  assert_true(isinf(low) && low < 0 && isinf(high));
  mz_isotonic_bounds(&s, (double[]){2, 3}, &low, &high);
  assert_true(low == 2 && high == 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_it_is_the_projection),
      cmocka_unit_test(test_many_points_are_monotone_within_their_range),
      cmocka_unit_test(test_between_points_there_are_bounds),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
