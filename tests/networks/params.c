/* The layout of the flat parameter vector and its initialisation. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "networks/parameters/params.h"
#include <string.h>

static mz_params example(void) {
  mz_params params = {0};
  mz_params_add(&params, "in.weight", 18, 40, true, MZ_INIT_HE, 18);
  mz_params_add(&params, "in.bias", 1, 40, false, MZ_INIT_ZERO, 18);
  mz_params_add(&params, "hidden.weight", 40, 16, true, MZ_INIT_GLOROT, 40);
  mz_params_add(&params, "head.weight", 16, 3, true, MZ_INIT_SMALL, 16);
  return params;
}

static float *allocate(const mz_params *params) {
  float *values;
  assert_int_equal(mz_alloc(&values, (size_t)params->size, sizeof *values), MZ_OK);
  return values;
}

static void matrices_follow_each_other_with_padded_rows(void **state) {
  (void)state;
  const mz_params params = example();
  assert_int_equal(params.count, 4);
  int64_t offset = 0;
  for (int i = 0; i < params.count; i++) {
    const mz_param *param = &params.items[i];
    assert_int_equal(param->offset, offset);
    assert_int_equal(param->offset % MZ_LANES, 0);
    assert_int_equal(param->stride % MZ_LANES, 0);
    assert_in_range(param->stride - param->columns, 0, MZ_LANES - 1);
    offset += (int64_t)param->rows * param->stride;
  }
  assert_int_equal(params.size, offset);
  assert_int_equal(params.items[0].stride, 48);
  assert_int_equal(params.items[2].stride, 16);
  assert_int_equal(mz_params_trainable(&params), 18 * 40 + 40 + 40 * 16 + 16 * 3);
}

static void parameters_are_found_by_name(void **state) {
  (void)state;
  const mz_params params = example();
  for (int i = 0; i < params.count; i++) assert_int_equal(mz_params_find(&params, params.items[i].name), i);
  assert_int_equal(mz_params_find(&params, "in"), -1);
  assert_int_equal(mz_params_find(&params, "in.weight.more"), -1);
}

static void initial_values_have_the_variance_of_their_scheme(void **state) {
  (void)state;
  mz_params params = {0};
  const int n = 200;
  const double variances[] = {0.0, 2.0 / n, 2.0 / (n + n), 1e-4 * 2.0 / (n + n)};
  const mz_init schemes[] = {MZ_INIT_ZERO, MZ_INIT_HE, MZ_INIT_GLOROT, MZ_INIT_SMALL};
  const char *names[] = {"zero", "he", "glorot", "small"};
  for (int i = 0; i < 4; i++) mz_params_add(&params, names[i], n, n, true, schemes[i], n);
  float *values = allocate(&params);
  mz_params_init(&params, 7, values);
  for (int i = 0; i < 4; i++) {
    const mz_param *param = &params.items[i];
    double sum = 0, squares = 0, largest = 0;
    for (int r = 0; r < n; r++)
      for (int c = 0; c < n; c++) {
        const double value = values[param->offset + (int64_t)r * param->stride + c];
        sum += value;
        squares += value * value;
        largest = fmax(largest, fabs(value));
      }
    const double deviation = sqrt(variances[i]);
    assert_true(largest <= sqrt(3.0) * deviation * (1 + 1e-6));
    assert_true(fabs(sum / (n * n)) <= 0.02 * deviation);
    assert_true(fabs(squares / (n * n) - variances[i]) <= 0.02 * variances[i]);
  }
  free(values);
}

static void padding_and_biases_start_at_zero(void **state) {
  (void)state;
  const mz_params params = example();
  float *values = allocate(&params);
  for (int64_t i = 0; i < params.size; i++) values[i] = NAN;
  mz_params_init(&params, 1, values);
  for (int i = 0; i < params.count; i++) {
    const mz_param *param = &params.items[i];
    for (int r = 0; r < param->rows; r++)
      for (int c = 0; c < param->stride; c++) {
        const float value = values[param->offset + (int64_t)r * param->stride + c];
        if (c >= param->columns || param->init == MZ_INIT_ZERO)
          assert_true(value == 0.0f && !signbit(value));
        else
          assert_true(isfinite(value));
      }
  }
  free(values);
}

static void categoricals_begin_at_one_end(void **state) {
  (void)state;
  mz_params params = {0};
  enum { BINS = 101 };
  mz_params_add(&params, "first", 1, BINS, false, MZ_INIT_FIRST, 0);
  mz_params_add(&params, "last", 1, BINS, false, MZ_INIT_LAST, 0);
  float *values = allocate(&params);
  mz_params_init(&params, 1, values);
  for (int i = 0; i < 2; i++) {
    const float *logits = values + params.items[i].offset;
    double sum = 0;
    for (int c = 0; c < BINS; c++) sum += exp((double)logits[c]);
    assert_true(fabs(exp((double)logits[i == 0 ? 0 : BINS - 1]) / sum - 0.99) < 1e-3);
  }
  free(values);
}

/* A change of one layer's size leaves the others' start alone: a parameter's stream is named by its index. */
static void initial_values_depend_on_seed_and_index_only(void **state) {
  (void)state;
  const mz_params params = example();
  mz_params resized = {0};
  mz_params_add(&resized, "in.weight", 5, 9, true, MZ_INIT_HE, 5);
  mz_params_add(&resized, "in.bias", 1, 9, false, MZ_INIT_ZERO, 5);
  mz_params_add(&resized, "renamed.weight", 40, 16, true, MZ_INIT_GLOROT, 40);
  float *first = allocate(&params), *again = allocate(&params), *other = allocate(&params), *small = allocate(&resized);
  const size_t bytes = (size_t)params.size * sizeof *first;
  mz_params_init(&params, 3, first);
  mz_params_init(&params, 3, again);
  mz_params_init(&params, 4, other);
  mz_params_init(&resized, 3, small);
  assert_memory_equal(first, again, bytes);
  assert_int_not_equal(memcmp(first, other, bytes), 0);
  assert_memory_equal(first + params.items[2].offset, small + resized.items[2].offset, 40 * 16 * sizeof *first);
  assert_int_not_equal(memcmp(first + params.items[2].offset, first + params.items[0].offset, 16 * sizeof *first), 0);
  free(first);
  free(again);
  free(other);
  free(small);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(matrices_follow_each_other_with_padded_rows),
      cmocka_unit_test(parameters_are_found_by_name),
      cmocka_unit_test(initial_values_have_the_variance_of_their_scheme),
      cmocka_unit_test(padding_and_biases_start_at_zero),
      cmocka_unit_test(categoricals_begin_at_one_end),
      cmocka_unit_test(initial_values_depend_on_seed_and_index_only),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
