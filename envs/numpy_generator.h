/* The generator behind numpy.random.default_rng(seed): SeedSequence (O'Neill's seed_seq_fe) feeding PCG64 (XSL-RR 128/64).
 * Gymnasium draws its resets from it, so `envs --trace` does, too. A generator is a plain value: copy it freely. */
#pragma once
#include "base/maths/rng.h"

typedef struct mz_numpy_generator {
  unsigned __int128 state, increment;
} mz_numpy_generator;

mz_numpy_generator mz_numpy_generator_at(uint64_t seed);
/* `numpy_generator` stays the caller's, and advances with every draw. mz_generator_f64 of it is Generator.random(). */
mz_generator mz_generator_from_numpy(mz_numpy_generator *numpy_generator);
/* Returns what a generator of mz_generator_from_numpy draws from, NULL for another. */
mz_numpy_generator *mz_generator_numpy(const mz_generator *generator);
