/* How long the games of the last evaluations were: by that a run foresees what its closing games take. A plain struct. */
#pragma once

enum { MZ_GAME_LENGTHS = 5 };
/* In whatever the time of games is in proportion to. Zeros: none were evaluated. */
typedef struct mz_game_lengths {
  double last[MZ_GAME_LENGTHS]; /* means, of the last evaluation first */
  double longest;               /* of all so far */
} mz_game_lengths;
void mz_game_lengths_add(mz_game_lengths *lengths, double mean);
/* Returns how many times as long as those of the last evaluation the next games may be: as long as any so far, or grown as they grew most
 * between two of the last evaluations, at most `limit` long (0: no limit). 1 where nothing is known. */
double mz_game_lengths_growth(const mz_game_lengths *lengths, double limit);
