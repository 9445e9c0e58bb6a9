/* MZ_OP_CONV on a device: y = act(conv3x3(x, W) + b + add), by cuDNN where it knows engines that keep the rules
 * (convolutions.cuh), by kernels of ours otherwise. Where x is bf16, bf16 is multiplied and summed in f32: filters, and in the
 * backward pass dy, are rounded for it; everything else is f32 but a y that is bf16. Nodes of a tape that do the same share
 * what is planned. On a tape with backward every pass computes all of the tape's rows, live or not. */
#pragma once
#include "networks/cuda/access.cuh"

mz_status mz_cuda_conv_prepare(mz_tape *tape, mz_node *node);
void mz_cuda_conv_release(mz_tape *tape, mz_node *node);
/* Claims the scratch that preparing claims at the most, for a tape that is only measured: it does not plan, so that it does not know what
 * the library fuses. sends_gradient: the input gets a gradient. */
void mz_cuda_conv_claim(mz_tape *tape, const mz_node *node, bool sends_gradient);

/* Reads the weights as mz_cuda_conv_pack leaves them. */
mz_status mz_cuda_conv_forward(mz_tape *tape, mz_node *node, int rows);
/* dy becomes the gradient before the activation, which `add` has for its gradient, too. dx and it are written or added
 * (node->overwrites). At the weight's first use, which comes last in a backward pass, the gradients of weight and bias are
 * written: the sums over all uses, in recorded order. Reads the same packed weights as forward, from tape->weights. */
mz_status mz_cuda_conv_backward(mz_tape *tape, mz_node *node, int rows);

/* A convolution's weight, `values`, as forward and data gradients read it: KRSC (filters.cuh), in f32, or in bf16, which fills
 * the first half. It takes as many elements of f32 as the plain parameter. Both are in the device's memory. */
mz_status mz_cuda_conv_pack(const mz_cuda_lane *lane, const mz_param *param, const float *values, bool bf16, float *out);

/* Names what computes a prepared node's forward pass: "cudnn fused", "cudnn + kernel" or "direct". */
const char *mz_cuda_conv_form_name(const mz_tape *tape, const mz_node *node);
