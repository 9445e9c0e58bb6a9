#include "selfplay/search/score.h"

void mz_halving_schedule(int considered, int simulations, int32_t *out) {
  if (considered <= 1) {
    for (int i = 0; i < simulations; i++) out[i] = i;
    return;
  }
  int rounds = 0; /* ⌈log₂ considered⌉ */
  while ((1 << rounds) < considered) rounds++;
  int count = 0, visits = 0;
  for (int left = considered; count < simulations;) {
    const int passes = simulations / (rounds * left) > 1 ? simulations / (rounds * left) : 1;
    for (int pass = 0; pass < passes; pass++, visits++)
      for (int i = 0; i < left && count < simulations; i++) out[count++] = visits;
    const int half = left / 2;
    left = half > 2 ? half : 2;
  }
}
