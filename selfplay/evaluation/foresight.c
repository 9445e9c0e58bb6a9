#include "selfplay/evaluation/foresight.h"
#include <math.h>

void mz_foreseen_game_value(mz_foreseen_game *g, double value) {
  g->sums.positions++;
  g->sums.value += value;
  g->sums.value_square += value * value;
  g->weight += 1;
  g->weight_square += 1;
  g->weighted_value += value;
}

void mz_foreseen_game_reward(mz_foreseen_game *g, double discount, double reward) {
  g->sums.outcome += reward * g->weight;
  g->sums.product += reward * g->weighted_value;
  /* Each position's outcome x becomes x + w·reward, its square x² + 2·w·x·reward + w²·reward². */
  g->sums.outcome_square += reward * (2 * g->weighted_outcome + reward * g->weight_square);
  g->weighted_outcome = discount * (g->weighted_outcome + reward * g->weight_square);
  g->weight *= discount;
  g->weight_square *= discount * discount;
  g->weighted_value *= discount;
}

void mz_foresight_add(mz_foresight *to, const mz_foresight *from) {
  to->positions += from->positions;
  to->value += from->value;
  to->value_square += from->value_square;
  to->outcome += from->outcome;
  to->outcome_square += from->outcome_square;
  to->product += from->product;
}

double mz_foresight_bias(const mz_foresight *c) { return (c->value - c->outcome) / (double)c->positions; }

/* Times the number of positions. 0 where it is lost in rounding: all the same. */
static double variance(const mz_foresight *c, double sum, double square_sum) {
  const double mean_square = sum * sum / (double)c->positions, difference = square_sum - mean_square;
  return difference > 1e-9 * square_sum ? difference : 0;
}

double mz_foresight_deviation(const mz_foresight *c) {
  return sqrt(variance(c, c->outcome, c->outcome_square) / (double)c->positions);
}

double mz_foresight_correlation(const mz_foresight *c) {
  const double values = variance(c, c->value, c->value_square), outcomes = variance(c, c->outcome, c->outcome_square);
  if (!(values > 0 && outcomes > 0)) return NAN;
  return (c->product - c->value * c->outcome / (double)c->positions) / sqrt(values * outcomes);
}
