#include "networks/cuda/memory.cuh"
#include "networks/cuda/access.cuh"
#include "networks/cuda/transfer.cuh"
#include <string.h>

static mz_status alloc_bytes(const mz_lane *lane, void *out_pointer, size_t bytes) {
  void *block = nullptr;
  memcpy(out_pointer, &block, sizeof block); /* the caller's pointer may be of any type */
  mz_cuda_lane *own;
  MZ_TRY(mz_cuda_lane_enter(lane, &own));
  MZ_CUDA_TRY(cudaMalloc(&block, bytes > 0 ? bytes : 1));
  const cudaError_t error = cudaMemsetAsync(block, 0, bytes > 0 ? bytes : 1, own->stream);
  if (error != cudaSuccess) (void)cudaFree(block);
  MZ_CUDA_TRY(error);
  memcpy(out_pointer, &block, sizeof block);
  return MZ_OK;
}

/* Waits for whatever the device is doing. */
static void free_bytes(const mz_lane *lane, void *memory) {
  (void)mz_cuda_device_enter(lane->device); /* memory knows its device */
  (void)cudaFree(memory);
}

static mz_status load(const mz_lane *lane, void *to, const void *from, size_t bytes) {
  mz_cuda_lane *own;
  MZ_TRY(mz_cuda_lane_enter(lane, &own));
  return mz_cuda_staging_send(&own->staging, own->stream, to, from, bytes);
}

static mz_status fetch(const mz_lane *lane, void *to, const void *from, size_t bytes) {
  mz_cuda_lane *own;
  MZ_TRY(mz_cuda_lane_enter(lane, &own));
  return mz_cuda_staging_receive(&own->staging, own->stream, to, from, bytes);
}

static mz_status copy(const mz_lane *lane, void *to, const void *from, size_t bytes) {
  mz_cuda_lane *own;
  MZ_TRY(mz_cuda_lane_enter(lane, &own));
  MZ_CUDA_TRY(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, own->stream));
  return MZ_OK;
}

static mz_status sync(const mz_lane *lane) {
  mz_cuda_lane *own;
  MZ_TRY(mz_cuda_lane_enter(lane, &own));
  return mz_cuda_staging_sync(&own->staging, own->stream);
}

/* Sends host bytes to scratch of the device; *out: they. */
static mz_status send(mz_cuda_lane *own, const void *from, size_t bytes, void **out) {
  MZ_TRY(mz_cuda_staging_scratch(&own->staging, own->stream, bytes, out));
  return mz_cuda_staging_send(&own->staging, own->stream, *out, from, bytes);
}

static float *row_at(const mz_tape_value *value, int row) { return mz_cuda_data(value) + (size_t)row * (size_t)value->stride; }

static mz_status put(mz_tape *tape, int value, int first, const float *rows, int count) {
  mz_cuda_lane *own;
  MZ_TRY(mz_cuda_lane_enter(&tape->lane, &own));
  const mz_tape_value *to = &tape->values[value];
  void *dense;
  MZ_TRY(send(own, rows, (size_t)count * (size_t)to->columns * sizeof *rows, &dense));
  return mz_cuda_rows_from_dense(own, (const float *)dense, count, to->columns, row_at(to, first));
}

static mz_status put_bytes(mz_tape *tape, int value, const uint8_t *rows, int count) {
  mz_cuda_lane *own;
  MZ_TRY(mz_cuda_lane_enter(&tape->lane, &own));
  const mz_tape_value *to = &tape->values[value];
  void *dense;
  MZ_TRY(send(own, rows, (size_t)count * (size_t)to->columns, &dense));
  return mz_cuda_rows_from_bytes(own, (const uint8_t *)dense, count, to->columns, row_at(to, 0));
}

static mz_status put_list(mz_tape *tape, int list, int first, const int32_t *entries, int count) {
  mz_cuda_lane *own;
  MZ_TRY(mz_cuda_lane_enter(&tape->lane, &own));
  const size_t length = (size_t)tape->index_lengths[list];
  return mz_cuda_staging_send(&own->staging, own->stream, tape->indices[list] + (size_t)first * length, entries,
                              (size_t)count * length * sizeof *entries);
}

static mz_status get(mz_tape *tape, int value, int first, float *rows, int count) {
  mz_cuda_lane *own;
  MZ_TRY(mz_cuda_lane_enter(&tape->lane, &own));
  const mz_tape_value *from = &tape->values[value];
  const size_t bytes = (size_t)count * (size_t)from->columns * sizeof *rows;
  void *dense;
  MZ_TRY(mz_cuda_staging_scratch(&own->staging, own->stream, bytes, &dense));
  MZ_TRY(mz_cuda_rows_to_dense(own, row_at(from, first), count, from->columns, (float *)dense));
  return mz_cuda_staging_receive(&own->staging, own->stream, rows, dense, bytes);
}

static mz_status put_pooled(mz_tape *tape, int value, const float *pool, const int32_t *from, int count) {
  mz_cuda_lane *own;
  MZ_TRY(mz_cuda_lane_enter(&tape->lane, &own));
  const mz_tape_value *to = &tape->values[value];
  void *index;
  MZ_TRY(send(own, from, (size_t)count * sizeof *from, &index));
  return mz_cuda_latents_gather(own, pool, (const int32_t *)index, count, to->stride, mz_cuda_data(to));
}

static mz_status get_pooled(mz_tape *tape, int value, float *pool, const int32_t *to, int count) {
  mz_cuda_lane *own;
  MZ_TRY(mz_cuda_lane_enter(&tape->lane, &own));
  const mz_tape_value *from = &tape->values[value];
  void *index;
  MZ_TRY(send(own, to, (size_t)count * sizeof *to, &index));
  return mz_cuda_latents_scatter(own, mz_cuda_data(from), count, from->stride, (const int32_t *)index, pool);
}

const mz_device_memory mz_cuda_memory = {alloc_bytes, free_bytes, load,     fetch, copy,       sync,      mz_cuda_staging_pinned,
                                         put,         put_bytes,  put_list, get,   put_pooled, get_pooled};
