/* GELU, element by element. Padding needs no care: 0 stays 0. */
#include "networks/math/gelu.h"
#include "networks/cpu/kernels/table.h"

void MZ_LEVEL(mz_gelu)(const float *restrict x, float *restrict y, size_t count) {
  for (size_t i = 0; i < count; i++) y[i] = mz_gelu_inline(x[i]);
}

void MZ_LEVEL(mz_gelu_backward)(const float *restrict x, const float *restrict dy, float *restrict dx, size_t count,
                                bool overwrite) {
  if (overwrite) {
    for (size_t i = 0; i < count; i++) dx[i] = dy[i] * mz_gelu_derivative_inline(x[i]);
  } else {
    for (size_t i = 0; i < count; i++) dx[i] += dy[i] * mz_gelu_derivative_inline(x[i]);
  }
}
