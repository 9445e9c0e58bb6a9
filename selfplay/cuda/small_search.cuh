/* All simulations of a search in one kernel, for models that fit the shared memory of a block (small_model.cuh): each block loads the
 * weights once and advances a few slots to their end. */
#pragma once
#include "selfplay/cuda/slots.cuh"
#include "selfplay/cuda/small_model.cuh"

/* Lets blocks of the lane's device have all the shared memory that there is: models of several sizes may be searched at once. Call it
 * before the first search. */
mz_status mz_cuda_small_search_prepare(const mz_cuda_lane *lane);
/* After mz_cuda_slots_begin. weights: those of inference; pool: [][padded latent]. */
mz_status mz_cuda_small_search_run(const mz_cuda_lane *lane, const mz_cuda_small_model *model, const mz_cuda_slots *slots,
                                   const float *weights, float *pool, int n, int simulations);
