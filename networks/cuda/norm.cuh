/* MZ_OP_NORM and MZ_OP_AFFINE on a device. A block normalises sixteen channels of a group; sums over the group's positions run
 * in an order that follows from the number of positions alone. */
#pragma once
#include "networks/cuda/access.cuh"

/* node->prepared: device memory for what groups showed. MZ_E_MEMORY, MZ_E_DEVICE. */
mz_status mz_cuda_norm_prepare(mz_tape *tape, mz_node *node);
void mz_cuda_norm_release(mz_node *node);
size_t mz_cuda_norm_bytes(const mz_tape *tape, const mz_node *node); /* that prepare takes */
mz_status mz_cuda_norm_forward(mz_tape *tape, mz_node *node, int rows);
/* Leaves the output's gradient as it is: it is masked as it is read. */
mz_status mz_cuda_norm_backward(mz_tape *tape, mz_node *node, int rows);

/* Bit for bit the cpu's. */
mz_status mz_cuda_affine_forward(mz_tape *tape, mz_node *node, int rows);
