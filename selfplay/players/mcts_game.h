/* The game that simulations play, for the two kinds of tree: mcts.c where a state follows from the moves, mcts_chance.c where
 * chance has a say. */
#pragma once
#include "envs/env.h"
#include "envs/fast_random.h"

typedef struct mcts_game {
  const mz_env *env;
  uint64_t random;     /* of fast_random.h: for the choices of players */
  mz_generator chance; /* for what the environment draws */
  uint8_t *mask;       /* [actions] */
  double scale, shift; /* value = scale · return + shift */
} mcts_game;

/* Rewards of each player since the root. */
typedef struct mcts_returns {
  double of[2];
} mcts_returns;

/* `mask` is the caller's. Takes from the stream, and lets the environment draw from it. */
mcts_game mz_mcts_game_make(const mz_env *env, uint8_t *mask, mz_rng *rng);

/* Plays one move in `state`; *ended: it ended the game. */
static inline mz_status mcts_game_play(mcts_game *game, void *state, int player, int32_t action, mcts_returns *returns,
                                       bool *ended) {
  mz_step step;
  MZ_TRY(game->env->step(game->env, state, 1, &action, &game->chance, &step));
  returns->of[player] += (double)step.reward;
  if (mz_spec_zero_sum(&game->env->spec)) returns->of[1 - player] -= (double)step.reward;
  *ended = step.terminated || step.truncated;
  return MZ_OK;
}

/* Plays on from `state` at random, to the end. `spare`: another state. */
mz_status mz_mcts_game_finish(mcts_game *game, const void *state, void *spare, mcts_returns *returns);

/* −1 … 1 for two players, 0 … 1 for one; returns beyond the declared ones are cut. */
static inline double mcts_game_value(const mcts_game *game, double returned) {
  const double value = game->scale * returned + game->shift, least = game->env->spec.players == 2 ? -1 : 0;
  return value < least ? least : value > 1 ? 1 : value;
}

/* One edge of the root, to be compared with the others. */
typedef struct mcts_choice {
  int action, visits;
  double total;
} mcts_choice;

/* More visits; a higher mean; a lower index. */
static inline bool mcts_choice_better(mcts_choice a, mcts_choice b) {
  if (a.visits != b.visits) return a.visits > b.visits;
  if (a.total > b.total || a.total < b.total) return a.total > b.total;
  return a.action < b.action;
}
