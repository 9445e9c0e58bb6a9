/* Ops on boards on a device: MZ_OP_PLANES, MZ_OP_ACTION_MAP, MZ_OP_POOL and MZ_OP_BROADCAST. Results are the cpu's bit for bit,
 * but for the gradient of an action map's table, which sums rows in an order that follows from their number alone. */
#pragma once
#include "networks/cuda/access.cuh"

/* No backward: the input has no gradient. */
mz_status mz_cuda_planes_forward(mz_tape *tape, mz_node *node, int rows);

mz_status mz_cuda_action_map_forward(mz_tape *tape, mz_node *node, int rows);
mz_status mz_cuda_action_map_backward(mz_tape *tape, mz_node *node, int rows);

mz_status mz_cuda_pool_forward(mz_tape *tape, mz_node *node, int rows);
mz_status mz_cuda_pool_backward(mz_tape *tape, mz_node *node, int rows);

mz_status mz_cuda_broadcast_forward(mz_tape *tape, mz_node *node, int rows);
mz_status mz_cuda_broadcast_backward(mz_tape *tape, mz_node *node, int rows);
