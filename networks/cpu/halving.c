#include "networks/cpu/halving.h"
#include "networks/cpu/kernels.h"
#include "networks/tape/halving.h"
#include "networks/tape/tape_state.h"
#include <string.h>

/* One row of a window: neighbouring positions of a row's board and their place in the window. */
typedef struct window_row {
  int first, count; /* positions on the board; count 0: none */
  int tap;          /* the first one's; without any, that of the row's first */
} window_row;

static window_row row_of(mz_board board, int y, int x, int kernel_row) {
  const int on_board = 2 * y + kernel_row - 1, left = x == 0;
  window_row row = {.tap = kernel_row * MZ_KERNEL};
  if (on_board < 0 || on_board >= board.height) return row;
  row.first = on_board * board.width + 2 * x - 1 + left;
  row.count = mz_halving_on_side(board.width, x);
  row.tap += left;
  return row;
}

/* Calls `visit` for all windows of all rows in order; x and y are where the row begins and where the window's output does. */
typedef struct halving {
  mz_board board;
  size_t channels, padded; /* of a position of the input; of one of the output */
} halving;
typedef void (*visit_window)(const halving *h, int y, int x, float *input, float *output);

static void visit_windows(const mz_tape *tape, const mz_node *node, int rows, bool backward, visit_window visit) {
  const mz_tape_value *x = &tape->values[node->inputs[0]], *y = &tape->values[node->output];
  const mz_board half = mz_halved(node->board);
  const halving h = {.board = node->board,
                     .channels = (size_t)(x->columns / (node->board.height * node->board.width)),
                     .padded = (size_t)(y->columns / node->positions)};
  float *input = backward ? x->gradient : x->data, *output = backward ? y->gradient : y->data;
  for (int r = 0; r < rows; r++, input += x->stride) {
    for (int i = 0; i < half.height; i++) {
      for (int j = 0; j < half.width; j++, output += h.padded) visit(&h, i, j, input, output);
    }
  }
}

/* An input that is written first starts from 0. */
static void clear_gradient(const mz_tape *tape, const mz_node *node, int rows) {
  const mz_tape_value *x = &tape->values[node->inputs[0]];
  if (node->overwrites[0]) memset(x->gradient, 0, (size_t)rows * (size_t)x->stride * sizeof(float));
}

/* ---- patches ---- */

static void copy_window(const halving *h, int y, int x, float *input, float *output) {
  const size_t channels = h->channels;
  memset(output, 0, h->padded * sizeof *output);
  for (int k = 0; k < MZ_KERNEL; k++) {
    const window_row row = row_of(h->board, y, x, k);
    memcpy(output + (size_t)row.tap * channels, input + (size_t)row.first * channels,
           (size_t)row.count * channels * sizeof *output);
  }
}

static void add_window(const halving *h, int y, int x, float *input, float *output) {
  for (int k = 0; k < MZ_KERNEL; k++) {
    const window_row row = row_of(h->board, y, x, k);
    float *to = input + (size_t)row.first * h->channels;
    mz_kernels_get()->add(to, output + (size_t)row.tap * h->channels, to, (size_t)row.count * h->channels);
  }
}

void mz_patches_forward(mz_tape *tape, mz_node *node, int rows) { visit_windows(tape, node, rows, false, copy_window); }

void mz_patches_backward(mz_tape *tape, mz_node *node, int rows) {
  clear_gradient(tape, node, rows);
  visit_windows(tape, node, rows, true, add_window);
}

/* ---- mean pool ---- */

static void mean_of_window(const halving *h, int y, int x, float *input, float *output) {
  const mz_kernels *kernels = mz_kernels_get();
  memset(output, 0, h->channels * sizeof *output);
  for (int k = 0; k < MZ_KERNEL; k++) {
    const window_row row = row_of(h->board, y, x, k);
    for (int i = 0; i < row.count; i++) kernels->add(output, input + (size_t)(row.first + i) * h->channels, output, h->channels);
  }
  kernels->scale(output, mz_halving_share(h->board, y, x), output, h->channels, true);
}

static void spread_over_window(const halving *h, int y, int x, float *input, float *output) {
  const float share = mz_halving_share(h->board, y, x);
  for (int k = 0; k < MZ_KERNEL; k++) {
    const window_row row = row_of(h->board, y, x, k);
    for (int i = 0; i < row.count; i++)
      mz_kernels_get()->scale(output, share, input + (size_t)(row.first + i) * h->channels, h->channels, false);
  }
}

void mz_mean_pool_forward(mz_tape *tape, mz_node *node, int rows) { visit_windows(tape, node, rows, false, mean_of_window); }

void mz_mean_pool_backward(mz_tape *tape, mz_node *node, int rows) {
  clear_gradient(tape, node, rows);
  visit_windows(tape, node, rows, true, spread_over_window);
}
