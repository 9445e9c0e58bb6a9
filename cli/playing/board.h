/* Parts of a board that are alike in all games on cells: stones, and points where a game is decided by counting them. */
#pragma once
#include "envs/env.h"

/* 1 for a stone of player 0, −1 for player 1's, 0, by cell, which is the action there. How many cells; 0 where actions are none. */
int mz_board_stones(const mz_env *env, const void *state, double out[MZ_ENV_NUMBERS_MAX]);
/* Komi of the game that is played; false where there is none. */
bool mz_board_komi(const mz_env *env, double *komi);
/* By how many points player 0 leads as the board lies, komi apart: Tromp–Taylor area in Go, discs in Othello. MZ_E_CONFIG for
 * games that nobody counts. */
mz_status mz_board_points(const mz_env *env, const void *state, int *lead);
