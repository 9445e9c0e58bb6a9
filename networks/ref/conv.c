#include "networks/ref/conv.h"
#include "networks/ref/access.h"

enum { TAPS = MZ_KERNEL * MZ_KERNEL };

/* The position that the output at `position` sees through `tap`. false: it lies beside the board, where everything is 0. */
static bool seen_through(mz_board board, int position, int tap, int *seen) {
  const int y = position / board.width + tap / MZ_KERNEL - 1, x = position % board.width + tap % MZ_KERNEL - 1;
  *seen = y * board.width + x;
  return y >= 0 && y < board.height && x >= 0 && x < board.width;
}

/* ---- convolution ---- */

typedef struct conv {
  mz_board board;
  int inputs, outputs; /* channels; a board's channels lie behind one another, so outputs is also the stride of the weight */
  mz_ref_param weight;
} conv;

static conv conv_of(const mz_tape *tape, const mz_node *node) {
  const mz_ref_param weight = mz_ref_param_at(tape, node->weight);
  return (conv){tape->params->items[node->weight].conv, weight.rows / TAPS, weight.columns, weight};
}

void mz_ref_conv(mz_tape *tape, const mz_node *node, int r) {
  const conv c = conv_of(tape, node);
  const double *x = mz_ref_data(tape, node->inputs[0], r);
  const double *add = node->input_count > 1 ? mz_ref_data(tape, node->inputs[1], r) : NULL; /* y itself, it may be */
  const double *bias = node->bias >= 0 ? mz_ref_param_at(tape, node->bias).values : NULL;
  double *y = mz_ref_data(tape, node->output, r);
  for (int p = 0; p < node->positions; p++, y += c.outputs) {
    for (int o = 0; o < c.outputs; o++) {
      y[o] = add == NULL ? 0.0 : add[p * c.outputs + o];
      if (bias != NULL) y[o] += bias[o];
    }
    for (int tap = 0, seen; tap < TAPS; tap++) {
      if (!seen_through(c.board, p, tap, &seen)) continue;
      for (int i = 0; i < c.inputs; i++) {
        const double *w = c.weight.values + (tap * c.inputs + i) * c.outputs;
        for (int o = 0; o < c.outputs; o++) y[o] += x[seen * c.inputs + i] * w[o];
      }
    }
    for (int o = 0; node->activation == MZ_RELU && o < c.outputs; o++) y[o] = y[o] < 0.0 ? 0.0 : y[o];
  }
}

/* dy becomes the gradient before the activation; what is added may have it for its own gradient. */
void mz_ref_conv_backward(mz_tape *tape, const mz_node *node, int r) {
  const conv c = conv_of(tape, node);
  const double *y = mz_ref_data(tape, node->output, r);
  double *dy = mz_ref_gradient(tape, node->output, r), *dx = mz_ref_gradient(tape, node->inputs[0], r);
  double *dadd = node->input_count > 1 ? mz_ref_gradient(tape, node->inputs[1], r) : NULL;
  for (int i = 0; i < node->positions * c.outputs; i++) {
    if (node->activation == MZ_RELU && y[i] <= 0.0) dy[i] = 0.0;
    if (dadd != NULL && dadd != dy) dadd[i] += dy[i];
  }
  for (int p = 0; dx != NULL && p < node->positions; p++, dy += c.outputs) {
    for (int tap = 0, seen; tap < TAPS; tap++) {
      if (!seen_through(c.board, p, tap, &seen)) continue;
      for (int i = 0; i < c.inputs; i++) {
        const double *w = c.weight.values + (tap * c.inputs + i) * c.outputs;
        for (int o = 0; o < c.outputs; o++) dx[seen * c.inputs + i] += w[o] * dy[o];
      }
    }
  }
}

static void add_gradients(mz_tape *tape, const mz_node *use, int r) {
  const conv c = conv_of(tape, use);
  const double *x = mz_ref_data(tape, use->inputs[0], r), *dy = mz_ref_gradient(tape, use->output, r);
  double *bias = use->bias >= 0 ? mz_ref_param_at(tape, use->bias).gradient : NULL;
  for (int p = 0; p < use->positions; p++, dy += c.outputs) {
    for (int o = 0; bias != NULL && o < c.outputs; o++) bias[o] += dy[o];
    for (int tap = 0, seen; tap < TAPS; tap++) {
      if (!seen_through(c.board, p, tap, &seen)) continue;
      for (int i = 0; i < c.inputs; i++) {
        double *w = c.weight.gradient + (tap * c.inputs + i) * c.outputs;
        for (int o = 0; o < c.outputs; o++) w[o] += x[seen * c.inputs + i] * dy[o];
      }
    }
  }
}

void mz_ref_conv_gradients(mz_tape *tape, const mz_node *node, int rows) {
  mz_ref_clear(tape, node->weight);
  if (node->bias >= 0) mz_ref_clear(tape, node->bias);
  for (int u = 0; u < node->use_count; u++) {
    for (int r = 0; r < rows; r++) add_gradients(tape, &tape->nodes[node->uses[u]], r);
  }
}

/* ---- action map ---- */

static bool is_everywhere(const mz_action_map *map, int action) {
  const bool passes = map->kind == MZ_ACTIONS_CELLS_PASS && action == map->board.height * map->board.width;
  return passes || map->kind == MZ_ACTIONS_PLAIN;
}

/* The plane of an action that is somewhere. */
static bool is_at(const mz_action_map *map, int action, int position) {
  return map->kind == MZ_ACTIONS_COLUMNS ? position % map->board.width == action : position == action;
}

/* Returns how often row `row` of the table counts in the output at `position`. */
static double factor_of(const mz_action_map *map, int action, int position, int row) {
  if (is_everywhere(map, action)) return row == (map->kind == MZ_ACTIONS_PLAIN ? action : TAPS) ? 1.0 : 0.0;
  int seen;
  return row < TAPS && seen_through(map->board, position, row, &seen) && is_at(map, action, seen) ? 1.0 : 0.0;
}

void mz_ref_action_map(mz_tape *tape, const mz_node *node, int r) {
  const mz_ref_param table = mz_ref_param_at(tape, node->weight);
  const int action = tape->indices[node->index_input][r];
  double *y = mz_ref_data(tape, node->output, r);
  for (int p = 0; p < node->positions; p++) {
    for (int c = 0; c < table.columns; c++) {
      double sum = 0.0;
      for (int i = 0; i < table.rows; i++) sum += factor_of(&node->map, action, p, i) * table.values[i * table.stride + c];
      y[p * table.columns + c] = sum;
    }
  }
}

void mz_ref_action_map_gradients(mz_tape *tape, const mz_node *node, int rows) {
  const mz_ref_param table = mz_ref_param_at(tape, node->weight);
  mz_ref_clear(tape, node->weight);
  for (int u = 0; u < node->use_count; u++) {
    const mz_node *use = &tape->nodes[node->uses[u]];
    for (int r = 0; r < rows; r++) {
      const int action = tape->indices[use->index_input][r];
      const double *dy = mz_ref_gradient(tape, use->output, r);
      for (int p = 0; p < use->positions; p++) {
        for (int i = 0; i < table.rows; i++) {
          const double factor = factor_of(&use->map, action, p, i);
          for (int c = 0; c < table.columns; c++) table.gradient[i * table.stride + c] += factor * dy[p * table.columns + c];
        }
      }
    }
  }
}

/* ---- planes ---- */

void mz_ref_planes(mz_tape *tape, const mz_node *node, int r) {
  const int channels = tape->values[node->inputs[0]].columns / node->positions;
  const int padded = tape->values[node->output].columns / node->positions;
  const double *x = mz_ref_data(tape, node->inputs[0], r);
  double *y = mz_ref_data(tape, node->output, r);
  for (int p = 0; p < node->positions; p++) {
    for (int c = 0; c < padded; c++) y[p * padded + c] = c < channels ? x[p * channels + c] : 0.0;
  }
}

/* ---- pool, broadcast ---- */

/* Where channel c is largest, first. */
static int position_of_largest(const double *x, int positions, int channels, int c) {
  int best = 0;
  for (int p = 1; p < positions; p++) best = x[p * channels + c] > x[best * channels + c] ? p : best;
  return best;
}

void mz_ref_pool(mz_tape *tape, const mz_node *node, int r) {
  const int channels = tape->values[node->output].columns / 2;
  const double *x = mz_ref_data(tape, node->inputs[0], r);
  double *mean = mz_ref_data(tape, node->output, r), *largest = mean + channels;
  for (int c = 0; c < channels; c++) {
    mean[c] = 0.0;
    for (int p = 0; p < node->positions; p++) mean[c] += x[p * channels + c] / node->positions;
    largest[c] = x[position_of_largest(x, node->positions, channels, c) * channels + c];
  }
}

void mz_ref_pool_backward(mz_tape *tape, const mz_node *node, int r) {
  const int channels = tape->values[node->output].columns / 2;
  const double *x = mz_ref_data(tape, node->inputs[0], r), *dmean = mz_ref_gradient(tape, node->output, r);
  double *dx = mz_ref_gradient(tape, node->inputs[0], r);
  for (int c = 0; c < channels; c++) {
    for (int p = 0; p < node->positions; p++) dx[p * channels + c] += dmean[c] / node->positions;
    dx[position_of_largest(x, node->positions, channels, c) * channels + c] += dmean[channels + c];
  }
}

void mz_ref_broadcast(mz_tape *tape, const mz_node *node, int r) {
  const int channels = tape->values[node->inputs[0]].columns;
  const double *x = mz_ref_data(tape, node->inputs[0], r);
  double *y = mz_ref_data(tape, node->output, r);
  for (int p = 0; p < node->positions; p++) {
    for (int c = 0; c < channels; c++) y[p * channels + c] = x[c];
  }
}

void mz_ref_broadcast_backward(mz_tape *tape, const mz_node *node, int r) {
  const int channels = tape->values[node->inputs[0]].columns;
  const double *dy = mz_ref_gradient(tape, node->output, r);
  double *dx = mz_ref_gradient(tape, node->inputs[0], r);
  for (int p = 0; p < node->positions; p++) {
    for (int c = 0; c < channels; c++) dx[c] += dy[p * channels + c];
  }
}
