/* Steps that the backward passes of layers share, on a lane's stream. Counts of elements are multiples of 16, as rows of
 * values are. */
#pragma once
#include "networks/cuda/access.cuh"

/* Clears dy where the ReLU's output y is not positive. */
mz_status mz_cuda_relu_mask(const mz_cuda_lane *lane, const float *y, float *dy, size_t count);

/* Writes `from` to `to`, or adds it. */
mz_status mz_cuda_accumulate(const mz_cuda_lane *lane, const float *from, float *to, size_t count, bool overwrite);

/* Rounds to bf16: gradients, and what MZ_OP_TO_BF16 does. */
mz_status mz_cuda_round_to_bf16(const mz_cuda_lane *lane, const float *from, uint16_t *to, size_t count);

/* Sums the columns of a matrix [rows][columns] to, or adds them to, `sums` [columns]: chunks of rows side by side, then the
 * chunks in order, so that the bits follow from the number of rows alone. scratch: as many bytes as
 * mz_cuda_column_sums_scratch tells. */
size_t mz_cuda_column_sums_scratch(size_t rows, int columns);
mz_status mz_cuda_column_sums(const mz_cuda_lane *lane, const float *matrix, size_t rows, int columns, void *scratch, float *sums,
                              bool overwrite);
