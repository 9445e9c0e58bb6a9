/* Running a planned tape. */
#include "networks/tape/tape_state.h"
#include <string.h>

mz_status mz_tape_forward(mz_tape *tape, const void *values, int rows) {
  MZ_ASSERT(tape->planned && rows >= 1 && rows <= tape->rows);
  const mz_backend *backend = tape->lane.backend;
  tape->weights = values;
  tape->live_rows = rows;
  if (backend->run != NULL) return backend->run(tape, false, rows);
  for (int i = 0; i < tape->node_count; i++) {
    mz_node *node = &tape->nodes[i];
    if (mz_node_traits(node)->runs) MZ_TRY(backend->forward(tape, node, rows));
  }
  return MZ_OK;
}

static void clear_unused(const mz_tape *tape) {
  const size_t size = tape->lane.backend->element_size;
  for (int i = 0; i < tape->params->count; i++) {
    const mz_param *param = &tape->params->items[i];
    const size_t bytes = (size_t)param->rows * (size_t)param->stride * size;
    if (tape->unused[i]) memset((char *)tape->gradients + (size_t)param->offset * size, 0, bytes);
  }
}

mz_status mz_tape_backward(mz_tape *tape, const void *values, const void *transposed, void *gradients, int rows) {
  MZ_ASSERT(tape->with_backward && tape->params != NULL && rows == tape->live_rows);
  const mz_backend *backend = tape->lane.backend;
  tape->weights = values;
  tape->transposed = transposed;
  tape->gradients = gradients;
  if (backend->run != NULL) return backend->run(tape, true, rows);
  for (int i = tape->node_count - 1; i >= 0; i--) {
    if (tape->nodes[i].backward) MZ_TRY(backend->backward(tape, &tape->nodes[i], rows));
  }
  clear_unused(tape);
  return MZ_OK;
}

static double element(const mz_tape *tape, const void *data, size_t at) {
  return tape->lane.backend->element_size == sizeof(float) ? (double)((const float *)data)[at] : ((const double *)data)[at];
}

mz_status mz_tape_loss(mz_tape *tape, double *out) {
  if (tape->lane.backend->loss != NULL) return tape->lane.backend->loss(tape, out);
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
  *out = loss;
  return MZ_OK;
}

size_t mz_tape_bytes(const mz_tape *tape) { return tape->bytes + tape->scratch_bytes; }
