/* Parts of kernels over rows of logits, for any team of threads (row_team.cuh). */
#pragma once
#include "networks/cuda/row_team.cuh"
#include "networks/math/value.h"
#include "base/maths/maths_inline.h"

template <typename Team> static inline __device__ float mz_cuda_largest_of(const Team &team, const float *x) {
  return team.join(mz_cuda_max(), -(float)INFINITY, [=](int c) { return x[c]; });
}

/* Returns the mean of bins min, min + step, …, under softmax(x). */
template <typename Team>
static inline __device__ float mz_cuda_expectation_of(const Team &team, const float *x, float min, float step) {
  const float max = mz_cuda_largest_of(team, x);
  const float sum = team.sum([=](int c) { return mz_expf_inline(x[c] - max); });
  const float weighted = team.sum([=](int c) { return mz_expf_inline(x[c] - max) * mz_bin_inline(min, step, (float)c); });
  return weighted / sum;
}
