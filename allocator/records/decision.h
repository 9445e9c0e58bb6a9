/* A decision of the allocator: what was predicted and observed, what is done, and why, for people and for the ledger. */
#pragma once
#include "allocator/strategies/baseline.h"
#include "allocator/strategies/strategy.h"
#include "base/json/json.h"

typedef enum mz_decision_action {
  MZ_DECISION_KEEP,    /* nothing changes */
  MZ_DECISION_TRY,     /* a new plan is on trial from here on; the old one is kept */
  MZ_DECISION_WAIT,    /* the trial continues: not enough was seen */
  MZ_DECISION_CONFIRM, /* the trial's plan stays */
  MZ_DECISION_REVERT,  /* the old plan is back; the other is tabu for 8 windows, unless others may have been the reason */
} mz_decision_action;
const char *mz_decision_action_name(mz_decision_action action); /* "keep", "try", "wait", "confirm", "revert" */

/* One line of the ledger. What was predicted for the window that ended and what was observed, then what is done next. */
typedef struct mz_decision {
  int64_t phase, round;
  const char *strategy, *predictor; /* predictor: of `expected` and of the candidates */
  mz_plan plan;                     /* in force in that window; a plan given up within it, where that happened */
  mz_prediction predicted;          /* for it, before; unit_s NAN: nothing had been predicted */
  double observed;                  /* seconds per unit; NAN: no full unit of work, or the plan was given up */
  mz_decision_action action;
  mz_plan next;           /* in force from here on */
  mz_prediction expected; /* of `next` */
  mz_candidate candidates[MZ_CANDIDATES_MAX];
  int candidate_count; /* the proposed plan and the best others: at most 4 in all, at most 1 where nothing changes */
  /* The contest held before this decision, if one was: every predictor's error between plans (predictors/contest.h); INFINITY: it did
   * not predict them all. */
  struct {
    const char *predictor;
    double error;
  } contest[MZ_PREDICTORS_MAX];
  int contest_count, contest_plans; /* 0: none was held; plans it was held on */
  mz_baseline baseline;             /* that ended with this window; windows 0: none did */
  const char *binding;
  char assigned[MZ_ASSIGNED_BYTES]; /* as the proposal has it */
  char reason[MZ_REASON_BYTES];
  /* Speed (objective cost: units of work per money) of the trial's plan over the old one's, with its 90 % interval (NAN where
   * every round showed it); NAN without a trial, where it was given up, and where too few of its blocks counted. */
  double ratio, ratio_low, ratio_high;
  int64_t predictions, predictions_held; /* so far: windows that were predicted, those that fell within the interval */
  int reverts;                           /* so far */
  bool reverted;                         /* by this decision */
  bool calm;                             /* nothing changes, and no baseline run is on: the next window may be longer */
  double took_s;                         /* that the decision took, where it was told: an input of the next ones; 0: it was not */
} mz_decision;

/* decision->reason; what does not fit is cut, between characters. */
void mz_decision_say(mz_decision *decision, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* decision->candidates: the proposed plan, with why it was not taken ("": it was), and the best others, `most` in all, in the
 * proposal's order. */
void mz_decision_show(mz_decision *decision, const mz_pipeline *pipeline, const mz_proposal *proposal, const char *why_not,
                      int most);
/* The decision's part of a line (no inputs), as `why --json` and the ledger have it. */
cJSON *mz_decision_to_json(const mz_pipeline *pipeline, const mz_decision *decision);
