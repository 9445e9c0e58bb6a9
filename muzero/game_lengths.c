#include "muzero/game_lengths.h"
#include <math.h>
#include <string.h>

void mz_game_lengths_add(mz_game_lengths *l, double mean) {
  memmove(l->last + 1, l->last, sizeof l->last - sizeof l->last[0]);
  l->last[0] = mean;
  l->longest = fmax(l->longest, mean);
}

double mz_game_lengths_growth(const mz_game_lengths *l, double limit) {
  const double last = l->last[0];
  double most = 1;
  if (!(last > 0)) return 1;
  for (int i = 1; i < MZ_GAME_LENGTHS && l->last[i] > 0; i++) most = fmax(most, l->last[i - 1] / l->last[i]);
  const double next = fmax(last * most, l->longest);
  return fmax(limit > 0 ? fmin(next, limit) : next, last) / last;
}
