#include "networks/cpu/kernels/table.h"

const mz_kernels MZ_LEVEL(mz_kernels) = {
    .product = MZ_LEVEL(mz_product),
    .column_sums = MZ_LEVEL(mz_column_sums),
    .add = MZ_LEVEL(mz_add),
    .halve = MZ_LEVEL(mz_halve),
    .relu = MZ_LEVEL(mz_relu),
    .relu_mask = MZ_LEVEL(mz_relu_mask),
    .relu_backward = MZ_LEVEL(mz_relu_backward),
    .scale = MZ_LEVEL(mz_scale),
    .minmax = MZ_LEVEL(mz_minmax),
    .minmax_backward = MZ_LEVEL(mz_minmax_backward),
    .norm = MZ_LEVEL(mz_norm),
    .norm_backward = MZ_LEVEL(mz_norm_backward),
    .affine = MZ_LEVEL(mz_affine),
    .softmax = MZ_LEVEL(mz_softmax),
    .expectation = MZ_LEVEL(mz_expectation),
    .softmax_xent = MZ_LEVEL(mz_softmax_xent),
};
