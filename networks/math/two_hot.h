/* A scalar as a categorical over equally spaced bins: the two next to it share the weight (MuZero appendix F). */
#pragma once
#include "networks/math/value.h"
#include <stdbool.h>

typedef struct mz_two_hot_place {
  int low;     /* the lower of the two bins */
  float above; /* weight of the bin above it, which may be none; the lower one has the rest */
} mz_two_hot_place;

/* transform: through h first. Scalars beyond the ends count as the ends, NaN as the lower one. */
MZ_SHARED mz_two_hot_place mz_two_hot_inline(float min, float max, int bins, bool transform, float scalar) {
  const float x = transform ? mz_h_inline(scalar) : scalar;
  const float step = mz_bin_step_inline(min, max, bins), last = (float)(bins - 1);
  mz_two_hot_place place;
  float position = (x - min) / step;
  position = position > 0.0f ? position : 0.0f; /* also a NaN */
  position = position < last ? position : last;
  place.low = (int)position;
  place.above = position - (float)place.low;
  return place;
}
