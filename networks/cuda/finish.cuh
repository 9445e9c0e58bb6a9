/* What follows a product or a convolution where the library does not do it: bias, sum and ReLU. */
#pragma once
#include "networks/cuda/lane.cuh"

typedef struct mz_cuda_finish {
  const float *sums; /* [count] */
  const float *bias; /* [channels]; NULL: none */
  const float *add;  /* [count]; NULL: nothing */
  bool relu, bf16;   /* bf16: the result is */
  void *result;      /* [count]; may be `sums`, or `add` */
  size_t count;      /* a multiple of channels, which are a multiple of 16 */
  int channels;
} mz_cuda_finish;

/* result = relu?(sums + bias? + add?), enqueued on the lane's stream. */
mz_status mz_cuda_finish_run(const mz_cuda_lane *lane, const mz_cuda_finish *finish);
