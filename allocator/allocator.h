/* The allocator: observe → predict → search → clamp → apply → verify, window by window. It owns no thread and opens no file; what
 * it decides is a pure function of what it was created with and of the windows and rounds it was told, in order, so that a
 * ledger replays byte for byte. One thread drives it. Costs well under a millisecond a window. */
#pragma once
#include "allocator/records/decision.h"

typedef struct mz_allocator mz_allocator;
typedef struct mz_allocator_options {
  const mz_pipeline *pipeline;
  const mz_allocation_settings *settings;
  mz_bounds bounds;
  mz_plan start;
  const mz_observation *history; /* copied; oldest first; see mz_allocator_history */
  int history_count;
  mz_pretrained
      *pretrained; /* what predictors bring along (pretrained.h), used by this allocator alone; stays alive; NULL: nothing */
  const mz_strategy *strategy; /* NULL: the one that settings->strategy names; a strategy of the caller's own otherwise */
} mz_allocator_options;

/* Chooses the rows of the history that an allocator uses, few rows of many plans: the newest 8 of a plan among the newest 256,
 * 64 in all. used: those, oldest first; returns their number. Picking among the picked changes nothing, so that a ledger need
 * keep no others. */
enum { MZ_HISTORY_USED_MAX = 64 };
int mz_allocator_history(const mz_allocator_options *options, const mz_observation *used[MZ_HISTORY_USED_MAX]);

/* MZ_E_CONFIG: a pipeline that contradicts itself; a start plan outside the bounds (says by how much). */
mz_status mz_allocator_check(const mz_allocator_options *options);
/* As above, and MZ_E_CONFIG for an unknown strategy. Options and what they point to may go afterwards, but a strategy of one's
 * own. */
mz_status mz_allocator_create(mz_allocator **out, const mz_allocator_options *options);
void mz_allocator_free(mz_allocator *allocator);

/* Before the first window. A strategy that learns begins with a baseline run (strategies/baseline.h). Another one with a history may put
 * another plan than the start plan on trial, and without one where the pipeline's probes promise a quarter less time. decision->phase is
 * `phase` (0 for a new run), observed NAN. */
void mz_allocator_begin(mz_allocator *allocator, int64_t phase, int64_t round, mz_decision *decision);
/* The plan in force, perhaps on trial. */
const mz_plan *mz_allocator_plan(const mz_allocator *allocator);
/* The plan that holds unless a trial is confirmed: what a run resumes from. */
const mz_plan *mz_allocator_kept(const mz_allocator *allocator);
/* After a full round (not when replay was still filling). true: the plan on trial is plainly bad, or exploring has cost its share,
 * and the trial ends at once: the old plan holds from here, and the caller applies it before the next round. The present window
 * must hold nothing from before it; the next decision is the "revert". */
bool mz_allocator_round(mz_allocator *allocator, double seconds);
/* After a window, which is quantised: decides. In a trial a window is a block: the plan in force changes from window to window. */
void mz_allocator_decide(mz_allocator *allocator, const mz_window *window, mz_decision *decision);
/* The last decision took so long on the caller's clock: with the seconds of the rounds it decides whether the champion may learn and plans
 * may be searched, so the ledger records it (decision->took_s), as every input. Without it deciding costs nothing. Follows begin or
 * decide. */
void mz_allocator_spent(mz_allocator *allocator, double seconds, mz_decision *decision);
/* What an earlier program decided by other rules: the window, under `plan`, is evidence, and `next` is in force from here on. */
void mz_allocator_follow(mz_allocator *allocator, const mz_window *window, const mz_plan *plan, const mz_plan *next);
/* The plan could not be carried out (memory): the one from before the decision holds, the other is tabu. Follows begin or
 * decide; *decision is amended. */
void mz_allocator_refused(mz_allocator *allocator, const char *why, mz_decision *decision);

/* Prediction of any plan by the model that drives now, for `what-if`. */
mz_prediction mz_allocator_predict(const mz_allocator *allocator, const mz_plan *plan);
const mz_analytic *mz_allocator_model(const mz_allocator *allocator);
