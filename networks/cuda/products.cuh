/* The matrix products of a linear map y = x W on a device, by cuBLASLt, in f32 without TF32. Matrices are row-major: x
 * [rows][x_stride], W [inputs][y_stride], y [rows][y_stride].
 *
 * A product takes one algorithm for every number of rows, chosen when it is created: the first that the library's heuristics
 * name for the most rows, that the rules allow, and that the library can run for all smaller numbers of rows, too. A row of y
 * or dx therefore has the same bits however many rows run. Nothing is timed, so the same machine chooses the same. FORWARD and
 * DATA never split the sum; WEIGHTS may, where parts are added up in a fixed order. A product belongs to the lane's thread. */
#pragma once
#include "networks/cuda/lane.cuh"

typedef enum mz_cuda_product_kind {
  MZ_CUDA_PRODUCT_FORWARD, /* y = act(x W + b) */
  MZ_CUDA_PRODUCT_DATA,    /* dx = dy Wᵀ */
  MZ_CUDA_PRODUCT_WEIGHTS, /* dW = xᵀ dy */
} mz_cuda_product_kind;

typedef struct mz_cuda_product_settings {
  mz_cuda_product_kind kind;
  int rows;               /* at most */
  int inputs, outputs;    /* columns of x and y that count; FORWARD and WEIGHTS write y_stride columns */
  int x_stride, y_stride; /* multiples of 16 */
  bool bias, relu;        /* FORWARD */
} mz_cuda_product_settings;

typedef struct mz_cuda_product mz_cuda_product;

/* MZ_E_DEVICE: the library knows no algorithm that the rules allow. */
mz_status mz_cuda_product_create(mz_cuda_product **out, const mz_cuda_lane *lane, const mz_cuda_product_settings *settings);
void mz_cuda_product_free(mz_cuda_product *product);

/* What a product reads and writes, on the lane's device, aligned to 16 bytes. x, dy: those of the kind; a sum goes where the
 * kind says. */
typedef struct mz_cuda_operands {
  const float *x, *w, *dy;
  const float *bias; /* [y_stride]; FORWARD with `bias` */
  float *result;     /* y, dx or dW */
  bool add;          /* to what `result` holds, before the activation */
} mz_cuda_operands;

/* Enqueues the product of the first `rows` rows on the lane's stream; rows ≥ 1. */
mz_status mz_cuda_product_run(mz_cuda_product *product, const mz_cuda_lane *lane, int rows, const mz_cuda_operands *operands);
