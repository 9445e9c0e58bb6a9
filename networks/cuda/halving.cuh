/* MZ_OP_PATCHES and MZ_OP_MEAN_POOL on a device. Results are the cpu's bit for bit. */
#pragma once
#include "networks/cuda/access.cuh"

mz_status mz_cuda_patches_forward(mz_tape *tape, mz_node *node, int rows);
mz_status mz_cuda_patches_backward(mz_tape *tape, mz_node *node, int rows);

mz_status mz_cuda_mean_pool_forward(mz_tape *tape, mz_node *node, int rows);
mz_status mz_cuda_mean_pool_backward(mz_tape *tape, mz_node *node, int rows);
