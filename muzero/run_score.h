/* The score of a run or an evaluation: one number, and what it counts. */
#pragma once
#include "selfplay/evaluation/evaluate.h"

enum { MZ_SCORE_NAME_MAX = 96 };
/* Returns the mean return where the game is played alone; the share of games (of lines, for "all") not lost where the opponent is
 * perfect or every one there can be, and a draw the best there is; against others the share of points, a draw being half.
 * opponent: eval.opponent, or another name of who is played; "": the agent has both seats. */
double mz_score(const mz_evaluation *evaluation, const mz_env *env, const char *opponent);
/* Writes what it counts: "mean return", "share of lines not lost", "share of points against mcts:100". Returns `out`. */
const char *mz_score_name(const mz_env *env, const char *opponent, char out[MZ_SCORE_NAME_MAX]);
