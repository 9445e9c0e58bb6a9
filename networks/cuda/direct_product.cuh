/* The matrix products of a linear map by kernels of ours, as simple as the formula: where cuBLASLt has no algorithm that keeps
 * the rules (products.cuh), or none that takes the last steps over. Sums are f32 in order: a row's bits depend on nothing but
 * the row. */
#pragma once
#include "networks/cuda/product_shape.cuh"

/* Computes the first `rows` rows of what the settings ask for. */
mz_status mz_cuda_direct_product_run(const mz_cuda_lane *lane, const mz_cuda_product_settings *settings, int rows,
                                     const mz_cuda_operands *operands);

/* Adds the bias to the first `rows` rows of y and applies the activation, as the settings say. */
mz_status mz_cuda_direct_product_finish(const mz_cuda_lane *lane, const mz_cuda_product_settings *settings, int rows,
                                        const mz_cuda_operands *operands);
