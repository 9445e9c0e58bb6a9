/* The linear layers of the reference backend (MZ_OP_LINEAR, MZ_OP_TYPED_LINEAR), one row at a time; parameter gradients over all uses
 * of a weight. */
#pragma once
#include "networks/tape/tape.h"

void mz_ref_linear(mz_tape *tape, const mz_node *node, int r);
void mz_ref_linear_backward(mz_tape *tape, const mz_node *node, int r); /* dx, if wanted */
void mz_ref_linear_gradients(mz_tape *tape, const mz_node *node, int rows);

void mz_ref_typed_linear(mz_tape *tape, const mz_node *node, int r);
void mz_ref_typed_linear_backward(mz_tape *tape, const mz_node *node, int r); /* dx, if wanted */
void mz_ref_typed_linear_gradients(mz_tape *tape, const mz_node *node, int rows);
