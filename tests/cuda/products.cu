/* Linear maps on a device, through the twin of cuBLASLt: against the reference, rows alone and together, and what is chosen from
 * heuristics that name forbidden algorithms first. */
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
extern "C" {
#include <cmocka.h>
}
#include "networks/cuda/linear.cuh"
#include "tests/cuda/support/pair.cuh"

enum { INPUTS = 7, WIDTH = 21, TABLE_ROWS = 5, POSITIONS = 6, CHANNELS = 32 };

static const pair_op linear_op = {MZ_OP_LINEAR, mz_cuda_linear_prepare, mz_cuda_linear_release, mz_cuda_linear_forward,
                                  mz_cuda_linear_backward};

static void layer(mz_params *params, const char *name, int inputs, int outputs) {
  char bias[64];
  snprintf(bias, sizeof bias, "%s.bias", name);
  mz_params_add(params, name, inputs, outputs, true, MZ_INIT_HE, inputs);
  mz_params_add(params, bias, 1, outputs, false, MZ_INIT_HE, inputs);
}

/* Makes x's gradient the sum of this and whatever else reads it. */
static void loss(mz_tape *tape, mz_value x, int columns) {
  if (!mz_tape_trains(tape)) return;
  mz_tape_mse(tape, x, mz_tape_input(tape, columns), mz_tape_input(tape, 1), 1.0f);
}

static void two_layers(mz_params *params) {
  layer(params, "first", INPUTS, WIDTH);
  layer(params, "second", WIDTH, 9);
}
/* A ReLU and none, a bias and none. */
static void record_two_layers(mz_tape *tape) {
  const mz_value hidden = mz_tape_linear(tape, mz_tape_input(tape, INPUTS), 0, 1, MZ_RELU);
  loss(tape, mz_tape_linear(tape, hidden, 2, -1, MZ_LINEAR_ONLY), 9);
}
static void record_plain_layers(mz_tape *tape) {
  const mz_value hidden = mz_tape_linear(tape, mz_tape_input(tape, INPUTS), 0, -1, MZ_RELU);
  loss(tape, mz_tape_linear(tape, hidden, 2, 3, MZ_LINEAR_ONLY), 9);
}
/* A value that two layers and a loss read: its gradient is added up. */
static void record_two_readers(mz_tape *tape) {
  const mz_value hidden = mz_tape_linear(tape, mz_tape_input(tape, INPUTS), 0, 1, MZ_LINEAR_ONLY);
  loss(tape, hidden, WIDTH);
  loss(tape, mz_tape_linear(tape, hidden, 2, 3, MZ_RELU), 9);
  loss(tape, mz_tape_linear(tape, hidden, 2, 3, MZ_RELU), 9);
}

static void shared(mz_params *params) {
  layer(params, "in", INPUTS, WIDTH);
  layer(params, "shared", WIDTH, WIDTH);
  mz_params_add(params, "table", TABLE_ROWS, WIDTH, true, MZ_INIT_HE, WIDTH);
}
/* One weight, bias and table in three places. */
static void record_shared(mz_tape *tape) {
  mz_value x = mz_tape_linear(tape, mz_tape_input(tape, INPUTS), 0, 1, MZ_LINEAR_ONLY);
  for (int k = 0; k < 3; k++) {
    x = mz_tape_linear_table(tape, x, 2, 3, 4, mz_tape_index_input(tape), k == 1 ? MZ_LINEAR_ONLY : MZ_RELU);
    loss(tape, x, WIDTH);
  }
}
static void record_table_alone(mz_tape *tape) {
  const mz_value x = mz_tape_linear(tape, mz_tape_input(tape, INPUTS), 0, 1, MZ_LINEAR_ONLY);
  loss(tape, mz_tape_linear_table(tape, x, 2, -1, 4, mz_tape_index_input(tape), MZ_RELU), WIDTH);
}

static void pointwise(mz_params *params) {
  layer(params, "first", CHANNELS, CHANNELS);
  layer(params, "second", CHANNELS, 16);
}
static void record_pointwise(mz_tape *tape) {
  const mz_value x = mz_tape_input(tape, POSITIONS * CHANNELS);
  const mz_value hidden = mz_tape_pointwise(tape, x, POSITIONS, 0, 1, MZ_RELU);
  loss(tape, mz_tape_pointwise(tape, hidden, POSITIONS, 2, 3, MZ_LINEAR_ONLY), POSITIONS * 16);
}

static void wide(mz_params *params) {
  layer(params, "first", 300, 130);
  layer(params, "second", 130, 1);
}
static void record_wide(mz_tape *tape) {
  const mz_value hidden = mz_tape_linear(tape, mz_tape_input(tape, 300), 0, 1, MZ_RELU);
  loss(tape, mz_tape_linear(tape, hidden, 2, 3, MZ_LINEAR_ONLY), 1);
}

static const pair_case cases[] = {
    {"two layers", two_layers, record_two_layers, 9, true, 1},
    {"plain layers", two_layers, record_plain_layers, 5, true, 1},
    {"two readers", two_layers, record_two_readers, 6, true, 1},
    {"shared, with a table", shared, record_shared, 8, true, TABLE_ROWS},
    {"a table alone", shared, record_table_alone, 7, true, TABLE_ROWS},
    {"positions", pointwise, record_pointwise, 4, true, 1},
    {"many rows", two_layers, record_two_layers, 40, true, 1},
    {"wide", wide, record_wide, 3, true, 1},
    {"inference", two_layers, record_two_layers, 9, false, 1},
    {"inference, with a table", shared, record_shared, 4, false, TABLE_ROWS},
    {"one row", two_layers, record_two_layers, 1, true, 1},
};

static void all_cases(void) {
  for (const pair_case &c : cases) pair_check(&linear_op, &c);
}

/* The form that the first layer of a case takes. */
static const char *form_of(const pair_case *c) {
  tape_pair pair;
  const char *form = nullptr;
  pair_open(&pair, &linear_op, c);
  for (int i = 0; i < pair.device->node_count && form == nullptr; i++) {
    if (pair.device->nodes[i].op == MZ_OP_LINEAR) form = mz_cuda_linear_form_name(&pair.device->nodes[i]);
  }
  pair_close(&pair);
  return form;
}

static void fused(void **state) {
  (void)state;
  all_cases();
  assert_string_equal(form_of(&cases[0]), "cublas fused");
}

/* mode: of the twin. */
static void with_mode(const char *mode, const char *form) {
  setenv("MUZERO_TWIN_BLAS", mode, 1);
  all_cases();
  assert_string_equal(form_of(&cases[0]), form);
  unsetenv("MUZERO_TWIN_BLAS");
}

static void careless_heuristics(void **state) {
  (void)state;
  with_mode("careless", "cublas fused");
}

static void no_epilogues(void **state) {
  (void)state;
  with_mode("plain", "cublas + kernel");
}

static void no_algorithms(void **state) {
  (void)state;
  with_mode("none", "direct");
}

static void ours_alone(void **state) {
  (void)state;
  setenv("MUZERO_CUDA_DIRECT", "1", 1);
  assert_string_equal(form_of(&cases[0]), "direct");
  unsetenv("MUZERO_CUDA_DIRECT");
}

/* Every call of the libraries and the runtime fails once. */
static void failures_are_told(void **state) {
  (void)state;
  pair_check_failures(&linear_op, &cases[2]);
  pair_check_failures(&linear_op, &cases[3]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fused),         cmocka_unit_test(careless_heuristics), cmocka_unit_test(no_epilogues),
      cmocka_unit_test(no_algorithms), cmocka_unit_test(ours_alone),          cmocka_unit_test(failures_are_told),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
