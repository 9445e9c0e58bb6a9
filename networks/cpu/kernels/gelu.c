/* GELU in its tanh form, element by element. Padding needs no care: 0 stays 0. */
#include "base/maths/maths_inline.h"
#include "networks/cpu/kernels/table.h"

#define SLOPE 0.797884560802865f /* √(2/π) */
#define CUBIC 0.044715f

/* (1 + tanh u)/2 = 1/(1 + e^(−2u)), u = √(2/π) (x + 0.044715 x³). */
static inline float share_of(float x) {
  const float u = SLOPE * (x + CUBIC * (x * x * x));
  return 1.0f / (1.0f + mz_expf_inline(-2.0f * u));
}

void MZ_LEVEL(mz_gelu)(const float *restrict x, float *restrict y, size_t count) {
  for (size_t i = 0; i < count; i++) y[i] = x[i] * share_of(x[i]);
}

/* y = x s(x): dy/dx = s + x s (1 − s) 2u'. */
static inline float derivative_at(float x) {
  const float share = share_of(x), slope = 2.0f * SLOPE * (1.0f + 3.0f * CUBIC * (x * x));
  return share + x * share * (1.0f - share) * slope;
}

void MZ_LEVEL(mz_gelu_backward)(const float *restrict x, const float *restrict dy, float *restrict dx, size_t count,
                                bool overwrite) {
  if (overwrite) {
    for (size_t i = 0; i < count; i++) dx[i] = dy[i] * derivative_at(x[i]);
  } else {
    for (size_t i = 0; i < count; i++) dx[i] += dy[i] * derivative_at(x[i]);
  }
}
