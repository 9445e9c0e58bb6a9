/* GELU in its tanh form (Hendrycks & Gimpel 2016, section 2). 0 gives 0. */
#pragma once
#include "base/maths/maths_inline.h"

#define MZ_GELU_SLOPE 0.797884560802865f /* √(2/π) */
#define MZ_GELU_CUBIC 0.044715f

/* (1 + tanh u)/2 = 1/(1 + e^(−2u)), u = √(2/π) (x + 0.044715 x³). */
MZ_SHARED float mz_gelu_share_inline(float x) {
  const float u = MZ_GELU_SLOPE * (x + MZ_GELU_CUBIC * (x * x * x));
  return 1.0f / (1.0f + mz_expf_inline(-2.0f * u));
}

MZ_SHARED float mz_gelu_inline(float x) { return x * mz_gelu_share_inline(x); }

/* y = x s(x): dy/dx = s + x s (1 − s) 2u'. */
MZ_SHARED float mz_gelu_derivative_inline(float x) {
  const float share = mz_gelu_share_inline(x), slope = 2.0f * MZ_GELU_SLOPE * (1.0f + 3.0f * MZ_GELU_CUBIC * (x * x));
  return share + x * share * (1.0f - share) * slope;
}
