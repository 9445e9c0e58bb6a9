/* The sizes and the matrices of a product in a linear map (products.cuh). */
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
  int choice_rows;        /* that the algorithm is chosen for; 0: `rows` */
  int inputs, outputs;    /* columns of x and y that count; FORWARD and WEIGHTS write y_stride columns */
  int x_stride, y_stride; /* multiples of 16 */
  bool bias, relu;        /* FORWARD; false otherwise */
} mz_cuda_product_settings;

/* Data of a product, on the lane's device and aligned to 16 bytes; a kind reads two of x, w and dy. */
typedef struct mz_cuda_operands {
  const float *x, *w, *dy;
  const float *bias; /* [y_stride]; FORWARD with `bias` */
  float *result;     /* y, dx or dW */
  bool add;          /* to what `result` holds, before the activation */
} mz_cuda_operands;
