/* Reductions along a row: min-max, softmax and what is built on it. Lanes are reduced in the order of math/lanes.h, padding takes
 * no part, and nothing is fused, so that every level gives the same bits. */
#include "muzero/base/maths_inline.h"
#include "networks/cpu/kernels/table.h"
#include "networks/cpu/kernels/vec.h"
#include "networks/math/minmax.h"
#include "networks/math/value.h"

/* How many entries of the vector at `column` are in use. */
static inline int used(int columns, int column) {
  return columns - column < V_LANES ? columns - column : V_LANES;
}

static inline vec load_or(const float *x, int columns, int column, float fill) {
  const int n = used(columns, column);
  return n == V_LANES ? v_load(x + column) : v_keep_first(v_load(x + column), n, fill);
}

static inline vec v_exp(vec x) {
  float lanes[V_LANES];
  v_store(lanes, x);
  for (int i = 0; i < V_LANES; i++) lanes[i] = mz_expf_inline(lanes[i]);
  return v_load(lanes);
}

static inline float row_max(const float *x, int columns) {
  vec max = v_set(-INFINITY);
  for (int c = 0; c < columns; c += V_LANES) max = v_max(max, load_or(x, columns, c, -INFINITY));
  return v_largest(max);
}

static inline float row_min(const float *x, int columns) {
  vec min = v_set(INFINITY);
  for (int c = 0; c < columns; c += V_LANES) min = v_min(min, load_or(x, columns, c, INFINITY));
  return v_smallest(min);
}

/* The first entry of x with that value; 0 where there is none (a NaN in the row). */
static inline int row_find(const float *x, int columns, float value) {
  for (int c = 0; c < columns; c += V_LANES) {
    int found = 0;
    for (int i = 0; i < V_LANES; i++) found |= x[c + i] == value;
    if (!found) continue;
    for (int i = c; i < c + V_LANES && i < columns; i++) {
      if (x[i] == value) return i;
    }
  }
  return 0;
}

void MZ_LEVEL(mz_minmax)(const float *x, float *y, int rows, int columns, ptrdiff_t stride) {
  for (int row = 0; row < rows; row++, x += stride, y += stride) {
    const float min = row_min(x, columns), max = row_max(x, columns);
    const vec low = v_set(min), inverse = v_set(mz_minmax_inverse_inline(min, max));
    for (int c = 0; c < columns; c += V_LANES) {
      const vec scaled = v_mul(v_sub(v_load(x + c), low), inverse);
      v_store(y + c, v_keep_first(scaled, used(columns, c), 0.0f));
    }
  }
}

/* With s = max − min + ε: dx = dy / s, and besides the minimum gets Σ dy (y − 1) / s, the maximum −Σ dy y / s. */
void MZ_LEVEL(mz_minmax_backward)(const float *x, const float *y, const float *dy, float *dx, int rows, int columns, ptrdiff_t stride,
                                  bool overwrite) {
  for (int row = 0; row < rows; row++, x += stride, y += stride, dy += stride, dx += stride) {
    const float min = row_min(x, columns), max = row_max(x, columns);
    const float inverse = mz_minmax_inverse_inline(min, max);
    vec sum = v_set(0.0f), weighted = v_set(0.0f);
    for (int c = 0; c < columns; c += V_LANES) {
      const vec d = v_load(dy + c);
      sum = v_add(sum, d);
      weighted = v_add(weighted, v_mul(d, v_load(y + c)));
      const vec scaled = v_mul(d, v_set(inverse));
      v_store(dx + c, overwrite ? scaled : v_add(v_load(dx + c), scaled));
    }
    const float total = v_sum(sum), total_weighted = v_sum(weighted);
    dx[row_find(x, columns, min)] += (total_weighted - total) * inverse;
    dx[row_find(x, columns, max)] -= total_weighted * inverse;
  }
}

/* exp(x − max) of the entries from `column` on, 0 in the padding. */
static inline vec exp_at(const float *x, int columns, int column, vec max) {
  return v_keep_first(v_exp(v_sub(v_load(x + column), max)), used(columns, column), 0.0f);
}

void MZ_LEVEL(mz_softmax)(const mz_logits *logits, float *y) {
  const int columns = logits->columns;
  for (int row = 0; row < logits->rows; row++, y += logits->stride) {
    const float *x = logits->x + row * logits->stride;
    const vec max = v_set(row_max(x, columns));
    vec sum = v_set(0.0f);
    for (int c = 0; c < columns; c += V_LANES) {
      const vec e = exp_at(x, columns, c, max);
      v_store(y + c, e);
      sum = v_add(sum, e);
    }
    const vec inverse = v_set(1.0f / v_sum(sum));
    for (int c = 0; c < columns; c += V_LANES) v_store(y + c, v_mul(v_load(y + c), inverse));
  }
}

static const float lane_numbers[V_LANES] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

void MZ_LEVEL(mz_expectation)(const mz_logits *logits, float min, float step, bool transform, float *result, ptrdiff_t result_stride) {
  const int columns = logits->columns;
  const vec numbers = v_load(lane_numbers);
  for (int row = 0; row < logits->rows; row++) {
    const float *x = logits->x + row * logits->stride;
    const vec max = v_set(row_max(x, columns));
    vec sum = v_set(0.0f), weighted = v_set(0.0f);
    for (int c = 0; c < columns; c += V_LANES) {
      const vec e = exp_at(x, columns, c, max);
      const vec bins = v_add(v_set(min), v_mul(v_add(numbers, v_set((float)c)), v_set(step))); /* mz_bin_inline */
      sum = v_add(sum, e);
      weighted = v_add(weighted, v_mul(e, bins));
    }
    const float mean = v_sum(weighted) / v_sum(sum);
    result[row * result_stride] = transform ? mz_h_inverse_inline(mean) : mean;
  }
}

void MZ_LEVEL(mz_softmax_xent)(const mz_logits *logits, const float *targets, const float *row_weights, float factor, float *entropy,
                               float *gradient) {
  enum { COLUMN_STRIDE = 16 }; /* of a matrix with one column */
  const int columns = logits->columns;
  for (int row = 0; row < logits->rows; row++) {
    const float *x = logits->x + row * logits->stride, *target = targets + row * logits->stride;
    const vec max = v_set(row_max(x, columns));
    vec sum = v_set(0.0f), target_sum = v_set(0.0f);
    for (int c = 0; c < columns; c += V_LANES) {
      const vec e = exp_at(x, columns, c, max);
      if (gradient != NULL) v_store(gradient + row * logits->stride + c, e);
      sum = v_add(sum, e);
      target_sum = v_add(target_sum, v_load(target + c));
    }
    const float exp_sum = v_sum(sum);
    const vec log_sum = v_set(mz_logf_inline(exp_sum));
    vec loss = v_set(0.0f); /* Σ target (log Σ exp(x − max) − (x − max)) */
    for (int c = 0; c < columns; c += V_LANES) {
      const vec shifted = v_sub(v_load(x + c), max);
      loss = v_add(loss, v_mul(v_load(target + c), v_sub(log_sum, shifted)));
    }
    entropy[row * COLUMN_STRIDE] = v_sum(loss);
    if (gradient == NULL) continue;
    const vec normalise = v_set(v_sum(target_sum) / exp_sum), scale = v_set(factor * row_weights[row * COLUMN_STRIDE]);
    float *g = gradient + row * logits->stride;
    for (int c = 0; c < columns; c += V_LANES) {
      v_store(g + c, v_mul(v_sub(v_mul(v_load(g + c), normalise), v_load(target + c)), scale));
    }
  }
}
