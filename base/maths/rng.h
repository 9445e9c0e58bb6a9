/* Counter-based random numbers: Philox4x32-10 (Salmon et al., SC 2011). A stream is named by what it is for, never by the
 * thread that draws from it, so that no scheduling can change a draw (docs/architecture.md, "Determinism"). A stream is a plain
 * value: copy it freely. rng_inline.h has bodies that GPUs share. */
#pragma once
#include "base/shared.h"
#include <stdint.h>

/* Purposes of streams; streams.h makes the streams and says what `a` and `b` are. Numbers are never used again for another purpose:
 * they determine what a seed gives. */
typedef enum mz_purpose {
  MZ_RNG_WEIGHTS = 1,
  MZ_RNG_ENV = 2,
  MZ_RNG_NOISE = 3,
  MZ_RNG_ACTION = 4,
  MZ_RNG_OPENING = 5,
  MZ_RNG_SAMPLE = 6,
  MZ_RNG_SYMMETRY = 7,
  MZ_RNG_REANALYZE = 8,
  MZ_RNG_EVAL_ENV = 9,
  MZ_RNG_EVAL_OPPONENT = 10,
  MZ_RNG_EVAL_OPENING = 11,
  MZ_RNG_BOOTSTRAP = 12,
  MZ_RNG_ORDER = 13,
  MZ_RNG_JUDGE = 14,
  MZ_RNG_TEST = 15, /* tests and benchmarks */
  MZ_RNG_CAP = 16,
  MZ_RNG_FORK = 17,
  MZ_RNG_SIMULATION = 18,
  MZ_RNG_PLANS = 19,
  MZ_RNG_PRACTICE = 20,
  MZ_RNG_COURSE = 21,
  MZ_RNG_PERMUTATION = 22,
  MZ_RNG_PROBE = 23,
} mz_purpose;

typedef struct mz_rng {
  uint32_t key[2];
  uint32_t counter[4]; /* {block, a, low b, purpose << 24 | high 24 bits of b} */
  uint32_t block[4];
  uint32_t used; /* words of `block` handed out; 4: none left */
} mz_rng;

MZ_C_BEGIN

/* The key is the low and the high half of SplitMix64's mix of the seed. b < 2^56. */
mz_rng mz_rng_at(uint64_t seed, mz_purpose purpose, uint32_t a, uint64_t b);
/* The bare block function, for known-answer tests. */
void mz_philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

uint32_t mz_rng_u32(mz_rng *rng);
uint64_t mz_rng_u64(mz_rng *rng);
float mz_rng_f32(mz_rng *rng);                                      /* [0, 1), 24 bits */
double mz_rng_f64(mz_rng *rng);                                     /* [0, 1), 53 bits */
uint32_t mz_rng_below(mz_rng *rng, uint32_t n);                     /* unbiased; n >= 1 */
void mz_rng_permutation(mz_rng *rng, int n, int *out);              /* 0 … n-1 in a drawn order; Fisher–Yates */
float mz_rng_normal(mz_rng *rng);                                   /* Box–Muller with our own log, sin, cos */
float mz_rng_gumbel(mz_rng *rng);                                   /* standard Gumbel */
void mz_rng_dirichlet(mz_rng *rng, float alpha, int n, float *out); /* Marsaglia–Tsang gammas, normalised */

/* A generator handed to an environment: Philox in training, the reference implementation's own for `envs --trace`. */
typedef struct mz_generator {
  void *context;
  uint64_t (*next64)(void *context);
  double (*f64)(void *context);                 /* NULL: (next64 >> 11) * 2^-53, as NumPy's Generator draws doubles */
  uint32_t (*below)(void *context, uint32_t n); /* NULL: from the high halves of next64, by Lemire's method */
} mz_generator;
mz_generator mz_generator_from_rng(mz_rng *rng);
/* Returns what a generator of mz_generator_from_rng draws from, NULL for another. */
mz_rng *mz_generator_rng(const mz_generator *generator);
double mz_generator_f64(const mz_generator *generator);                 /* [0, 1), 53 bits */
uint32_t mz_generator_below(const mz_generator *generator, uint32_t n); /* unbiased; n >= 1 */

MZ_C_END
