/* Rows on their way into a tape and out of it, on a device. A value's rows are [rows][stride], stride = mz_padded(columns),
 * padding 0; dense rows are [rows][columns]. All pointers are to the device's memory; the work is enqueued on the lane's stream. */
#pragma once
#include "networks/cuda/check.cuh"
#include "networks/cuda/lane.cuh"
#include <stdint.h>

/* Row i of `to` becomes latent from[i] of the pool, [][stride]. */
mz_status mz_cuda_latents_gather(const mz_cuda_lane *lane, const float *pool, const int32_t *from, int rows, int stride,
                                 float *to);
/* Latent to[i] of the pool becomes row i of `from`. No two entries of `to` may be the same. */
mz_status mz_cuda_latents_scatter(const mz_cuda_lane *lane, const float *from, int rows, int stride, const int32_t *to,
                                  float *pool);

/* Dense rows, of floats or of bytes that hold small numbers (observations), to rows of a value, and back. */
mz_status mz_cuda_rows_from_dense(const mz_cuda_lane *lane, const float *dense, int rows, int columns, float *to);
mz_status mz_cuda_rows_from_bytes(const mz_cuda_lane *lane, const uint8_t *dense, int rows, int columns, float *to);
mz_status mz_cuda_rows_to_dense(const mz_cuda_lane *lane, const float *from, int rows, int columns, float *dense);

/* Fills `bytes` with zeros. */
mz_status mz_cuda_clear(const mz_cuda_lane *lane, void *data, size_t bytes);
