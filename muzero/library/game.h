/* A game in the library: a state of an environment that is stepped move by move. */
#pragma once
#include "envs/env.h"
#include "muzero/library/include/muzero.h"

typedef struct mz_library_game {
  const mz_env *env;
  uint64_t seed; /* chance is drawn by (seed, move) */
  int32_t moves;
  mz_step last;   /* the last move's */
  uint8_t *state; /* [env->state_size] */
  uint8_t *legal; /* [env->spec.actions]: zeros when it is over */
  int32_t legal_count;
} mz_library_game;

static inline bool mz_library_game_is_over(const mz_library_game *game) { return game->last.terminated || game->last.truncated; }
