#include "networks/cuda/transfer.cuh"
#include "networks/cuda/quads.cuh"

enum { THREADS = 256 };

/* A thread for every four floats. */
static __global__ void gather(unsigned count, unsigned stride, const float *__restrict__ pool, const int32_t *__restrict__ from,
                              float *__restrict__ to) {
  const unsigned at = mz_cuda_thread() * MZ_QUAD;
  if (at >= count) return;
  const unsigned row = at / stride, c = at % stride;
  mz_quad_store(to + at, mz_quad_load(pool + (size_t)from[row] * stride + c));
}

static __global__ void scatter(unsigned count, unsigned stride, const float *__restrict__ from, const int32_t *__restrict__ to,
                               float *__restrict__ pool) {
  const unsigned at = mz_cuda_thread() * MZ_QUAD;
  if (at >= count) return;
  const unsigned row = at / stride, c = at % stride;
  mz_quad_store(pool + (size_t)to[row] * stride + c, mz_quad_load(from + at));
}

/* A thread for each entry of the value. */
template <typename T>
static __global__ void pad(unsigned count, unsigned columns, unsigned stride, const T *__restrict__ dense,
                           float *__restrict__ to) {
  const unsigned at = mz_cuda_thread();
  if (at >= count) return;
  const unsigned row = at / stride, c = at % stride;
  to[at] = c < columns ? (float)dense[(size_t)row * columns + c] : 0.0f;
}

/* A thread for each dense entry. */
static __global__ void unpad(unsigned count, unsigned columns, unsigned stride, const float *__restrict__ from,
                             float *__restrict__ dense) {
  const unsigned at = mz_cuda_thread();
  if (at >= count) return;
  const unsigned row = at / columns, c = at % columns;
  dense[at] = from[(size_t)row * stride + c];
}

static unsigned entries_of(int rows, int columns) {
  const size_t count = (size_t)rows * (size_t)columns;
  MZ_ASSERT(count <= UINT32_MAX / 2);
  return (unsigned)count;
}

mz_status mz_cuda_latents_gather(const mz_cuda_lane *lane, const float *pool, const int32_t *from, int rows, int stride,
                                 float *to) {
  const unsigned count = entries_of(rows, stride);
  MZ_CUDA_TRY(mz_launch(gather, mz_cuda_blocks(count / MZ_QUAD, THREADS), dim3(THREADS), 0, lane->stream, count, (unsigned)stride,
                        pool, from, to));
  return MZ_OK;
}

mz_status mz_cuda_latents_scatter(const mz_cuda_lane *lane, const float *from, int rows, int stride, const int32_t *to,
                                  float *pool) {
  const unsigned count = entries_of(rows, stride);
  MZ_CUDA_TRY(mz_launch(scatter, mz_cuda_blocks(count / MZ_QUAD, THREADS), dim3(THREADS), 0, lane->stream, count,
                        (unsigned)stride, from, to, pool));
  return MZ_OK;
}

template <typename T> static mz_status run_pad(const mz_cuda_lane *lane, const T *dense, int rows, int columns, float *to) {
  const unsigned stride = (unsigned)mz_padded(columns), count = entries_of(rows, (int)stride);
  MZ_CUDA_TRY(mz_launch(pad<T>, mz_cuda_blocks(count, THREADS), dim3(THREADS), 0, lane->stream, count, (unsigned)columns, stride,
                        dense, to));
  return MZ_OK;
}

mz_status mz_cuda_rows_from_dense(const mz_cuda_lane *lane, const float *dense, int rows, int columns, float *to) {
  return run_pad(lane, dense, rows, columns, to);
}

mz_status mz_cuda_rows_from_bytes(const mz_cuda_lane *lane, const uint8_t *dense, int rows, int columns, float *to) {
  return run_pad(lane, dense, rows, columns, to);
}

mz_status mz_cuda_rows_to_dense(const mz_cuda_lane *lane, const float *from, int rows, int columns, float *dense) {
  const unsigned count = entries_of(rows, columns);
  MZ_CUDA_TRY(mz_launch(unpad, mz_cuda_blocks(count, THREADS), dim3(THREADS), 0, lane->stream, count, (unsigned)columns,
                        (unsigned)mz_padded(columns), from, dense));
  return MZ_OK;
}

mz_status mz_cuda_clear(const mz_cuda_lane *lane, void *data, size_t bytes) {
  MZ_CUDA_TRY(cudaMemsetAsync(data, 0, bytes, lane->stream));
  return MZ_OK;
}
