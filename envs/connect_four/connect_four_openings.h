/* The outcomes of Connect Four's first moves: every position up to MZ_CONNECT_FOUR_OPENING_MOVES moves, one of a position and its
 * mirror image. The solver found them (tests/envs/connect_four_solver.c --openings writes connect_four_openings.c's table). */
#pragma once
#include "envs/connect_four/connect_four_solver.h"

enum { MZ_CONNECT_FOUR_OPENING_MOVES = 4 };

/* A number for each board of games that go on: the sum of `mine` and `all` tells the stones of a column apart. 49 bits. */
static inline uint64_t mz_connect_four_key(mz_connect_four_board board) { return board.mine + board.all; }

static inline uint64_t mz_connect_four_mirror_key(uint64_t key) {
  uint64_t mirrored = 0;
  for (int c = 0; c < MZ_CONNECT_FOUR_COLUMNS; c++) mirrored |= (key >> 7 * c & 0x7f) << 7 * (MZ_CONNECT_FOUR_COLUMNS - 1 - c);
  return mirrored;
}

/* The positions of the table in its order, which is by moves, then by key; their number. Thread safe, as what follows. */
int mz_connect_four_openings(const mz_connect_four_board **out);
/* Where a position, or its mirror image, is among them; −1: after more moves. Of a game that goes on. */
int mz_connect_four_opening_index(mz_connect_four_board board);
/* False where the table has no such position. */
bool mz_connect_four_opening(mz_connect_four_board board, int *outcome);
