/* MZ_OP_NORM and MZ_OP_AFFINE on the reference backend. */
#pragma once
#include "networks/tape/tape.h"

void mz_ref_norm(mz_tape *tape, const mz_node *node, int rows);
void mz_ref_norm_backward(mz_tape *tape, const mz_node *node, int rows);
void mz_ref_norm_gradients(mz_tape *tape, const mz_node *node, int rows);

void mz_ref_affine(mz_tape *tape, const mz_node *node, int r);
