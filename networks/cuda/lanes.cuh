/* Rows that sixteen threads share, two rows a warp: entry i of a row belongs to thread i mod 16, and what the threads found is
 * joined by halves. Sums so have the order, and the bits, of networks/math/lanes.h. All threads of a warp take part; those of
 * rows beyond the last do what those of the last row do, and store nothing. */
#pragma once
#include "networks/cuda/access.cuh"
extern "C" {
#include "networks/math/lanes.h"
}

enum { MZ_CUDA_LANE_THREADS = 128, MZ_CUDA_LANE_ROWS = MZ_CUDA_LANE_THREADS / MZ_SUM_LANES };

/* A thread's place. */
typedef struct mz_cuda_team {
  int row, lane;
  bool live; /* false: stores nothing */
} mz_cuda_team;

static inline __device__ mz_cuda_team mz_cuda_team_of(int rows) {
  mz_cuda_team team;
  const int row = (int)blockIdx.x * MZ_CUDA_LANE_ROWS + (int)threadIdx.x / MZ_SUM_LANES;
  team.live = row < rows;
  team.row = team.live ? row : rows - 1;
  team.lane = (int)threadIdx.x % MZ_SUM_LANES;
  return team;
}

static inline dim3 mz_cuda_team_blocks(int rows) { return mz_cuda_blocks((size_t)rows, MZ_CUDA_LANE_ROWS); }

#define MZ_CUDA_WARP 0xffffffffu

/* Joins what the threads of a row have; each gets the result. */
static inline __device__ float mz_cuda_lanes_sum(float x) {
  for (int half = MZ_SUM_LANES / 2; half > 0; half /= 2) x = x + __shfl_xor_sync(MZ_CUDA_WARP, x, half);
  return x;
}
