/* adaptive: the patent's system. A champion among the predictors says what a plan takes; simulated annealing searches the plans within
 * the limits for the one that is taken to be fastest (or cheapest), and of those that count as equally good the one that reserves least
 * is proposed. With allocate.balance plans are projected into their assignments before one is chosen, and where none is better, the
 * balance factor takes back what is not used and adds what is waited for. Where nothing asks for a change for a while, a plan that was
 * never measured is tried, if it may be better for all that is known: one that is kept is soon followed by another, after one that is
 * undone it waits twice as long. It searches when something has changed: a plan was measured, another predictor drives, the bounds or the
 * plan in force are others, or that plan has come to cost something else. */
#include "allocator/balance/balance_advice.h"
#include "allocator/strategies/outlook.h"
#include "allocator/strategies/patience.h"
#include "allocator/strategies/plan_assign.h"
#include <math.h>
#include <string.h>

enum { SEARCH_WINDOWS = 16, NAME_BYTES = 24 };

typedef struct memory {
  mz_patience patience;
  mz_balance_memory balance;
  int windows; /* since the last search; 0: there was none */
  /* The situation of the last search: */
  int plans;
  char predictor[NAME_BYTES];
  mz_bounds bounds;
  mz_plan plan;
  double cost; /* of that plan */
} memory;
_Static_assert(sizeof(memory) <= MZ_STRATEGY_MEMORY_MAX, "a strategy's memory is bounded");

/* ---- when ---- */

static bool same_bounds(const mz_bounds *a, const mz_bounds *b) {
  return a->cpu_min == b->cpu_min && a->cpu_max == b->cpu_max && a->gpu_min == b->gpu_min && a->gpu_max == b->gpu_max &&
         a->memory_min == b->memory_min && a->memory_max == b->memory_max;
}

/* Costs drift: by as much as a gain has to be, and a search may find one. At the latest after so many windows it searches anew. Keeps the
 * situation of the last search. */
static bool has_changed(const mz_situation *s, double cost, memory *m) {
  const int plans = mz_champion_lessons(s->champion)->count;
  const char *predictor = mz_champion_predictor(s->champion)->name;
  const bool same = m->windows > 0 && m->windows < SEARCH_WINDOWS && plans == m->plans && strcmp(predictor, m->predictor) == 0 &&
                    same_bounds(&m->bounds, s->bounds) && mz_plan_equal(s->pipeline, &m->plan, s->plan) &&
                    fabs(log(cost / m->cost)) < s->settings->gain_min;
  m->windows = same ? m->windows + 1 : 1;
  if (!same) m->cost = cost;
  m->plans = plans;
  m->bounds = *s->bounds;
  m->plan = *s->plan;
  snprintf(m->predictor, sizeof m->predictor, "%s", predictor);
  return !same;
}

/* ---- proposing ---- */

static void take(const mz_situation *s, const mz_plan *plan, mz_proposal *out) {
  out->plan = *plan;
  out->prediction = mz_outlook_of(s, plan).prediction;
  out->change = true;
}

static void list_candidates(const mz_situation *s, const mz_search_result *r, double cost, mz_proposal *out) {
  out->candidates[out->candidate_count++] = (mz_candidate){.plan = out->plan, .prediction = out->prediction};
  for (int i = 0; i < r->count && out->candidate_count < MZ_CANDIDATES_MAX; i++) {
    if (mz_plan_equal(s->pipeline, &r->kept[i].plan, &out->plan)) continue;
    mz_candidate *c = &out->candidates[out->candidate_count++];
    c->plan = r->kept[i].plan;
    c->prediction = mz_outlook_of(s, &c->plan).prediction;
    mz_outlook_why_not(s, &c->plan, exp(r->kept[i].energy), &out->plan, cost, c->why_not);
  }
}

/* Says how much the chosen plan was given, and what decided it. */
static void take_assigned(const mz_assigned *assigned, mz_proposal *out) {
  out->binding = assigned->binding;
  mz_assign_text(assigned->clamps, out->assigned, sizeof out->assigned);
}

static void say_found(const mz_situation *s, const mz_search_result *r, const mz_outlook *base, mz_proposal *out) {
  char plan[96], now[MZ_OUTLOOK_TEXT], then[MZ_OUTLOOK_TEXT];
  mz_outlook_text(base->prediction.unit_s, now);
  mz_outlook_text(out->prediction.unit_s, then);
  mz_plan_text(s->pipeline, &out->plan, s->plan, plan, sizeof plan);
  snprintf(out->reason, sizeof out->reason, "%s, predicted %s a unit instead of %s by %s; the best of %d plans looked at", plan,
           then, now, out->predictor, r->evaluated);
}

/* The neighbour that hopes for most, of those that were never measured and may be better for all that is known. */
static bool explore(const mz_situation *s, const mz_search_result *r, const mz_outlook *base, mz_proposal *out) {
  double best = base->cost * (1 - s->settings->gain_min);
  char text[96];
  for (int i = 0; i < r->count; i++) {
    const mz_plan *plan = &r->kept[i].plan;
    if (mz_champion_measured(s->champion, plan)) continue;
    const mz_outlook o = mz_outlook_of(s, plan);
    const double hopes_for = o.prediction.low / o.prediction.unit_s * o.cost;
    if (!(hopes_for < best)) continue;
    best = hopes_for;
    take(s, plan, out);
  }
  if (!out->change) return false;
  const double ratio = out->prediction.unit_s / base->prediction.unit_s;
  out->demanded = out->explores = true;
  mz_plan_text(s->pipeline, &out->plan, s->plan, text, sizeof text);
  snprintf(out->reason, sizeof out->reason, "explores %s: never measured here, predicted %.1f %% %s", text, 100 * fabs(ratio - 1),
           ratio < 1 ? "faster" : "slower");
  out->candidates[0] = (mz_candidate){.plan = out->plan, .prediction = out->prediction};
  out->candidate_count = 1;
  return true;
}

/* Tells the balance factor of the window; returns whether it advises another plan. */
static bool balance(const mz_situation *s, memory *m, mz_advice *advice) {
  mz_balance b;
  if (!s->settings->balance || s->window == NULL) return false;
  mz_balance_read(&b, s, NULL);
  mz_balance_advise(&b, s, &m->balance, advice);
  return advice->change && !mz_plan_equal(s->pipeline, &advice->plan, s->plan);
}

static void follow(const mz_situation *s, const mz_advice *advice, mz_proposal *out) {
  take(s, &advice->plan, out);
  out->demanded = true;
  out->candidates[0] = (mz_candidate){.plan = out->plan, .prediction = out->prediction};
  out->candidate_count = 1;
  snprintf(out->reason, sizeof out->reason, "%s", advice->reason);
}

static void propose(const mz_situation *s, void *context, mz_proposal *out) {
  memory *m = context;
  mz_advice advice;
  mz_patience_follow(&m->patience, s->pipeline, s->plan);
  *out = (mz_proposal){.plan = *s->plan, .predictor = mz_champion_predictor(s->champion)->name, .binding = ""};
  const mz_outlook base = mz_outlook_of(s, s->plan);
  out->prediction = base.prediction;
  const bool due = mz_patience_due(&m->patience, s->explored_enough);
  if (!isfinite(base.cost)) {
    snprintf(out->reason, sizeof out->reason, "keep: nothing was measured yet that a prediction could start from");
    return;
  }
  const bool advised = balance(s, m, &advice), changed = has_changed(s, base.cost, m);
  if (!changed && !due) {
    mz_patience_quiet(&m->patience, !advised && s->window != NULL);
    if (advised) {
      follow(s, &advice, out);
      return;
    }
    snprintf(out->reason, sizeof out->reason, "keep: nothing has changed since plans were searched last");
    return;
  }
  mz_search_result found;
  mz_assigned assigned[MZ_SEARCH_KEPT_MAX];
  mz_plan_search(s, &found);
  if (s->settings->balance) mz_plan_assign(s, &found, assigned);
  const int chosen = mz_plan_search_choose(s, &found, base.cost);
  if (chosen < 0 && advised) {
    mz_patience_quiet(&m->patience, false);
    follow(s, &advice, out);
    return;
  }
  if (chosen < 0 && due && explore(s, &found, &base, out)) {
    mz_patience_explores(&m->patience, &out->plan);
    return;
  }
  mz_patience_quiet(&m->patience, chosen < 0 && !due && s->window != NULL);
  if (chosen < 0) {
    snprintf(out->reason, sizeof out->reason, "keep: of %d plans looked at none is predicted to be better by %s", found.evaluated,
             out->predictor);
    list_candidates(s, &found, base.cost, out);
    return;
  }
  take(s, &found.kept[chosen].plan, out);
  if (s->settings->balance) take_assigned(&assigned[chosen], out);
  list_candidates(s, &found, exp(found.kept[chosen].energy), out);
  say_found(s, &found, &base, out);
}

const mz_strategy mz_strategy_adaptive = {
    .name = "adaptive",
    .summary = "anneals to the plan that the best of several predictors finds fastest (or cheapest)",
    .source = "patent",
    .memory_bytes = sizeof(memory),
    .propose = propose,
    .learns = true,
};
