#include "base/maths/rng.h"
#include "base/maths/maths.h"
#include "base/status.h"
#include <math.h>
#include <string.h>

void mz_philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
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

/* The output function of SplitMix64 (Steele et al. 2014): a bijection, so distinct seeds have distinct keys, and near seeds
 * have far keys. */
static uint64_t mix64(uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

mz_rng mz_rng_at(uint64_t seed, mz_purpose purpose, uint32_t a, uint64_t b) {
  MZ_ASSERT((uint32_t)purpose < 256 && b >> 56 == 0);
  const uint64_t key = mix64(seed);
  return (mz_rng){
      .key = {(uint32_t)key, (uint32_t)(key >> 32)},
      .counter = {0, a, (uint32_t)b, (uint32_t)purpose << 24 | (uint32_t)(b >> 32)},
      .used = 4,
  };
}

uint32_t mz_rng_u32(mz_rng *rng) {
  if (rng->used >= 4) {
    mz_philox4x32(rng->counter, rng->key, rng->block);
    rng->counter[0]++;
    rng->used = 0;
  }
  return rng->block[rng->used++];
}

uint64_t mz_rng_u64(mz_rng *rng) {
  const uint64_t low = mz_rng_u32(rng);
  return low | (uint64_t)mz_rng_u32(rng) << 32;
}

float mz_rng_f32(mz_rng *rng) { return (float)(mz_rng_u32(rng) >> 8) * 0x1p-24f; }

double mz_rng_f64(mz_rng *rng) { return (double)(mz_rng_u64(rng) >> 11) * 0x1p-53; }

/* (0, 1): never an end, so that a logarithm of it, or of its complement, is finite. */
static double open_unit(mz_rng *rng) { return ((double)mz_rng_u32(rng) + 0.5) * 0x1p-32; }

/* Lemire's multiplication with rejection (ACM TOMACS 2019): the word that makes high·low of word × n fair. */
static uint32_t below(uint32_t n, uint32_t (*next)(void *), void *context) {
  MZ_ASSERT(n >= 1);
  uint64_t product = (uint64_t)next(context) * n;
  if ((uint32_t)product < n) {
    const uint32_t biased = -n % n; /* 2^32 mod n low halves would be one draw too likely */
    while ((uint32_t)product < biased) product = (uint64_t)next(context) * n;
  }
  return (uint32_t)(product >> 32);
}

static uint32_t next_of_rng(void *rng) { return mz_rng_u32(rng); }

uint32_t mz_rng_below(mz_rng *rng, uint32_t n) { return below(n, next_of_rng, rng); }

static double normal(mz_rng *rng) {
  const double radius = sqrt(-2.0 * mz_log(open_unit(rng)));
  double sine, cosine;
  mz_sincos(6.283185307179586 * open_unit(rng), &sine, &cosine);
  return radius * cosine; /* the sine is thrown away: a stream has no state beside its counter */
}

void mz_rng_permutation(mz_rng *rng, int n, int *out) {
  for (int i = 0; i < n; i++) out[i] = i;
  for (int i = n - 1; i > 0; i--) {
    const int j = (int)mz_rng_below(rng, (uint32_t)i + 1), other = out[i];
    out[i] = out[j];
    out[j] = other;
  }
}

float mz_rng_normal(mz_rng *rng) { return (float)normal(rng); }

float mz_rng_gumbel(mz_rng *rng) { return (float)-mz_log(-mz_log(open_unit(rng))); }

/* Logarithm of a Gamma(shape, 1) draw (Marsaglia & Tsang 2000). Logarithms, because for shapes of 0.03 the draw itself often
 * underflows. For shapes below one: Gamma(a) = Gamma(a + 1) · U^(1/a). */
static double log_gamma_draw(mz_rng *rng, double shape) {
  const double boost = shape < 1.0 ? mz_log(open_unit(rng)) / shape : 0.0;
  const double d = (shape < 1.0 ? shape + 1.0 : shape) - 1.0 / 3.0;
  const double c = 1.0 / sqrt(9.0 * d);
  for (;;) {
    const double x = normal(rng);
    const double base = 1.0 + c * x;
    if (base <= 0.0) continue;
    const double v = base * base * base;
    if (mz_log(open_unit(rng)) < 0.5 * x * x + d - d * v + d * mz_log(v)) return mz_log(d * v) + boost;
  }
}

void mz_rng_dirichlet(mz_rng *rng, float alpha, int n, float *out) {
  MZ_ASSERT(alpha > 0 && n >= 1);
  float largest = -INFINITY;
  for (int i = 0; i < n; i++) {
    out[i] = (float)log_gamma_draw(rng, (double)alpha);
    if (out[i] > largest) largest = out[i];
  }
  double sum = 0.0;
  for (int i = 0; i < n; i++) {
    const double weight = mz_exp((double)out[i] - (double)largest);
    out[i] = (float)weight;
    sum += weight;
  }
  for (int i = 0; i < n; i++) out[i] = (float)((double)out[i] / sum);
}

static uint64_t rng_next64(void *context) { return mz_rng_u64(context); }

mz_generator mz_generator_from_rng(mz_rng *rng) { return (mz_generator){.context = rng, .next64 = rng_next64}; }

double mz_generator_f64(const mz_generator *generator) { return (double)(generator->next64(generator->context) >> 11) * 0x1p-53; }

static uint32_t next_of_generator(void *context) {
  const mz_generator *generator = context;
  return (uint32_t)(generator->next64(generator->context) >> 32);
}

uint32_t mz_generator_below(const mz_generator *generator, uint32_t n) {
  mz_generator copy = *generator;
  return below(n, next_of_generator, &copy);
}
