#include "envs/numpy_random_state.h"

enum { WORDS = MZ_RANDOM_STATE_WORDS, MIDDLE = 397 };

void mz_random_state_seed(mz_random_state *state, uint32_t seed) {
  state->words[0] = seed;
  for (uint32_t i = 1; i < WORDS; i++) {
    const uint32_t last = state->words[i - 1];
    state->words[i] = 1812433253u * (last ^ last >> 30) + i;
  }
  state->used = WORDS;
}

/* The next word of the recurrence: the top bit of one word and the others of its successor, shifted, and a third word. */
static uint32_t recur(uint32_t word, uint32_t successor, uint32_t middle) {
  const uint32_t joined = (word & 0x80000000u) | (successor & 0x7fffffffu);
  return middle ^ joined >> 1 ^ (joined & 1 ? 0x9908b0dfu : 0);
}

static void refill(mz_random_state *state) {
  uint32_t *words = state->words;
  for (int i = 0; i < WORDS; i++) words[i] = recur(words[i], words[(i + 1) % WORDS], words[(i + MIDDLE) % WORDS]);
  state->used = 0;
}

uint32_t mz_random_state_u32(mz_random_state *state) {
  if (state->used >= WORDS) refill(state);
  uint32_t word = state->words[state->used++];
  word ^= word >> 11;
  word ^= word << 7 & 0x9d2c5680u;
  word ^= word << 15 & 0xefc60000u;
  return word ^ word >> 18;
}

double mz_random_state_f64(mz_random_state *state) {
  const uint32_t high = mz_random_state_u32(state) >> 5, low = mz_random_state_u32(state) >> 6;
  return ((double)high * 67108864.0 + (double)low) / 9007199254740992.0; /* (2^26 high + low) / 2^53 */
}

uint32_t mz_random_state_below(mz_random_state *state, uint32_t n) {
  if (n == 1) return 0;
  const uint32_t mask = UINT32_MAX >> __builtin_clz(n - 1);
  uint32_t drawn;
  do drawn = mz_random_state_u32(state) & mask;
  while (drawn >= n);
  return drawn;
}

static uint64_t next64(void *context) {
  const uint64_t high = mz_random_state_u32(context);
  return high << 32 | mz_random_state_u32(context);
}
static double next_f64(void *context) { return mz_random_state_f64(context); }
static uint32_t next_below(void *context, uint32_t n) { return mz_random_state_below(context, n); }

mz_generator mz_generator_from_random_state(mz_random_state *state) {
  return (mz_generator){.context = state, .next64 = next64, .f64 = next_f64, .below = next_below};
}
