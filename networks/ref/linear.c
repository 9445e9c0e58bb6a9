#include "networks/ref/linear.h"
#include "networks/ref/access.h"

/* One position of a row: a row has one, but for 1 × 1 convolutions. */
static void linear(mz_tape *tape, const mz_node *node, int r, const double *x, double *y) {
  const mz_ref_param w = mz_ref_param_at(tape, node->weight);
  for (int j = 0; j < w.columns; j++) {
    y[j] = 0.0;
    for (int i = 0; i < w.rows; i++) y[j] += x[i] * w.values[i * w.stride + j];
    if (node->bias >= 0) y[j] += mz_ref_param_at(tape, node->bias).values[j];
    if (node->table >= 0) y[j] += mz_ref_param_at(tape, node->table).values[tape->indices[node->index_input][r] * w.stride + j];
    if (node->activation == MZ_RELU && y[j] < 0.0) y[j] = 0.0;
  }
}

void mz_ref_linear(mz_tape *tape, const mz_node *node, int r) {
  const mz_ref_param w = mz_ref_param_at(tape, node->weight);
  const double *x = mz_ref_data(tape, node->inputs[0], r);
  double *y = mz_ref_data(tape, node->output, r);
  for (int p = 0; p < node->positions; p++) linear(tape, node, r, x + p * w.rows, y + p * w.columns);
}

/* dy behind the activation. */
static double before_activation(const mz_node *node, const double *y, const double *dy, int j) {
  return node->activation == MZ_RELU && y[j] <= 0.0 ? 0.0 : dy[j];
}

void mz_ref_linear_backward(mz_tape *tape, const mz_node *node, int r) {
  double *dx = mz_ref_gradient(tape, node->inputs[0], r);
  if (dx == NULL) return;
  const mz_ref_param w = mz_ref_param_at(tape, node->weight);
  const double *y = mz_ref_data(tape, node->output, r), *dy = mz_ref_gradient(tape, node->output, r);
  for (int p = 0; p < node->positions; p++, dx += w.rows, y += w.columns, dy += w.columns) {
    for (int i = 0; i < w.rows; i++) {
      for (int j = 0; j < w.columns; j++) dx[i] += w.values[i * w.stride + j] * before_activation(node, y, dy, j);
    }
  }
}

/* Adds the part of one position of row r of a use. */
static void add_gradients(mz_tape *tape, const mz_node *use, int r, const double *x, const double *y, const double *dy) {
  const mz_ref_param w = mz_ref_param_at(tape, use->weight);
  for (int j = 0; j < w.columns; j++) {
    const double d = before_activation(use, y, dy, j);
    for (int i = 0; i < w.rows; i++) w.gradient[i * w.stride + j] += x[i] * d;
    if (use->bias >= 0) mz_ref_param_at(tape, use->bias).gradient[j] += d;
    if (use->table >= 0) {
      mz_ref_param_at(tape, use->table).gradient[tape->indices[use->index_input][r] * w.stride + j] += d;
    }
  }
}

void mz_ref_linear_gradients(mz_tape *tape, const mz_node *node, int rows) {
  const mz_ref_param w = mz_ref_param_at(tape, node->weight);
  mz_ref_clear(tape, node->weight);
  if (node->bias >= 0) mz_ref_clear(tape, node->bias);
  if (node->table >= 0) mz_ref_clear(tape, node->table);
  for (int u = 0; u < node->use_count; u++) {
    const mz_node *use = &tape->nodes[node->uses[u]];
    for (int r = 0; r < rows; r++) {
      const double *x = mz_ref_data(tape, use->inputs[0], r);
      const double *y = mz_ref_data(tape, use->output, r), *dy = mz_ref_gradient(tape, use->output, r);
      for (int p = 0; p < use->positions; p++) {
        add_gradients(tape, use, r, x + p * w.rows, y + p * w.columns, dy + p * w.columns);
      }
    }
  }
}

/* ---- one matrix for each type of position ---- */

/* The matrix of one type: rows type · inputs to (type + 1) · inputs of the parameter. */
static mz_ref_param matrix_of_type(const mz_tape *tape, const mz_node *node, int type) {
  mz_ref_param w = mz_ref_param_at(tape, node->weight);
  w.rows = tape->values[node->inputs[0]].columns / node->positions;
  w.values += type * w.rows * w.stride;
  if (w.gradient != NULL) w.gradient += type * w.rows * w.stride;
  return w;
}

void mz_ref_typed_linear(mz_tape *tape, const mz_node *node, int r) {
  const int32_t *types = mz_tape_list_at(tape, node->index_input, r);
  const double *x = mz_ref_data(tape, node->inputs[0], r);
  double *y = mz_ref_data(tape, node->output, r);
  for (int p = 0; p < node->positions; p++) {
    const mz_ref_param w = matrix_of_type(tape, node, types[p] < 0 ? 0 : types[p]);
    for (int j = 0; j < w.columns; j++) {
      double sum = 0.0;
      for (int i = 0; i < w.rows && types[p] >= 0; i++) sum += x[p * w.rows + i] * w.values[i * w.stride + j];
      if (node->bias >= 0 && types[p] >= 0) sum += mz_ref_param_at(tape, node->bias).values[types[p] * w.stride + j];
      y[p * w.columns + j] = sum;
    }
  }
}

void mz_ref_typed_linear_backward(mz_tape *tape, const mz_node *node, int r) {
  const int32_t *types = mz_tape_list_at(tape, node->index_input, r);
  const double *dy = mz_ref_gradient(tape, node->output, r);
  double *dx = mz_ref_gradient(tape, node->inputs[0], r);
  if (dx == NULL) return;
  for (int p = 0; p < node->positions; p++) {
    if (types[p] < 0) continue;
    const mz_ref_param w = matrix_of_type(tape, node, types[p]);
    for (int i = 0; i < w.rows; i++) {
      for (int j = 0; j < w.columns; j++) dx[p * w.rows + i] += w.values[i * w.stride + j] * dy[p * w.columns + j];
    }
  }
}

/* Adds the part of row r of a use. */
static void add_typed_gradients(mz_tape *tape, const mz_node *use, int r) {
  const int32_t *types = mz_tape_list_at(tape, use->index_input, r);
  const double *x = mz_ref_data(tape, use->inputs[0], r), *dy = mz_ref_gradient(tape, use->output, r);
  for (int p = 0; p < use->positions; p++) {
    if (types[p] < 0) continue;
    const mz_ref_param w = matrix_of_type(tape, use, types[p]);
    for (int j = 0; j < w.columns; j++) {
      const double d = dy[p * w.columns + j];
      for (int i = 0; i < w.rows; i++) w.gradient[i * w.stride + j] += x[p * w.rows + i] * d;
      if (use->bias >= 0) mz_ref_param_at(tape, use->bias).gradient[types[p] * w.stride + j] += d;
    }
  }
}

void mz_ref_typed_linear_gradients(mz_tape *tape, const mz_node *node, int rows) {
  mz_ref_clear(tape, node->weight);
  if (node->bias >= 0) mz_ref_clear(tape, node->bias);
  for (int u = 0; u < node->use_count; u++) {
    for (int r = 0; r < rows; r++) add_typed_gradients(tape, &tape->nodes[node->uses[u]], r);
  }
}
