/* How latents are scaled, per row. */
#pragma once
#include "base/shared.h"
#include <math.h>

/* To [0, 1]: y = (x − min) / (max − min + ε) (MuZero appendix G). */
MZ_SHARED float mz_minmax_inverse_inline(float min, float max) { return 1.0f / (max - min + 1e-5f); }
/* To a mean square of 1: y = x / √(mean x² + ε) (Zhang & Sennrich 2019). */
MZ_SHARED float mz_rms_inverse_inline(float sum_of_squares, int count) {
  return 1.0f / sqrtf(sum_of_squares / (float)count + 1e-5f);
}
