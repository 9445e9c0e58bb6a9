/* Games played one by one, with every requirement of env_abi.h looked at on the way. */
#pragma once
#include "envs/own/findings.h"
#include "envs/own/recorded_game.h"
#include <stdbool.h>

/* No game is played further than so many random moves; one without a limit that is not over then is taken for endless. */
enum { MZ_ENDLESS_MOVES = MZ_FINDING_ACTIONS_MAX - 1 };

typedef struct mz_contract mz_contract;
/* moves: [MZ_ENDLESS_MOVES + 1], where the actions of the game under way are kept. */
mz_status mz_contract_create(mz_contract **out, const muzero_env_abi *abi, const mz_spec *spec, int32_t *moves,
                             mz_findings *findings);
void mz_contract_free(mz_contract *contract); /* NULL is fine */
/* Plays the game of a seed by random legal moves to its end and records it. *moves: played. */
void mz_contract_play(mz_contract *contract, uint64_t seed, mz_recorded_game *game, int *moves);
/* Returns whether a player moved twice in a row in any game so far. */
bool mz_contract_moved_twice(const mz_contract *contract);
