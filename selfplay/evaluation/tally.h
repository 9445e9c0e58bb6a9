/* Games counted by how they ended. */
#pragma once
#include <stdint.h>

typedef struct mz_tally {
  int64_t games, win, draw, loss;
  double return_sum;
} mz_tally;

/* Adds `games` games with this return; counts them as won, drawn or lost by its sign. */
void mz_tally_add(mz_tally *tally, double *square_sum, double game_return, int64_t games);
