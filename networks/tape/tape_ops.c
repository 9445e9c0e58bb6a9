/* The ops of a tape: a row each. */
#include "networks/tape/tape_state.h"

const mz_op_traits mz_op_table[MZ_OPS] = {
    [MZ_OP_INPUT] = {.name = "input"},
    [MZ_OP_LINEAR] = {.name = "linear", .runs = true, .trains = true},
    [MZ_OP_ADD] = {.name = "add", .runs = true},
    [MZ_OP_RELU] = {.name = "relu", .runs = true},
    [MZ_OP_MINMAX] = {.name = "minmax", .runs = true},
    [MZ_OP_RMS] = {.name = "rms", .runs = true},
    [MZ_OP_SCALE_GRADIENT] = {.name = "scale_gradient"}, /* its value is its input's */
    [MZ_OP_SOFTMAX_XENT] = {.name = "softmax_xent", .runs = true, .is_loss = true},
    [MZ_OP_MSE] = {.name = "mse", .runs = true, .is_loss = true},
    [MZ_OP_EXPECTATION] = {.name = "expectation", .runs = true, .inference_only = true},
    [MZ_OP_SOFTMAX] = {.name = "softmax", .runs = true, .inference_only = true},
    [MZ_OP_PLANES] = {.name = "planes", .runs = true, .writes_bf16 = true},
    [MZ_OP_CONV] = {.name = "conv", .runs = true, .trains = true},
    [MZ_OP_ACTION_MAP] = {.name = "action_map", .runs = true, .trains = true, .is_summand = true},
    [MZ_OP_NORM] = {.name = "norm", .runs = true, .trains = true, .writes_bf16 = true},
    [MZ_OP_POOL] = {.name = "pool", .runs = true},
    [MZ_OP_BROADCAST] = {.name = "broadcast", .runs = true, .is_summand = true},
    [MZ_OP_TO_BF16] = {.name = "to_bf16", .runs = true},
    [MZ_OP_AFFINE] = {.name = "affine", .runs = true, .writes_bf16 = true},
    [MZ_OP_GELU] = {.name = "gelu", .runs = true},
    [MZ_OP_LAYER_NORM] = {.name = "layer_norm", .runs = true, .trains = true},
    [MZ_OP_TYPED_LINEAR] = {.name = "typed_linear", .runs = true, .trains = true},
    [MZ_OP_GATHER] = {.name = "gather", .runs = true},
    [MZ_OP_CONCAT] = {.name = "concat", .runs = true},
    [MZ_OP_EDGE_ATTENTION] = {.name = "edge_attention", .runs = true},
    [MZ_OP_MASKED_POOL] = {.name = "masked_pool", .runs = true},
    [MZ_OP_SCALE] = {.name = "scale", .runs = true},
    [MZ_OP_PATCHES] = {.name = "patches", .runs = true},
    [MZ_OP_MEAN_POOL] = {.name = "mean_pool", .runs = true},
};
