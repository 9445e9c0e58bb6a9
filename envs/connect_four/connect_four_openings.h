/* The outcomes of Connect Four's first moves: every position up to MZ_CONNECT_FOUR_OPENING_MOVES moves, one of a position and its
 * mirror image. The solver found them (tests/envs/connect_four_solver.c --openings writes connect_four_openings.c's table). */
#pragma once
#include "envs/connect_four/connect_four_board.h"

enum { MZ_CONNECT_FOUR_OPENING_MOVES = 4 };

/* The positions of the table in its order, which is by moves, then by key; their number. Thread safe, as what follows. */
int mz_connect_four_openings(const mz_connect_four_board **out);
/* Where a position, or its mirror image, is among them; −1: after more moves. Of an unfinished game. */
int mz_connect_four_opening_index(mz_connect_four_board board);
/* False where the table has no such position. */
bool mz_connect_four_opening(mz_connect_four_board board, int *outcome);
