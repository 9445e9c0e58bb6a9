/* What an allocator is made of, for allocator.c and verify.c. */
#pragma once
#include "allocator/allocator.h"
#include "allocator/model/calibration.h"
#include "allocator/model/evidence.h"
#include "allocator/strategies/baseline.h"
#include "allocator/strategies/budget.h"
#include "allocator/strategies/surroundings.h"
#include "allocator/strategies/tabu.h"
#include "allocator/strategies/trial.h"
#include <stdalign.h>

enum { MZ_PLAN_TEXT = 128 };

typedef enum mz_allocator_state {
  MZ_STEADY,
  MZ_ON_TRIAL,  /* `plan` and `other` take turns; trial.side says which of them `plan` is */
  MZ_ABANDONED, /* `plan` is the old one again, `other` was given up; the next decision says so */
} mz_allocator_state;

struct mz_allocator {
  mz_allocation_settings settings;
  mz_bounds bounds;
  const mz_strategy *strategy;
  alignas(max_align_t) uint8_t memory[MZ_STRATEGY_MEMORY_MAX]; /* the strategy's */
  mz_evidence evidence;
  mz_champion *champion; /* NULL: the strategy does not learn */

  mz_allocator_state state;
  mz_plan plan, other;
  mz_plan before;         /* in force before the last decision */
  mz_prediction expected; /* of the plan that the window began with */
  mz_calibration calibration;
  mz_baseline baseline;                 /* of a strategy that learns */
  int64_t taught;                       /* the decision at which the champion learned last */
  bool quiet;                           /* nothing else disturbed the last window */
  int disturbed;                        /* windows in a row, outside of trials, that something did */
  mz_rounds rounds;                     /* under `plan`, when it is not on trial */
  mz_trial trial;                       /* the present or the last one */
  double conceded;                      /* by how much the plan is slower than the best one that was kept, as a logarithm */
  bool explores;                        /* the trial does */
  bool overdrawn;                       /* it was given up because exploring had cost its share */
  int given_up;                         /* rounds of the block that did it */
  double given_up_s, given_up_median_s; /* its last; their median */
  mz_surroundings around[MZ_SIDES];     /* of the last window under each plan; without a trial under `plan`, both */

  int64_t decisions, rest_until; /* decision from which on the next change may be tried */
  int reverts, window_rounds;    /* so far; since the last decision */
  mz_budget budget;
  mz_tabu tabu;
  bool judged; /* the last decision judged a trial, */
  struct {
    double conceded;
    int reverts;
    mz_budget budget;
    mz_tabu tabu;
  } unjudged; /* before which it was so: what workers cannot carry out did not happen */
};

/* The knobs in which `plan` differs from `from`, in words. */
static inline const char *mz_allocator_text(const mz_allocator *a, const mz_plan *plan, const mz_plan *from,
                                            char text[MZ_PLAN_TEXT]) {
  mz_plan_text(&a->evidence.pipeline, plan, from, text, MZ_PLAN_TEXT);
  return text;
}

/* ---- verification (verify.c) ---- */

/* Puts the proposal in force, on trial, in turns with the plan; for good where nothing is to be verified. worth: as a trial takes it;
 * releases: it reserves less. */
void mz_verify_begin(mz_allocator *allocator, const mz_proposal *proposal, double worth, bool releases, mz_decision *decision);
/* Takes the window as evidence and judges the trial, if one is on; true: that was the decision. */
bool mz_verify_window(mz_allocator *allocator, const mz_window *window, mz_decision *decision);
/* The verdict could not be carried out: it counts as none. */
void mz_verify_undo(mz_allocator *allocator);
/* The plan in force is measured anew: what is known of its rounds is of other surroundings, or of other costs. */
void mz_verify_forget(mz_allocator *allocator);
/* A change was made: the next window begins none. */
void mz_verify_rest(mz_allocator *allocator);
