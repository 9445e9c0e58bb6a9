/* `eval RUN --positions N`. */
#pragma once
#include "selfplay/evaluation/judge.h"

typedef struct mz_judge_options {
  const mz_agent *agent;
  const mz_side *opponent; /* asked beside the agent; NULL: nobody */
  const char *name;        /* the opponent's */
  int positions;
  uint64_t seed;
} mz_judge_options;

/* Asks and prints a line for each, or one JSON object. */
mz_status mz_eval_judge(const mz_judge_options *options, mz_pool *pool, bool json);
