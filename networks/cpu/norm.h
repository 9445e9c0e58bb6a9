/* MZ_OP_NORM, MZ_OP_AFFINE and MZ_OP_LAYER_NORM on the cpu. */
#pragma once
#include "networks/tape/backend.h"

mz_status mz_norm_prepare(mz_tape *tape, mz_node *node);
void mz_norm_release(mz_node *node);
size_t mz_norm_bytes(const mz_tape *tape, const mz_node *node); /* that prepare takes */
void mz_norm_forward(mz_tape *tape, mz_node *node, int rows);
void mz_norm_backward(mz_tape *tape, mz_node *node, int rows);
void mz_affine_forward(mz_tape *tape, mz_node *node, int rows);

mz_status mz_layer_norm_prepare(mz_tape *tape, mz_node *node);
void mz_layer_norm_release(mz_node *node);
size_t mz_layer_norm_bytes(const mz_tape *tape, const mz_node *node); /* that prepare takes */
void mz_layer_norm_forward(mz_tape *tape, mz_node *node, int rows);
void mz_layer_norm_backward(mz_tape *tape, mz_node *node, int rows);
