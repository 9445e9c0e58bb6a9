/* Evaluation: the agent plays without noise and takes the move its search selects, against an opponent or alone; keyed by
 * (seed, round), it touches no training state. Games are searched together, in groups of fixed size. */
#pragma once
#include "muzero/base/pool.h"
#include "selfplay/actor.h"
#include "selfplay/players.h"

typedef struct mz_tally {
  int64_t games, win, draw, loss;
  double return_sum;
} mz_tally;
typedef struct mz_evaluation {
  int64_t games;
  double mean_return;         /* of the agent; two players: in [−1, 1] where a game pays at its end */
  double std, ci95;           /* sample deviation of the returns; half width of the normal 95 % interval of their mean */
  int64_t win, draw, loss;    /* two-player games, by the sign of the return; a single-player game counts in none */
  mz_tally by_seat[2];        /* seat the agent had: 0 moves first */
  int64_t moves, simulations; /* moves of all players; simulations of all networks, as they were run */
} mz_evaluation;

typedef struct mz_agent {
  const mz_env *env;
  const mz_search_settings *search;
  const mz_model *model;
  const mz_backend *backend;
  double discount;
  const float *weights;
  int simulations; /* 0: the search settings' */
} mz_agent;

/* `opponent` NULL: single-player, or the agent against itself. rival: a second agent as opponent (opponent NULL), or NULL.
 * Seats alternate by game, the agent first in game 0; two agents draw nothing and so repeat one game per seat. pool: threads
 * that share the games (results do not depend on it), NULL: the caller's. returns: the agent's, [games] or NULL.
 * MZ_E_CONFIG for an opponent in a game for one. */
mz_status mz_evaluate(const mz_agent *agent, const mz_player *opponent, const mz_agent *rival, int games, uint64_t seed,
                      uint32_t round, mz_pool *pool, mz_evaluation *out, double *returns);
/* Every line that any opponent can play, both seats (the agent's move is a function of the position): counts lines as games;
 * `simulations` counts each position once, as it is searched. MZ_E_CONFIG for environments with chance or too many lines
 * (more than 10 million from one seat). */
mz_status mz_evaluate_all(const mz_agent *agent, mz_pool *pool, mz_evaluation *out);
