#include "selfplay/cuda/searcher.cuh"
#include "selfplay/cuda/search.cuh"

const mz_searcher mz_cuda_searcher = {mz_cuda_search_create, mz_cuda_search_free, mz_cuda_search_run, mz_cuda_search_bytes};
