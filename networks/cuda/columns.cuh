/* Sums down a matrix of positions × channels, sixteen channels a block: four threads side by side take four channels each, and
 * every fourth thread a position. Their sums are added by halves, in shared memory. The order follows from the number of
 * positions alone. */
#pragma once
#include "networks/cuda/quads.cuh"

enum {
  MZ_CUDA_SLICE = 16, /* channels of a block */
  MZ_CUDA_QUADS = MZ_CUDA_SLICE / MZ_QUAD,
  MZ_CUDA_COLUMN_ROWS = 128, /* positions at a time */
  MZ_CUDA_COLUMN_THREADS = MZ_CUDA_QUADS * MZ_CUDA_COLUMN_ROWS
};

/* A thread's place in its block. */
static inline __device__ int mz_cuda_column_quad(void) { return (int)threadIdx.x % MZ_CUDA_QUADS; }
static inline __device__ int mz_cuda_column_row(void) { return (int)threadIdx.x / MZ_CUDA_QUADS; }

/* Adds the threads' sums; the sum over all positions is in shared[quad] on return. shared: [MZ_CUDA_COLUMN_THREADS]. Called by all
 * threads. */
static inline __device__ void mz_cuda_column_sum(float4 sum, float4 *shared) {
  shared[threadIdx.x] = sum;
  for (int half = MZ_CUDA_COLUMN_ROWS / 2; half > 0; half /= 2) {
    __syncthreads();
    if (mz_cuda_column_row() < half)
      shared[threadIdx.x] = mz_quad_add(shared[threadIdx.x], shared[threadIdx.x + half * MZ_CUDA_QUADS]);
  }
  __syncthreads();
}
