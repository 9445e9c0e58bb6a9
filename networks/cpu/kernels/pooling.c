/* Pooling of a board's positions into a row of channels, and broadcasting of a row over them. Positions are gone through in
 * order, each channel in its own lane. */
#include "networks/cpu/kernels/table.h"
#include "networks/cpu/kernels/vec.h"
#include "networks/math/bf16.h"
#include <math.h>
#include <string.h>

/* Sixteen channels of a position. */
static inline vec load_at(const mz_pooling *p, size_t at) {
  if (!p->bf16) return v_load((const float *)p->x + at);
  float lanes[V_LANES];
  for (int i = 0; i < V_LANES; i++) lanes[i] = mz_f32_of_bf16(((const uint16_t *)p->x)[at + (size_t)i]);
  return v_load(lanes);
}

static inline size_t index_of(const mz_pooling *p, int row, int position, int channel) {
  return ((size_t)row * (size_t)p->positions + (size_t)position) * (size_t)p->channels + (size_t)channel;
}

void MZ_LEVEL(mz_pool)(const mz_pooling *p) {
  const vec share = v_set(1.0f / (float)p->positions);
  float *y = p->y;
  for (int row = 0; row < p->rows; row++, y += 2 * p->channels) {
    for (int c = 0; c < p->channels; c += V_LANES) {
      vec sum = v_set(0.0f), largest = v_set(-INFINITY);
      for (int i = 0; i < p->positions; i++) {
        const vec x = load_at(p, index_of(p, row, i, c));
        sum = v_add(sum, x);
        largest = v_max(largest, x);
      }
      v_store(y + c, v_mul(sum, share));
      v_store(y + p->channels + c, largest);
    }
  }
}

/* Returns a position's part of the maximum's gradient: all of it where x is the first so large, which `open` (1 or 0) then ends. */
static inline vec of_largest(vec x, vec largest, vec dy, float open[V_LANES]) {
  float at[V_LANES], top[V_LANES], gradient[V_LANES];
  v_store(at, x);
  v_store(top, largest);
  v_store(gradient, dy);
  for (int i = 0; i < V_LANES; i++) {
    const float hit = at[i] == top[i] ? open[i] : 0.0f;
    open[i] -= hit;
    gradient[i] *= hit;
  }
  return v_load(gradient);
}

void MZ_LEVEL(mz_pool_backward)(const mz_pooling *p) {
  const vec share = v_set(1.0f / (float)p->positions);
  const float *y = p->y, *dy = p->dy;
  for (int row = 0; row < p->rows; row++, y += 2 * p->channels, dy += 2 * p->channels) {
    for (int c = 0; c < p->channels; c += V_LANES) {
      const vec mean = v_mul(v_load(dy + c), share), largest = v_load(y + p->channels + c),
                dlargest = v_load(dy + p->channels + c);
      float open[V_LANES];
      v_store(open, v_set(1.0f));
      for (int i = 0; i < p->positions; i++) {
        const size_t at = index_of(p, row, i, c);
        const vec dx = v_add(mean, of_largest(load_at(p, at), largest, dlargest, open));
        v_store(p->dx + at, p->overwrite ? dx : v_add(v_load(p->dx + at), dx));
      }
    }
  }
}

void MZ_LEVEL(mz_broadcast)(const float *x, float *y, int rows, int positions, int channels) {
  for (int row = 0; row < rows; row++, x += channels) {
    for (int i = 0; i < positions; i++, y += channels) memcpy(y, x, (size_t)channels * sizeof *y);
  }
}

void MZ_LEVEL(mz_broadcast_backward)(const float *dy, float *dx, int rows, int positions, int channels, bool overwrite) {
  for (int row = 0; row < rows; row++, dy += positions * channels, dx += channels) {
    for (int c = 0; c < channels; c += V_LANES) {
      vec sum = v_set(0.0f);
      for (int i = 0; i < positions; i++) sum = v_add(sum, v_load(dy + i * channels + c));
      v_store(dx + c, overwrite ? sum : v_add(v_load(dx + c), sum));
    }
  }
}
