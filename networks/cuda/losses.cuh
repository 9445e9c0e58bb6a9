/* What an update reports of the unrolled loss (networks/loss.h, mz_update_report), from a tape on a device after its forward pass: with
 * the bits that the cpu gets from the same numbers. Results are in the device's memory; the work is enqueued on the lane's stream. */
#pragma once
#include "networks/cuda/access.cuh"
extern "C" {
#include "networks/loss.h"
}

/* Number of a tape's loss nodes. */
int mz_cuda_loss_count(const mz_tape *tape);
/* sums[i]: Σ over rows of weight · loss of loss node i, in the order of recording. */
mz_status mz_cuda_loss_sums(const mz_tape *tape, int rows, double *sums);
/* Returns mz_tape_loss of the sums, which are on the host. */
double mz_cuda_loss_total(const mz_tape *tape, const double *sums);

/* Where a batch's results go: the rows of a tape are its rows from `first` on. */
typedef struct mz_cuda_loss_rows {
  int64_t batch_rows, first;
  float *policy, *value, *reward; /* [unroll + 1][batch_rows]: losses before their weights; reward's step 0: 0 */
} mz_cuda_loss_rows;
mz_status mz_cuda_loss_read(const mz_tape *tape, const mz_loss *loss, int rows, const mz_cuda_loss_rows *to);

/* values[r] = mz_support_expectation of row r of a value of logits. */
mz_status mz_cuda_support_expectation(const mz_tape *tape, const mz_support *support, mz_value logits, int rows, float *values);

/* *spread: the mean over a value's columns of their standard deviation over the rows. */
mz_status mz_cuda_latent_spread(const mz_tape *tape, mz_value latent, int rows, double *spread);
