#include "networks/cuda/gradients.cuh"
#include "networks/cuda/quads.cuh"

enum { THREADS = 256, SLICE = 16, TEAMS = THREADS / SLICE, CHUNK = 16 * TEAMS };

/* Kernels take quads of elements. */
static dim3 blocks_of(size_t count) { return mz_cuda_blocks(count / MZ_QUAD, THREADS); }

static __global__ void relu_mask(const float *y, float *dy, size_t count) {
  const size_t i = mz_cuda_thread() * MZ_QUAD;
  if (i < count) mz_quad_store(dy + i, mz_quad_where_positive(mz_quad_load(y + i), mz_quad_load(dy + i)));
}

mz_status mz_cuda_relu_mask(const mz_cuda_lane *lane, const float *y, float *dy, size_t count) {
  MZ_CUDA_TRY(mz_launch(relu_mask, blocks_of(count), dim3(THREADS), 0, lane->stream, y, dy, count));
  return MZ_OK;
}

static __global__ void accumulate(const float *from, float *to, size_t count, bool overwrite) {
  const size_t i = mz_cuda_thread() * MZ_QUAD;
  if (i < count) mz_quad_accumulate(to + i, mz_quad_load(from + i), overwrite);
}

mz_status mz_cuda_accumulate(const mz_cuda_lane *lane, const float *from, float *to, size_t count, bool overwrite) {
  MZ_CUDA_TRY(mz_launch(accumulate, blocks_of(count), dim3(THREADS), 0, lane->stream, from, to, count, overwrite));
  return MZ_OK;
}

static __global__ void round_to_bf16(const float *from, uint16_t *to, size_t count) {
  const size_t i = mz_cuda_thread() * MZ_QUAD;
  if (i < count) mz_quad_store(to + i, mz_quad_load(from + i));
}

mz_status mz_cuda_round_to_bf16(const mz_cuda_lane *lane, const float *from, uint16_t *to, size_t count) {
  MZ_CUDA_TRY(mz_launch(round_to_bf16, blocks_of(count), dim3(THREADS), 0, lane->stream, from, to, count));
  return MZ_OK;
}

/* A block sums a chunk of rows of 16 columns: each team every sixteenth row, then the teams by halves. */
static __global__ void sum_chunks(const float *matrix, size_t rows, int columns, float *parts) {
  __shared__ float sums[THREADS];
  const int column = (int)blockIdx.y * SLICE + (int)threadIdx.x % SLICE;
  const size_t first = (size_t)blockIdx.x * CHUNK, end = first + CHUNK < rows ? first + CHUNK : rows;
  float sum = 0.0f;
  for (size_t r = first + threadIdx.x / SLICE; r < end; r += TEAMS) sum = sum + matrix[r * (size_t)columns + (size_t)column];
  sums[threadIdx.x] = sum;
  for (unsigned half = THREADS / 2; half >= SLICE; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] = sums[threadIdx.x] + sums[threadIdx.x + half];
  }
  if (threadIdx.x < SLICE) parts[(size_t)blockIdx.x * (size_t)columns + (size_t)column] = sums[threadIdx.x];
}

static __global__ void sum_parts(const float *parts, int count, int columns, float *sums, bool overwrite) {
  const int column = (int)mz_cuda_thread();
  if (column >= columns) return;
  float sum = 0.0f;
  for (int i = 0; i < count; i++) sum = sum + parts[(size_t)i * (size_t)columns + (size_t)column];
  sums[column] = overwrite ? sum : sums[column] + sum;
}

static size_t chunks_of(size_t rows) { return (rows + CHUNK - 1) / CHUNK; }

size_t mz_cuda_column_sums_scratch(size_t rows, int columns) { return chunks_of(rows) * (size_t)columns * sizeof(float); }

mz_status mz_cuda_column_sums(const mz_cuda_lane *lane, const float *matrix, size_t rows, int columns, void *scratch, float *sums,
                              bool overwrite) {
  const int chunks = (int)chunks_of(rows);
  float *parts = (float *)scratch;
  MZ_CUDA_TRY(mz_launch(sum_chunks, dim3((unsigned)chunks, (unsigned)(columns / SLICE)), dim3(THREADS), 0, lane->stream, matrix,
                        rows, columns, parts));
  MZ_CUDA_TRY(mz_launch(sum_parts, mz_cuda_blocks((size_t)columns, THREADS), dim3(THREADS), 0, lane->stream, parts, chunks,
                        columns, sums, overwrite));
  return MZ_OK;
}
