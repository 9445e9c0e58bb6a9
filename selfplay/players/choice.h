/* Choices among legal actions. */
#pragma once
#include "envs/env.h"

/* Writes which actions are legal; *count ≥ 1. An environment of somebody's own may say at any time that none is: MZ_E_CONFIG. */
static inline mz_status mz_legal_moves(const mz_env *env, const void *state, uint8_t *mask, int *count) {
  *count = mz_env_legal(env, state, mask);
  return *count > 0 ? MZ_OK : mz_fail(MZ_E_CONFIG, "%s: no action is legal in a game that has not ended", env->name);
}

/* Uniform over the actions whose mask byte is 1, of which there are `count` ≥ 1. mask: [actions]. */
static inline int mz_choose_uniform(const uint8_t *mask, int actions, int count, mz_rng *rng) {
  MZ_ASSERT(count >= 1);
  return mz_env_nth_legal(mask, actions, mz_rng_below(rng, (uint32_t)count));
}
