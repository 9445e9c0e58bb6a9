/* The functions behind mz_backend.searcher for CUDA devices. */
#pragma once
extern "C" {
#include "selfplay/search/searcher.h"
}

extern const mz_searcher mz_cuda_searcher;
