/* Running a planned tape, and what callers read and write on it. */
#include "networks/tape/tape_state.h"
#include <string.h>

void mz_tape_forward(mz_tape *tape, const void *values, int rows) {
  MZ_ASSERT(tape->planned && rows >= 1 && rows <= tape->rows);
  tape->weights = values;
  tape->live_rows = rows;
  for (int i = 0; i < tape->node_count; i++) {
    mz_node *node = &tape->nodes[i];
    if (mz_node_traits(node)->runs) tape->backend->forward(tape, node, rows);
  }
}

void mz_tape_backward(mz_tape *tape, const void *values, const void *transposed, void *gradients, int rows) {
  MZ_ASSERT(tape->with_backward && tape->params != NULL && rows == tape->live_rows);
  tape->weights = values;
  tape->transposed = transposed;
  tape->gradients = gradients;
  for (int i = tape->node_count - 1; i >= 0; i--) {
    if (tape->nodes[i].backward) tape->backend->backward(tape, &tape->nodes[i], rows);
  }
  const size_t size = tape->backend->element_size;
  for (int i = 0; i < tape->params->count; i++) {
    const mz_param *param = &tape->params->items[i];
    const size_t bytes = (size_t)param->rows * (size_t)param->stride * size;
    if (tape->unused[i]) memset((char *)gradients + (size_t)param->offset * size, 0, bytes);
  }
}

static double element(const mz_tape *tape, const void *data, size_t at) {
  return tape->backend->element_size == sizeof(float) ? (double)((const float *)data)[at] : ((const double *)data)[at];
}

double mz_tape_loss(const mz_tape *tape) {
  double loss = 0.0;
  for (int i = 0; i < tape->node_count; i++) {
    const mz_node *node = &tape->nodes[i];
    if (!mz_node_traits(node)->is_loss) continue;
    const mz_tape_value *entropy = &tape->values[node->output], *weight = &tape->values[node->inputs[2]];
    double sum = 0.0;
    for (size_t r = 0; r < (size_t)tape->live_rows; r++) {
      const double row_weight = element(tape, weight->data, r * (size_t)weight->stride);
      sum += row_weight * element(tape, entropy->data, r * (size_t)entropy->stride);
    }
    loss += (double)node->factor * sum;
  }
  return loss;
}

mz_tape_value *mz_tape_at(mz_tape *tape, mz_value value) {
  MZ_ASSERT(tape->planned && value >= 0 && value < tape->node_count);
  return &tape->values[value];
}

int32_t *mz_tape_index_at(mz_tape *tape, int index_input) {
  MZ_ASSERT(tape->planned && index_input >= 0 && index_input < tape->index_count);
  return tape->indices[index_input];
}

size_t mz_tape_bytes(const mz_tape *tape) { return tape->bytes + tape->scratch_bytes; }

void mz_tape_write(mz_tape *tape, mz_value value, const float *dense, int rows) {
  const mz_tape_value *to = mz_tape_at(tape, value);
  MZ_ASSERT(rows >= 0 && rows <= tape->rows);
  const size_t columns = (size_t)to->columns, stride = (size_t)to->stride;
  for (size_t r = 0; r < (size_t)rows; r++) {
    const float *from = dense + r * columns;
    if (tape->backend->element_size == sizeof(float)) {
      memcpy((float *)to->data + r * stride, from, columns * sizeof(float));
    } else {
      for (size_t c = 0; c < columns; c++) ((double *)to->data)[r * stride + c] = from[c];
    }
  }
}

void mz_tape_read(mz_tape *tape, mz_value value, float *dense, int rows) {
  const mz_tape_value *from = mz_tape_at(tape, value);
  MZ_ASSERT(rows >= 0 && rows <= tape->rows);
  const size_t columns = (size_t)from->columns, stride = (size_t)from->stride;
  for (size_t r = 0; r < (size_t)rows; r++) {
    float *to = dense + r * columns;
    if (tape->backend->element_size == sizeof(float)) {
      memcpy(to, (const float *)from->data + r * stride, columns * sizeof(float));
    } else {
      for (size_t c = 0; c < columns; c++) to[c] = (float)((const double *)from->data)[r * stride + c];
    }
  }
}
