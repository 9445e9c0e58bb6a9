/* MZ_OP_ADD, MZ_OP_RELU, MZ_OP_GELU, MZ_OP_TO_BF16, MZ_OP_SCALE and MZ_OP_SCALE_GRADIENT on a device: a thread for every four elements.
 * Padding stays 0. Results are the cpu's bit for bit. */
#pragma once
#include "networks/cuda/access.cuh"

mz_status mz_cuda_add_forward(mz_tape *tape, mz_node *node, int rows);
mz_status mz_cuda_add_backward(mz_tape *tape, mz_node *node, int rows);

mz_status mz_cuda_relu_forward(mz_tape *tape, mz_node *node, int rows);
mz_status mz_cuda_relu_backward(mz_tape *tape, mz_node *node, int rows);

mz_status mz_cuda_gelu_forward(mz_tape *tape, mz_node *node, int rows);
mz_status mz_cuda_gelu_backward(mz_tape *tape, mz_node *node, int rows);

mz_status mz_cuda_to_bf16_forward(mz_tape *tape, mz_node *node, int rows);
mz_status mz_cuda_to_bf16_backward(mz_tape *tape, mz_node *node, int rows);

mz_status mz_cuda_scale_forward(mz_tape *tape, mz_node *node, int rows);
/* Backward of SCALE, too. Forward of SCALE_GRADIENT has nothing to do: the value shares its input's data. */
mz_status mz_cuda_scale_gradient_backward(mz_tape *tape, mz_node *node, int rows);
