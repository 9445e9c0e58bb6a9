/* MZ_OP_EDGE_ATTENTION on a device: a thread for each head of a node, which goes over the edges that lead there in order.
 * Results are the cpu's bit for bit. Entries of the list of targets are not checked here: they must be below the number of
 * nodes. */
#pragma once
#include "networks/cuda/access.cuh"

/* node->prepared: device memory for the weight of each edge by head, written by forward and read by backward. MZ_E_MEMORY,
 * MZ_E_DEVICE. */
mz_status mz_cuda_edge_attention_prepare(mz_tape *tape, mz_node *node);
void mz_cuda_edge_attention_release(mz_node *node);
size_t mz_cuda_edge_attention_bytes(const mz_tape *tape, const mz_node *node); /* that prepare takes */
mz_status mz_cuda_edge_attention_forward(mz_tape *tape, mz_node *node, int rows);
mz_status mz_cuda_edge_attention_backward(mz_tape *tape, mz_node *node, int rows);
