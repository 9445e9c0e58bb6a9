/* Scalars and their categorical form: h, its inverse (Pohlen et al. 2018; MuZero appendix F) and the support of bins. */
#pragma once
#include "base/shared.h"
#include <math.h>

/* h(x) = sign(x)(√(|x| + 1) − 1) + 0.001 x. √(a + 1) − 1 is written a / (√(a + 1) + 1), which loses nothing near 0. */
MZ_SHARED float mz_h_inline(float x) {
  const float size = fabsf(x);
  return copysignf(size / (sqrtf(size + 1.0f) + 1.0f), x) + 0.001f * x;
}

/* h⁻¹(x) = sign(x)(q² − 1), q = (√(1 + 4ε(|x| + 1 + ε)) − 1) / 2ε, ε = 0.001. With r the root, r² = (1 + 2ε)² + 4ε|x|, so
 * q − 1 = (r − 1 − 2ε) / 2ε = 2|x| / (r + 1 + 2ε): nothing is lost near 0, and h⁻¹(0) is 0. */
MZ_SHARED float mz_h_inverse_inline(float x) {
  const float size = fabsf(x);
  const float root = sqrtf(1.0f + 0.004f * (size + 1.001f));
  const float d = 2.0f * size / (root + 1.002f);
  return copysignf(d * (d + 2.0f), x);
}

/* Where bin i of `bins` equally spaced ones lies. */
MZ_SHARED float mz_bin_inline(float min, float step, float i) { return min + i * step; }

MZ_SHARED float mz_bin_step_inline(float min, float max, int bins) { return (max - min) / (float)(bins - 1); }
