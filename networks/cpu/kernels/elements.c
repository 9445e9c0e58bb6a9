/* Element by element, and column sums. Padding needs no care: 0 stays 0. */
#include "networks/cpu/kernels/table.h"
#include "networks/cpu/kernels/vec.h"
#include "networks/math/bf16.h"

void MZ_LEVEL(mz_add)(const float *a, const float *b, float *y, size_t count) {
  for (size_t i = 0; i < count; i += V_LANES) v_store(y + i, v_add(v_load(a + i), v_load(b + i)));
}

void MZ_LEVEL(mz_relu)(const float *x, float *y, size_t count) {
  for (size_t i = 0; i < count; i += V_LANES) v_store(y + i, v_max(v_set(0.0f), v_load(x + i))); /* NaN stays, as in product.c */
}

void MZ_LEVEL(mz_to_bf16)(const float *x, uint16_t *y, size_t count) {
  for (size_t i = 0; i < count; i++) y[i] = mz_bf16_of_f32(x[i]);
}

void MZ_LEVEL(mz_relu_mask)(const float *y, float *dy, size_t count) {
  for (size_t i = 0; i < count; i += V_LANES) v_store(dy + i, v_where_positive(v_load(y + i), v_load(dy + i)));
}

void MZ_LEVEL(mz_relu_backward)(const float *y, const float *dy, float *dx, size_t count, bool overwrite) {
  for (size_t i = 0; i < count; i += V_LANES) {
    const vec d = v_where_positive(v_load(y + i), v_load(dy + i));
    v_store(dx + i, overwrite ? d : v_add(v_load(dx + i), d));
  }
}

void MZ_LEVEL(mz_scale)(const float *dy, float factor, float *dx, size_t count, bool overwrite) {
  for (size_t i = 0; i < count; i += V_LANES) {
    const vec d = v_mul(v_set(factor), v_load(dy + i));
    v_store(dx + i, overwrite ? d : v_add(v_load(dx + i), d));
  }
}

void MZ_LEVEL(mz_column_sums)(const mz_term *terms, int term_count, int rows, int columns, ptrdiff_t stride, float *sums) {
  for (int column = 0; column < columns; column += V_LANES) {
    vec sum = v_set(0.0f);
    for (int t = 0; t < term_count; t++) {
      const float *b = terms[t].b + column;
      for (int row = 0; row < rows; row++) sum = v_add(sum, v_load(b + row * stride));
    }
    v_store(sums + column, sum);
  }
}
