/* The matrix products of a linear map y = x W on a device, in f32 without TF32, by cuBLASLt. Matrices are row-major: x
 * [rows][x_stride], W [inputs][y_stride], y [rows][y_stride].
 *
 * A product takes one algorithm for every number of rows, chosen when it is created: the first that the library's heuristics
 * name for `choice_rows`, that the rules allow, and that the library can run for all smaller numbers of rows, too. A row of y
 * or dx therefore has the same bits however many rows run, and in all products of one `choice_rows`. Nothing is timed, so the
 * same machine chooses the same. FORWARD and DATA never split the sum; WEIGHTS may, where parts are added up in a fixed order.
 * A product belongs to the lane's thread. */
#pragma once
#include "networks/cuda/product_shape.cuh"

/* Who computes, in the order in which forms are tried. */
typedef enum mz_cuda_product_form {
  MZ_CUDA_PRODUCT_FUSED,    /* the library does everything */
  MZ_CUDA_PRODUCT_SEPARATE, /* the library multiplies, a kernel of ours adds the bias and applies the activation */
  MZ_CUDA_PRODUCT_DIRECT,   /* kernels of ours (direct_product.cuh): the library knows no algorithm that keeps the rules */
} mz_cuda_product_form;

typedef struct mz_cuda_product mz_cuda_product;

mz_status mz_cuda_product_create(mz_cuda_product **out, const mz_cuda_lane *lane, const mz_cuda_product_settings *settings);
void mz_cuda_product_free(mz_cuda_product *product);

mz_cuda_product_form mz_cuda_product_form_of(const mz_cuda_product *product);

/* Enqueues the product of the first `rows` rows on the lane's stream; rows ≥ 1. */
mz_status mz_cuda_product_run(mz_cuda_product *product, const mz_cuda_lane *lane, int rows, const mz_cuda_operands *operands);
