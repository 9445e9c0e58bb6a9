#include "selfplay/cuda/searcher.cuh"
#include "selfplay/cuda/search.cuh"

/* The sizes of the model and of a block's memory alone decide how searches run: results never depend on what was faster. */
static mz_status create(mz_device_search **out, mz_infer *infer, const mz_spec *spec, const mz_search_settings *settings,
                        double discount, int slots) {
  mz_cuda_small_model small;
  const bool is_small = mz_cuda_small_model_describe(&small, infer);
  return mz_cuda_search_create(out, infer, spec, settings, discount, slots, is_small ? &small : nullptr);
}

const mz_searcher mz_cuda_searcher = {create, mz_cuda_search_free, mz_cuda_search_run, mz_cuda_search_bytes};
