/* The functions of each op on a device: preparing and running one node of a tape. */
#pragma once
#include "networks/cuda/access.cuh"

mz_status mz_cuda_node_prepare(mz_tape *tape, mz_node *node);
void mz_cuda_node_release(mz_tape *tape, mz_node *node);
/* Returns the bytes of the device's memory that preparing takes, and claims the tape's scratch that it claims at the most.
 * sends_gradient: the first input gets a gradient. */
size_t mz_cuda_node_bytes(mz_tape *tape, const mz_node *node, bool sends_gradient);
/* Enqueue the node's work. */
mz_status mz_cuda_node_forward(mz_tape *tape, mz_node *node, int rows);
mz_status mz_cuda_node_backward(mz_tape *tape, mz_node *node, int rows);
