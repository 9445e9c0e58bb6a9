/* Choices among legal actions. */
#pragma once
#include "envs/env.h"

/* Uniform over the actions whose mask byte is 1, of which there are `count` ≥ 1. mask: [actions]. */
static inline int mz_choose_uniform(const uint8_t *mask, int actions, int count, mz_rng *rng) {
  MZ_ASSERT(count >= 1);
  return mz_env_nth_legal(mask, actions, mz_rng_below(rng, (uint32_t)count));
}
