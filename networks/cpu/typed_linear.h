/* MZ_OP_TYPED_LINEAR on the cpu: the positions of each type, of all rows, are one product with the type's matrix. They are copied
 * together a chunk at a time; a position's result does not depend on the others. */
#pragma once
#include "networks/tape/backend.h"

mz_status mz_typed_linear_prepare(mz_tape *tape, mz_node *node);
void mz_typed_linear_release(mz_node *node);
size_t mz_typed_linear_bytes(mz_tape *tape, const mz_node *node); /* that prepare takes; claims scratch, as prepare does */
void mz_typed_linear_forward(mz_tape *tape, mz_node *node, int rows);
void mz_typed_linear_backward(mz_tape *tape, mz_node *node, int rows);
