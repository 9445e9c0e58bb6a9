/* MZ_OP_ACTION_MAP and MZ_OP_PLANES on the cpu: what is laid onto boards. */
#pragma once
#include "networks/tape/backend.h"

void mz_action_map_forward(mz_tape *tape, mz_node *node, int rows);
void mz_action_map_backward(mz_tape *tape, mz_node *node, int rows);
void mz_planes_forward(mz_tape *tape, mz_node *node, int rows);
