#include "selfplay/players/mcts_game.h"
#include "selfplay/players/choice.h"
#include <math.h>
#include <string.h>

enum { ROLLOUT_MOVES_MAX = 10000 };

mcts_game mz_mcts_game_make(const mz_env *env, uint8_t *mask, mz_rng *rng) {
  const double low = (double)env->spec.return_min, high = (double)env->spec.return_max;
  mcts_game game = {.env = env, .random = mz_rng_u64(rng) | 1, .chance = mz_generator_from_rng(rng), .mask = mask};
  if (env->spec.players == 2) {
    game.scale = 1 / fmax(fabs(low), fabs(high));
  } else {
    game.scale = 1 / (high - low);
    game.shift = -low / (high - low);
  }
  return game;
}

mz_status mz_mcts_game_finish(mcts_game *game, const void *state, void *spare, mcts_returns *returns) {
  const mz_env *env = game->env;
  if (env->rollout) {
    const int player = mz_env_to_play(env, state);
    const double returned = (double)env->rollout(env, state, &game->random);
    returns->of[player] += returned;
    if (mz_spec_zero_sum(&env->spec)) returns->of[1 - player] -= returned;
    return MZ_OK;
  }
  memcpy(spare, state, env->state_size);
  bool ended = false;
  for (int moves = 0; moves < ROLLOUT_MOVES_MAX && !ended; moves++) {
    int legal;
    MZ_TRY(mz_legal_moves(env, spare, game->mask, &legal));
    const uint32_t nth = mz_fast_below(&game->random, (uint32_t)legal);
    const int action = mz_env_nth_legal(game->mask, env->spec.actions, nth);
    MZ_TRY(mcts_game_play(game, spare, mz_env_to_play(env, spare), action, returns, &ended));
  }
  return MZ_OK;
}
