/* MZ_OP_NORM, MZ_OP_AFFINE and MZ_OP_LAYER_NORM on the reference backend. */
#pragma once
#include "networks/tape/tape.h"

void mz_ref_norm(mz_tape *tape, const mz_node *node, int rows);
void mz_ref_norm_backward(mz_tape *tape, const mz_node *node, int rows);
void mz_ref_norm_gradients(mz_tape *tape, const mz_node *node, int rows);

void mz_ref_affine(mz_tape *tape, const mz_node *node, int r);

void mz_ref_layer_norm(mz_tape *tape, const mz_node *node, int r);
void mz_ref_layer_norm_backward(mz_tape *tape, const mz_node *node, int r); /* dx, if wanted */
void mz_ref_layer_norm_gradients(mz_tape *tape, const mz_node *node, int rows);
