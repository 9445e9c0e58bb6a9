/* Convolutions of the cpu backend beside gradients, parity and rows, which go over board_cases.h: sums made in place, and plans that
 * several threads make and use at once. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "networks/cpu/convolution.h"
#include "tests/networks/board_cases.h"
#include <pthread.h>

/* ---- sums ---- */

typedef struct sums { /* x, conv(conv(x)) + x, and that again: the residual chain of inference */
  mz_tape *tape;
  mz_value obs, x, first, second;
} sums;

static sums record_sums(const mz_params *params, net_size size, int rows, bool with_backward) {
  sums s;
  check(mz_tape_create(&s.tape, &mz_backend_cpu, params, rows, with_backward));
  s.obs = mz_tape_input(s.tape, positions_of(size) * OBS_PLANES);
  s.x = mz_tape_conv(s.tape, mz_tape_planes(s.tape, s.obs, positions_of(size)), STEM, STEM + 1, -1, MZ_LINEAR_ONLY);
  s.first = mz_tape_conv(s.tape, mz_tape_conv(s.tape, s.x, CONV_A, -1, -1, MZ_RELU), CONV_B, CONV_B + 1, s.x, MZ_RELU);
  s.second = mz_tape_conv(s.tape, mz_tape_conv(s.tape, s.first, CONV_A, -1, -1, MZ_RELU), CONV_B, CONV_B + 1, s.first, MZ_RELU);
  check(mz_tape_plan(s.tape));
  return s;
}

static float *packed_weights(const mz_params *params) {
  float *values = NULL, *packed = NULL;
  check(mz_alloc(&values, (size_t)params->size, sizeof *values));
  check(mz_alloc(&packed, (size_t)params->size, sizeof *packed));
  mz_params_init(params, 2, values);
  check(mz_backend_cpu.pack_forward(params, values, false, packed));
  free(values);
  return packed;
}

static void sums_in_place_have_the_same_bits(void **state) {
  (void)state;
  enum { ROWS = 9 };
  static const mz_board boards[] = {{2, 2}, {3, 3}, {6, 7}, {9, 9}};
  for (int b = 0; b < 4; b++) {
    static mz_params params; /* large */
    const net_size size = {.width = 16 + 16 * b, .board = boards[b]};
    const int columns = positions_of(size) * OBS_PLANES;
    params = (mz_params){0};
    board_params(&params, size);
    float *packed = packed_weights(&params), *obs = NULL;
    check(mz_alloc(&obs, (size_t)(ROWS * columns), sizeof *obs));
    mz_rng rng = mz_rng_at(3, MZ_RNG_TEST, 0, 0);
    for (int i = 0; i < ROWS * columns; i++) obs[i] = mz_rng_normal(&rng);
    sums apart = record_sums(&params, size, ROWS, true), in_place = record_sums(&params, size, ROWS, false);
    assert_ptr_not_equal(mz_tape_at(apart.tape, apart.second)->data, mz_tape_at(apart.tape, apart.x)->data);
    assert_ptr_equal(mz_tape_at(in_place.tape, in_place.second)->data, mz_tape_at(in_place.tape, in_place.x)->data);
    for (int rows = 1; rows <= ROWS; rows++) {
      mz_tape_write(apart.tape, apart.obs, obs, rows);
      mz_tape_write(in_place.tape, in_place.obs, obs, rows);
      mz_tape_forward(apart.tape, packed, rows);
      mz_tape_forward(in_place.tape, packed, rows);
      const mz_tape_value *a = mz_tape_at(apart.tape, apart.second), *i = mz_tape_at(in_place.tape, in_place.second);
      assert_memory_equal(a->data, i->data, (size_t)rows * (size_t)a->stride * sizeof(float));
    }
    mz_tape_free(apart.tape);
    mz_tape_free(in_place.tape);
    free(packed);
    free(obs);
  }
}

/* ---- threads ---- */

enum { THREADS = 4, SHAPES = 6, ROWS = 5, LARGEST = ROWS * 42 * 48, WEIGHTS_MAX = 9 * 48 * 48 };

static mz_conv_shape shape_of(int i) {
  return (mz_conv_shape){
      {2 + i, 6}, 16 + 16 * (i % 3), 48 - 16 * (i % 2)}; /* shapes of their own: no other test has planned them */
}

typedef struct outcome {
  float y[SHAPES][LARGEST];
  bool failed;
} outcome;

static void run_shape(int i, outcome *out) {
  static _Thread_local float x[LARGEST], weights[WEIGHTS_MAX], packed[WEIGHTS_MAX];
  const mz_conv_shape shape = shape_of(i);
  const mz_conv_settings settings = {.shape = shape, .rows = ROWS, .direction = MZ_CONV_FORWARD, .relu = true};
  mz_rng rng = mz_rng_at(8, MZ_RNG_TEST, (uint32_t)i, 0);
  for (int k = 0; k < LARGEST; k++) x[k] = mz_rng_normal(&rng);
  for (int k = 0; k < 9 * shape.inputs * shape.outputs; k++) weights[k] = mz_rng_normal(&rng);
  mz_conv *conv = NULL;
  out->failed |= mz_conv_pack(&shape, MZ_CONV_FORWARD, weights, packed) != MZ_OK;
  out->failed |= mz_conv_create(&conv, &settings) != MZ_OK;
  if (!out->failed) mz_conv_forward(conv, ROWS, x, packed, NULL, out->y[i]);
  mz_conv_free(conv);
}

static void *run_shapes(void *argument) {
  for (int i = 0; i < SHAPES; i++) run_shape(i, argument);
  return NULL;
}

static void threads_do_not_disturb_one_another(void **state) {
  (void)state;
  static outcome outcomes[THREADS];
  pthread_t threads[THREADS];
  for (int t = 0; t < THREADS; t++) assert_int_equal(pthread_create(&threads[t], NULL, run_shapes, &outcomes[t]), 0);
  for (int t = 0; t < THREADS; t++) assert_int_equal(pthread_join(threads[t], NULL), 0);
  static outcome alone;
  run_shapes(&alone);
  assert_false(alone.failed);
  for (int t = 0; t < THREADS; t++) assert_memory_equal(&outcomes[t], &alone, sizeof alone);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sums_in_place_have_the_same_bits),
      cmocka_unit_test(threads_do_not_disturb_one_another),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
