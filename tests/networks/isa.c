/* Instruction-set levels: how one is chosen, and that they agree bit for bit (the plain product apart, which rounds a
 * multiply-add twice). Also: the vector exponential and logarithm have the bits of the scalar ones. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/maths/digest.h"
#include "base/log.h"
#include "base/maths/maths.h"
#include "networks/cpu/kernels.h"
#include "networks/math/lanes.h"
#include "tests/networks/board_cases.h"
#include <oneapi/dnnl/dnnl_version.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* The level that a fresh process chooses with MUZERO_ISA=wanted. */
static int level_with(const char *wanted) {
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    if (wanted == NULL)
      unsetenv("MUZERO_ISA");
    else
      setenv("MUZERO_ISA", wanted, 1);
    mz_log_set_level(MZ_LOG_ERROR);
    _exit(10 + (int)mz_isa_level());
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  return WEXITSTATUS(status) - 10;
}

/* Runs first: nothing in this process may have read the level yet, or children would inherit it. */
static void environment_lowers_the_level(void **state) {
  (void)state;
  const int highest = level_with(NULL);
  assert_in_range(highest, MZ_ISA_LEVEL_PLAIN, MZ_ISA_LEVEL_LAST);
  for (mz_isa level = MZ_ISA_LEVEL_PLAIN; level <= MZ_ISA_LEVEL_LAST; level++)
    assert_int_equal(level_with(mz_isa_name(level)), highest < (int)level ? highest : (int)level);
  assert_int_equal(level_with("sse9"), highest);
  assert_string_equal(mz_isa_name(MZ_ISA_LEVEL_PLAIN), "plain");
}

static void names_tell_what_rounds_alike(void **state) {
  (void)state;
  assert_true(mz_isa_names_agree("plain", "plain"));
  assert_true(mz_isa_names_agree("avx2", "avx512"));
  assert_true(mz_isa_names_agree("neon", "avx2")); /* of another machine's checkpoint */
  assert_false(mz_isa_names_agree("plain", "avx2"));
  assert_false(mz_isa_names_agree("neon", "plain"));
}

static void library_version_is_known(void **state) {
  (void)state;
  char built_with[32];
  snprintf(built_with, sizeof built_with, "%d.%d.%d", DNNL_VERSION_MAJOR, DNNL_VERSION_MINOR, DNNL_VERSION_PATCH);
  assert_string_equal(mz_onednn_version(), built_with);
}

static uint64_t bits_of_case(const net_case *c, net_size size, int rows) {
  net *n = net_open(c, &mz_backend_cpu, size, rows, 2);
  for (int r = 0; r < rows; r++) net_set_row(n, r, r);
  net_run(n, rows);
  uint64_t digest = mz_hash(n->gradients, (size_t)n->params.size * sizeof(float), 0);
  for (int i = 0; i < n->tape->node_count; i++) {
    const mz_tape_value *value = &n->tape->values[i];
    const size_t bytes = (size_t)rows * (size_t)value->stride * sizeof(float);
    digest = mz_hash(value->data, bytes, digest);
    if (value->gradient != NULL) digest = mz_hash(value->gradient, bytes, digest);
  }
  net_close(n);
  return digest;
}

static const mz_isa fused = MZ_ISA_LEVEL_PLAIN + 1; /* the lowest level that rounds a multiply-add once */

static void expect_equal_bits(const net_case *c, net_size size, int rows) {
  assert_true(mz_kernels_select(fused));
  const uint64_t expected = bits_of_case(c, size, rows);
  for (mz_isa level = fused + 1; level <= MZ_ISA_LEVEL_LAST && mz_kernels_select(level); level++)
    assert_true(bits_of_case(c, size, rows) == expected);
}

static void fused_levels_agree(void **state) {
  (void)state;
  if (mz_isa_level() <= fused) {
    print_message("skipped: this processor has no two levels of fused multiply-adds\n");
    skip();
  }
  for (int i = 0; i < NET_CASES; i++) {
    static const int shapes[][2] = {{5, 1}, {21, 8}, {64, 16}, {83, 13}, {150, 31}};
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
      expect_equal_bits(&net_cases[i], (net_size){.width = shapes[k][0]}, shapes[k][1]);
  }
  for (int i = 0; i < BOARD_CASES; i++) {
    static const mz_board boards[] = {{3, 3}, {6, 7}, {8, 5}, {9, 9}}; /* tiles of every shape */
    for (size_t k = 0; k < sizeof boards / sizeof *boards; k++)
      expect_equal_bits(&board_cases[i], (net_size){.width = k % 2 ? 32 : 16, .board = boards[k], .group = 3}, 6);
  }
  const net_size projected = {.width = 16, .board = {3, 3}, .group = PROJECTED_GROUP};
  expect_equal_bits(&board_cases[BOARD_CASES - 1], projected, 2 * PROJECTED_GROUP);
  mz_kernels_select(mz_isa_level());
}

enum { ROWS = 19, COLUMNS = 77, STRIDE = 80, COUNT = ROWS * STRIDE, RESULTS = 17 };
enum { POSITIONS = 5, CHANNELS = STRIDE / POSITIONS }; /* a row as a board */
typedef struct results {
  float y[RESULTS][COUNT], scalars[4][COUNT];
} results;

static void made_up(float *to, uint32_t stream) {
  mz_rng rng = mz_rng_at(6, MZ_RNG_TEST, stream, 0);
  for (int i = 0; i < COUNT; i++) to[i] = i % STRIDE < COLUMNS ? 3.0f * mz_rng_normal(&rng) : 0.0f;
}

/* Everything but the product, on one level. */
static void run_all(const mz_kernels *k, results *out) {
  static float x[COUNT], dy[COUNT], targets[COUNT], weights[ROWS * 16];
  made_up(x, 0);
  made_up(dy, 1);
  made_up(targets, 2);
  made_up(out->y[7], 3); /* what is added to */
  memcpy(out->y[8], dy, sizeof dy);
  memset(weights, 0, sizeof weights);
  for (int r = 0; r < ROWS; r++) weights[r * 16] = 0.1f * (float)(r + 1);
  for (int i = 0; i < COUNT; i++) targets[i] = fabsf(targets[i]);
  const mz_logits logits = {.x = x, .rows = ROWS, .columns = COLUMNS, .stride = STRIDE};
  const mz_term terms[] = {{x, dy}, {dy, targets}};
  k->add(x, dy, out->y[0], COUNT);
  k->relu(x, out->y[1], COUNT);
  k->relu_backward(out->y[1], dy, out->y[2], COUNT, true);
  k->scale(dy, 0.7f, out->y[2], COUNT, false);
  k->minmax(x, out->y[3], ROWS, COLUMNS, STRIDE);
  k->minmax_backward(x, out->y[3], dy, out->y[4], ROWS, COLUMNS, STRIDE, true);
  k->softmax(&logits, out->y[5]);
  k->softmax_xent(&logits, targets, weights, 0.3f, out->scalars[0], out->y[6]);
  k->expectation(&logits, -4.0f, 0.25f, true, out->scalars[1], 16);
  k->column_sums(terms, 2, ROWS, STRIDE, STRIDE, out->scalars[2]);
  k->relu_mask(x, out->y[8], COUNT);
  k->minmax_backward(x, out->y[3], dy, out->y[7], ROWS, COLUMNS, STRIDE, false);
  k->rms(x, out->y[9], ROWS, COLUMNS, STRIDE);
  k->rms_backward(x, out->y[9], dy, out->y[10], ROWS, COLUMNS, STRIDE, true);
  k->mse(x, targets, out->scalars[3], ROWS, COLUMNS, STRIDE);
  k->mse_backward(x, targets, weights, 0.3f, out->y[11], ROWS, COLUMNS, STRIDE, true);
  const mz_pooling pooling = {.rows = ROWS,
                              .positions = POSITIONS,
                              .channels = CHANNELS,
                              .x = x,
                              .y = out->y[12],
                              .dy = dy,
                              .dx = out->y[13],
                              .overwrite = true};
  k->pool(&pooling);
  k->pool_backward(&pooling);
  k->broadcast(x, out->y[14], ROWS / POSITIONS, POSITIONS, CHANNELS);
  k->broadcast_backward(dy, out->y[15], ROWS, POSITIONS, CHANNELS, true);
  k->gelu(x, out->y[16], COUNT);
}

static void levels_agree_on_rows(void **state) {
  (void)state;
  static results expected, found;
  assert_true(mz_kernels_select(MZ_ISA_LEVEL_PLAIN));
  run_all(mz_kernels_get(), &expected);
  for (mz_isa level = fused; level <= MZ_ISA_LEVEL_LAST && mz_kernels_select(level); level++) {
    memset(&found, 0, sizeof found);
    run_all(mz_kernels_get(), &found);
    for (int i = 0; i < RESULTS; i++) {
      for (int j = 0; j < COUNT; j++) assert_true(found.y[i][j] == expected.y[i][j]);
    }
    assert_memory_equal(found.scalars, expected.scalars, sizeof found.scalars);
  }
  mz_kernels_select(mz_isa_level());
}

/* Two entries 0 and −x: softmax is exp over a sum, cross entropy a logarithm; rebuilt here from the scalar functions. */
static void exponentials_and_logarithms_are_the_scalar_ones(void **state) {
  (void)state;
  enum { CASES = 20000 };
  static float x[CASES * 16], softmax[CASES * 16], targets[CASES * 16], weights[CASES * 16], entropy[CASES * 16];
  for (int i = 0; i < CASES; i++) {
    x[i * 16 + 1] = -100.0f * (float)i / CASES;
    targets[i * 16] = 1.0f;
  }
  const mz_logits logits = {.x = x, .rows = CASES, .columns = 2, .stride = 16};
  for (mz_isa level = MZ_ISA_LEVEL_PLAIN; level <= MZ_ISA_LEVEL_LAST && mz_kernels_select(level); level++) {
    mz_kernels_get()->softmax(&logits, softmax);
    mz_kernels_get()->softmax_xent(&logits, targets, weights, 1.0f, entropy, NULL);
    for (int i = 0; i < CASES; i++) {
      float lanes[16] = {mz_expf(0.0f), mz_expf(x[i * 16 + 1])};
      const float sum = mz_lanes_sum(lanes), inverse = 1.0f / sum;
      assert_true(softmax[i * 16] == lanes[0] * inverse && softmax[i * 16 + 1] == lanes[1] * inverse);
      assert_true(entropy[i * 16] == mz_logf(sum));
    }
  }
  mz_kernels_select(mz_isa_level());
}

/* A NaN anywhere in a row comes out as one; it does not vanish in a ReLU, a maximum or a softmax. */
static void nan_is_not_swallowed(void **state) {
  (void)state;
  for (mz_isa level = MZ_ISA_LEVEL_PLAIN; level <= MZ_ISA_LEVEL_LAST && mz_kernels_select(level); level++) {
    const mz_kernels *k = mz_kernels_get();
    for (int at = 0; at < 21; at++) {
      float x[32] = {0}, y[32], weights[16] = {1}, targets[32] = {1}, scalar[16], gradient[32];
      x[at] = NAN;
      const mz_logits logits = {.x = x, .rows = 1, .columns = 21, .stride = 32};
      k->relu(x, y, 32);
      assert_true(isnan(y[at]));
      k->minmax(x, y, 1, 21, 32);
      assert_true(isnan(y[at]));
      k->softmax_xent(&logits, targets, weights, 1.0f, scalar, gradient);
      assert_true(isnan(scalar[0]));
      k->expectation(&logits, -1.0f, 0.1f, true, scalar, 16);
      assert_true(isnan(scalar[0]));
      const float one = 1.0f;
      const mz_term term = {&one, x};
      const mz_product product = {.rows = 1,
                                  .columns = 32,
                                  .depth = 1,
                                  .term_count = 1,
                                  .terms = &term,
                                  .a_row = 1,
                                  .a_step = 1,
                                  .b_stride = 32,
                                  .c = y,
                                  .c_stride = 32,
                                  .relu = true};
      k->product(&product);
      assert_true(isnan(y[at]));
    }
  }
  mz_kernels_select(mz_isa_level());
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(environment_lowers_the_level), cmocka_unit_test(library_version_is_known),
      cmocka_unit_test(names_tell_what_rounds_alike), cmocka_unit_test(fused_levels_agree),
      cmocka_unit_test(levels_agree_on_rows),         cmocka_unit_test(exponentials_and_logarithms_are_the_scalar_ones),
      cmocka_unit_test(nan_is_not_swallowed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
