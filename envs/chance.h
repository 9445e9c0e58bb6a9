/* How often chance decides what follows a move, as random play shows it: the rules of an environment that is not our own do not say. */
#pragma once
#include "envs/env.h"

typedef struct mz_chance {
  int compared;  /* moves that were made twice from what looked the same */
  int differing; /* of them, with another reward, end or next observation */
} mz_chance;

/* Plays up to two thousand random moves, always the same ones, and fewer where these show enough, or nothing. Where states can be
 * copied, each is made twice from one state; elsewhere it is compared with the last one from an equal observation, so that what an
 * observation hides counts as chance, and observations that never come again (continuous ones) show nothing. Fails as reset and step
 * do; MZ_E_MEMORY. */
mz_status mz_chance_measure(const mz_env *env, mz_chance *out);
