/* MZ_OP_LINEAR on a device: y = act(x W + b + T[index]), f32 by cuBLASLt (products.cuh). The table's rows are put into y first
 * and the product added to them. The backward pass needs no transposed weights; tape->transposed is not read. Parameters lie
 * at their `packed` offsets as in the plain vector, [rows][stride]. Functions enqueue work on the tape's lane and return what
 * that met. */
#pragma once
#include "networks/cuda/access.cuh"

mz_status mz_cuda_linear_prepare(mz_tape *tape, mz_node *node);
void mz_cuda_linear_release(mz_tape *tape, mz_node *node);
/* Claims the scratch that preparing claims. */
void mz_cuda_linear_claim(mz_tape *tape, const mz_node *node);

mz_status mz_cuda_linear_forward(mz_tape *tape, mz_node *node, int rows);
/* dy becomes the gradient before the activation. dx is written or added (node->overwrites). At the weight's first use, which
 * comes last in a backward pass, the gradients of weight, bias and table are written: the sums over all uses, in recorded
 * order. */
mz_status mz_cuda_linear_backward(mz_tape *tape, mz_node *node, int rows);

/* Names what computes a prepared node's forward pass: "cublas fused", "cublas + kernel" or "direct". */
const char *mz_cuda_linear_form_name(const mz_node *node);
