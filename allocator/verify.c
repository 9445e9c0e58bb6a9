/* Verification: the plan on trial is judged by its rounds, unless something else happened to them. */
#include "allocator/allocator_state.h"
#include "allocator/records/decision.h"
#include <math.h>

void mz_verify_begin(mz_allocator *a, const mz_proposal *p, double worth, bool releases, mz_decision *d) {
  d->action = MZ_DECISION_TRY;
  d->expected = p->prediction;
  mz_trial_begin(&a->trial, &a->rounds, worth, releases);
  a->undisturbed = a->trial;
  a->disturbed = 0;
  a->explores = p->explores;
  a->other = a->plan;
  a->plan = p->plan;
  a->state = MZ_ON_TRIAL;
}

void mz_verify_rest(mz_allocator *a) { a->rest_until = a->decisions + 2; }

static void count_revert(mz_allocator *a, const mz_plan *bad, mz_decision *d) {
  d->action = MZ_DECISION_REVERT;
  a->reverts++;
  if (!a->explores) mz_budget_revert(&a->budget);
  mz_tabu_add(&a->tabu, bad, a->decisions);
  mz_verify_rest(a);
  a->state = MZ_STEADY;
}

/* The old plan holds again, with what is known of it. */
static void go_back(mz_allocator *a) {
  const mz_plan bad = a->plan;
  a->plan = a->other;
  a->other = bad;
  a->rounds = a->trial.before;
  mz_rounds_warm_up(&a->rounds);
}

bool mz_allocator_round(mz_allocator *a, double seconds) {
  if (!(seconds > 0) || !isfinite(seconds)) return false;
  a->window_rounds++;
  const bool on_trial = a->state == MZ_ON_TRIAL, exploring = on_trial && a->explores;
  mz_budget_round(&a->budget, seconds, exploring ? mz_rounds_median(&a->trial.before) * a->trial.worth : 0);
  if (!on_trial) {
    mz_rounds_add(&a->rounds, seconds);
    return false;
  }
  const bool plainly_bad = mz_trial_round(&a->trial, seconds);
  a->overdrawn = exploring && a->trial.after.count > 0 && !mz_budget_explores(&a->budget);
  if (!plainly_bad && !a->overdrawn) return false;
  a->given_up_s = seconds;
  a->state = MZ_ABANDONED;
  go_back(a);
  return true;
}

static void record_abandonment(mz_allocator *a, mz_decision *d) {
  char text[MZ_PLAN_TEXT];
  const double old_s = mz_rounds_median(&a->trial.before);
  mz_evidence_slow(&a->evidence, &a->other, &a->plan, mz_rounds_median(&a->trial.after) / old_s, a->trial.after.count);
  mz_evidence_fit(&a->evidence);
  mz_allocator_text(a, &a->other, &a->plan, text);
  if (a->overdrawn)
    mz_decision_say(d, "%s: given up after its round %d: exploring has cost its %.3g %% of the run's time", text, a->trial.rounds,
                    100 * MZ_EXPLORING_SHARE);
  else
    mz_decision_say(
        d, "%s: given up after its round %d took %.3g s, the old plan's usual one %.3g s; not tried again for %d windows", text,
        a->trial.rounds, a->given_up_s, old_s, MZ_TABU_WINDOWS);
  d->observed = NAN;
  count_revert(a, &a->other, d);
}

/* ---- what else happened ---- */

/* Whether the window is unlike those of the old plan in what the plan has no part in. Windows without a number are of programs that
 * did not look. */
static bool notice(mz_allocator *a, const mz_window *window, char what[MZ_PLAN_TEXT]) {
  const mz_surroundings now = mz_surroundings_of(&window->usage), before = a->around;
  const bool changed = window->number > 0 && mz_surroundings_changed(&before, &now, a->evidence.model.cores);
  if (changed) mz_surroundings_text(&before, &now, what, MZ_PLAN_TEXT);
  if (a->state == MZ_STEADY) a->around = now;
  return changed;
}

/* The plan is measured anew: what is known of it is of other surroundings. */
static void forget_rounds(mz_allocator *a) { a->rounds = (mz_rounds){.warming = true}; }

/* The window judges nothing. Where the next one is as unlike, both plans would have to be measured anew: the old plan begins. */
static void pass_over(mz_allocator *a, const mz_window *window, const char *what, mz_decision *d) {
  enum { DISTURBED_MAX = 2 };
  const mz_plan tried = a->state == MZ_ABANDONED ? a->other : a->plan;
  const mz_plan old = a->state == MZ_ABANDONED ? a->plan : a->other;
  char text[MZ_PLAN_TEXT];
  mz_allocator_text(a, &tried, &old, text);
  d->observed = NAN;
  if (a->state == MZ_ON_TRIAL && ++a->disturbed < DISTURBED_MAX) {
    a->trial = a->undisturbed;
    d->action = MZ_DECISION_WAIT;
    mz_decision_say(d, "%s: %s: this window judges nothing", text, what);
    return;
  }
  if (a->state == MZ_ON_TRIAL) go_back(a);
  a->state = MZ_STEADY;
  a->around = mz_surroundings_of(&window->usage);
  forget_rounds(a);
  mz_verify_rest(a);
  d->action = MZ_DECISION_REVERT;
  mz_decision_say(d, "%s: back, not judged: %s", text, what);
}

static void confirm(mz_allocator *a) {
  a->rounds = a->trial.after;
  a->state = MZ_STEADY;
  mz_verify_rest(a);
}

static void verify(mz_allocator *a, mz_decision *d) {
  static const char *const measures[] = {[MZ_OBJECTIVE_TIME] = "as fast", [MZ_OBJECTIVE_COST] = "the work per money"};
  char text[MZ_PLAN_TEXT], judged[MZ_PLAN_TEXT];
  mz_interval ratio;
  const mz_verdict verdict = mz_trial_window(&a->trial, a->settings.windows, &ratio);
  a->undisturbed = a->trial;
  a->disturbed = 0;
  mz_allocator_text(a, &a->plan, &a->other, text);
  snprintf(judged, sizeof judged, "%.3g times %s (90 %%: %.3g to %.3g) in %d rounds", ratio.estimate,
           measures[a->settings.objective], ratio.low, ratio.high, a->trial.after.count);
  d->ratio = ratio.estimate;
  d->ratio_low = ratio.low;
  d->ratio_high = ratio.high;
  if (verdict == MZ_VERDICT_WAIT) {
    d->action = MZ_DECISION_WAIT;
    mz_decision_say(d, "%s: %s, not enough to judge after %d windows", text, judged, a->trial.windows);
  } else if (verdict == MZ_VERDICT_CONFIRM) {
    d->action = MZ_DECISION_CONFIRM;
    mz_decision_say(d, "%s: %s: it stays", text, judged);
    confirm(a);
  } else {
    mz_decision_say(d, "%s: %s: back; not tried again for %d windows", text, judged, MZ_TABU_WINDOWS);
    go_back(a);
    count_revert(a, &a->other, d);
  }
}

bool mz_verify_window(mz_allocator *a, const mz_window *window, mz_decision *d) {
  char what[MZ_PLAN_TEXT];
  const bool steady = a->state == MZ_STEADY, disturbed = notice(a, window, what);
  if (steady || !disturbed) d->observed = mz_evidence_window(&a->evidence, &a->plan, window);
  if (steady) {
    if (disturbed) forget_rounds(a);
    return false;
  }
  if (disturbed)
    pass_over(a, window, what, d);
  else if (a->state == MZ_ABANDONED)
    record_abandonment(a, d);
  else
    verify(a, d);
  return true;
}
