/* Boards on the reference backend, one row at a time: MZ_OP_CONV, MZ_OP_ACTION_MAP, MZ_OP_PLANES, MZ_OP_POOL,
 * MZ_OP_BROADCAST. */
#pragma once
#include "networks/tape/tape.h"

void mz_ref_conv(mz_tape *tape, const mz_node *node, int r);
void mz_ref_conv_backward(mz_tape *tape, const mz_node *node, int r);
void mz_ref_conv_gradients(mz_tape *tape, const mz_node *node, int rows);

/* A plane of zeros and ones, convolved: what action_map.h says the sum of stamps is. */
void mz_ref_action_map(mz_tape *tape, const mz_node *node, int r);
void mz_ref_action_map_gradients(mz_tape *tape, const mz_node *node, int rows);

void mz_ref_planes(mz_tape *tape, const mz_node *node, int r);

void mz_ref_pool(mz_tape *tape, const mz_node *node, int r);
void mz_ref_pool_backward(mz_tape *tape, const mz_node *node, int r);
void mz_ref_broadcast(mz_tape *tape, const mz_node *node, int r);
void mz_ref_broadcast_backward(mz_tape *tape, const mz_node *node, int r);
