/* Every line of play that an opponent can bring about against a player whose move is a function of the position. Lines are
 * counted, positions are visited once: equal positions of one ply are merged, each with the number of lines that lead to it. */
#pragma once
#include "envs/env.h"
#include "selfplay/evaluation/tally.h"

/* Moves for n states lying one behind the other. */
typedef mz_status (*mz_chooser)(void *context, int n, const void *states, int32_t *actions);

typedef struct mz_lines {
  mz_tally tally;           /* games: lines; for the player of `choose` */
  double square_sum;        /* of the returns */
  int64_t moves, positions; /* moves over all lines; positions that `choose` was asked about */
} mz_lines;

/* Positions take no more memory than this (and a quarter of it while they are moved). */
enum { MZ_LINES_BYTES = 256 << 20 };
/* `choose` has the given seat. Two players, no chance, games that begin alike. MZ_E_CONFIG when there are more than `limit` lines,
 * or too many positions of one ply for that memory. */
mz_status mz_lines_count(const mz_env *env, int seat, mz_chooser choose, void *context, int64_t limit, mz_lines *out);
