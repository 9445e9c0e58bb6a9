/* Connect Four on 7 × 6, solved exactly: alpha-beta with null windows on bitboards, a transposition table, moves that make most
 * threats first, and pairing strategies ("claimeven" and its kin, Allis 1988) that decide a position without search.
 *
 * A score is that of Pons: 0 for a draw, else positive where the side to move wins, and the more the sooner: 22 less the number
 * of stones the winner will have played. An outcome is its sign. */
#pragma once
#include "base/status.h"
#include "envs/connect_four/connect_four_board.h"
#include <stddef.h>

/* One thread at a time. What it finds out is remembered for later calls, as far as the table holds it. */
typedef struct mz_connect_four_solver mz_connect_four_solver;

/* Half of table_bytes to all of it (a power of two) hold what was found; more is faster for early positions: 2^26 is good. */
mz_status mz_connect_four_solver_create(mz_connect_four_solver **out, size_t table_bytes);
void mz_connect_four_solver_free(mz_connect_four_solver *solver);
void mz_connect_four_solver_forget(mz_connect_four_solver *solver);

/* All four: of an unfinished game. False, "unknown", when `node_limit` positions (0: no limit) were searched before the answer was
 * found; whether that happens is determined by what was asked since the solver was created or told to forget. Answers are exact
 * whatever it remembers. */
bool mz_connect_four_outcome(mz_connect_four_solver *solver, mz_connect_four_board board, int64_t node_limit, int *outcome);
bool mz_connect_four_score(mz_connect_four_solver *solver, mz_connect_four_board board, int64_t node_limit, int *score);
/* As mz_connect_four_outcome, without the table of openings (connect_four_openings.h): how that was made, and is checked. */
bool mz_connect_four_outcome_by_search(mz_connect_four_solver *solver, mz_connect_four_board board, int64_t node_limit,
                                       int *outcome);
/* Bit c of `columns`: playing column c keeps the outcome. */
bool mz_connect_four_optimal(mz_connect_four_solver *solver, mz_connect_four_board board, int64_t node_limit, unsigned *columns,
                             int *outcome);
/* Positions searched by the last call; those decided without search do not count. */
int64_t mz_connect_four_nodes(const mz_connect_four_solver *solver);
