/* Evaluation: agents play without noise and take the move their search selects, against each other, a player or alone. Keyed by
 * (seed, round), it touches no training state; results do not depend on threads or on which games are searched together. */
#pragma once
#include "base/threads/pool.h"
#include "selfplay/evaluation/agent.h"
#include "selfplay/evaluation/foresight.h"
#include "selfplay/players/players.h"
#include "selfplay/evaluation/points.h"
#include "selfplay/evaluation/tally.h"

typedef struct mz_evaluation { /* of side 0 of a match */
  int64_t games;
  double mean_return;      /* two players: in [−1, 1] where a game pays at its end */
  double std, ci95;        /* sample deviation of the returns; half width of the normal 95 % interval of their mean, by the
                            * units of mz_evaluate; NAN of one unit and where every line was played */
  int64_t win, draw, loss; /* two-player games, by the sign of the return; a single-player game counts in none */
  mz_interval points;      /* share of the points, a draw being half, with its 95 % interval (points.h); zeros for one player */
  mz_tally by_seat[2];     /* seat that side 0 had: 0 moves first */
  /* The network's values of side 0, an agent, before the moves of its own seat after the opening, and what followed, in games that
   * were not truncated: what truncation cut off is not known. Zeros from mz_evaluate_all. */
  mz_foresight values;
  int64_t moves, simulations; /* moves of all players after the opening; simulations of all networks, as they were run */
} mz_evaluation;

typedef struct mz_side { /* who plays: one of the two, or nobody */
  const mz_agent *agent;
  const mz_player *player;
} mz_side;

typedef struct mz_match {
  const mz_env *env;
  mz_side sides[2]; /* 0: who is evaluated; 1: nobody where a game is played alone, or side 0 plays both seats */
  int games;        /* ≥ 1; side 0 moves first in the games 0, 2, 4 … */
  /* Random moves that begin each game; games 2k and 2k + 1 begin alike, so that both sides get each opening from both seats. 0:
   * none; agents, who draw nothing, then repeat one game a seat, unless games begin differently (mz_starts_differ). */
  int openings;
  uint64_t seed;
  uint32_t round;
} mz_match;

/* The games are shared by the threads of the pool (NULL: the caller's), each of which plays several at once, searches their
 * positions together, and takes up the next game when one ends. returns: of side 0, after the opening, [games] or NULL. Units of
 * both intervals are games; with openings, pairs of games that begin alike; of agents who repeat themselves, seats.
 * MZ_E_CONFIG for an opponent in a game for one. */
mz_status mz_evaluate(const mz_match *match, mz_pool *pool, mz_evaluation *out, double *returns);
/* Refuses, with MZ_E_CONFIG beginning with `where`, environments of which not every line can be played: with chance, in moves or in how
 * games begin, or with states that are no bytes to copy. */
mz_status mz_evaluate_all_check(const mz_env *env, const char *where);
/* Every line that any opponent can play, both seats (the agent's move is a function of the position): counts lines as games;
 * `simulations` counts each position once, as it is searched; the points are exact, their interval is a point. MZ_E_CONFIG as
 * mz_evaluate_all_check, and for too many lines (more than 10 million from one seat). */
mz_status mz_evaluate_all(const mz_agent *agent, mz_pool *pool, mz_evaluation *out);

/* Computes the evaluation of side 0 from its returns of all games [games], which were played by somebody who does not repeat himself;
 * moves and simulations stay 0. units: [games], scratch. */
void mz_evaluation_of(const mz_match *match, const double *returns, double *units, mz_evaluation *out);
/* Mean return, deviation, counts and share of the points from the tallies by seat and the sum of the squared returns. */
void mz_evaluation_conclude(mz_evaluation *out, double square_sum);
