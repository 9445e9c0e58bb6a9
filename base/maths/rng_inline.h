/* The bodies behind rng.h of what a search draws, inline and shared with GPUs (base/shared.h): a stream gives the same bits wherever
 * it is drawn from. */
#pragma once
#include "base/maths/maths_inline.h"
#include "base/maths/rng.h"
#include "base/shared.h"
#include "base/status.h"

MZ_SHARED void mz_philox4x32_inline(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
  uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
  uint32_t k0 = key[0], k1 = key[1];
  for (int round = 0; round < 10; round++) {
    const uint64_t p0 = (uint64_t)0xD2511F53u * c0;
    const uint64_t p1 = (uint64_t)0xCD9E8D57u * c2;
    c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
    c1 = (uint32_t)p1;
    c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
    c3 = (uint32_t)p0;
    k0 += 0x9E3779B9u; /* Weyl sequence of the key: golden ratio, √3 − 1 */
    k1 += 0xBB67AE85u;
  }
  out[0] = c0, out[1] = c1, out[2] = c2, out[3] = c3;
}

MZ_SHARED uint32_t mz_rng_u32_inline(mz_rng *rng) {
  if (rng->used >= 4) {
    mz_philox4x32_inline(rng->counter, rng->key, rng->block);
    rng->counter[0]++;
    rng->used = 0;
  }
  return rng->block[rng->used++];
}

MZ_SHARED float mz_rng_f32_inline(mz_rng *rng) { return (float)(mz_rng_u32_inline(rng) >> 8) * 0x1p-24f; }

/* (0, 1): never an end, so that a logarithm of it, or of its complement, is finite. */
MZ_SHARED double mz_rng_open_unit(mz_rng *rng) { return ((double)mz_rng_u32_inline(rng) + 0.5) * 0x1p-32; }

MZ_SHARED double mz_rng_normal_f64(mz_rng *rng) {
  const double radius = sqrt(-2.0 * mz_log_inline(mz_rng_open_unit(rng)));
  double sine, cosine;
  mz_sincos_inline(6.283185307179586 * mz_rng_open_unit(rng), &sine, &cosine);
  return radius * cosine; /* the sine is thrown away: a stream has no state beside its counter */
}

MZ_SHARED float mz_rng_normal_inline(mz_rng *rng) { return (float)mz_rng_normal_f64(rng); }

MZ_SHARED float mz_rng_gumbel_inline(mz_rng *rng) { return (float)-mz_log_inline(-mz_log_inline(mz_rng_open_unit(rng))); }

/* Logarithm of a Gamma(shape, 1) draw (Marsaglia & Tsang 2000). Logarithms, because for shapes of 0.03 the draw itself often
 * underflows. For shapes below one: Gamma(a) = Gamma(a + 1) · U^(1/a). */
MZ_SHARED double mz_rng_log_gamma(mz_rng *rng, double shape) {
  const double boost = shape < 1.0 ? mz_log_inline(mz_rng_open_unit(rng)) / shape : 0.0;
  const double d = (shape < 1.0 ? shape + 1.0 : shape) - 1.0 / 3.0;
  const double c = 1.0 / sqrt(9.0 * d);
  for (;;) {
    const double x = mz_rng_normal_f64(rng);
    const double base = 1.0 + c * x;
    if (base <= 0.0) continue;
    const double v = base * base * base;
    if (mz_log_inline(mz_rng_open_unit(rng)) < 0.5 * x * x + d - d * v + d * mz_log_inline(v))
      return mz_log_inline(d * v) + boost;
  }
}

MZ_SHARED void mz_rng_dirichlet_inline(mz_rng *rng, float alpha, int n, float *out) {
  MZ_SHARED_ASSERT(alpha > 0 && n >= 1);
  float largest = -INFINITY;
  for (int i = 0; i < n; i++) {
    out[i] = (float)mz_rng_log_gamma(rng, (double)alpha);
    if (out[i] > largest) largest = out[i];
  }
  double sum = 0.0;
  for (int i = 0; i < n; i++) {
    const double weight = mz_exp_inline((double)out[i] - (double)largest);
    out[i] = (float)weight;
    sum += weight;
  }
  for (int i = 0; i < n; i++) out[i] = (float)((double)out[i] / sum);
}
