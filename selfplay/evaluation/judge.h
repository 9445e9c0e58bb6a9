/* Perfect play as the judge: how often does a player keep what a position is worth? It is asked in decisive positions, in which
 * some legal moves keep the outcome and some throw it away, and for its move only, so that every position counts; the points of
 * games say less from the same time, and nothing where one mistake decides. */
#pragma once
#include "selfplay/evaluation/evaluate.h"

typedef struct mz_judgement {
  int64_t positions, kept; /* asked, and answered with a move that keeps the outcome */
  mz_interval share;       /* kept of positions, with its 95 % interval (points.h) */
} mz_judgement;

/* Asks `count` sides (agent or player, out: one each) in the same positions. Each position is drawn by itself, from a game of its
 * own that the rule player plays against itself (random play, where a game has no rule): uniform over the game's plies, but for the
 * first few where perfect play is slow (perfect.h); games whose position is not decisive are left out. A function of the seed:
 * threads change nothing. MZ_E_CONFIG where perfect play is not known, or nothing decisive turns up; else as mz_player_move and
 * mz_planner_search. */
mz_status mz_judge(const mz_env *env, const mz_side *sides, int count, int positions, uint64_t seed, mz_pool *pool,
                   mz_judgement *out);
