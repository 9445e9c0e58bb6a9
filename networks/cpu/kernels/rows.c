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

/* Scalars of up to sixteen rows, so that what follows a row's sums (divisions, roots, logarithms) runs on vectors too. */
enum { GROUP = V_LANES };

static inline int group_at(int rows, int first) {
  return rows - first < GROUP ? rows - first : GROUP;
}

void MZ_LEVEL(mz_expectation)(const mz_logits *logits, float min, float step, bool transform, float *result, ptrdiff_t result_stride) {
  const int columns = logits->columns;
  const vec numbers = v_load(lane_numbers);
  for (int first = 0; first < logits->rows; first += GROUP) {
    const int group = group_at(logits->rows, first);
    float sums[GROUP], weighted_sums[GROUP] = {0}, means[GROUP];
    for (int i = 0; i < GROUP; i++) sums[i] = 1.0f;
    for (int i = 0; i < group; i++) {
      const float *x = logits->x + (first + i) * logits->stride;
      const vec max = v_set(row_max(x, columns));
      vec sum = v_set(0.0f), weighted = v_set(0.0f);
      for (int c = 0; c < columns; c += V_LANES) {
        const vec e = exp_at(x, columns, c, max);
        const vec bins = v_add(v_set(min), v_mul(v_add(numbers, v_set((float)c)), v_set(step))); /* mz_bin_inline */
        sum = v_add(sum, e);
        weighted = v_add(weighted, v_mul(e, bins));
      }
      sums[i] = v_sum(sum);
      weighted_sums[i] = v_sum(weighted);
    }
    for (int i = 0; i < GROUP; i++) {
      const float mean = weighted_sums[i] / sums[i], scalar = mz_h_inverse_inline(mean);
      means[i] = transform ? scalar : mean;
    }
    for (int i = 0; i < group; i++) result[(first + i) * result_stride] = means[i];
  }
}

/* With S = Σ exp(x − max) and T = Σ target: −Σ target · log softmax = T log S + Σ target (max − x), a sum without cancellation. */
void MZ_LEVEL(mz_softmax_xent)(const mz_logits *logits, const float *targets, const float *row_weights, float factor, float *entropy,
                               float *gradient) {
  enum { COLUMN_STRIDE = 16 }; /* of a matrix with one column */
  const int columns = logits->columns;
  for (int first = 0; first < logits->rows; first += GROUP) {
    const int group = group_at(logits->rows, first);
    float exp_sums[GROUP], target_sums[GROUP] = {0}, distances[GROUP] = {0}, losses[GROUP], normalisers[GROUP];
    for (int i = 0; i < GROUP; i++) exp_sums[i] = 1.0f;
    for (int i = 0; i < group; i++) {
      const ptrdiff_t at = (first + i) * logits->stride;
      const float *x = logits->x + at, *target = targets + at;
      const vec max = v_set(row_max(x, columns));
      vec sum = v_set(0.0f), target_sum = v_set(0.0f), distance = v_set(0.0f);
      for (int c = 0; c < columns; c += V_LANES) {
        const vec e = exp_at(x, columns, c, max), t = v_load(target + c);
        if (gradient != NULL) v_store(gradient + at + c, e);
        sum = v_add(sum, e);
        target_sum = v_add(target_sum, t);
        distance = v_add(distance, v_mul(t, v_sub(max, v_load(x + c))));
      }
      exp_sums[i] = v_sum(sum);
      target_sums[i] = v_sum(target_sum);
      distances[i] = v_sum(distance);
    }
    for (int i = 0; i < GROUP; i++) {
      losses[i] = target_sums[i] * mz_logf_inline(exp_sums[i]) + distances[i];
      normalisers[i] = target_sums[i] / exp_sums[i];
    }
    for (int i = 0; i < group; i++) entropy[(first + i) * COLUMN_STRIDE] = losses[i];
    for (int i = 0; gradient != NULL && i < group; i++) {
      const ptrdiff_t at = (first + i) * logits->stride;
      const vec normaliser = v_set(normalisers[i]), scale = v_set(factor * row_weights[(first + i) * COLUMN_STRIDE]);
      for (int c = 0; c < columns; c += V_LANES) {
        const vec difference = v_sub(v_mul(v_load(gradient + at + c), normaliser), v_load(targets + at + c));
        v_store(gradient + at + c, v_mul(difference, scale));
      }
    }
  }
}
