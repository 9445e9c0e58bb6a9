#include "base/maths/rng.h"
#include "base/maths/rng_inline.h"
#include "base/status.h"

void mz_philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) { mz_philox4x32_inline(counter, key, out); }

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

uint32_t mz_rng_u32(mz_rng *rng) { return mz_rng_u32_inline(rng); }

uint64_t mz_rng_u64(mz_rng *rng) {
  const uint64_t low = mz_rng_u32(rng);
  return low | (uint64_t)mz_rng_u32(rng) << 32;
}

float mz_rng_f32(mz_rng *rng) { return mz_rng_f32_inline(rng); }

double mz_rng_f64(mz_rng *rng) { return (double)(mz_rng_u64(rng) >> 11) * 0x1p-53; }

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

void mz_rng_permutation(mz_rng *rng, int n, int *out) {
  for (int i = 0; i < n; i++) out[i] = i;
  for (int i = n - 1; i > 0; i--) {
    const int j = (int)mz_rng_below(rng, (uint32_t)i + 1), other = out[i];
    out[i] = out[j];
    out[j] = other;
  }
}

float mz_rng_normal(mz_rng *rng) { return mz_rng_normal_inline(rng); }

float mz_rng_gumbel(mz_rng *rng) { return mz_rng_gumbel_inline(rng); }

void mz_rng_dirichlet(mz_rng *rng, float alpha, int n, float *out) { mz_rng_dirichlet_inline(rng, alpha, n, out); }

static uint64_t rng_next64(void *context) { return mz_rng_u64(context); }

mz_generator mz_generator_from_rng(mz_rng *rng) { return (mz_generator){.context = rng, .next64 = rng_next64}; }

mz_rng *mz_generator_rng(const mz_generator *generator) { return generator->next64 == rng_next64 ? generator->context : NULL; }

double mz_generator_f64(const mz_generator *generator) {
  if (generator->f64 != NULL) return generator->f64(generator->context);
  return (double)(generator->next64(generator->context) >> 11) * 0x1p-53;
}

static uint32_t next_of_generator(void *context) {
  const mz_generator *generator = context;
  return (uint32_t)(generator->next64(generator->context) >> 32);
}

uint32_t mz_generator_below(const mz_generator *generator, uint32_t n) {
  if (generator->below != NULL) return generator->below(generator->context, n);
  mz_generator copy = *generator;
  return below(n, next_of_generator, &copy);
}
