/* A search on a device: trees, latents and the network are there (searcher.h says what it does). Of each simulation the host only launches
 * what the device does: gather latents, the recurrent pass, scatter latents, finish (slots.cuh), all in one CUDA graph from the second
 * simulation of a number of rows on. Small models run all simulations in one kernel instead (small_search.cuh). */
#pragma once
#include "selfplay/cuda/small_model.cuh"
#include "selfplay/cuda/slots.cuh"
extern "C" {
#include "networks/infer_state.h"
#include "selfplay/search/searcher.h"
}

/* As mz_searcher.create. small: the model as a small one, copied; NULL: simulations run the inference's passes. */
mz_status mz_cuda_search_create(mz_device_search **out, mz_infer *infer, const mz_spec *spec, const mz_search_settings *settings,
                                double discount, int slots, const mz_cuda_small_model *small);
void mz_cuda_search_free(mz_device_search *search);
mz_status mz_cuda_search_run(mz_device_search *search, int n, const mz_root *roots, int simulations, mz_root_result *results);
mz_lane_bytes mz_cuda_search_bytes(const mz_spec *spec, const mz_search_settings *settings, int slots);
/* Returns the trees of the last tile, slot by root; their records are in the device's memory. */
const mz_tree *mz_cuda_search_tree(const mz_device_search *search);
