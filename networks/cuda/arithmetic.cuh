/* TF32 is never allowed: f32 is multiplied as f32. One module of the tests is built with MUZERO_CUDA_TF32, to show that comparisons with
 * the reference would find it. */
#pragma once

#ifdef MUZERO_CUDA_TF32
static const bool mz_cuda_allows_tf32 = true;
#else
static const bool mz_cuda_allows_tf32 = false;
#endif
