/* MZ_OP_LAYER_NORM on a device: sixteen threads share a position (lanes.cuh). Values and their gradients are the cpu's bit for
 * bit; the parameters' gradients sum positions in an order that follows from their number alone. */
#pragma once
#include "networks/cuda/access.cuh"

/* node->prepared: device memory for mean and 1/√(variance + ε) of every position. MZ_E_MEMORY, MZ_E_DEVICE. */
mz_status mz_cuda_layer_norm_prepare(mz_tape *tape, mz_node *node);
void mz_cuda_layer_norm_release(mz_node *node);
size_t mz_cuda_layer_norm_bytes(const mz_tape *tape, const mz_node *node); /* that prepare takes */
mz_status mz_cuda_layer_norm_forward(mz_tape *tape, mz_node *node, int rows);
mz_status mz_cuda_layer_norm_backward(mz_tape *tape, mz_node *node, int rows);
