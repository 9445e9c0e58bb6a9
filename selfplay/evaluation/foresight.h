/* How well values foretell what games bring: each compared with the discounted return that followed it, γ a move. Training compares
 * values with targets that bootstrap from such values, and may find them right where all are too high; this comparison does not. */
#pragma once
#include <stdint.h>

typedef struct mz_foresight { /* sums over positions; zeroed: none */
  int64_t positions;
  double value, value_square, outcome, outcome_square, product;
} mz_foresight;

/* A game that is being played: its sums, and what its next reward adds to them, so that no position has to be kept. Start with zeros. */
typedef struct mz_foreseen_game {
  mz_foresight sums;                                              /* right when the game has ended */
  double weight, weight_square, weighted_value, weighted_outcome; /* over its positions, a reward's weight being a power of γ */
} mz_foreseen_game;

/* A value of the position that is now. */
void mz_foreseen_game_value(mz_foreseen_game *game, double value);
/* A move's reward, to whom the values belong, whoever made it. */
void mz_foreseen_game_reward(mz_foreseen_game *game, double discount, double reward);

void mz_foresight_add(mz_foresight *to, const mz_foresight *from);
double mz_foresight_bias(const mz_foresight *c);      /* mean value minus mean outcome; NaN without positions */
double mz_foresight_deviation(const mz_foresight *c); /* standard deviation of the outcomes; NaN without positions */
/* Pearson's, of values and outcomes; NaN where either is always the same. */
double mz_foresight_correlation(const mz_foresight *c);
