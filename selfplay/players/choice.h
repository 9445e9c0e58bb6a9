/* Choices among legal actions. */
#pragma once
#include "envs/env.h"

/* Uniform over the actions whose mask byte is set, of which there are `count` ≥ 1. */
static inline int mz_choose_uniform(const uint8_t *mask, int count, mz_rng *rng) {
  MZ_ASSERT(count >= 1);
  int left = (int)mz_rng_below(rng, (uint32_t)count);
  int action = 0;
  while (!mask[action] || left-- > 0) action++;
  return action;
}
