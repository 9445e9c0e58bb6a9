/* The node functions of the ops that the module runs with kernels of its own. */
#pragma once
#include "networks/cuda/access.cuh"

typedef struct cuda_op {
  mz_status (*prepare)(mz_tape *tape, mz_node *node); /* NULL: nothing to do, here and below */
  void (*release)(mz_node *node);
  mz_status (*forward)(mz_tape *tape, mz_node *node, int rows);
  mz_status (*backward)(mz_tape *tape, mz_node *node, int rows);
  /* Values, and gradients of inputs, are the cpu's bit for bit. */
  bool forward_is_exact, backward_is_exact;
} cuda_op;

/* Returns NULL for an op that is not among them. */
const cuda_op *cuda_op_of(mz_op op);
