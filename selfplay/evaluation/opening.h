/* Games that begin with random moves: of games between players who draw nothing no two would differ otherwise. */
#pragma once
#include "envs/env.h"

/* Up to `plies` moves, uniform over the legal ones, fewer when the game ends (*ended). The rest as for mz_opening_play. */
mz_status mz_random_moves(const mz_env *env, void *state, int plies, uint8_t *mask, mz_rng *moves, const mz_generator *chance,
                          int32_t *actions, int *made, bool *ended);

/* A first state, and on it `plies` moves, uniform over the legal ones. A game that ends within its opening begins again with an
 * opening one move short of that end, so the state is never a finished game's. mask: [actions], scratch. `moves` draws the moves,
 * `chance` what the environment draws (NULL where it draws nothing; both may be one stream's). *made: how many moves it made;
 * `actions` ([plies], or NULL): which. Fails as the environment does. */
mz_status mz_opening_play(const mz_env *env, void *state, int plies, uint8_t *mask, mz_rng *moves, const mz_generator *chance,
                          int32_t *actions, int *made);

/* *differ: whether games begin differently even without such moves, for `reset` may draw in any environment. Looks at 16 first
 * states, each drawn from another stream. Fails as the environment does. */
mz_status mz_starts_differ(const mz_env *env, bool *differ);

/* How many such moves let the games of two agents differ and stay even: 4 on boards of more than 9 cells, else 2. */
int mz_opening_default(const mz_spec *spec);
