/* MZ_OP_LINEAR on the cpu: y = act(x W + b + T[index]), its data gradient through Wᵀ, and the weight gradient over all uses of
 * the weight at once. */
#pragma once
#include "networks/tape/backend.h"

mz_status mz_linear_prepare(mz_tape *tape, mz_node *node);
void mz_linear_release(mz_node *node);
void mz_linear_forward(mz_tape *tape, mz_node *node, int rows);
void mz_linear_backward(mz_tape *tape, mz_node *node, int rows);
/* W, `values`, as data gradients read it: Wᵀ, [columns][rows] without padding (never longer than the parameter). */
void mz_linear_transpose(const mz_param *param, const float *values, float *transposed);
