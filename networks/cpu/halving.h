/* MZ_OP_PATCHES and MZ_OP_MEAN_POOL on the cpu. Gradients of a position are added in the order of the windows that see it. */
#pragma once
#include "networks/tape/backend.h"

void mz_patches_forward(mz_tape *tape, mz_node *node, int rows);
void mz_patches_backward(mz_tape *tape, mz_node *node, int rows);
void mz_mean_pool_forward(mz_tape *tape, mz_node *node, int rows);
void mz_mean_pool_backward(mz_tape *tape, mz_node *node, int rows);
