/* A categorical over equally spaced bins as the scalar that it means: h⁻¹ of its mean (MuZero appendix F). */
#pragma once
#include "base/maths/maths_inline.h"
#include "networks/math/lanes.h"
#include "networks/math/value.h"
#include <math.h>
#include <stdbool.h>

/* logits: [bins]. transform: the bins are in h-transformed space. */
MZ_SHARED float mz_expectation_inline(float min, float max, int bins, bool transform, const float *logits) {
  float sum[MZ_SUM_LANES], weighted[MZ_SUM_LANES];
  const float step = mz_bin_step_inline(min, max, bins);
  float top = -INFINITY;
  for (int i = 0; i < MZ_SUM_LANES; i++) sum[i] = weighted[i] = 0;
  for (int i = 0; i < bins; i++) top = logits[i] > top ? logits[i] : top;
  for (int i = 0; i < bins; i++) {
    const float e = mz_expf_inline(logits[i] - top);
    const int lane = i % MZ_SUM_LANES;
    sum[lane] = sum[lane] + e;
    weighted[lane] = weighted[lane] + e * mz_bin_inline(min, step, (float)i);
  }
  const float mean = mz_lanes_sum(weighted) / mz_lanes_sum(sum);
  return transform ? mz_h_inverse_inline(mean) : mean;
}
