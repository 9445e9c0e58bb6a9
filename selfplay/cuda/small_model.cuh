/* Recurrent inference of a small model of fully connected layers as one block of threads computes it, a few slots at a time, with weights
 * and activations in the block's shared memory. Every result is a sum in a fixed order, which depends on the model's sizes alone:
 * y = Σ x_i w_i in four quarters of the inputs, each ascending with fused multiply-adds, then (q0 + q1) + (q2 + q3), the bias, the action's
 * row. So a slot's results do not depend on its neighbours, but their rounding is not the libraries' (products.cuh). */
#pragma once
#include "networks/cuda/access.cuh"
extern "C" {
#include "networks/infer_state.h"
}

enum { MZ_CUDA_SMALL_SLOTS = 4, MZ_CUDA_SMALL_PARTS = 4, MZ_CUDA_SMALL_LAYERS_MAX = 40 };

/* Rows of a block's slots in its shared memory: [MZ_CUDA_SMALL_SLOTS][stride] floats from `at` on. */
typedef struct mz_cuda_small_rows {
  int at, stride;
} mz_cuda_small_rows;

/* y = act(x W + b + T[action]). weight, bias, table: floats into the shared memory; table −1: none. */
typedef struct mz_cuda_small_layer {
  int weight, bias, table, inputs;
  mz_cuda_small_rows from, to;
  bool relu;
} mz_cuda_small_layer;

/* A categorical head: the mean of `bins` equally spaced bins, through h⁻¹ if `transform`. */
typedef struct mz_cuda_small_scalar {
  mz_cuda_small_rows logits;
  int bins;
  float min, step;
  bool transform;
} mz_cuda_small_scalar;

/* A kernel gets it by value. No member is as wide as a pointer: so the twin knows that it holds none. */
typedef struct mz_cuda_small_model {
  int first_weight, weights; /* floats: where those that recurrent inference reads begin among all, and how many there are */
  int layer_count, latent_layer;
  mz_cuda_small_layer layers[MZ_CUDA_SMALL_LAYERS_MAX]; /* latent_layer's result is scaled and becomes the latent */
  mz_cuda_small_rows latent, policy;
  mz_cuda_small_rows partial;               /* [MZ_CUDA_SMALL_PARTS] of them: sums of quarters */
  mz_cuda_small_rows actions;               /* one column, int32 */
  mz_cuda_small_scalar value, reward, turn; /* turn: no bins where the model tells none */
  int latent_size;
  bool rms; /* how latents are scaled; false: to [0, 1] */
  int shared_bytes;
} mz_cuda_small_model;

/* Describes the inference's model. False: it has other layers, or does not fit the shared memory of the device's blocks. */
bool mz_cuda_small_model_describe(mz_cuda_small_model *out, const mz_infer *infer);
