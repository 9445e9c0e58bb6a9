/* A Connect Four board of 7 × 6 as two words of bits, and moves on it. */
#pragma once
#include "base/status.h"
#include <stdbool.h>
#include <stdint.h>

enum { MZ_CONNECT_FOUR_COLUMNS = 7, MZ_CONNECT_FOUR_ROWS = 6, MZ_CONNECT_FOUR_CELLS = 42 };

/* Bit 7 · column + row, row 0 at the bottom; the bit above a column's six stays free. Every column is filled from below. */
typedef struct mz_connect_four_board {
  uint64_t mine; /* stones of the side to move */
  uint64_t all;
} mz_connect_four_board;

enum { MZ_CONNECT_FOUR_HEIGHT = 7 };                     /* bits of a column */
#define MZ_CONNECT_FOUR_BOTTOM UINT64_C(0x0040810204081) /* the lowest cell of every column */
#define MZ_CONNECT_FOUR_COLUMN UINT64_C(0x3f)
#define MZ_CONNECT_FOUR_BOARD (MZ_CONNECT_FOUR_BOTTOM * MZ_CONNECT_FOUR_COLUMN)

/* A number for each board of unfinished games: the sum of `mine` and `all` tells the stones of a column apart. 49 bits. */
static inline uint64_t mz_connect_four_key(mz_connect_four_board board) { return board.mine + board.all; }

static inline uint64_t mz_connect_four_mirror_key(uint64_t key) {
  uint64_t mirrored = 0;
  for (int c = 0; c < MZ_CONNECT_FOUR_COLUMNS; c++) mirrored |= (key >> 7 * c & 0x7f) << 7 * (MZ_CONNECT_FOUR_COLUMNS - 1 - c);
  return mirrored;
}

/* Cells are numbered row by row from the top, as observations and pictures show them. */
static inline uint64_t mz_connect_four_cell(int cell) {
  const int column = cell % MZ_CONNECT_FOUR_COLUMNS, row = MZ_CONNECT_FOUR_ROWS - 1 - cell / MZ_CONNECT_FOUR_COLUMNS;
  return UINT64_C(1) << (MZ_CONNECT_FOUR_HEIGHT * column + row);
}

static inline bool mz_connect_four_has_four(uint64_t stones) {
  const uint64_t up = stones & stones >> 1, across = stones & stones >> MZ_CONNECT_FOUR_HEIGHT;
  const uint64_t falling = stones & stones >> (MZ_CONNECT_FOUR_HEIGHT - 1),
                 rising = stones & stones >> (MZ_CONNECT_FOUR_HEIGHT + 1);
  return (up & up >> 2) | (across & across >> 2 * MZ_CONNECT_FOUR_HEIGHT) |
         (falling & falling >> 2 * (MZ_CONNECT_FOUR_HEIGHT - 1)) | (rising & rising >> 2 * (MZ_CONNECT_FOUR_HEIGHT + 1));
}

/* The empty cells that would complete four of these stones, whether they can be played yet or not. */
static inline uint64_t mz_connect_four_threats(uint64_t stones, uint64_t all) {
  uint64_t cells = stones << 1 & stones << 2 & stones << 3;
  for (int d = MZ_CONNECT_FOUR_HEIGHT - 1; d <= MZ_CONNECT_FOUR_HEIGHT + 1; d++) {
    const uint64_t two_before = stones << d & stones << 2 * d, two_behind = stones >> d & stones >> 2 * d;
    cells |= two_before & (stones << 3 * d | stones >> d);
    cells |= two_behind & (stones >> 3 * d | stones << d);
  }
  return cells & MZ_CONNECT_FOUR_BOARD & ~all;
}

static inline uint64_t mz_connect_four_playable_cells(uint64_t all) {
  return (all + MZ_CONNECT_FOUR_BOTTOM) & MZ_CONNECT_FOUR_BOARD;
}

static inline uint64_t mz_connect_four_column(int column) { return MZ_CONNECT_FOUR_COLUMN << MZ_CONNECT_FOUR_HEIGHT * column; }

/* Returns the board after the side to move has played a column that is not full, seen by the other side. */
static inline mz_connect_four_board mz_connect_four_play(mz_connect_four_board b, int column) {
  const uint64_t lowest = UINT64_C(1) << MZ_CONNECT_FOUR_HEIGHT * column,
                 cell = (b.all + lowest) & mz_connect_four_column(column);
  MZ_ASSERT(cell);
  return (mz_connect_four_board){.mine = b.mine ^ b.all, .all = b.all | cell};
}

static inline bool mz_connect_four_playable(mz_connect_four_board b, int column) {
  return (mz_connect_four_playable_cells(b.all) & mz_connect_four_column(column)) != 0;
}

/* Returns whether the side to move completes four in this column. */
static inline bool mz_connect_four_wins(mz_connect_four_board b, int column) {
  return (mz_connect_four_threats(b.mine, b.all) & mz_connect_four_playable_cells(b.all) & mz_connect_four_column(column)) != 0;
}
