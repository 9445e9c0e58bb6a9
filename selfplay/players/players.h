/* Opponents, as one small interface: choose a move in a state. */
#pragma once
#include "envs/env.h"

typedef enum mz_player_kind {
  MZ_PLAYER_RANDOM,
  MZ_PLAYER_RULE,
  MZ_PLAYER_PERFECT,
  MZ_PLAYER_MCTS,
  MZ_PLAYER_BASELINE
} mz_player_kind;
typedef struct mz_player {
  mz_player_kind kind;
  int simulations;              /* MCTS */
  const mz_env_solver *chooses; /* BASELINE */
  char name[32];                /* "mcts:100" */
} mz_player;
/* "random", "rule", "perfect", "mcts:SIMS" (1 … 100000), or the name of a baseline of the environment. MZ_E_USAGE naming the
 * nearest or all; MZ_E_CONFIG when the environment cannot offer it (perfect play unknown; rule: no rule player for this game). */
mz_status mz_player_parse(const char *text, const mz_env *env, mz_player *out);
/* The same, where further words are taken, which the caller knows and the message for an unknown one lists: "all and a RUN's
 * path". */
mz_status mz_player_parse_among(const char *text, const mz_env *env, const char *further, mz_player *out);
/* Whether a game has the rule player: two players strictly in turn, without chance. */
bool mz_rule_known(const mz_env *env);
/* Bytes that a thread keeps for this player, at the most. */
double mz_player_bytes(const mz_player *player, const mz_env *env);
/* random: uniform over legal moves. rule: wins at once if it can, else blocks a win (by looking two plies ahead on the true
 * environment), else uniform. perfect: uniform over the optimal moves (perfect.h). mcts: plain UCT (c = √2) with uniformly random
 * rollouts on the true environment, no network. baseline: uniform over the moves that it marks. Fails
 * for want of memory, as mz_perfect_moves, and where moves are tried out as the environment's step. Thread safe on distinct
 * generators; memory is kept for the thread's next move (player_memory.h). */
mz_status mz_player_move(const mz_player *player, const mz_env *env, const void *state, mz_rng *rng, int *action);
