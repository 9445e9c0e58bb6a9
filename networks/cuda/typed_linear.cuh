/* MZ_OP_TYPED_LINEAR on a device: a thread for each output, which sums over the inputs in order, and for each gradient. The sums
 * are one fused multiply-add after the other, as on the cpu with AVX2. Entries of the list of types are not checked here: they
 * must be below the number of types. */
#pragma once
#include "networks/cuda/access.cuh"

mz_status mz_cuda_typed_linear_forward(mz_tape *tape, mz_node *node, int rows);
mz_status mz_cuda_typed_linear_backward(mz_tape *tape, mz_node *node, int rows);
