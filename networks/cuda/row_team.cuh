/* The threads that share a row, in two kinds, for kernels that are templates of the kind: sixteen of a block that has several
 * rows, and a whole block, where a row is so long that sixteen would wait for memory most of the time. Sums have the bits of
 * networks/math/lanes.h with either. Every thread of a block calls the same functions; `value(c)` is called for columns c of the
 * row. */
#pragma once
#include "networks/cuda/lanes.cuh"
#include "networks/cuda/quads.cuh"
#include <limits.h>

typedef struct mz_cuda_matrix {
  int rows, columns, stride;
} mz_cuda_matrix;

struct mz_cuda_min {
  __device__ float operator()(float a, float b) const { return fminf(a, b); }
};
struct mz_cuda_max {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};
struct mz_cuda_lesser {
  __device__ int operator()(int a, int b) const { return b < a ? b : a; }
};

/* Sixteen threads of a block. */
struct mz_cuda_narrow_team {
  enum { THREADS = MZ_CUDA_LANE_THREADS, ROWS = MZ_CUDA_LANE_ROWS, SHARED = 1 };
  const mz_cuda_matrix m;
  const mz_cuda_team team;

  __device__ mz_cuda_narrow_team(const mz_cuda_matrix &matrix, float *) : m(matrix), team(mz_cuda_team_of(matrix.rows)) {}

  template <typename T> __device__ T *row_of(T *data) const { return data + (size_t)team.row * (size_t)m.stride; }
  __device__ int row() const { return team.row; }
  __device__ bool is_first() const { return team.live && team.lane == 0; }

  /* Returns the sum of the row's values. */
  template <typename F> __device__ float sum(F value) const {
    float sum = 0.0f;
    MZ_UNROLL(8) for (int c = team.lane; c < m.columns; c += MZ_SUM_LANES) sum = sum + value(c);
    return mz_cuda_lanes_sum(sum);
  }

  /* Joins the row's values, beginning with `start`. */
  template <typename Join, typename T, typename F> __device__ T join(Join both, T start, F value) const {
    T all = start;
    MZ_UNROLL(8) for (int c = team.lane; c < m.columns; c += MZ_SUM_LANES) all = both(all, value(c));
    for (int half = MZ_SUM_LANES / 2; half > 0; half /= 2) all = both(all, __shfl_xor_sync(MZ_CUDA_WARP, all, half));
    return all;
  }

  /* Stores value(c) in each column of a row; padding becomes 0. */
  template <typename F> __device__ void store(float *to, F value) const {
    if (!team.live) return;
    MZ_UNROLL(8) for (int c = team.lane; c < m.stride; c += MZ_SUM_LANES) to[c] = c < m.columns ? value(c) : 0.0f;
  }
};

/* A block. Lanes are added up by sixteen threads, from values that all have put into shared memory. */
struct mz_cuda_wide_team {
  enum { THREADS = 256, ROWS = 1, WARPS = THREADS / 32, TILE = 4 * THREADS, SHARED = TILE };
  const mz_cuda_matrix m;
  float *const shared; /* [SHARED] */

  __device__ mz_cuda_wide_team(const mz_cuda_matrix &matrix, float *memory) : m(matrix), shared(memory) {}

  template <typename T> __device__ T *row_of(T *data) const { return data + (size_t)blockIdx.x * (size_t)m.stride; }
  __device__ int row() const { return (int)blockIdx.x; }
  __device__ bool is_first() const { return threadIdx.x == 0; }

  template <typename F> __device__ float sum(F value) const {
    const int own = (int)threadIdx.x;
    float sum = 0.0f;
    for (int from = 0; from < m.columns; from += TILE) {
      const int count = m.columns - from < TILE ? m.columns - from : (int)TILE;
      MZ_UNROLL(4) for (int i = own; i < count; i += THREADS) shared[i] = value(from + i);
      __syncthreads();
      if (own < MZ_SUM_LANES) {
        MZ_UNROLL(8) for (int i = own; i < count; i += MZ_SUM_LANES) sum = sum + shared[i];
      }
      __syncthreads();
    }
    if (own < 32) sum = mz_cuda_lanes_sum(sum);
    return tell(sum);
  }

  template <typename Join, typename T, typename F> __device__ T join(Join both, T start, F value) const {
    static_assert(sizeof(T) == sizeof(float), "values are handed on as floats' bits");
    const int own = (int)threadIdx.x;
    T *const joined = (T *)shared; /* one for each warp */
    T all = start;
    MZ_UNROLL(8) for (int c = own; c < m.columns; c += THREADS) all = both(all, value(c));
    for (int half = 16; half > 0; half /= 2) all = both(all, __shfl_xor_sync(MZ_CUDA_WARP, all, half));
    if (own % 32 == 0) joined[own / 32] = all;
    __syncthreads();
    all = joined[0];
    for (int w = 1; w < WARPS; w++) all = both(all, joined[w]);
    __syncthreads();
    return all;
  }

  template <typename F> __device__ void store(float *to, F value) const {
    MZ_UNROLL(4) for (int c = (int)threadIdx.x; c < m.stride; c += THREADS) to[c] = c < m.columns ? value(c) : 0.0f;
  }

private:
  /* Returns the first thread's number to all. */
  __device__ float tell(float x) const {
    if (threadIdx.x == 0) shared[0] = x;
    __syncthreads();
    const float told = shared[0];
    __syncthreads();
    return told;
  }
};

/* Stores a row's entry of a value that has one column, and zeros behind it. */
template <typename Team> static inline __device__ void mz_cuda_column_store(const Team &team, float *y, float x) {
  if (!team.is_first()) return;
  float *const row = y + (size_t)team.row() * MZ_LANES;
  mz_quad_store(row, make_float4(x, 0.0f, 0.0f, 0.0f));
  for (int c = MZ_QUAD; c < MZ_LANES; c += MZ_QUAD) mz_quad_store(row + c, mz_quad_of(0.0f));
}

/* Rows from this stride on are a block's. */
enum { MZ_CUDA_WIDE_STRIDE = 1024 };

/* A kernel with either team, for mz_cuda_rows_run. */
#define MZ_CUDA_BOTH_TEAMS(kernel) kernel<mz_cuda_narrow_team>, kernel<mz_cuda_wide_team>

/* Launches a kernel over the first `rows` rows of the node's first input, whose matrix is the kernel's first argument. */
template <typename Kernel, typename... Arguments>
static inline mz_status mz_cuda_rows_run(const mz_tape *tape, const mz_node *node, int rows, Kernel narrow, Kernel wide,
                                         Arguments... arguments) {
  const mz_tape_value *x = mz_cuda_input(tape, node, 0);
  const mz_cuda_matrix m = {rows, x->columns, x->stride};
  const bool is_wide = x->stride >= MZ_CUDA_WIDE_STRIDE;
  const dim3 blocks = is_wide ? dim3((unsigned)rows) : mz_cuda_team_blocks(rows);
  const int threads = is_wide ? (int)mz_cuda_wide_team::THREADS : (int)mz_cuda_narrow_team::THREADS;
  MZ_CUDA_TRY(
      mz_launch(is_wide ? wide : narrow, blocks, dim3((unsigned)threads), 0, mz_cuda_lane_of(tape)->stream, m, arguments...));
  return MZ_OK;
}
