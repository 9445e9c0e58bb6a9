/* Batch norm over n positions of `channels` each, and the affine map that it becomes for inference. Sums over positions run in
 * order, each channel in its own lane, so a group's result depends on nothing else. */
#include "networks/cpu/kernels/table.h"
#include "networks/cpu/kernels/vec.h"
#include <math.h>

enum { WIDE = 4 }; /* vectors of channels at a time: additions that do not wait for one another */

#define EACH_POSITION for (int i = 0; i < g->positions; i++)
#define EACH_VECTOR for (int v = 0; v < wide; v++)

static inline __attribute__((always_inline)) void measure(const mz_norm_group *g, int channel, int wide) {
  const size_t stride = (size_t)g->channels;
  const vec share = v_set(1.0f / (float)g->positions);
  vec mean[WIDE], variance[WIDE];
  EACH_VECTOR mean[v] = variance[v] = v_set(0.0f);
  EACH_POSITION {
    const float *x = g->x + (size_t)i * stride + channel;
    EACH_VECTOR mean[v] = v_add(mean[v], v_load(x + v * V_LANES));
  }
  EACH_VECTOR mean[v] = v_mul(mean[v], share);
  EACH_POSITION {
    const float *x = g->x + (size_t)i * stride + channel;
    EACH_VECTOR {
      const vec off = v_sub(v_load(x + v * V_LANES), mean[v]);
      variance[v] = v_add(variance[v], v_mul(off, off));
    }
  }
  EACH_VECTOR {
    v_store(g->mean + channel + v * V_LANES, mean[v]);
    v_store(g->variance + channel + v * V_LANES, v_mul(variance[v], share));
  }
}

/* y = scale · x + shift, before what is negative is cut off. */
static inline __attribute__((always_inline)) void affine_of(const mz_norm_group *g, int channel, int wide, vec scale[WIDE],
                                                            vec shift[WIDE]) {
  EACH_VECTOR {
    const int c = channel + v * V_LANES;
    scale[v] = v_mul(v_load(g->gamma + c), v_load(g->inverse + c));
    shift[v] = v_sub(v_load(g->beta + c), v_mul(v_load(g->mean + c), scale[v]));
  }
}

static inline void store_bf16(uint16_t *y, vec x) {
  float row[V_LANES];
  v_store(row, x);
  MZ_LEVEL(mz_to_bf16)(row, y, V_LANES);
}

static inline __attribute__((always_inline)) void apply(const mz_norm_group *g, int channel, int wide, bool bf16) {
  const size_t stride = (size_t)g->channels;
  vec scale[WIDE], shift[WIDE];
  affine_of(g, channel, wide, scale, shift);
  EACH_POSITION {
    const size_t at = (size_t)i * stride + (size_t)channel;
    EACH_VECTOR {
      vec y = v_add(v_mul(v_load(g->x + at + v * V_LANES), scale[v]), shift[v]);
      if (g->relu) y = v_max(v_set(0.0f), y);
      if (bf16)
        store_bf16((uint16_t *)g->y + at + v * V_LANES, y);
      else
        v_store((float *)g->y + at + v * V_LANES, y);
    }
  }
}

static inline __attribute__((always_inline)) void apply_all(const mz_norm_group *g, bool bf16) {
  int channel = 0;
  for (; channel + WIDE * V_LANES <= g->channels; channel += WIDE * V_LANES) apply(g, channel, WIDE, bf16);
  for (; channel < g->channels; channel += V_LANES) apply(g, channel, 1, bf16);
}

void MZ_LEVEL(mz_norm)(const mz_norm_group *g) {
  int channel = 0;
  for (; channel + WIDE * V_LANES <= g->channels; channel += WIDE * V_LANES) measure(g, channel, WIDE);
  for (; channel < g->channels; channel += V_LANES) measure(g, channel, 1);
  for (int c = 0; c < g->channels; c++) g->inverse[c] = 1.0f / sqrtf(g->variance[c] + g->epsilon);
  if (g->bf16)
    apply_all(g, true);
  else
    apply_all(g, false);
}

/* Let x̂ = (x − mean) · inverse; then dx = scale · inverse · (dy − Σdy / n − x̂ · Σ(dy · x̂) / n). */
static inline __attribute__((always_inline)) void differentiate(const mz_norm_group *g, int channel, int wide) {
  const size_t stride = (size_t)g->channels;
  const vec share = v_set(1.0f / (float)g->positions);
  vec mean[WIDE], inverse[WIDE], sum[WIDE], product[WIDE], scale[WIDE], shift[WIDE];
  affine_of(g, channel, wide, scale, shift);
  EACH_VECTOR {
    const int c = channel + v * V_LANES;
    mean[v] = v_load(g->mean + c);
    inverse[v] = v_load(g->inverse + c);
    sum[v] = product[v] = v_set(0.0f);
  }
  EACH_POSITION {
    const size_t at = (size_t)i * stride + (size_t)channel;
    EACH_VECTOR {
      const vec raw = v_load(g->x + at + v * V_LANES), x = v_mul(v_sub(raw, mean[v]), inverse[v]);
      vec dy = v_load(g->dy + at + v * V_LANES);
      if (g->relu) {
        dy = v_where_positive(v_add(v_mul(raw, scale[v]), shift[v]), dy);
        v_store(g->dy + at + v * V_LANES, dy);
      }
      sum[v] = v_add(sum[v], dy);
      product[v] = v_add(product[v], v_mul(dy, x));
    }
  }
  EACH_VECTOR {
    v_store(g->sum_dy + channel + v * V_LANES, sum[v]);
    v_store(g->sum_dy_x + channel + v * V_LANES, product[v]);
    sum[v] = v_mul(sum[v], share);
    product[v] = v_mul(product[v], share);
  }
  if (g->dx == NULL) return;
  EACH_POSITION {
    const size_t at = (size_t)i * stride + (size_t)channel;
    EACH_VECTOR {
      const vec x = v_mul(v_sub(v_load(g->x + at + v * V_LANES), mean[v]), inverse[v]);
      const vec rest = v_sub(v_sub(v_load(g->dy + at + v * V_LANES), sum[v]), v_mul(x, product[v]));
      const vec dx = v_mul(scale[v], rest);
      v_store(g->dx + at + v * V_LANES, g->overwrite ? dx : v_add(v_load(g->dx + at + v * V_LANES), dx));
    }
  }
}

void MZ_LEVEL(mz_norm_backward)(const mz_norm_group *g) {
  int channel = 0;
  for (; channel + WIDE * V_LANES <= g->channels; channel += WIDE * V_LANES) differentiate(g, channel, WIDE);
  for (; channel < g->channels; channel += V_LANES) differentiate(g, channel, 1);
}

void MZ_LEVEL(mz_affine)(const float *x, void *y, bool bf16, int positions, int channels, const float *scale, const float *shift,
                         bool relu) {
  float *floats = y;
  uint16_t *bf16s = y;
  for (int i = 0; i < positions; i++) {
    for (int c = 0; c < channels; c += V_LANES, x += V_LANES, floats += V_LANES, bf16s += V_LANES) {
      vec z = v_add(v_mul(v_load(x), v_load(scale + c)), v_load(shift + c));
      if (relu) z = v_max(v_set(0.0f), z);
      if (bf16)
        store_bf16(bf16s, z);
      else
        v_store(floats, z);
    }
  }
}
