/* Convolutions of the cpu backend beside gradients, parity and rows, which go over board_cases.h: exact results of whole
 * numbers in both precisions, sums made in place, and plans that several threads make and use at once. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "networks/cpu/convolution.h"
#include "networks/cpu/kernels.h"
#include "tests/networks/board_cases.h"
#include <pthread.h>

/* ---- whole numbers: sums without rounding, whatever their order ---- */

enum { SMALL_ROWS = 5, SMALL_MAX = SMALL_ROWS * 81 * 64, KERNEL_MAX = 9 * 64 * 64 };

typedef struct numbers { /* x, w, y of a convolution; any of them may be what is sought */
  mz_conv_shape shape;
  float x[SMALL_MAX], w[KERNEL_MAX], y[SMALL_MAX], bias[64];
} numbers;

static void fill(float *to, int count, int range, uint32_t stream) {
  mz_rng rng = mz_rng_at(21, MZ_RNG_TEST, stream, 0);
  for (int i = 0; i < count; i++) to[i] = (float)mz_rng_below(&rng, (uint32_t)(2 * range + 1)) - (float)range;
}

typedef void (*joined)(numbers *n, int x, int w, int y); /* one multiply-add of the convolution, by indices */

static void each_product(numbers *n, joined visit) {
  const mz_conv_shape *s = &n->shape;
  const int height = s->board.height, width = s->board.width;
  for (int p = 0; p < SMALL_ROWS * height * width; p++) {
    const int row = p / (height * width), y = p / width % height, x = p % width;
    for (int tap = 0; tap < 9; tap++) {
      const int seen_y = y + tap / 3 - 1, seen_x = x + tap % 3 - 1;
      if (seen_y < 0 || seen_y >= height || seen_x < 0 || seen_x >= width) continue;
      const int seen = (row * height + seen_y) * width + seen_x;
      for (int i = 0; i < s->inputs; i++) {
        for (int o = 0; o < s->outputs; o++)
          visit(n, seen * s->inputs + i, (tap * s->inputs + i) * s->outputs + o, p * s->outputs + o);
      }
    }
  }
}

static void forward_product(numbers *n, int x, int w, int y) { n->y[y] += n->x[x] * n->w[w]; }
static void data_product(numbers *n, int x, int w, int y) { n->x[x] += n->y[y] * n->w[w]; }
static void weight_product(numbers *n, int x, int w, int y) { n->w[w] += n->x[x] * n->y[y]; }

static const void *as_multiplied(const float *from, int count, bool half, uint16_t *halves) {
  if (!half) return from;
  mz_kernels_get()->halve(from, halves, (size_t)count);
  return halves;
}

static mz_conv *plan_of(const mz_conv_settings *settings) {
  mz_conv *conv = NULL;
  check(mz_conv_create(&conv, settings));
  return conv;
}

static void whole_numbers(mz_conv_shape shape, bool half, bool bias, bool add, bool relu) {
  static numbers n; /* large */
  static float packed[KERNEL_MAX], found[SMALL_MAX], gradient[KERNEL_MAX];
  static uint16_t x_halves[SMALL_MAX], y_halves[SMALL_MAX];
  const int positions = shape.board.height * shape.board.width, xs = SMALL_ROWS * positions * shape.inputs;
  const int ys = SMALL_ROWS * positions * shape.outputs, ws = 9 * shape.inputs * shape.outputs;
  n.shape = shape;
  fill(n.x, xs, 3, 0);
  fill(n.w, ws, 2, 1);
  fill(n.y, ys, 4, 2);
  fill(n.bias, shape.outputs, 4, 3);

  mz_conv *forward = plan_of(&(mz_conv_settings){
      .shape = shape, .rows = SMALL_ROWS, .direction = MZ_CONV_FORWARD, .bias = bias, .add = add, .relu = relu, .half = half});
  memcpy(found, n.y, sizeof found);
  check(mz_conv_pack(&shape, MZ_CONV_FORWARD, half, n.w, packed));
  mz_conv_forward(forward, SMALL_ROWS, as_multiplied(n.x, xs, half, x_halves), packed, bias ? n.bias : NULL, found);
  for (int i = 0; i < ys; i++) n.y[i] = (add ? n.y[i] : 0.0f) + (bias ? n.bias[i % shape.outputs] : 0.0f);
  each_product(&n, forward_product);
  for (int i = 0; i < ys; i++) assert_true(found[i] == (relu && n.y[i] < 0.0f ? 0.0f : n.y[i]));
  mz_conv_free(forward);

  mz_conv *data = plan_of(&(mz_conv_settings){.shape = shape, .rows = SMALL_ROWS, .direction = MZ_CONV_DATA, .half = half});
  fill(n.y, ys, 4, 2);
  check(mz_conv_pack(&shape, MZ_CONV_DATA, half, n.w, packed));
  mz_conv_data(data, SMALL_ROWS, as_multiplied(n.y, ys, half, y_halves), packed, found);
  memset(n.x, 0, sizeof n.x);
  each_product(&n, data_product);
  for (int i = 0; i < xs; i++) assert_true(found[i] == n.x[i]);
  mz_conv_free(data);

  mz_conv *kernel = plan_of(&(mz_conv_settings){.shape = shape, .rows = SMALL_ROWS, .direction = MZ_CONV_WEIGHTS, .half = half});
  fill(n.x, xs, 3, 0);
  mz_conv_weights_begin(kernel); /* two uses of the same rows: everything twice */
  for (int use = 0; use < 2; use++) {
    mz_conv_weights_add(kernel, SMALL_ROWS, as_multiplied(n.x, xs, half, x_halves), as_multiplied(n.y, ys, half, y_halves));
  }
  mz_conv_weights_end(kernel, gradient);
  memset(n.w, 0, sizeof n.w);
  for (int use = 0; use < 2; use++) each_product(&n, weight_product);
  for (int i = 0; i < ws; i++) assert_true(gradient[i] == n.w[i]);
  mz_conv_free(kernel);
}

static void whole_numbers_come_out_exactly(void **state) {
  (void)state;
  static const mz_board boards[] = {{2, 2}, {3, 3}, {6, 7}, {9, 9}, {1, 4}, {5, 1}};
  static const int channels[][2] = {{16, 16}, {32, 48}, {48, 64}, {64, 16}};
  for (size_t b = 0; b < sizeof boards / sizeof *boards; b++) {
    for (size_t c = 0; c < 4; c++) {
      const mz_conv_shape shape = {boards[b], channels[c][0], channels[c][1]};
      const bool bias = (b + c) % 2, add = b % 2, relu = c % 2;
      whole_numbers(shape, false, bias, add, relu);
      if (mz_isa_halves()) whole_numbers(shape, true, bias, add, relu);
    }
  }
}

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
  out->failed |= mz_conv_pack(&shape, MZ_CONV_FORWARD, false, weights, packed) != MZ_OK;
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
      cmocka_unit_test(whole_numbers_come_out_exactly),
      cmocka_unit_test(sums_in_place_have_the_same_bits),
      cmocka_unit_test(threads_do_not_disturb_one_another),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
