/* Halving of boards, beside gradients, parity and rows, which go over board_cases.h: a convolution of stride 2 is every second position
 * of one of stride 1, and windows are counted by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "networks/tape/halving.h"
#include "tests/networks/net.h"

enum { ROWS = 3, CHANNELS = 32, ENTRIES_MAX = 11 * 12 * CHANNELS };

static const mz_board boards[] = {{1, 1}, {2, 2}, {3, 2}, {6, 7}, {11, 12}};

static void is_every_second(const char *backend, mz_board board, const float *half, const float *whole) {
  const mz_board halved = mz_halved(board);
  for (int at = 0; at < ROWS * halved.height * halved.width; at++, half += CHANNELS) {
    const int x = at % halved.width, line = at / halved.width, y = line % halved.height, r = line / halved.height;
    const float *expected = whole + ((r * board.height + 2 * y) * board.width + 2 * x) * CHANNELS;
    for (int c = 0; c < CHANNELS; c++) {
      if (fabsf(half[c] - expected[c]) <= 1e-4f) continue;
      fail_msg("%s, board %d x %d: row %d, position %d, %d: %g, not %g", backend, board.height, board.width, r, y, x,
               (double)half[c], (double)expected[c]);
    }
  }
}

/* Elements as the backend's forward reads them; owned by the caller. */
static void *packed_weights(const mz_lane *lane, const mz_params *params, const float *weights) {
  const mz_backend *backend = lane->backend;
  const size_t elements = (size_t)mz_backend_layout(backend, params, NULL);
  void *packed = NULL;
  check(mz_alloc(&packed, elements, backend->element_size));
  if (backend->pack_forward != NULL) {
    check(mz_lane_pack(lane, backend->pack_forward, params, weights, false, packed));
  } else {
    for (int64_t i = 0; i < params->size; i++) ((double *)packed)[i] = weights[i];
  }
  return packed;
}

/* Both convolutions by one weight: as a convolution's, and as a matrix. */
static void strided(const mz_backend *backend, mz_board board) {
  static float x[ROWS * ENTRIES_MAX], whole[ROWS * ENTRIES_MAX], half[ROWS * ENTRIES_MAX];
  const mz_board halved = mz_halved(board);
  mz_params params = {0};
  const int conv = mz_params_add_conv(&params, "conv", board, CHANNELS, CHANNELS, MZ_INIT_HE);
  const int matrix = mz_params_add(&params, "matrix", 9 * CHANNELS, CHANNELS, true, MZ_INIT_HE, 9 * CHANNELS);
  const int bias = mz_params_add(&params, "bias", 1, CHANNELS, false, MZ_INIT_HE, CHANNELS);
  float *weights = NULL;
  check(mz_alloc(&weights, (size_t)params.size, sizeof *weights));
  mz_params_init(&params, 4, weights);
  memcpy(weights + params.items[matrix].offset, weights + params.items[conv].offset, sizeof(float) * 9 * CHANNELS * CHANNELS);

  const mz_lane where = {.backend = backend};
  mz_lane lane;
  check(mz_lane_open(&lane, &where));
  mz_tape *tape = NULL;
  check(mz_tape_create(&tape, &lane, &params, ROWS, false));
  const mz_value input = mz_tape_input(tape, board.height * board.width * CHANNELS), seen = mz_tape_patches(tape, input, board);
  const mz_value one = mz_tape_conv(tape, input, conv, bias, -1, MZ_RELU);
  const mz_value two = mz_tape_pointwise(tape, seen, halved.height * halved.width, matrix, bias, MZ_RELU);
  check(mz_tape_plan(tape));
  mz_rng rng = mz_rng_at(8, MZ_RNG_TEST, 0, 0);
  for (int i = 0; i < ROWS * board.height * board.width * CHANNELS; i++) x[i] = mz_rng_normal(&rng);
  void *packed = packed_weights(&lane, &params, weights);
  check(mz_tape_put(tape, input, 0, x, ROWS));
  check(mz_tape_forward(tape, packed, ROWS));
  check(mz_tape_get(tape, one, 0, whole, ROWS));
  check(mz_tape_get(tape, two, 0, half, ROWS));
  is_every_second(backend->name, board, half, whole);
  free(packed);
  free(weights);
  mz_tape_free(tape);
  mz_lane_close(&lane);
}

static void every_second_position(void **state) {
  (void)state;
  for (size_t b = 0; b < sizeof boards / sizeof *boards; b++) {
    strided(&mz_backend_ref, boards[b]);
    strided(&mz_backend_cpu, boards[b]);
  }
}

/* On a board of ones every mean is 1; on one that counts positions it is that of the window's. */
static void means(void **state) {
  (void)state;
  const mz_board board = {3, 4};
  static const float expected[2 * 2] = {(0 + 1 + 4 + 5) / 4.0f, (1 + 2 + 3 + 5 + 6 + 7) / 6.0f, (4 + 5 + 8 + 9) / 4.0f,
                                        (5 + 6 + 7 + 9 + 10 + 11) / 6.0f};
  const mz_backend *const backends[] = {&mz_backend_ref, &mz_backend_cpu};
  for (int b = 0; b < 2; b++) {
    const mz_lane where = {.backend = backends[b]};
    mz_lane lane;
    check(mz_lane_open(&lane, &where));
    mz_tape *tape = NULL;
    check(mz_tape_create(&tape, &lane, NULL, 1, false));
    const mz_value input = mz_tape_input(tape, 12 * MZ_LANES), pool = mz_tape_mean_pool(tape, input, board);
    check(mz_tape_plan(tape));
    float x[12 * MZ_LANES], y[4 * MZ_LANES];
    for (int i = 0; i < 12 * MZ_LANES; i++) {
      const int position = i / MZ_LANES;
      x[i] = i % MZ_LANES == 0 ? 1.0f : (float)position;
    }
    check(mz_tape_put(tape, input, 0, x, 1));
    check(mz_tape_forward(tape, NULL, 1));
    check(mz_tape_get(tape, pool, 0, y, 1));
    for (int i = 0; i < 4 * MZ_LANES; i++) {
      const int position = i / MZ_LANES;
      assert_true(fabsf(y[i] - (i % MZ_LANES == 0 ? 1.0f : expected[position])) <= 1e-6f);
    }
    mz_tape_free(tape);
    mz_lane_close(&lane);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_second_position), cmocka_unit_test(means)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
