/* MZ_OP_POOL and MZ_OP_BROADCAST on the cpu. */
#pragma once
#include "networks/tape/backend.h"

void mz_pool_forward(mz_tape *tape, mz_node *node, int rows);
void mz_pool_backward(mz_tape *tape, mz_node *node, int rows);
void mz_broadcast_forward(mz_tape *tape, mz_node *node, int rows);
void mz_broadcast_backward(mz_tape *tape, mz_node *node, int rows);
