#include "networks/cpu/pooling.h"
#include "networks/cpu/kernels.h"
#include "networks/tape/tape_state.h"

static mz_pooling pooling_of(const mz_tape *tape, const mz_node *node, int rows) {
  const mz_tape_value *x = &tape->values[node->inputs[0]], *y = &tape->values[node->output];
  return (mz_pooling){.rows = rows,
                      .positions = node->positions,
                      .channels = y->columns / 2,
                      .x = x->data,
                      .bf16 = x->bf16,
                      .y = y->data,
                      .dy = y->gradient,
                      .dx = x->gradient,
                      .overwrite = node->overwrites[0]};
}

void mz_pool_forward(mz_tape *tape, mz_node *node, int rows) {
  const mz_pooling pooling = pooling_of(tape, node, rows);
  mz_kernels_get()->pool(&pooling);
}

void mz_pool_backward(mz_tape *tape, mz_node *node, int rows) {
  const mz_pooling pooling = pooling_of(tape, node, rows);
  mz_kernels_get()->pool_backward(&pooling);
}

void mz_broadcast_forward(mz_tape *tape, mz_node *node, int rows) {
  const mz_tape_value *x = &tape->values[node->inputs[0]], *y = &tape->values[node->output];
  mz_kernels_get()->broadcast(x->data, y->data, rows, node->positions, x->columns);
}

void mz_broadcast_backward(mz_tape *tape, mz_node *node, int rows) {
  const mz_tape_value *x = &tape->values[node->inputs[0]], *y = &tape->values[node->output];
  mz_kernels_get()->broadcast_backward(y->gradient, x->gradient, rows, node->positions, x->columns, node->overwrites[0]);
}
