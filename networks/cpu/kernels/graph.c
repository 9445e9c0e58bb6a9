/* Graphs: attention along edges and pooling over the positions that are present. Edges and positions are gone through in order, each
 * channel and each head by itself, and nothing is fused, so that every level gives the same bits. */
#include "base/maths/maths_inline.h"
#include "networks/cpu/kernels/table.h"
#include "networks/cpu/kernels/vec.h"
#include <math.h>
#include <string.h>

/* ---- attention ---- */

/* out[m] = factor · Σ over head m's channels of a · b. */
static inline void dot_by_head(const float *restrict a, const float *restrict b, int heads, int size, float factor,
                               float *restrict out) {
  for (int m = 0; m < heads; m++, a += size, b += size) {
    float sum = 0.0f;
    for (int c = 0; c < size; c++) sum += a[c] * b[c];
    out[m] = sum * factor;
  }
}

/* y (+)= x times its head's factor. */
static inline void scale_by_head(const float *restrict x, const float *restrict factors, int heads, int size, float *restrict y,
                                 bool overwrite) {
  for (int m = 0; m < heads; m++, x += size, y += size) {
    for (int c = 0; c < size; c++) y[c] = overwrite ? factors[m] * x[c] : y[c] + factors[m] * x[c];
  }
}

static inline float scale_of(const mz_edge_attention *a) {
  const int size = a->channels / a->heads;
  return 1.0f / sqrtf((float)size);
}

static inline void exponentiate(float *x, int count) {
  for (int i = 0; i < count; i += V_LANES) {
    for (int j = i; j < i + V_LANES; j++) x[j] = mz_expf_inline(x[j]);
  }
}

/* The softmax over each node's edges, into a->weights; sums by node in a->by_node. */
static inline void weigh_edges(const mz_edge_attention *a) {
  const int heads = a->heads, size = a->channels / heads, count = a->nodes * heads;
  const float scale = scale_of(a);
  float *largest = a->by_node, *sums = a->by_node + count;
  for (int i = 0; i < count; i++) {
    largest[i] = -INFINITY;
    sums[i] = 0.0f;
  }
  for (int e = 0; e < a->edges; e++) {
    if (a->targets[e] < 0) continue;
    float *weight = a->weights + e * heads, *top = largest + a->targets[e] * heads;
    dot_by_head(a->q + a->targets[e] * a->channels, a->k + e * a->channels, heads, size, scale, weight);
    for (int m = 0; m < heads; m++) top[m] = weight[m] > top[m] ? weight[m] : top[m];
  }
  for (int e = 0; e < a->edges; e++) {
    for (int m = 0; m < heads && a->targets[e] >= 0; m++) a->weights[e * heads + m] -= largest[a->targets[e] * heads + m];
  }
  exponentiate(a->weights, a->edges * heads);
  for (int e = 0; e < a->edges; e++) {
    for (int m = 0; m < heads && a->targets[e] >= 0; m++) sums[a->targets[e] * heads + m] += a->weights[e * heads + m];
  }
}

void MZ_LEVEL(mz_edge_attention)(const mz_edge_attention *a) {
  const int heads = a->heads, size = a->channels / heads, count = a->nodes * heads;
  float *sums = a->by_node + count;
  memset(a->weights, 0, (size_t)mz_padded(a->edges * heads) * sizeof *a->weights);
  memset(a->y, 0, (size_t)(a->nodes * a->channels) * sizeof *a->y);
  weigh_edges(a);
  for (int i = 0; i < count; i++) sums[i] = 1.0f / sums[i]; /* infinite where no edge leads, and not read */
  for (int e = 0; e < a->edges; e++) {
    if (a->targets[e] < 0) continue;
    float *weight = a->weights + e * heads;
    for (int m = 0; m < heads; m++) weight[m] *= sums[a->targets[e] * heads + m];
    scale_by_head(a->v + e * a->channels, weight, heads, size, a->y + a->targets[e] * a->channels, false);
  }
}

/* Writes the scores' gradients into a->by_edge: weight · (dy·v − Σ over the node's edges of weight · dy·v). */
static inline void score_gradients(const mz_edge_attention *a) {
  const int heads = a->heads, size = a->channels / heads;
  const float scale = scale_of(a);
  float *means = a->by_node;
  memset(means, 0, (size_t)(a->nodes * heads) * sizeof *means);
  for (int e = 0; e < a->edges; e++) {
    if (a->targets[e] < 0) continue;
    float *product = a->by_edge + e * heads, *mean = means + a->targets[e] * heads;
    dot_by_head(a->dy + a->targets[e] * a->channels, a->v + e * a->channels, heads, size, 1.0f, product);
    for (int m = 0; m < heads; m++) mean[m] += a->weights[e * heads + m] * product[m];
  }
  for (int e = 0; e < a->edges; e++) {
    if (a->targets[e] < 0) continue;
    float *product = a->by_edge + e * heads;
    const float *mean = means + a->targets[e] * heads, *weight = a->weights + e * heads;
    for (int m = 0; m < heads; m++) product[m] = weight[m] * (product[m] - mean[m]) * scale;
  }
}

static inline void clear(float *to, int count) { memset(to, 0, (size_t)count * sizeof *to); }

void MZ_LEVEL(mz_edge_attention_backward)(const mz_edge_attention *a) {
  const int heads = a->heads, channels = a->channels, size = channels / heads;
  score_gradients(a);
  if (a->dq != NULL && a->overwrite[0]) clear(a->dq, a->nodes * channels);
  for (int e = 0; e < a->edges; e++) {
    const int to_edge = e * channels, to_node = a->targets[e] * channels;
    const float *gradient = a->by_edge + e * heads;
    if (to_node < 0) {
      if (a->dk != NULL && a->overwrite[1]) clear(a->dk + to_edge, channels);
      if (a->dv != NULL && a->overwrite[2]) clear(a->dv + to_edge, channels);
      continue;
    }
    if (a->dq != NULL) scale_by_head(a->k + to_edge, gradient, heads, size, a->dq + to_node, false);
    if (a->dk != NULL) scale_by_head(a->q + to_node, gradient, heads, size, a->dk + to_edge, a->overwrite[1]);
    if (a->dv != NULL) scale_by_head(a->dy + to_node, a->weights + e * heads, heads, size, a->dv + to_edge, a->overwrite[2]);
  }
}

/* ---- pool ---- */

static inline int count_present(const mz_masked_pooling *p) {
  int count = 0;
  for (int i = 0; i < p->positions; i++) count += p->types[i] >= 0;
  return count;
}

void MZ_LEVEL(mz_masked_pool)(const mz_masked_pooling *p) {
  const int count = count_present(p);
  const vec share = v_set(count > 0 ? 1.0f / (float)count : 0.0f);
  for (int c = 0; c < p->channels; c += V_LANES) {
    vec sum = v_set(0.0f), largest = v_set(count > 0 ? -INFINITY : 0.0f);
    for (int i = 0; i < p->positions; i++) {
      if (p->types[i] < 0) continue;
      const vec x = v_load(p->x + i * p->channels + c);
      sum = v_add(sum, x);
      largest = v_max(largest, x);
    }
    v_store(p->y + c, v_mul(sum, share));
    v_store(p->y + p->channels + c, largest);
  }
}

/* Adds sixteen maxima's gradients where they came from: the first present position that is so large. */
static inline void send_to_largest(const mz_masked_pooling *p, int c) {
  const float *largest = p->y + p->channels + c, *dlargest = p->dy + p->channels + c;
  float open[V_LANES];
  for (int l = 0; l < V_LANES; l++) open[l] = 1.0f;
  for (int i = 0; i < p->positions; i++) {
    if (p->types[i] < 0) continue;
    const float *x = p->x + i * p->channels + c;
    float *dx = p->dx + i * p->channels + c;
    for (int l = 0; l < V_LANES; l++) {
      const float hit = x[l] == largest[l] ? open[l] : 0.0f;
      open[l] -= hit;
      dx[l] += hit * dlargest[l];
    }
  }
}

void MZ_LEVEL(mz_masked_pool_backward)(const mz_masked_pooling *p) {
  const int count = count_present(p);
  const vec share = v_set(count > 0 ? 1.0f / (float)count : 0.0f);
  for (int c = 0; c < p->channels; c += V_LANES) {
    const vec mean = v_mul(v_load(p->dy + c), share);
    for (int i = 0; i < p->positions; i++) {
      float *dx = p->dx + i * p->channels + c;
      const vec d = p->types[i] < 0 ? v_set(0.0f) : mean;
      v_store(dx, p->overwrite ? d : v_add(v_load(dx), d));
    }
    send_to_largest(p, c);
  }
}
