/* Convolutions of the cpu backend beside gradients, parity and rows, which go over board_cases.h: whole numbers in both
 * precisions, sums made in place, and plans that several threads make and use at once. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "networks/cpu/conv.h"
#include "networks/cpu/kernels.h"
#include "networks/cpu/winograd.h"
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

/* Halves give whole numbers exactly; minimal filtering in floats multiplies by sixths. */
static void expect_numbers(const float *found, const float *expected, int count, float tolerance) {
  for (int i = 0; i < count; i++) assert_true(fabsf(found[i] - expected[i]) <= tolerance);
}

static const uint16_t *to_bf16(const float *from, int count, uint16_t *bf16s) {
  mz_kernels_get()->to_bf16(from, bf16s, (size_t)count);
  return bf16s;
}

static mz_conv *plan_of(const mz_conv_settings *settings) {
  mz_conv *conv = NULL;
  check(mz_conv_create(&conv, settings));
  return conv;
}

static int xs_of(const numbers *n) { return SMALL_ROWS * n->shape.board.height * n->shape.board.width * n->shape.inputs; }
static int ys_of(const numbers *n) { return SMALL_ROWS * n->shape.board.height * n->shape.board.width * n->shape.outputs; }

typedef struct form { /* of one convolution */
  bool bf16, bias, add, relu;
} form;

static void run_forward(const numbers *n, form f, float *y) {
  static float packed[MZ_CONV_PACKED * 64 * 64], scratch[1 << 20];
  static uint16_t bf16s[SMALL_MAX];
  const mz_conv_shape s = n->shape;
  const float *bias = f.bias ? n->bias : NULL;
  if (f.bf16) {
    mz_conv *plan = plan_of(&(mz_conv_settings){
        .shape = s, .rows = SMALL_ROWS, .direction = MZ_CONV_FORWARD, .bias = f.bias, .add = f.add, .relu = f.relu});
    check(mz_conv_pack(&s, MZ_CONV_FORWARD, n->w, packed));
    mz_conv_forward(plan, SMALL_ROWS, to_bf16(n->x, xs_of(n), bf16s), packed, bias, y);
    mz_conv_free(plan);
    return;
  }
  const mz_winograd w = mz_winograd_of(s.board, s.inputs, s.outputs);
  assert_true(mz_winograd_forward_scratch(&w) <= sizeof scratch / sizeof *scratch);
  mz_winograd_pack(&w, n->w, packed);
  mz_winograd_forward(&w, SMALL_ROWS, n->x, packed, &(mz_tile_finish){bias, f.add ? y : NULL, f.relu}, y, scratch);
}

static void run_data(const numbers *n, bool bf16, float *dx) {
  static float packed[MZ_CONV_PACKED * 64 * 64], scratch[1 << 20];
  static uint16_t bf16s[SMALL_MAX];
  const mz_conv_shape s = n->shape;
  if (bf16) {
    mz_conv *plan = plan_of(&(mz_conv_settings){.shape = s, .rows = SMALL_ROWS, .direction = MZ_CONV_DATA});
    check(mz_conv_pack(&s, MZ_CONV_DATA, n->w, packed));
    mz_conv_data(plan, SMALL_ROWS, to_bf16(n->y, ys_of(n), bf16s), packed, dx);
    mz_conv_free(plan);
    return;
  }
  const mz_winograd w = mz_winograd_of(s.board, s.inputs, s.outputs), turned = mz_winograd_of(s.board, s.outputs, s.inputs);
  assert_true(mz_winograd_forward_scratch(&turned) <= sizeof scratch / sizeof *scratch);
  mz_winograd_pack_data(&w, n->w, packed);
  mz_winograd_forward(&turned, SMALL_ROWS, n->y, packed, &(mz_tile_finish){0}, dx, scratch);
}

/* Two uses of the same rows: everything twice. */
static void run_weights(const numbers *n, bool bf16, float *gradient) {
  static float scratch[1 << 20];
  static uint16_t x_halves[SMALL_MAX], y_halves[SMALL_MAX];
  const mz_conv_shape s = n->shape;
  const mz_winograd w = mz_winograd_of(s.board, s.inputs, s.outputs);
  if (bf16) {
    mz_conv *plan = plan_of(&(mz_conv_settings){.shape = s, .rows = SMALL_ROWS, .direction = MZ_CONV_WEIGHTS});
    mz_conv_weights_begin(plan);
    for (int use = 0; use < 2; use++) {
      mz_conv_weights_add(plan, SMALL_ROWS, to_bf16(n->x, xs_of(n), x_halves), to_bf16(n->y, ys_of(n), y_halves));
    }
    mz_conv_weights_end(plan, gradient);
    mz_conv_free(plan);
    return;
  }
  assert_true(mz_winograd_weights_scratch(&w) <= sizeof scratch / sizeof *scratch);
  const mz_term uses[] = {{n->x, n->y}, {n->x, n->y}};
  mz_winograd_weights(&w, SMALL_ROWS, uses, 2, scratch, gradient);
}

static void whole_numbers(mz_conv_shape shape, form f) {
  static numbers n; /* large */
  static float found[SMALL_MAX], gradient[KERNEL_MAX];
  const float tolerance = f.bf16 ? 0.0f : 0.01f;
  n.shape = shape;
  const int xs = xs_of(&n), ys = ys_of(&n), ws = 9 * shape.inputs * shape.outputs;
  fill(n.x, xs, 3, 0);
  fill(n.w, ws, 2, 1);
  fill(n.y, ys, 4, 2);
  fill(n.bias, shape.outputs, 4, 3);

  memcpy(found, n.y, sizeof found);
  run_forward(&n, f, found);
  for (int i = 0; i < ys; i++) n.y[i] = (f.add ? n.y[i] : 0.0f) + (f.bias ? n.bias[i % shape.outputs] : 0.0f);
  each_product(&n, forward_product);
  for (int i = 0; i < ys; i++) n.y[i] = f.relu && n.y[i] < 0.0f ? 0.0f : n.y[i];
  expect_numbers(found, n.y, ys, tolerance);

  fill(n.y, ys, 4, 2);
  run_data(&n, f.bf16, found);
  memset(n.x, 0, sizeof n.x);
  each_product(&n, data_product);
  expect_numbers(found, n.x, xs, tolerance);

  fill(n.x, xs, 3, 0);
  run_weights(&n, f.bf16, gradient);
  memset(n.w, 0, sizeof n.w);
  for (int use = 0; use < 2; use++) each_product(&n, weight_product);
  expect_numbers(gradient, n.w, ws, tolerance);
}

static void whole_numbers_come_out(void **state) {
  (void)state;
  static const mz_board boards[] = {{2, 2}, {3, 3}, {6, 7}, {9, 9}, {1, 4}, {5, 1}, {8, 3}, {7, 11}};
  static const int channels[][2] = {{16, 16}, {32, 48}, {48, 64}, {64, 16}};
  for (size_t b = 0; b < sizeof boards / sizeof *boards; b++) {
    for (size_t c = 0; c < 4; c++) {
      const mz_conv_shape shape = {boards[b], channels[c][0], channels[c][1]};
      form f = {.bias = (b + c) % 2, .add = b % 2, .relu = c % 2};
      whole_numbers(shape, f);
      f.bf16 = mz_isa_has_bf16();
      if (f.bf16) whole_numbers(shape, f);
    }
  }
}

/* Blocks of a plan are halved until one board is left, here sixteen times. */
static void a_plan_takes_many_boards(void **state) {
  (void)state;
  if (!mz_isa_has_bf16()) skip();
  enum { MANY = 33000, SIZE = 4 * 16 };
  static float x[MANY * SIZE], w[9 * 16 * 16], packed[MZ_CONV_PACKED * 16 * 16], y[MANY * SIZE], alone[SIZE];
  static uint16_t bf16s[MANY * SIZE];
  const mz_conv_shape shape = {{1, 4}, 16, 16};
  mz_conv *many = plan_of(&(mz_conv_settings){.shape = shape, .rows = MANY, .direction = MZ_CONV_FORWARD});
  mz_conv *one = plan_of(&(mz_conv_settings){.shape = shape, .rows = 1, .direction = MZ_CONV_FORWARD});
  fill(x, MANY * SIZE, 3, 9);
  fill(w, 9 * 16 * 16, 2, 10);
  check(mz_conv_pack(&shape, MZ_CONV_FORWARD, w, packed));
  mz_conv_forward(many, MANY - 1, to_bf16(x, MANY * SIZE, bf16s), packed, NULL, y); /* one fewer, by several blocks */
  for (int r = 0; r < MANY - 1; r += r < MANY - 1000 ? 999 : 1) {
    mz_conv_forward(one, 1, bf16s + r * SIZE, packed, NULL, alone);
    assert_memory_equal(alone, y + r * SIZE, sizeof alone);
  }
  mz_conv_free(many);
  mz_conv_free(one);
}

/* Twice as many boards as are in the making at once, and one. */
static void a_board_is_the_same_in_any_company(void **state) {
  (void)state;
  static float x[65 * 42 * 32], w[9 * 32 * 32], packed[MZ_CONV_PACKED * 32 * 32], together[65 * 42 * 32], alone[42 * 32],
      scratch[1 << 20];
  const mz_winograd shape = mz_winograd_of((mz_board){6, 7}, 32, 32);
  const int rows = 2 * shape.block + 1, size = 42 * 32;
  assert_true(rows <= 65 && mz_winograd_forward_scratch(&shape) <= sizeof scratch / sizeof *scratch);
  fill(x, rows * size, 1000, 5);
  fill(w, 9 * 32 * 32, 1000, 6);
  mz_winograd_pack(&shape, w, packed);
  mz_winograd_forward(&shape, rows, x, packed, &(mz_tile_finish){0}, together, scratch);
  for (int r = 0; r < rows; r++) {
    mz_winograd_forward(&shape, 1, x + r * size, packed, &(mz_tile_finish){0}, alone, scratch);
    assert_memory_equal(alone, together + r * size, sizeof alone);
  }
}

/* A product that is wrong somewhere is wrong by more than this: single-precision sums of 64 · 9 products of normal numbers. */
static void floats_keep_their_precision(void **state) {
  (void)state;
  static float x[2 * 225 * 64], w[9 * 64 * 64], packed[MZ_CONV_PACKED * 64 * 64], y[2 * 225 * 64], scratch[1 << 20];
  static const mz_board boards[] = {{3, 3}, {6, 6}, {6, 7}, {8, 8}, {9, 9}, {15, 15}};
  for (size_t b = 0; b < sizeof boards / sizeof *boards; b++) {
    const mz_winograd s = mz_winograd_of(boards[b], 64, 64);
    const int height = boards[b].height, width = boards[b].width;
    mz_rng rng = mz_rng_at(22, MZ_RNG_TEST, (uint32_t)b, 0);
    for (int i = 0; i < height * width * 64; i++) x[i] = mz_rng_normal(&rng);
    for (int i = 0; i < 9 * 64 * 64; i++) w[i] = mz_rng_normal(&rng);
    assert_true(mz_winograd_forward_scratch(&s) <= sizeof scratch / sizeof *scratch);
    mz_winograd_pack(&s, w, packed);
    mz_winograd_forward(&s, 1, x, packed, &(mz_tile_finish){0}, y, scratch);
    double squares = 0, errors = 0;
    for (int p = 0; p < height * width; p++) {
      for (int o = 0; o < 64; o++) {
        double exact = 0;
        for (int tap = 0; tap < 9; tap++) {
          const int row = p / width + tap / 3 - 1, column = p % width + tap % 3 - 1;
          if (row < 0 || row >= height || column < 0 || column >= width) continue;
          for (int i = 0; i < 64; i++) exact += (double)x[(row * width + column) * 64 + i] * (double)w[(tap * 64 + i) * 64 + o];
        }
        squares += exact * exact;
        errors += (exact - (double)y[p * 64 + o]) * (exact - (double)y[p * 64 + o]);
      }
    }
    print_message("board %d x %d: off by %.1e of the values' size\n", height, width, sqrt(errors / squares));
    assert_true(errors <= 1e-5 * 1e-5 * squares);
  }
}

/* ---- sums ---- */

typedef struct sums { /* x, conv(conv(x)) + x, and that again: the residual chain of inference */
  mz_tape *tape;
  mz_value obs, x, first, second;
} sums;

static sums record_sums(const mz_params *params, net_size size, int rows, bool with_backward) {
  sums s;
  check(mz_tape_create(&s.tape, &mz_lane_cpu, params, rows, with_backward));
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
  check(mz_alloc(&packed, (size_t)mz_backend_layout(&mz_backend_cpu, params, NULL), sizeof *packed));
  mz_params_init(params, 2, values);
  check(mz_lane_pack(&mz_lane_cpu, mz_backend_cpu.pack_forward, params, values, false, packed));
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
      check(mz_tape_put(apart.tape, apart.obs, 0, obs, rows));
      check(mz_tape_put(in_place.tape, in_place.obs, 0, obs, rows));
      check(mz_tape_forward(apart.tape, packed, rows));
      check(mz_tape_forward(in_place.tape, packed, rows));
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
  static _Thread_local uint16_t bf16s[LARGEST];
  const mz_conv_shape shape = shape_of(i);
  const mz_conv_settings settings = {.shape = shape, .rows = ROWS, .direction = MZ_CONV_FORWARD, .relu = true};
  mz_rng rng = mz_rng_at(8, MZ_RNG_TEST, (uint32_t)i, 0);
  for (int k = 0; k < LARGEST; k++) x[k] = mz_rng_normal(&rng);
  for (int k = 0; k < 9 * shape.inputs * shape.outputs; k++) weights[k] = mz_rng_normal(&rng);
  mz_conv *conv = NULL;
  out->failed |= mz_conv_pack(&shape, MZ_CONV_FORWARD, weights, packed) != MZ_OK;
  out->failed |= mz_conv_create(&conv, &settings) != MZ_OK;
  if (!out->failed) mz_conv_forward(conv, ROWS, to_bf16(x, LARGEST, bf16s), packed, NULL, out->y[i]);
  mz_conv_free(conv);
}

static void *run_shapes(void *argument) {
  for (int i = 0; i < SHAPES; i++) run_shape(i, argument);
  return NULL;
}

static void threads_do_not_disturb_one_another(void **state) {
  (void)state;
  if (!mz_isa_has_bf16()) skip();
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
      cmocka_unit_test(whole_numbers_come_out),
      cmocka_unit_test(a_plan_takes_many_boards),
      cmocka_unit_test(a_board_is_the_same_in_any_company),
      cmocka_unit_test(floats_keep_their_precision),
      cmocka_unit_test(sums_in_place_have_the_same_bits),
      cmocka_unit_test(threads_do_not_disturb_one_another),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
