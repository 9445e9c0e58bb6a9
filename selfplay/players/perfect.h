/* Perfect play, where it is known: in games that list it (mz_env.expert), and in games that have a solver. */
#pragma once
#include "envs/env.h"

bool mz_perfect_known(const mz_env *env);
/* Moves from the start after which mz_perfect_moves takes less than a tenth of a second on the average, soon far less; for those
 * who ask about many positions. */
int mz_perfect_quick_after(const mz_env *env);
/* Marks in optimal [actions] the legal moves that keep the best outcome, however long the game; count ≥ 1: how many. For a state of
 * a game in play. Fails as the game's solver does, and for want of memory. Thread safe: what a thread has found out is kept for its
 * next call (player_memory.h). */
mz_status mz_perfect_moves(const mz_env *env, const void *state, uint8_t *optimal, int *count);
/* The same for a baseline: the moves that it makes. */
mz_status mz_baseline_moves(const mz_env_solver *chooses, const mz_env *env, const void *state, uint8_t *chosen, int *count);
