/* The outcome of `eval RUN`, printed. */
#pragma once
#include "selfplay/evaluation/evaluate.h"

typedef struct mz_eval_outcome {
  const mz_evaluation *result;
  const mz_agent *agent;
  const char *opponent;  /* its name, for the record */
  const mz_agent *rival; /* the opponent, where it is an agent; otherwise NULL */
  bool exact;            /* all lines were played: points without an interval */
  int openings;
  /* A player that played the same starts beside the agent (NULL: nobody did): its name, its result and the mean difference to it. */
  const char *player;
  mz_evaluation beside;
  double lead, lead_ci95; /* NAN: of one game */
} mz_eval_outcome;

/* Lines, or one JSON object. */
mz_status mz_eval_print(const mz_eval_outcome *outcome, bool json);
