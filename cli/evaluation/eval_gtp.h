/* `eval RUN --opponent gtp:COMMAND`. */
#pragma once
#include "selfplay/evaluation/evaluate.h"

/* The match's side 0, an agent, against as many processes of the shell's command as the pool has threads. Openings and seats as
 * mz_evaluate; what the program draws is its own affair. MZ_E_USAGE for a game that is played alone; MZ_E_CONFIG and MZ_E_IO as
 * mz_gtp_engine_ask, and for a move that the game refuses. */
mz_status mz_eval_gtp(const mz_match *match, const char *command, mz_pool *pool, mz_evaluation *out);
