#include "networks/ref/linear.h"
#include "networks/tape_state.h"

typedef struct param {
  const double *values;
  double *gradient;
  int rows, columns, stride;
} param;

static param param_at(const mz_tape *tape, int index) {
  const mz_param *item = &tape->params->items[index];
  return (param){(const double *)tape->weights + item->offset,
                 tape->gradients == NULL ? NULL : (double *)tape->gradients + item->offset, item->rows, item->columns,
                 item->stride};
}

static double *row_of(void *data, const mz_tape_value *value, int r) { return (double *)data + (ptrdiff_t)r * value->stride; }

void mz_ref_linear(mz_tape *tape, const mz_node *node, int r) {
  const mz_tape_value *in = &tape->values[node->inputs[0]], *out = &tape->values[node->output];
  const double *x = row_of(in->data, in, r);
  double *y = row_of(out->data, out, r);
  const param w = param_at(tape, node->weight);
  for (int j = 0; j < w.columns; j++) {
    y[j] = 0.0;
    for (int i = 0; i < w.rows; i++) y[j] += x[i] * w.values[i * w.stride + j];
    if (node->bias >= 0) y[j] += param_at(tape, node->bias).values[j];
    if (node->table >= 0) y[j] += param_at(tape, node->table).values[tape->indices[node->index_input][r] * w.stride + j];
    if (node->activation == MZ_RELU && y[j] < 0.0) y[j] = 0.0;
  }
}

/* dy behind the activation. */
static double before_activation(const mz_node *node, const double *y, const double *dy, int j) {
  return node->activation == MZ_RELU && y[j] <= 0.0 ? 0.0 : dy[j];
}

void mz_ref_linear_backward(mz_tape *tape, const mz_node *node, int r) {
  const mz_tape_value *in = &tape->values[node->inputs[0]], *out = &tape->values[node->output];
  if (in->gradient == NULL) return;
  const double *y = row_of(out->data, out, r), *dy = row_of(out->gradient, out, r);
  double *dx = row_of(in->gradient, in, r);
  const param w = param_at(tape, node->weight);
  for (int i = 0; i < w.rows; i++) {
    for (int j = 0; j < w.columns; j++) dx[i] += w.values[i * w.stride + j] * before_activation(node, y, dy, j);
  }
}

static void clear(param p) {
  for (int i = 0; i < p.rows * p.stride; i++) p.gradient[i] = 0.0;
}

void mz_ref_parameter_gradients(mz_tape *tape, const mz_node *node, int rows) {
  const param w = param_at(tape, node->weight);
  clear(w);
  if (node->bias >= 0) clear(param_at(tape, node->bias));
  if (node->table >= 0) clear(param_at(tape, node->table));
  for (int u = 0; u < node->use_count; u++) {
    const mz_node *use = &tape->nodes[node->uses[u]];
    const mz_tape_value *in = &tape->values[use->inputs[0]], *out = &tape->values[use->output];
    for (int r = 0; r < rows; r++) {
      const double *x = row_of(in->data, in, r), *y = row_of(out->data, out, r), *dy = row_of(out->gradient, out, r);
      for (int j = 0; j < w.columns; j++) {
        const double d = before_activation(use, y, dy, j);
        for (int i = 0; i < w.rows; i++) w.gradient[i * w.stride + j] += x[i] * d;
        if (use->bias >= 0) param_at(tape, use->bias).gradient[j] += d;
        if (use->table >= 0) param_at(tape, use->table).gradient[tape->indices[use->index_input][r] * w.stride + j] += d;
      }
    }
  }
}
