/* A board and its half, whose positions are the middles of 3 × 3 windows at every second position of the board (stride 2, padding 1):
 * MZ_OP_PATCHES and MZ_OP_MEAN_POOL. */
#pragma once
#include "base/shared.h"
#include "networks/parameters/params.h"

/* Returns the half: sides of ⌈height/2⌉ and ⌈width/2⌉. */
MZ_SHARED mz_board mz_halved(mz_board board) {
  mz_board half;
  half.height = (board.height + 1) / 2;
  half.width = (board.width + 1) / 2;
  return half;
}

/* Returns how many of a window's three rows (or columns) lie on a side of `length`; middle: of the window, by the half's position. */
MZ_SHARED int mz_halving_on_side(int length, int middle) { return 3 - (middle == 0 ? 1 : 0) - (2 * middle + 1 < length ? 0 : 1); }

/* Returns the share of each position in the mean over the window in row y and column x of the half: those on the board count. */
MZ_SHARED float mz_halving_share(mz_board board, int y, int x) {
  return 1.0f / (float)(mz_halving_on_side(board.height, y) * mz_halving_on_side(board.width, x));
}
