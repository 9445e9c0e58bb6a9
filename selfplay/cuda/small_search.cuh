/* All simulations of a search in one kernel, for models that fit the shared memory of a block (small_model.cuh): each block loads the
 * weights once and advances a few slots to their end. */
#pragma once
#include "selfplay/cuda/slots.cuh"
#include "selfplay/cuda/small_model.cuh"

/* Asks the device for the shared memory that the model needs. */
mz_status mz_cuda_small_search_prepare(const mz_cuda_small_model *model);
/* After mz_cuda_slots_begin. weights: those of inference; pool: [][padded latent]. */
mz_status mz_cuda_small_search_run(const mz_cuda_lane *lane, const mz_cuda_small_model *model, const mz_cuda_slots *slots,
                                   const float *weights, float *pool, int n, int simulations);
