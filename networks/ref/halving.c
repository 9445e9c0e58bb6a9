#include "networks/ref/halving.h"
#include "networks/ref/access.h"

enum { TAPS = MZ_KERNEL * MZ_KERNEL };

/* Returns the position of the board that the window of `position` of its half sees through `tap`; −1: it lies beside the board. */
static int seen_through(mz_board board, int position, int tap) {
  const int half_width = (board.width + 1) / 2;
  const int y = 2 * (position / half_width) + tap / MZ_KERNEL - 1, x = 2 * (position % half_width) + tap % MZ_KERNEL - 1;
  return y < 0 || y >= board.height || x < 0 || x >= board.width ? -1 : y * board.width + x;
}

static int channels_of(const mz_tape *tape, const mz_node *node) {
  return tape->values[node->inputs[0]].columns / (node->board.height * node->board.width);
}

/* ---- patches ---- */

void mz_ref_patches(mz_tape *tape, const mz_node *node, int r) {
  const int channels = channels_of(tape, node), padded = tape->values[node->output].columns / node->positions;
  const double *x = mz_ref_data(tape, node->inputs[0], r);
  double *y = mz_ref_data(tape, node->output, r);
  for (int p = 0; p < node->positions; p++, y += padded) {
    for (int i = 0; i < padded; i++) {
      const int seen = i < TAPS * channels ? seen_through(node->board, p, i / channels) : -1;
      y[i] = seen < 0 ? 0.0 : x[seen * channels + i % channels];
    }
  }
}

void mz_ref_patches_backward(mz_tape *tape, const mz_node *node, int r) {
  const int channels = channels_of(tape, node), padded = tape->values[node->output].columns / node->positions;
  const double *dy = mz_ref_gradient(tape, node->output, r);
  double *dx = mz_ref_gradient(tape, node->inputs[0], r);
  for (int p = 0; p < node->positions; p++, dy += padded) {
    for (int i = 0; i < TAPS * channels; i++) {
      const int seen = seen_through(node->board, p, i / channels);
      if (seen >= 0) dx[seen * channels + i % channels] += dy[i];
    }
  }
}

/* ---- mean pool ---- */

static int count_of(const mz_node *node, int position) {
  int count = 0;
  for (int tap = 0; tap < TAPS; tap++) count += seen_through(node->board, position, tap) >= 0;
  return count;
}

void mz_ref_mean_pool(mz_tape *tape, const mz_node *node, int r) {
  const int channels = channels_of(tape, node);
  const double *x = mz_ref_data(tape, node->inputs[0], r);
  double *y = mz_ref_data(tape, node->output, r);
  for (int p = 0; p < node->positions; p++, y += channels) {
    for (int c = 0; c < channels; c++) {
      y[c] = 0.0;
      for (int tap = 0; tap < TAPS; tap++) {
        const int seen = seen_through(node->board, p, tap);
        if (seen >= 0) y[c] += x[seen * channels + c] / count_of(node, p);
      }
    }
  }
}

void mz_ref_mean_pool_backward(mz_tape *tape, const mz_node *node, int r) {
  const int channels = channels_of(tape, node);
  const double *dy = mz_ref_gradient(tape, node->output, r);
  double *dx = mz_ref_gradient(tape, node->inputs[0], r);
  for (int p = 0; p < node->positions; p++, dy += channels) {
    for (int tap = 0; tap < TAPS; tap++) {
      const int seen = seen_through(node->board, p, tap);
      for (int c = 0; c < channels && seen >= 0; c++) dx[seen * channels + c] += dy[c] / count_of(node, p);
    }
  }
}
