/* Verification: the plan on trial and the old one take turns and are judged by their rounds, unless something else happened. */
#include "allocator/allocator_state.h"
#include "allocator/records/decision.h"
#include "base/text.h"
#include <math.h>

static const double CONCESSION_MAX = 0.03046; /* −log 0.97: of all plans that stay because they reserve less, together */
enum { DISTURBED_MAX = 3 }; /* windows in a row that teach nothing: what disturbs for longer is how the machine is */

static const mz_plan *new_plan(const mz_allocator *a) {
  return a->state == MZ_ON_TRIAL && a->trial.side == MZ_SIDE_NEW ? &a->plan : &a->other;
}

static const mz_plan *old_plan(const mz_allocator *a) {
  return a->state == MZ_ON_TRIAL && a->trial.side == MZ_SIDE_NEW ? &a->other : &a->plan;
}

const mz_plan *mz_allocator_kept(const mz_allocator *a) { return old_plan(a); }

void mz_verify_begin(mz_allocator *a, const mz_proposal *p, double worth, bool releases, mz_decision *d) {
  const double concession = releases ? fmax(0, CONCESSION_MAX - a->conceded) : 0;
  d->expected = p->prediction;
  if (!a->settings.verify) {
    d->action = MZ_DECISION_CONFIRM;
    a->other = a->plan;
    a->plan = p->plan;
    a->rounds = (mz_rounds){.warming = true};
    mz_verify_rest(a);
    return;
  }
  d->action = MZ_DECISION_TRY;
  mz_trial_begin(&a->trial, &a->rounds, worth, concession, log1p(a->settings.gain_min), (uint64_t)a->decisions);
  a->explores = p->explores;
  a->other = a->plan;
  a->plan = p->plan;
  a->state = MZ_ON_TRIAL;
}

void mz_verify_rest(mz_allocator *a) { a->rest_until = a->decisions + 2; }

/* `side` of the trial holds from here on, with what is known of it. */
static void settle(mz_allocator *a, mz_side side) {
  const mz_plan next = side == MZ_SIDE_NEW ? *new_plan(a) : *old_plan(a),
                last = side == MZ_SIDE_NEW ? *old_plan(a) : *new_plan(a);
  a->plan = next;
  a->other = last;
  a->rounds = a->trial.rounds[side];
  mz_rounds_warm_up(&a->rounds);
  a->around[MZ_SIDE_OLD] = a->around[MZ_SIDE_NEW] = a->around[side];
  a->state = MZ_STEADY;
  mz_verify_rest(a);
}

static void remember(mz_allocator *a) {
  a->judged = true;
  a->unjudged.conceded = a->conceded;
  a->unjudged.reverts = a->reverts;
  a->unjudged.budget = a->budget;
  a->unjudged.tabu = a->tabu;
}

void mz_verify_undo(mz_allocator *a) {
  if (!a->judged) return;
  a->conceded = a->unjudged.conceded;
  a->reverts = a->unjudged.reverts;
  a->budget = a->unjudged.budget;
  a->tabu = a->unjudged.tabu;
}

static void count_revert(mz_allocator *a, mz_decision *d) {
  d->action = MZ_DECISION_REVERT;
  a->reverts++;
  if (!a->explores) mz_budget_revert(&a->budget);
  mz_tabu_add(&a->tabu, &a->other, a->decisions);
}

/* ---- given up within a block ---- */

bool mz_allocator_round(mz_allocator *a, double seconds) {
  if (!(seconds > 0) || !isfinite(seconds)) return false;
  a->window_rounds++;
  const mz_rounds *old = &a->trial.rounds[MZ_SIDE_OLD];
  const bool on_trial = a->state == MZ_ON_TRIAL;
  const bool exploring = on_trial && a->explores && a->trial.side == MZ_SIDE_NEW && old->count > 0;
  mz_budget_round(&a->budget, seconds, exploring ? mz_rounds_median(old) * a->trial.worth : 0);
  if (!on_trial) {
    mz_rounds_add(&a->rounds, seconds);
    return false;
  }
  const bool plainly_bad = mz_trial_round(&a->trial, seconds);
  a->overdrawn = exploring && a->trial.block.count > 0 && !mz_budget_explores(&a->budget);
  if (!plainly_bad && !a->overdrawn) return false;
  a->given_up = a->trial.block.count;
  a->given_up_s = seconds;
  a->given_up_median_s = mz_rounds_median(&a->trial.block);
  settle(a, MZ_SIDE_OLD);
  a->state = MZ_ABANDONED;
  return true;
}

static void record_abandonment(mz_allocator *a, mz_decision *d) {
  char text[MZ_PLAN_TEXT];
  const double old_s = mz_rounds_median(&a->trial.rounds[MZ_SIDE_OLD]);
  mz_evidence_slow(&a->evidence, &a->other, &a->plan, a->given_up_median_s / old_s, a->given_up);
  mz_evidence_fit(&a->evidence);
  mz_allocator_text(a, &a->other, &a->plan, text);
  if (a->overdrawn)
    mz_decision_say(d, "%s: given up: exploring has cost its %.3g %% of the run's time", text, 100 * MZ_EXPLORING_SHARE);
  else
    mz_decision_say(d, "%s: given up when a round took %.3g s, the old plan's usual one %.3g s; not tried again for %d windows",
                    text, a->given_up_s, old_s, MZ_TABU_WINDOWS);
  d->observed = NAN;
  count_revert(a, d);
  mz_verify_rest(a);
  a->state = MZ_STEADY;
}

/* ---- what else happened ---- */

/* Whether the window is unlike the last one under its plan in what the plan has no part in. */
static bool notice(mz_allocator *a, const mz_window *window, char what[MZ_PLAN_TEXT]) {
  const mz_side side = a->state == MZ_ON_TRIAL ? a->trial.side : MZ_SIDE_OLD;
  const mz_surroundings now = mz_surroundings_of(&window->usage), before = a->around[side];
  const bool changed = mz_surroundings_changed(&before, &now, a->evidence.model.cores);
  if (changed) mz_surroundings_text(&before, &now, what, MZ_PLAN_TEXT);
  a->around[side] = now;
  if (a->state != MZ_ON_TRIAL) a->around[MZ_SIDE_NEW] = now;
  return changed;
}

void mz_verify_forget(mz_allocator *a) { a->rounds = (mz_rounds){.warming = true}; }

/* Whose fault it was that the plan was given up cannot be told: it may be tried again. */
static void excuse(mz_allocator *a, const char *what, mz_decision *d) {
  char text[MZ_PLAN_TEXT];
  mz_allocator_text(a, &a->other, &a->plan, text);
  d->observed = NAN;
  d->action = MZ_DECISION_REVERT;
  mz_decision_say(d, "%s: back, not judged: %s", text, what);
  mz_verify_forget(a);
  mz_verify_rest(a);
  a->state = MZ_STEADY;
}

/* ---- judging ---- */

/* The plan whose block is next. */
static void take_turns(mz_allocator *a, mz_side side) {
  if (side == a->trial.side) return;
  const mz_plan next = a->other;
  a->other = a->plan;
  a->plan = next;
}

static void end_block(mz_allocator *a, bool counts) {
  const mz_side side = a->trial.side;
  mz_trial_window(&a->trial, counts);
  take_turns(a, side);
}

static void confirm(mz_allocator *a, const mz_interval *ratio) {
  a->conceded = fmax(0, a->conceded - log(ratio->estimate));
  mz_budget_keep(&a->budget);
  settle(a, MZ_SIDE_NEW);
}

static void verify(mz_allocator *a, const char *what, mz_decision *d) {
  static const char *const measures[] = {
      [MZ_OBJECTIVE_TIME] = "as fast", [MZ_OBJECTIVE_COST] = "the work per money", [MZ_OBJECTIVE_GOODPUT] = "as fast"};
  char text[MZ_PLAN_TEXT], judged[MZ_PLAN_TEXT];
  mz_interval ratio;
  mz_allocator_text(a, new_plan(a), old_plan(a), text);
  end_block(a, what == NULL);
  const mz_verdict verdict = mz_trial_verdict(&a->trial, a->settings.windows, &ratio);
  const int pairs = a->trial.ratios.count;
  if (isfinite(ratio.high))
    snprintf(judged, sizeof judged, "%.3g times %s (90 %%: %.3g to %.3g) in %d pairs of blocks", ratio.estimate,
             measures[a->settings.objective], ratio.low, ratio.high, pairs);
  else if (isnan(ratio.estimate))
    snprintf(judged, sizeof judged, "too few of %d blocks counted: other processes or a quota disturbed the rest",
             a->trial.blocks);
  else
    snprintf(judged, sizeof judged, "%.3g times %s, which %s, in %d pair%s of blocks", ratio.estimate,
             measures[a->settings.objective],
             a->trial.slower ? "the old plan's rounds before and after show" : "every round shows", pairs, mz_plural(pairs));
  if (isfinite(ratio.high) || verdict != MZ_VERDICT_WAIT) d->ratio = ratio.estimate;
  if (isfinite(ratio.high)) {
    d->ratio_low = ratio.low;
    d->ratio_high = ratio.high;
  }
  if (verdict != MZ_VERDICT_WAIT) remember(a);
  if (verdict == MZ_VERDICT_CONFIRM) {
    d->action = MZ_DECISION_CONFIRM;
    mz_decision_say(d, "%s: %s: it stays", text, judged);
    confirm(a, &ratio);
  } else if (verdict == MZ_VERDICT_REVERT) {
    mz_decision_say(d, "%s: %s: back; not tried again for %d windows", text, judged, MZ_TABU_WINDOWS);
    settle(a, MZ_SIDE_OLD);
    count_revert(a, d);
  } else {
    d->action = MZ_DECISION_WAIT;
    if (what)
      mz_decision_say(d, "%s: %s: this block judges nothing", text, what);
    else if (isfinite(ratio.high))
      mz_decision_say(d, "%s: %s, not enough to judge", text, judged);
    else
      mz_decision_say(d, "%s: %d pair%s of blocks, not enough to judge", text, pairs, mz_plural(pairs));
  }
}

/* A window that was disturbed is shown and teaches nothing. */
static double learn(mz_allocator *a, const mz_window *window, bool disturbed) {
  mz_observation o;
  a->disturbed = disturbed ? a->disturbed + 1 : 0;
  a->quiet = !disturbed || (a->state == MZ_STEADY && a->disturbed > DISTURBED_MAX);
  if (a->quiet) return mz_evidence_window(&a->evidence, &a->plan, window);
  return a->state == MZ_STEADY && mz_observation_from_window(&o, &a->plan, window) ? o.unit_s : NAN;
}

bool mz_verify_window(mz_allocator *a, const mz_window *window, mz_decision *d) {
  char what[MZ_PLAN_TEXT];
  const bool disturbed = notice(a, window, what);
  d->observed = learn(a, window, disturbed);
  a->judged = false;
  if (a->state == MZ_STEADY) {
    if (disturbed) mz_verify_forget(a);
    return false;
  }
  if (a->state == MZ_ON_TRIAL)
    verify(a, disturbed ? what : NULL, d);
  else if (disturbed)
    excuse(a, what, d);
  else
    record_abandonment(a, d);
  return true;
}
