/* What a run's score is, in words. */
#pragma once
#include "envs/env.h"

enum { MZ_SCORE_NAME_MAX = 96 };
/* Writes what the score of an evaluation counts: "mean return", "share of lines not lost", "share of points against mcts:100".
 * opponent: eval.opponent, or another name of who is played; "": the agent has both seats. Returns `out`. */
const char *mz_score_name(const mz_env *env, const char *opponent, char out[MZ_SCORE_NAME_MAX]);
