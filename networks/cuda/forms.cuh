/* For whoever looks into who computes products and convolutions: two variables of the environment. */
#pragma once
#include <stdlib.h>

/* Whether each that is planned tells its form on stderr: figures say little without it. */
static inline bool mz_cuda_tells_forms(void) { return getenv("MUZERO_CUDA_FORMS") != nullptr; }
/* Whether kernels of ours do everything, which tells a wrong library from a wrong kernel. */
static inline bool mz_cuda_leaves_libraries_out(void) { return getenv("MUZERO_CUDA_DIRECT") != nullptr; }
