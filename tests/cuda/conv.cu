/* Convolutions on a device, through the twin of cuDNN, in all three forms: against the reference, rows alone and together, and
 * what is chosen from heuristics that name forbidden engines first. */
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
extern "C" {
#include <cmocka.h>
}
#include "networks/cuda/conv.cuh"
#include "networks/cuda/planned.cuh"
#include "tests/cuda/support/pair.cuh"
#include "library.h"

enum { HEIGHT = 3, WIDTH = 4, POSITIONS = HEIGHT * WIDTH, INPUTS = 16, CHANNELS = 32 };

static const pair_op conv_op = {MZ_OP_CONV, mz_cuda_conv_prepare, mz_cuda_conv_release, mz_cuda_conv_forward,
                                mz_cuda_conv_backward};

static void conv_params(mz_params *params, const char *name, int inputs) {
  const mz_board board = {HEIGHT, WIDTH};
  char bias[64];
  snprintf(bias, sizeof bias, "%s.bias", name);
  mz_params_add_conv(params, name, board, inputs, CHANNELS, MZ_INIT_HE);
  mz_params_add(params, bias, 1, CHANNELS, false, MZ_INIT_HE, 9 * inputs);
}

/* x: what a board of `channels` learns through; the layer is not run, its output is made up. */
enum { STEM = 0, A = 2, B = 4, LAYER = 6, TABLE = 8 };
static void board_params(mz_params *params) {
  conv_params(params, "stem", INPUTS);
  conv_params(params, "a", CHANNELS);
  conv_params(params, "b", CHANNELS);
  mz_params_add(params, "layer", 8, POSITIONS * CHANNELS, true, MZ_INIT_HE, 8);
  mz_params_add(params, "layer.bias", 1, POSITIONS * CHANNELS, false, MZ_INIT_HE, 8);
  mz_params_add(params, "table", 4, CHANNELS, true, MZ_INIT_HE, 9);
}

static mz_value learning_board(mz_tape *tape, bool bf16) {
  const mz_value x = mz_tape_linear(tape, mz_tape_input(tape, 8), LAYER, LAYER + 1, MZ_LINEAR_ONLY);
  if (bf16 && pair_is_device(tape)) tape->values[x].bf16 = true;
  return x;
}

static void loss(mz_tape *tape, mz_value x) {
  if (mz_tape_trains(tape)) mz_tape_mse(tape, x, mz_tape_input(tape, POSITIONS * CHANNELS), mz_tape_input(tape, 1), 1.0f);
}

/* ---- f32 ---- */

/* From an input, which has no gradient; bias and ReLU in all combinations. */
static void record_layers(mz_tape *tape) {
  mz_value x = mz_tape_conv(tape, mz_tape_input(tape, POSITIONS * INPUTS), STEM, STEM + 1, -1, MZ_LINEAR_ONLY);
  x = mz_tape_conv(tape, x, A, -1, -1, MZ_RELU);
  loss(tape, mz_tape_conv(tape, x, B, B + 1, -1, MZ_RELU));
}
static void record_plain(mz_tape *tape) {
  const mz_value x = mz_tape_conv(tape, mz_tape_input(tape, POSITIONS * INPUTS), STEM, -1, -1, MZ_LINEAR_ONLY);
  loss(tape, mz_tape_conv(tape, x, A, -1, -1, MZ_LINEAR_ONLY));
}
/* Sums of values that others read too, and a weight in two places. */
static void record_sums(mz_tape *tape) {
  const mz_value x = mz_tape_conv(tape, mz_tape_input(tape, POSITIONS * INPUTS), STEM, STEM + 1, -1, MZ_LINEAR_ONLY);
  const mz_value y = mz_tape_conv(tape, x, A, -1, -1, MZ_RELU);
  const mz_value z = mz_tape_conv(tape, y, B, B + 1, x, MZ_RELU);
  loss(tape, z);
  loss(tape, mz_tape_conv(tape, z, B, B + 1, x, MZ_LINEAR_ONLY));
}
/* The sum lies where a summand did. */
static void record_in_place(mz_tape *tape) {
  const mz_value small = mz_tape_linear(tape, mz_tape_input(tape, 8), LAYER, LAYER + 1, MZ_LINEAR_ONLY);
  const mz_action_map map = {{HEIGHT, WIDTH}, MZ_ACTIONS_PLAIN, 4};
  const mz_value action = mz_tape_action_map(tape, &map, TABLE, mz_tape_index_input(tape));
  const mz_value x = mz_tape_conv(tape, small, A, A + 1, action, MZ_RELU);
  loss(tape, mz_tape_conv(tape, x, B, -1, -1, MZ_LINEAR_ONLY));
}

/* ---- bf16 ---- */

/* A weight in two places over values that learn, once with a sum; x's gradient is added up. */
static void record_bf16(mz_tape *tape) {
  const mz_value x = learning_board(tape, true), add = learning_board(tape, false);
  loss(tape, mz_tape_conv(tape, x, A, -1, -1, MZ_LINEAR_ONLY));
  loss(tape, mz_tape_conv(tape, x, A, -1, add, MZ_LINEAR_ONLY));
}
static void record_bf16_bias(mz_tape *tape) {
  const mz_value x = learning_board(tape, true), add = learning_board(tape, false);
  loss(tape, mz_tape_conv(tape, x, A, A + 1, -1, MZ_LINEAR_ONLY));
  loss(tape, mz_tape_conv(tape, x, B, B + 1, add, MZ_RELU));
}
/* As in a residual block: rounded between two convolutions. */
static void record_bf16_block(mz_tape *tape) {
  const mz_value x = learning_board(tape, true), add = learning_board(tape, false);
  const mz_value y = mz_tape_conv(tape, x, A, A + 1, -1, MZ_RELU);
  if (pair_is_device(tape)) tape->values[y].bf16 = true;
  mz_tape_conv(tape, y, B, -1, add, MZ_LINEAR_ONLY);
  mz_tape_conv(tape, x, A, -1, -1, MZ_LINEAR_ONLY);
}

/* In inference the sum lies where the first convolution's result did. */
static void record_bf16_in_place(mz_tape *tape) {
  const mz_value x = learning_board(tape, true), y = mz_tape_conv(tape, x, A, A + 1, -1, MZ_LINEAR_ONLY);
  mz_tape_conv(tape, x, B, B + 1, y, MZ_RELU);
}

static const pair_case f32_cases[] = {
    {"layers", board_params, record_layers, 5, true, 1},
    {"plain", board_params, record_plain, 3, true, 1},
    {"sums", board_params, record_sums, 4, true, 1},
    {"in place", board_params, record_in_place, 5, true, 4},
    {"one row", board_params, record_sums, 1, true, 1},
    {"inference: layers", board_params, record_layers, 9, false, 1},
    {"inference: sums", board_params, record_sums, 7, false, 1},
    {"inference: in place", board_params, record_in_place, 4, false, 4},
};
static const pair_case bf16_cases[] = {
    {"bf16", board_params, record_bf16, 4, true, 1},
    {"bf16 with biases", board_params, record_bf16_bias, 5, true, 1},
    {"bf16: inference", board_params, record_bf16, 9, false, 1},
    {"bf16: inference, with biases", board_params, record_bf16_bias, 8, false, 1},
    {"bf16: inference, a block", board_params, record_bf16_block, 6, false, 1},
    {"bf16: inference, in place", board_params, record_bf16_in_place, 6, false, 1},
};

static void all_cases(void) {
  for (const pair_case &c : f32_cases) pair_check(&conv_op, &c);
  for (const pair_case &c : bf16_cases) pair_check(&conv_op, &c);
}

/* The forms that the first convolutions of a case take. */
static const char *form_of(const pair_case *c, int convolution) {
  tape_pair pair;
  const char *form = nullptr;
  pair_open(&pair, &conv_op, c);
  for (int i = 0; i < pair.device->node_count && convolution >= 0; i++) {
    if (pair.device->nodes[i].op == MZ_OP_CONV && convolution-- == 0)
      form = mz_cuda_conv_form_name(pair.device, &pair.device->nodes[i]);
  }
  pair_close(&pair);
  return form;
}

static void fused(void **state) {
  (void)state;
  all_cases();
  assert_string_equal(form_of(&f32_cases[0], 0), "cudnn fused");    /* bias */
  assert_string_equal(form_of(&f32_cases[2], 2), "cudnn + kernel"); /* a sum in f32 would round to TF32 */
  assert_string_equal(form_of(&bf16_cases[0], 1), "cudnn fused");
  assert_string_equal(form_of(&bf16_cases[4], 0), "cudnn fused");
  assert_string_equal(form_of(&bf16_cases[4], 1), "cudnn fused"); /* what is added lies elsewhere */
  assert_string_equal(form_of(&bf16_cases[5], 1), "cudnn + kernel");
}

static void separate(void **state) {
  (void)state;
  setenv("MUZERO_TWIN_DNN", "separate", 1);
  all_cases();
  assert_string_equal(form_of(&f32_cases[0], 0), "cudnn + kernel");
  assert_string_equal(form_of(&f32_cases[1], 0), "cudnn fused"); /* nothing to be separated */
  assert_string_equal(form_of(&bf16_cases[4], 0), "cudnn + kernel");
  unsetenv("MUZERO_TWIN_DNN");
}

static void direct(void **state) {
  (void)state;
  setenv("MUZERO_TWIN_DNN", "direct", 1);
  all_cases();
  assert_string_equal(form_of(&f32_cases[0], 0), "direct");
  assert_string_equal(form_of(&bf16_cases[4], 0), "direct");
  unsetenv("MUZERO_TWIN_DNN");
  setenv("MUZERO_CUDA_DIRECT", "1", 1);
  assert_string_equal(form_of(&f32_cases[0], 0), "direct");
  unsetenv("MUZERO_CUDA_DIRECT");
}

/* Returns how many plans the library made for the case's convolutions. */
static long plans_of(const pair_case *c) {
  tape_pair pair;
  const long before = twin_dnn_plans();
  pair_open(&pair, &conv_op, c);
  const long plans = twin_dnn_plans() - before;
  pair_close(&pair);
  return plans;
}

static void record_once(mz_tape *tape) { mz_tape_conv(tape, learning_board(tape, true), A, A + 1, -1, MZ_RELU); }
static void record_twice(mz_tape *tape) {
  record_once(tape);
  record_once(tape);
}

/* The same convolution in two places is planned once, for the most rows and the powers of two below. */
static void plans_are_shared(void **state) {
  (void)state;
  const pair_case once = {"once", board_params, record_once, 6, false, 1},
                  twice = {"twice", board_params, record_twice, 6, false, 1};
  assert_true(plans_of(&once) >= 4);
  assert_int_equal(plans_of(&twice), plans_of(&once));
}

static long plans_to_take(mz_cuda_lane *lane, int outputs, mz_cuda_convolution **out) {
  const long before = twin_dnn_plans();
  mz_cuda_convolution_settings settings = {};
  settings.rows = 2;
  settings.graph = {MZ_CUDA_CONV_FORWARD, {HEIGHT, WIDTH}, 16, outputs, true, true, true, false, true};
  assert_int_equal(mz_cuda_planned_take(lane, &settings, out), MZ_OK);
  return twin_dnn_plans() - before;
}

/* A lane plans once for all tapes that it has one after the other, as long as it has not planned too many others since. */
static void a_lane_keeps_its_plans(void **state) {
  (void)state;
  mz_cuda_lane lane;
  mz_cuda_convolution *first = nullptr, *other = nullptr;
  pair_lane_open(&lane, 1 << 20);
  assert_true(plans_to_take(&lane, 16, &first) > 0);
  mz_cuda_convolution_free(first);
  assert_int_equal(plans_to_take(&lane, 16, &first), 0);
  for (int i = 2; i <= MZ_CUDA_PLANNED_MAX; i++) {
    assert_true(plans_to_take(&lane, 16 * i, &other) > 0);
    mz_cuda_convolution_free(other);
  }
  assert_int_equal(plans_to_take(&lane, 16, &other), 0);
  mz_cuda_convolution_free(other);
  for (int i = 1; i <= MZ_CUDA_PLANNED_MAX; i++) { /* the second of them is the one that goes first */
    assert_true(plans_to_take(&lane, 16 * (MZ_CUDA_PLANNED_MAX + i), &other) > 0);
    mz_cuda_convolution_free(other);
  }
  assert_int_equal(mz_cuda_convolution_rows(first, 1), 2); /* still the borrower's */
  assert_true(plans_to_take(&lane, 16, &other) > 0);
  mz_cuda_convolution_free(other);
  mz_cuda_convolution_free(first);
  pair_lane_close(&lane);
}

/* A pass computes as many rows as the smallest plan that is enough. */
static void smallest_plan_runs(void **state) {
  (void)state;
  mz_cuda_lane lane;
  mz_cuda_conv_target target;
  mz_cudnn_descriptors owner = {};
  mz_cuda_convolution_settings settings = {};
  pair_lane_open(&lane, 1 << 20);
  settings.rows = 6;
  settings.graph = {MZ_CUDA_CONV_FORWARD, {HEIGHT, WIDTH}, INPUTS, CHANNELS, true, true, true, false, true};
  assert_int_equal(mz_cuda_conv_target_init(&target, &owner, &lane), MZ_OK);
  for (bool any_rows : {false, true}) {
    mz_cuda_convolution *convolution = nullptr;
    settings.any_rows = any_rows;
    assert_int_equal(mz_cuda_convolution_create(&convolution, &target, &settings), MZ_OK);
    for (int rows = 1; rows <= settings.rows; rows++) {
      const int powers[] = {0, 1, 2, 4, 4, 6, 6};
      assert_int_equal(mz_cuda_convolution_rows(convolution, rows), any_rows ? powers[rows] : settings.rows);
    }
    mz_cuda_convolution_free(convolution);
  }
  mz_cudnn_descriptors_free(&owner);
  pair_lane_close(&lane);
}

/* Every call of the libraries and the runtime fails once. */
static void failures_are_told(void **state) {
  (void)state;
  pair_check_failures(&conv_op, &f32_cases[2]);
  pair_check_failures(&conv_op, &bf16_cases[1]);
  pair_check_failures(&conv_op, &bf16_cases[2]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fused),
      cmocka_unit_test(separate),
      cmocka_unit_test(direct),
      cmocka_unit_test(plans_are_shared),
      cmocka_unit_test(a_lane_keeps_its_plans),
      cmocka_unit_test(smallest_plan_runs),
      cmocka_unit_test(failures_are_told),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
