#include "envs/numpy_generator.h"
#include <stddef.h>

/* --- SeedSequence: an entropy of one or two words becomes a pool of four, and that any number of well-mixed words. --- */
enum { POOL_WORDS = 4, SEED_WORDS = 8 };

static uint32_t hash_word(uint32_t value, uint32_t *constant, uint32_t multiplier) {
  value ^= *constant;
  *constant *= multiplier;
  value *= *constant;
  return value ^ value >> 16;
}

static uint32_t mix_words(uint32_t a, uint32_t b) {
  const uint32_t mixed = 0xca01f9ddu * a - 0x4973f715u * b;
  return mixed ^ mixed >> 16;
}

static void seed_sequence(uint64_t entropy, uint32_t words[SEED_WORDS]) {
  const uint32_t pool_multiplier = 0x931e8875u;
  uint32_t constant = 0x43b0d7e5u;
  uint32_t pool[POOL_WORDS] = {(uint32_t)entropy, (uint32_t)(entropy >> 32)};
  for (int i = 0; i < POOL_WORDS; i++) pool[i] = hash_word(pool[i], &constant, pool_multiplier);
  for (int from = 0; from < POOL_WORDS; from++) {
    for (int to = 0; to < POOL_WORDS; to++) {
      if (from != to) pool[to] = mix_words(pool[to], hash_word(pool[from], &constant, pool_multiplier));
    }
  }
  constant = 0x8b51f9ddu;
  for (int i = 0; i < SEED_WORDS; i++) words[i] = hash_word(pool[i % POOL_WORDS], &constant, 0x58f38dedu);
}

/* --- PCG64: a 128-bit linear congruential generator whose halves are folded and rotated by its top bits. --- */
static unsigned __int128 join(uint64_t high, uint64_t low) { return (unsigned __int128)high << 64 | low; }

static void advance(mz_numpy_generator *generator) {
  generator->state = generator->state * join(0x2360ED051FC65DA4u, 0x4385DF649FCCF645u) + generator->increment;
}

static uint64_t next64(void *context) {
  mz_numpy_generator *generator = context;
  advance(generator);
  const uint64_t folded = (uint64_t)(generator->state >> 64) ^ (uint64_t)generator->state;
  const int rotation = (int)(generator->state >> 122);
  return folded >> rotation | folded << (-rotation & 63);
}

mz_numpy_generator mz_numpy_generator_at(uint64_t seed) {
  uint32_t words[SEED_WORDS];
  seed_sequence(seed, words);
  uint64_t pairs[SEED_WORDS / 2];
  for (int i = 0; i < SEED_WORDS / 2; i++) pairs[i] = (uint64_t)words[2 * i + 1] << 32 | words[2 * i];

  mz_numpy_generator generator = {.increment = join(pairs[2], pairs[3]) << 1 | 1};
  advance(&generator);
  generator.state += join(pairs[0], pairs[1]);
  advance(&generator);
  return generator;
}

mz_generator mz_generator_from_numpy(mz_numpy_generator *numpy_generator) {
  return (mz_generator){.context = numpy_generator, .next64 = next64};
}

mz_numpy_generator *mz_generator_numpy(const mz_generator *generator) {
  return generator->next64 == next64 ? generator->context : NULL;
}
