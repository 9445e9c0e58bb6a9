/* Ops that reduce along a row, on a device: MZ_OP_MINMAX, MZ_OP_RMS, MZ_OP_SOFTMAX, MZ_OP_EXPECTATION, MZ_OP_SOFTMAX_XENT and MZ_OP_MSE.
 * Sixteen threads share a row (lanes.cuh). Results are the cpu's bit for bit, but that a zero's sign may differ in MINMAX. */
#pragma once
#include "networks/cuda/access.cuh"

mz_status mz_cuda_minmax_forward(mz_tape *tape, mz_node *node, int rows);
mz_status mz_cuda_minmax_backward(mz_tape *tape, mz_node *node, int rows);

mz_status mz_cuda_rms_forward(mz_tape *tape, mz_node *node, int rows);
mz_status mz_cuda_rms_backward(mz_tape *tape, mz_node *node, int rows);

mz_status mz_cuda_softmax_forward(mz_tape *tape, mz_node *node, int rows);
mz_status mz_cuda_expectation_forward(mz_tape *tape, mz_node *node, int rows);

/* Also writes the logits' gradient, where one is planned: backward has nothing left to do. */
mz_status mz_cuda_softmax_xent_forward(mz_tape *tape, mz_node *node, int rows);

mz_status mz_cuda_mse_forward(mz_tape *tape, mz_node *node, int rows);
mz_status mz_cuda_mse_backward(mz_tape *tape, mz_node *node, int rows);
