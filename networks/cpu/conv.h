/* MZ_OP_CONV, MZ_OP_ACTION_MAP and MZ_OP_PLANES on the cpu: boards. */
#pragma once
#include "networks/backend.h"
#include "networks/cpu/onednn_conv.h"

mz_status mz_conv_node_prepare(mz_tape *tape, mz_node *node);
void mz_conv_node_release(mz_node *node);
void mz_conv_node_forward(mz_tape *tape, mz_node *node, int rows);
void mz_conv_node_backward(mz_tape *tape, mz_node *node, int rows);
/* Convolutions' weights as a direction reads them; other parameters are left alone. */
mz_status mz_conv_pack_all(const mz_params *params, mz_conv_direction direction, bool half, const float *values, float *out);

void mz_action_map_forward(mz_tape *tape, mz_node *node, int rows);
void mz_action_map_backward(mz_tape *tape, mz_node *node, int rows);
void mz_planes_forward(mz_tape *tape, mz_node *node, int rows);
