#include "selfplay/evaluation/tally.h"

void mz_tally_add(mz_tally *tally, double *square_sum, double game_return, int64_t games) {
  tally->games += games;
  tally->win += game_return > 0 ? games : 0;
  tally->draw += game_return == 0 ? games : 0;
  tally->loss += game_return < 0 ? games : 0;
  tally->return_sum += (double)games * game_return;
  *square_sum += (double)games * game_return * game_return;
}
