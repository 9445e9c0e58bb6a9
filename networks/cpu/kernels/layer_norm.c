/* Layer norm: each position over its channels. Sums run in the order of math/lanes.h. */
#include "networks/cpu/kernels/table.h"
#include "networks/cpu/kernels/vec.h"
#include <math.h>

static inline void moments_of(const float *x, int channels, float epsilon, float *mean, float *inverse) {
  vec sum = v_set(0.0f), square = v_set(0.0f);
  for (int c = 0; c < channels; c += V_LANES) sum = v_add(sum, v_load(x + c));
  *mean = v_sum(sum) / (float)channels;
  for (int c = 0; c < channels; c += V_LANES) {
    const vec off = v_sub(v_load(x + c), v_set(*mean));
    square = v_add(square, v_mul(off, off));
  }
  *inverse = 1.0f / sqrtf(v_sum(square) / (float)channels + epsilon);
}

void MZ_LEVEL(mz_layer_norm)(const mz_layer_norm *n) {
  const float *x = n->x;
  float *y = n->y;
  for (int p = 0; p < n->positions; p++, x += n->channels, y += n->channels) {
    moments_of(x, n->channels, n->epsilon, &n->mean[p], &n->inverse[p]);
    const vec mean = v_set(n->mean[p]), inverse = v_set(n->inverse[p]);
    for (int c = 0; c < n->channels; c += V_LANES) {
      const vec normalised = v_mul(v_sub(v_load(x + c), mean), inverse);
      v_store(y + c, v_add(v_mul(v_load(n->gamma + c), normalised), v_load(n->beta + c)));
    }
  }
}

/* With g = gamma · dy: dx = (g − mean g − x̂ · mean(g · x̂)) · inverse. */
void MZ_LEVEL(mz_layer_norm_backward)(const mz_layer_norm *n) {
  const float *x = n->x, *dy = n->dy;
  float *dx = n->dx;
  const vec count = v_set(1.0f / (float)n->channels);
  for (int p = 0; p < n->positions; p++, x += n->channels, dy += n->channels, dx += n->channels) {
    const vec mean = v_set(n->mean[p]), inverse = v_set(n->inverse[p]);
    vec sum = v_set(0.0f), product = v_set(0.0f);
    for (int c = 0; c < n->channels; c += V_LANES) {
      const vec g = v_mul(v_load(n->gamma + c), v_load(dy + c));
      sum = v_add(sum, g);
      product = v_add(product, v_mul(g, v_mul(v_sub(v_load(x + c), mean), inverse)));
    }
    const vec mean_g = v_mul(v_set(v_sum(sum)), count), mean_product = v_mul(v_set(v_sum(product)), count);
    for (int c = 0; c < n->channels; c += V_LANES) {
      const vec g = v_mul(v_load(n->gamma + c), v_load(dy + c)), normalised = v_mul(v_sub(v_load(x + c), mean), inverse);
      const vec d = v_mul(v_sub(v_sub(g, mean_g), v_mul(normalised, mean_product)), inverse);
      v_store(dx + c, n->overwrite ? d : v_add(v_load(dx + c), d));
    }
  }
}

void MZ_LEVEL(mz_layer_norm_gradients)(const mz_layer_norm *n) {
  for (int c = 0; c < n->channels; c += V_LANES) {
    vec dgamma = v_load(n->dgamma + c), dbeta = v_load(n->dbeta + c);
    for (int p = 0; p < n->positions; p++) {
      const vec dy = v_load(n->dy + p * n->channels + c), off = v_sub(v_load(n->x + p * n->channels + c), v_set(n->mean[p]));
      dgamma = v_add(dgamma, v_mul(dy, v_mul(off, v_set(n->inverse[p]))));
      dbeta = v_add(dbeta, dy);
    }
    v_store(n->dgamma + c, dgamma);
    v_store(n->dbeta + c, dbeta);
  }
}
