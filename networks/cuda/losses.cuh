/* Losses and predictions of the unrolled loss (networks/loss.h) on a device, with the bits that the cpu gets from the same numbers. All
 * pointers but those of mz_cuda_loss_total are to the device's memory; the work is enqueued on the lane's stream. */
#pragma once
#include "networks/cuda/access.cuh"
extern "C" {
#include "networks/loss.h"
}

/* Losses of a step whose columns are kept: policy, value, reward. */
enum { MZ_CUDA_LOSS_KINDS = 3 };

/* The unweighted losses: columns[(MZ_CUDA_LOSS_KINDS · k + i) · rows + r], i = 0: policy, 1: value, 2: reward, which
 * is 0 at step 0. After forward. */
mz_status mz_cuda_loss_columns(const mz_tape *tape, const mz_loss *loss, int rows, float *columns);

/* values[r] = mz_support_expectation of each of `rows` rows of logits, [rows][mz_padded(bins)]. */
mz_status mz_cuda_expectations(const mz_cuda_lane *lane, const mz_support *support, const float *logits, int rows, float *values);

/* *spread = the mean over `columns` columns of their standard deviation over `rows` rows, [rows][mz_padded(columns)]. columns_spread:
 * [columns], scratch. */
mz_status mz_cuda_spread(const mz_cuda_lane *lane, const float *x, int rows, int columns, double *columns_spread, double *spread);

/* Number of a tape's loss nodes. */
int mz_cuda_loss_count(const mz_tape *tape);
/* sums[i]: Σ over rows of weight · loss of loss node i, in the order of recording. After forward. */
mz_status mz_cuda_loss_sums(const mz_tape *tape, int rows, double *sums);
/* Returns mz_tape_loss of the sums, which are on the host. */
double mz_cuda_loss_total(const mz_tape *tape, const double *sums);
