/* `eval RUN --ladder`. */
#pragma once
#include "muzero/evaluation/ladder.h"

/* Plays it and prints a table, or one JSON object. On a terminal it says on stderr how far it is. */
mz_status mz_eval_ladder(const char *run, const mz_ladder_options *options, mz_pool *pool, bool json);
