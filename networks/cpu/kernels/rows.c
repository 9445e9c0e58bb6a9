/* Reductions along a row: min-max, softmax and what is built on it. Lanes are reduced in the order of math/lanes.h, padding takes
 * no part, and nothing is fused, so that every level gives the same bits. */
#include "base/maths/maths_inline.h"
#include "networks/cpu/kernels/table.h"
#include "networks/cpu/kernels/vec.h"
#include "networks/math/scaling.h"
#include "networks/math/value.h"

/* How many entries of the vector at `column` are in use. */
static inline int used(int columns, int column) { return columns - column < V_LANES ? columns - column : V_LANES; }

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

/* Let s = max − min + ε; then dx = dy / s, and besides the minimum gets Σ dy (y − 1) / s, the maximum −Σ dy y / s. */
void MZ_LEVEL(mz_minmax_backward)(const float *x, const float *y, const float *dy, float *dx, int rows, int columns,
                                  ptrdiff_t stride, bool overwrite) {
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

/* 1/√(mean x² + ε); the padding is 0. */
static inline float row_rms_inverse(const float *x, int columns) {
  vec sum = v_set(0.0f);
  for (int c = 0; c < columns; c += V_LANES) sum = v_add(sum, v_mul(v_load(x + c), v_load(x + c)));
  return mz_rms_inverse_inline(v_sum(sum), columns);
}

void MZ_LEVEL(mz_rms)(const float *x, float *y, int rows, int columns, ptrdiff_t stride) {
  for (int row = 0; row < rows; row++, x += stride, y += stride) {
    const vec inverse = v_set(row_rms_inverse(x, columns));
    for (int c = 0; c < columns; c += V_LANES) v_store(y + c, v_mul(v_load(x + c), inverse));
  }
}

/* dx = (dy − y · mean(dy · y)) / √(mean x² + ε). */
void MZ_LEVEL(mz_rms_backward)(const float *x, const float *y, const float *dy, float *dx, int rows, int columns,
                               ptrdiff_t stride, bool overwrite) {
  for (int row = 0; row < rows; row++, x += stride, y += stride, dy += stride, dx += stride) {
    vec product = v_set(0.0f);
    for (int c = 0; c < columns; c += V_LANES) product = v_add(product, v_mul(v_load(dy + c), v_load(y + c)));
    const vec mean = v_set(v_sum(product) / (float)columns), inverse = v_set(row_rms_inverse(x, columns));
    for (int c = 0; c < columns; c += V_LANES) {
      const vec d = v_mul(v_sub(v_load(dy + c), v_mul(v_load(y + c), mean)), inverse);
      v_store(dx + c, overwrite ? d : v_add(v_load(dx + c), d));
    }
  }
}

void MZ_LEVEL(mz_mse)(const float *x, const float *target, float *mse, int rows, int columns, ptrdiff_t stride) {
  for (int row = 0; row < rows; row++, x += stride, target += stride, mse += V_LANES) {
    vec sum = v_set(0.0f);
    for (int c = 0; c < columns; c += V_LANES) {
      const vec off = v_sub(v_load(x + c), v_load(target + c));
      sum = v_add(sum, v_mul(off, off));
    }
    *mse = v_sum(sum) / (float)columns;
  }
}

void MZ_LEVEL(mz_mse_backward)(const float *x, const float *target, const float *row_weights, float factor, float *dx, int rows,
                               int columns, ptrdiff_t stride, bool overwrite) {
  for (int row = 0; row < rows; row++, x += stride, target += stride, dx += stride, row_weights += V_LANES) {
    const vec scale = v_set(2.0f * factor * *row_weights / (float)columns);
    for (int c = 0; c < columns; c += V_LANES) {
      const vec d = v_mul(v_sub(v_load(x + c), v_load(target + c)), scale);
      v_store(dx + c, overwrite ? d : v_add(v_load(dx + c), d));
    }
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

/* Up to sixteen rows at a time. Within a group the loops go over rows inside of columns, so that the long chains of an exponential
 * overlap, and what follows a row's sums (divisions, roots, logarithms) runs on vectors too. */
enum { GROUP = V_LANES };

static inline mz_logits group_of(const mz_logits *logits, int first) {
  mz_logits group = *logits;
  group.x += first * logits->stride;
  group.rows = logits->rows - first < GROUP ? logits->rows - first : GROUP;
  return group;
}

static inline void group_maxima(const mz_logits *group, float *maxima) {
  for (int i = 0; i < group->rows; i++) maxima[i] = row_max(group->x + i * group->stride, group->columns);
}

static inline void group_expectation(const mz_logits *group, float min, float step, bool transform, float *means) {
  float maxima[GROUP], sums[GROUP], weighted_sums[GROUP];
  vec sum[GROUP], weighted[GROUP];
  group_maxima(group, maxima);
  for (int i = 0; i < group->rows; i++) sum[i] = weighted[i] = v_set(0.0f);
  for (int c = 0; c < group->columns; c += V_LANES) {
    const vec numbers = v_add(v_load(lane_numbers), v_set((float)c));
    const vec bins = v_add(v_set(min), v_mul(numbers, v_set(step))); /* mz_bin_inline */
    for (int i = 0; i < group->rows; i++) {
      const vec e = exp_at(group->x + i * group->stride, group->columns, c, v_set(maxima[i]));
      sum[i] = v_add(sum[i], e);
      weighted[i] = v_add(weighted[i], v_mul(e, bins));
    }
  }
  for (int i = 0; i < GROUP; i++) {
    const bool live = i < group->rows;
    sums[i] = live ? v_sum(sum[i]) : 1.0f;
    weighted_sums[i] = live ? v_sum(weighted[i]) : 0.0f;
  }
  for (int i = 0; i < GROUP; i++) {
    const float mean = weighted_sums[i] / sums[i], scalar = mz_h_inverse_inline(mean);
    means[i] = transform ? scalar : mean;
  }
}

void MZ_LEVEL(mz_expectation)(const mz_logits *logits, float min, float step, bool transform, float *result,
                              ptrdiff_t result_stride) {
  for (int first = 0; first < logits->rows; first += GROUP) {
    const mz_logits group = group_of(logits, first);
    float means[GROUP];
    group_expectation(&group, min, step, transform, means);
    for (int i = 0; i < group.rows; i++) result[(first + i) * result_stride] = means[i];
  }
}

/* Let S = Σ exp(x − max) and T = Σ target; then −Σ target · log softmax = T log S + Σ target (max − x), a sum without cancellation.
 * normalisers: T / S. exponentials: exp(x − max), of the logits' shape; NULL: not wanted. */
static inline void group_entropy(const mz_logits *group, const float *targets, float *exponentials, float *entropies,
                                 float *normalisers) {
  float maxima[GROUP], sums[GROUP], target_sums[GROUP], distances[GROUP];
  vec sum[GROUP], target_sum[GROUP], distance[GROUP];
  group_maxima(group, maxima);
  for (int i = 0; i < group->rows; i++) sum[i] = target_sum[i] = distance[i] = v_set(0.0f);
  for (int c = 0; c < group->columns; c += V_LANES) {
    for (int i = 0; i < group->rows; i++) {
      const ptrdiff_t at = i * group->stride;
      const vec max = v_set(maxima[i]), target = v_load(targets + at + c);
      const vec e = exp_at(group->x + at, group->columns, c, max);
      if (exponentials != NULL) v_store(exponentials + at + c, e);
      sum[i] = v_add(sum[i], e);
      target_sum[i] = v_add(target_sum[i], target);
      distance[i] = v_add(distance[i], v_mul(target, v_sub(max, v_load(group->x + at + c))));
    }
  }
  for (int i = 0; i < GROUP; i++) {
    const bool live = i < group->rows;
    sums[i] = live ? v_sum(sum[i]) : 1.0f;
    target_sums[i] = live ? v_sum(target_sum[i]) : 0.0f;
    distances[i] = live ? v_sum(distance[i]) : 0.0f;
  }
  for (int i = 0; i < GROUP; i++) {
    entropies[i] = target_sums[i] * mz_logf_inline(sums[i]) + distances[i];
    normalisers[i] = target_sums[i] / sums[i];
  }
}

void MZ_LEVEL(mz_softmax_xent)(const mz_logits *logits, const float *targets, const float *row_weights, float factor,
                               float *entropy, float *gradient) {
  enum { COLUMN_STRIDE = 16 }; /* of a matrix with one column */
  for (int first = 0; first < logits->rows; first += GROUP) {
    const mz_logits group = group_of(logits, first);
    const ptrdiff_t start = first * logits->stride;
    float entropies[GROUP], normalisers[GROUP];
    group_entropy(&group, targets + start, gradient == NULL ? NULL : gradient + start, entropies, normalisers);
    for (int i = 0; i < group.rows; i++) entropy[(first + i) * COLUMN_STRIDE] = entropies[i];
    for (int i = 0; gradient != NULL && i < group.rows; i++) {
      const vec normaliser = v_set(normalisers[i]), scale = v_set(factor * row_weights[(first + i) * COLUMN_STRIDE]);
      const float *target = targets + start + i * logits->stride;
      float *g = gradient + start + i * logits->stride;
      for (int c = 0; c < logits->columns; c += V_LANES) {
        v_store(g + c, v_mul(v_sub(v_mul(v_load(g + c), normaliser), v_load(target + c)), scale));
      }
    }
  }
}
