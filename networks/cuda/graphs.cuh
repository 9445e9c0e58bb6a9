/* Ops on graphs on a device: MZ_OP_GATHER, MZ_OP_CONCAT, MZ_OP_EDGE_ATTENTION and MZ_OP_MASKED_POOL. Results are the cpu's bit for bit.
 * Entries of index lists are not checked here: they must be below the number of what they choose from. */
#pragma once
#include "networks/cuda/access.cuh"

mz_status mz_cuda_gather_forward(mz_tape *tape, mz_node *node, int rows);
mz_status mz_cuda_gather_backward(mz_tape *tape, mz_node *node, int rows);

mz_status mz_cuda_concat_forward(mz_tape *tape, mz_node *node, int rows);
mz_status mz_cuda_concat_backward(mz_tape *tape, mz_node *node, int rows);

/* node->prepared: device memory for the weight of each edge by head, written by forward and read by backward. MZ_E_MEMORY,
 * MZ_E_DEVICE. */
mz_status mz_cuda_edge_attention_prepare(mz_tape *tape, mz_node *node);
void mz_cuda_edge_attention_release(mz_node *node);
size_t mz_cuda_edge_attention_bytes(const mz_tape *tape, const mz_node *node); /* that prepare takes */
mz_status mz_cuda_edge_attention_forward(mz_tape *tape, mz_node *node, int rows);
mz_status mz_cuda_edge_attention_backward(mz_tape *tape, mz_node *node, int rows);

mz_status mz_cuda_masked_pool_forward(mz_tape *tape, mz_node *node, int rows);
mz_status mz_cuda_masked_pool_backward(mz_tape *tape, mz_node *node, int rows);
