#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/cuda/support/cases.h"
#include "tests/networks/board_cases.h"

static const net_case *case_at(int number) {
  return number < (int)NET_CASES ? &net_cases[number] : &board_cases[number - (int)NET_CASES];
}

int test_case_count(void) { return NET_CASES + BOARD_CASES; }

const char *test_case_name(int number) { return case_at(number)->name; }

bool test_case_is_board(int number) { return number >= (int)NET_CASES; }

net *test_case_open(int number, const mz_backend *backend, net_size size, int rows, uint64_t seed) {
  return net_open(case_at(number), backend, size, rows, seed);
}

enum { LONG = 1100 }; /* columns of rows that a whole block shares */

/* ---- rounding ---- */

enum { INPUT = 0, FIRST_HEAD = 2, SECOND_HEAD = 4, NORM_GAMMA = 6, NORM_MEAN = 8 };

static void rounding_params(mz_params *params, net_size size) {
  layer_params(params, "input", OBS, positions_of(size) * size.width);
  layer_params(params, "first", 2 * size.width, 9);
  layer_params(params, "second", 2 * size.width, 9);
  mz_params_add(params, "gamma", 1, size.width, false, MZ_INIT_HE, 4);
  mz_params_add(params, "beta", 1, size.width, false, MZ_INIT_HE, 4);
  mz_params_add_statistic(params, "mean", size.width, MZ_INIT_ZERO, 0.1f);
  mz_params_add_statistic(params, "variance", size.width, MZ_INIT_ZERO, 0.1f);
}

static void record_rounding(net *n, net_size size) {
  static const mz_norm norm = {NORM_GAMMA, NORM_GAMMA + 1, NORM_MEAN, NORM_MEAN + 1};
  const int positions = positions_of(size);
  const mz_value x = mz_tape_linear(n->tape, net_obs(n), INPUT, INPUT + 1, MZ_LINEAR_ONLY);
  const mz_value y = mz_tape_to_bf16(n->tape, mz_tape_norm(n->tape, x, &norm, size.group, MZ_RELU));
  net_loss(n, mz_tape_linear(n->tape, mz_tape_pool(n->tape, y, positions), FIRST_HEAD, FIRST_HEAD + 1, MZ_LINEAR_ONLY), 9, 1.0f);
  const mz_value z = mz_tape_to_bf16(n->tape, x);
  net_loss(n, mz_tape_linear(n->tape, mz_tape_pool(n->tape, z, positions), SECOND_HEAD, SECOND_HEAD + 1, MZ_LINEAR_ONLY), 9,
           1.0f);
}

net *test_rounding_open(const mz_backend *backend, net_size size, int rows, uint64_t seed) {
  static const net_case rounding = {"rounding", rounding_params, record_rounding};
  return net_open(&rounding, backend, size, rows, seed);
}

/* ---- many uses ---- */

enum { MANY = 150, BOTH_HEADS = 2, BOTH_GAMMA = 4, BOTH_TABLE = 6, BOTH_MEAN = 7 };

static void many_uses_params(mz_params *params, net_size size) {
  const mz_action_map map = action_map_of(size, MZ_ACTIONS_COLUMNS);
  layer_params(params, "input", OBS, positions_of(size) * size.width);
  layer_params(params, "head", 2 * size.width, LONG);
  mz_params_add(params, "gamma", 1, size.width, false, MZ_INIT_HE, 4);
  mz_params_add(params, "beta", 1, size.width, false, MZ_INIT_HE, 4);
  mz_params_add(params, "action", mz_action_map_rows(&map), size.width, true, MZ_INIT_HE, 9);
  mz_params_add_statistic(params, "mean", size.width, MZ_INIT_ZERO, 0.1f);
  mz_params_add_statistic(params, "variance", size.width, MZ_INIT_ZERO, 0.1f);
  mz_params_add_statistic(params, "other.mean", size.width, MZ_INIT_ZERO, 0.1f);
  mz_params_add_statistic(params, "other.variance", size.width, MZ_INIT_ZERO, 0.1f);
}

static void record_many_uses(net *n, net_size size) {
  const mz_action_map map = action_map_of(size, MZ_ACTIONS_COLUMNS);
  n->actions = map.actions;
  const int index = net_index(n, mz_tape_index_input(n->tape));
  mz_value x = mz_tape_linear(n->tape, net_obs(n), INPUT, INPUT + 1, MZ_LINEAR_ONLY);
  for (int i = 0; i < MANY; i++) {
    const int mean = BOTH_MEAN + (i % 3 == 0 ? 2 : 0);
    const mz_norm norm = {BOTH_GAMMA, BOTH_GAMMA + 1, mean, mean + 1};
    x = mz_tape_add(n->tape, x, mz_tape_action_map(n->tape, &map, BOTH_TABLE, index));
    x = mz_tape_norm(n->tape, x, &norm, size.group, MZ_LINEAR_ONLY);
  }
  const mz_value pooled = mz_tape_pool(n->tape, x, positions_of(size));
  net_loss(n, mz_tape_linear(n->tape, pooled, BOTH_HEADS, BOTH_HEADS + 1, MZ_LINEAR_ONLY), LONG, 1.0f);
}

net *test_many_uses_open(const mz_backend *backend, net_size size, int rows, uint64_t seed) {
  static const net_case many_uses = {"many uses", many_uses_params, record_many_uses};
  return net_open(&many_uses, backend, size, rows, seed);
}

/* ---- inference ---- */

enum { WIDE = 0, HEAD_OF_BINS = 2, LONG_HEAD = 4, SCALE = 6, SHIFT = 7, ACTIONS = 8 };

static void inference_params(mz_params *params, net_size size) {
  layer_params(params, "wide", mz_padded(OBS_PLANES), size.width);
  layer_params(params, "head", 2 * size.width, NET_BINS);
  layer_params(params, "long", 2 * size.width, LONG);
  mz_params_add(params, "scale", 1, size.width, false, MZ_INIT_HE, 4);
  mz_params_add(params, "shift", 1, size.width, false, MZ_INIT_HE, 4);
  const mz_action_map map = action_map_of(size, MZ_ACTIONS_CELLS_PASS);
  mz_params_add(params, "action", mz_action_map_rows(&map), size.width, true, MZ_INIT_HE, 9);
}

static void record_inference(net *n, net_size size) {
  const int positions = positions_of(size), columns = positions * OBS_PLANES;
  const mz_action_map map = action_map_of(size, MZ_ACTIONS_CELLS_PASS);
  mz_tape *tape = n->tape;
  n->actions = map.actions;
  const int index = net_index(n, mz_tape_index_input(tape));
  const mz_value obs = net_input(n, mz_tape_input(tape, columns), columns, PLAIN), planes = mz_tape_planes(tape, obs, positions);
  const mz_value wide = mz_tape_pointwise(tape, planes, positions, WIDE, WIDE + 1, MZ_LINEAR_ONLY);
  const mz_value sum = mz_tape_add(tape, wide, mz_tape_action_map(tape, &map, ACTIONS, index));
  const mz_value affine = mz_tape_affine(tape, sum, SCALE, SHIFT, MZ_LINEAR_ONLY);
  const mz_value board = mz_tape_relu(tape, mz_tape_affine(tape, affine, SCALE, SHIFT, MZ_RELU));
  const mz_value scaled = mz_tape_minmax(tape, mz_tape_rms(tape, mz_tape_gelu(tape, board)));
  const mz_value pooled = mz_tape_pool(tape, scaled, positions);
  const mz_value logits = mz_tape_linear(tape, pooled, HEAD_OF_BINS, HEAD_OF_BINS + 1, MZ_LINEAR_ONLY);
  const mz_value many = mz_tape_linear(tape, pooled, LONG_HEAD, LONG_HEAD + 1, MZ_LINEAR_ONLY);
  mz_tape_softmax(tape, logits);
  mz_tape_softmax(tape, many);
  mz_tape_expectation(tape, many, -20.0f, 20.0f, true);
  mz_tape_expectation(tape, logits, -20.0f, 20.0f, true);
  mz_tape_expectation(tape, logits, -1.0f, 3.0f, false);
  mz_tape_pool(tape, mz_tape_to_bf16(tape, mz_tape_affine(tape, sum, SCALE, SHIFT, MZ_RELU)), positions);
  mz_tape_pool(tape, mz_tape_to_bf16(tape, sum), positions);
  mz_tape_to_bf16(tape, mz_tape_planes(tape, obs, positions));
}

net *test_inference_open(const mz_backend *backend, net_size size, int rows, uint64_t seed) {
  net *n = NULL;
  check(mz_alloc(&n, 1, sizeof *n));
  n->backend = backend;
  check(mz_lane_open(&n->lane, &(mz_lane){.backend = backend}));
  inference_params(&n->params, size);
  check(mz_alloc(&n->weights, (size_t)n->params.size, sizeof *n->weights));
  mz_params_init(&n->params, seed, n->weights);
  check(mz_tape_create(&n->tape, &n->lane, &n->params, rows, false));
  record_inference(n, size);
  check(mz_tape_plan(n->tape));
  n->values = net_elements(n, n->weights); /* no convolution: packed they are the same */
  return n;
}
