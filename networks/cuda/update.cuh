/* An update of the weights on a device: the shards' gradients are summed, their squares for the norm, and the optimizer's step is made,
 * all with the cpu's bits (shard_sum.h, optimizer.h). Pointers are to the device's memory unless said otherwise; the work is enqueued
 * on the lane's stream. */
#pragma once
#include "networks/cuda/check.cuh"
#include "networks/cuda/lane.cuh"
extern "C" {
#include "networks/parameters/optimizer.h"
}
#include "networks/math/optimizer_step.h"

/* gradients: [shards][size], size a multiple of MZ_LANES; sum: [size], which may be the first shard's. Up to 1024 shards. */
mz_status mz_cuda_shards_sum(const mz_cuda_lane *lane, const float *gradients, int shards, int64_t size, float *sum);

/* squares[c] = mz_gradient_squares_chunk(gradient, params->trained, c) for each of the parameters' chunks. */
mz_status mz_cuda_gradient_squares(const mz_cuda_lane *lane, const mz_params *params, const float *gradient, double *squares);

/* How far a gradient is followed, decided on the device so that nobody waits for its norm. */
typedef struct mz_cuda_decision {
  double norm; /* of the gradient, before clipping */
  double clip; /* the largest norm; 0: never clipped */
  float scale; /* mz_clip_scale */
  int finite;  /* norm and losses are; otherwise no step changes anything */
} mz_cuda_decision;

/* squares: [chunks], added in order; losses: [count]. decision: in the device's memory, its clip set. */
mz_status mz_cuda_decide(const mz_cuda_lane *lane, const double *squares, int chunks, const double *losses, int count,
                         mz_cuda_decision *decision);
/* *sum = Σ over chunks, in order. */
mz_status mz_cuda_squares_sum(const mz_cuda_lane *lane, const double *squares, int chunks, double *sum);

/* How each parameter is updated, as the device reads it. */
typedef struct mz_cuda_update {
  mz_optimizer_kind kind;
  int param_count;
  int64_t size;               /* of the parameters */
  struct mz_cuda_rule *rules; /* [param_count], in the device's memory */
} mz_cuda_update;

/* Returns the bytes of the device's memory that init takes. */
size_t mz_cuda_update_bytes(const mz_params *params);
/* params, which is on the host, need not outlive the call. MZ_E_MEMORY, MZ_E_DEVICE. */
mz_status mz_cuda_update_init(mz_cuda_update *update, mz_cuda_lane *lane, mz_optimizer_kind kind, const mz_params *params);
void mz_cuda_update_deinit(mz_cuda_update *update);

/* Vectors of a step, [size] each. */
typedef struct mz_cuda_step {
  const float *gradient;
  float *moment1, *moment2; /* as in mz_optimizer */
  float *values;
  float *average;                   /* NULL: none */
  double average_decay;             /* rounded to a float */
  const mz_cuda_decision *decision; /* in the device's memory: its scale counts, not the factors'; NULL: none */
} mz_cuda_step;

/* mz_optimizer_step_chunk of all chunks, with the factors of mz_optimizer_factors (on the host); then the average takes over its share
 * of the new values: average += (1 − average_decay) · (values − average). */
mz_status mz_cuda_update_step(const mz_cuda_update *update, const mz_cuda_lane *lane, const mz_step_factors *factors,
                              const mz_cuda_step *step);
