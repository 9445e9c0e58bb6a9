/* Ops on graphs on a device: MZ_OP_GATHER, MZ_OP_CONCAT and MZ_OP_MASKED_POOL. Results are the cpu's bit for bit.
 * Entries of index lists are not checked here: they must be below the number of what they choose from. */
#pragma once
#include "networks/cuda/access.cuh"

mz_status mz_cuda_gather_forward(mz_tape *tape, mz_node *node, int rows);
mz_status mz_cuda_gather_backward(mz_tape *tape, mz_node *node, int rows);

mz_status mz_cuda_concat_forward(mz_tape *tape, mz_node *node, int rows);
mz_status mz_cuda_concat_backward(mz_tape *tape, mz_node *node, int rows);

mz_status mz_cuda_masked_pool_forward(mz_tape *tape, mz_node *node, int rows);
mz_status mz_cuda_masked_pool_backward(mz_tape *tape, mz_node *node, int rows);
