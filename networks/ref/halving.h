/* MZ_OP_PATCHES and MZ_OP_MEAN_POOL on the reference backend, one row at a time. */
#pragma once
#include "networks/tape/tape.h"

void mz_ref_patches(mz_tape *tape, const mz_node *node, int r);
void mz_ref_patches_backward(mz_tape *tape, const mz_node *node, int r);
void mz_ref_mean_pool(mz_tape *tape, const mz_node *node, int r);
void mz_ref_mean_pool_backward(mz_tape *tape, const mz_node *node, int r);
