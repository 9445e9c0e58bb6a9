/* The generator behind numpy.random.RandomState(seed), which MinAtar's games and older programs draw from: MT19937 (Matsumoto and
 * Nishimura, ACM TOMACS 8(1), 1998), seeded by one word as init_genrand does. NumPy keeps its streams as they are. A state is a
 * plain value: copy it freely; one thread at a time draws from it. */
#pragma once
#include "base/maths/rng.h"

enum { MZ_RANDOM_STATE_WORDS = 624 };

typedef struct mz_random_state {
  uint32_t words[MZ_RANDOM_STATE_WORDS];
  uint32_t used; /* words handed out; MZ_RANDOM_STATE_WORDS: none left */
} mz_random_state;

void mz_random_state_seed(mz_random_state *state, uint32_t seed);
/* Returns the next word: randint(0, 2**32, dtype=uint32). */
uint32_t mz_random_state_u32(mz_random_state *state);
/* Returns rand(), in [0, 1): 27 bits of the next word above 26 of the one after it. */
double mz_random_state_f64(mz_random_state *state);
/* Returns randint(n), 0 … n-1, by masked rejection; n >= 1, and 1 draws nothing. choice(list) of n entries picks the same index. */
uint32_t mz_random_state_below(mz_random_state *state, uint32_t n);
/* `state` stays the caller's, and advances with every draw. Doubles and bounded draws are the two above; next64 joins two words, the
 * first on top. */
mz_generator mz_generator_from_random_state(mz_random_state *state);
