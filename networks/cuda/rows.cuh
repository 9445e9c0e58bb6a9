/* Ops that reduce along a latent's row, on a device: MZ_OP_MINMAX, MZ_OP_RMS and MZ_OP_MSE. Sixteen threads share a row, or a
 * block where rows are long (row_team.cuh). Results are the cpu's bit for bit, but that a zero's sign may differ in MINMAX. */
#pragma once
#include "networks/cuda/access.cuh"

mz_status mz_cuda_minmax_forward(mz_tape *tape, mz_node *node, int rows);
mz_status mz_cuda_minmax_backward(mz_tape *tape, mz_node *node, int rows);

mz_status mz_cuda_rms_forward(mz_tape *tape, mz_node *node, int rows);
mz_status mz_cuda_rms_backward(mz_tape *tape, mz_node *node, int rows);

mz_status mz_cuda_mse_forward(mz_tape *tape, mz_node *node, int rows);
mz_status mz_cuda_mse_backward(mz_tape *tape, mz_node *node, int rows);
