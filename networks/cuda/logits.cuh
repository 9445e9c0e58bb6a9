/* Ops on categoricals on a device: MZ_OP_SOFTMAX, MZ_OP_EXPECTATION and MZ_OP_SOFTMAX_XENT. Sixteen threads share a row, or a
 * block where rows are long (row_team.cuh). Results are the cpu's bit for bit. */
#pragma once
#include "networks/cuda/access.cuh"

mz_status mz_cuda_softmax_forward(mz_tape *tape, mz_node *node, int rows);
mz_status mz_cuda_expectation_forward(mz_tape *tape, mz_node *node, int rows);

/* Also writes the logits' gradient, where one is planned: backward has nothing left to do. */
mz_status mz_cuda_softmax_xent_forward(mz_tape *tape, mz_node *node, int rows);
