/* greedy: steepest descent over plans by the analytic model, what it is unsure of counting as slower, from the plan in force and
 * from some with as many threads as cores. Plans predicted within half a percent of each other count as equally good; of those
 * the one that reserves least is taken. Where nothing is predicted to be better for a while it tries a neighbour of which the
 * model cannot tell that it is worse: models are wrong, trials are short. One that is kept is soon followed by another, after one
 * that is undone it waits twice as long. */
#include "allocator/strategies/outlook.h"
#include "allocator/strategies/patience.h"
#include <math.h>
#include <string.h>

static const double SOFT_GAMMA = 4;
static const double LITTLE = 1e-3; /* share of the memory that may be used: nobody misses it */
enum { STEPS_MAX = 64, REACH_MAX = 64, MOVES_MAX = MZ_PLAN_KNOBS_MAX * REACH_MAX };

typedef struct look {
  mz_plan plan;
  mz_prediction prediction;
  double cost;         /* seconds per unit, with caution, or their price */
  const char *refused; /* the limit it breaks, "tabu", or NULL */
} look;

typedef struct search {
  const mz_situation *situation;
  look seen[MZ_CANDIDATES_MAX]; /* the best ones, best first, all different */
  int seen_count;
  look best;    /* of those that may be */
  look refused; /* the best one that breaks a limit; its `refused` is NULL when there is none */
} search;

/* ---- looking at a plan ---- */

static void remember(search *s, const look *l) {
  const mz_pipeline *pipeline = s->situation->pipeline;
  if (!isfinite(l->cost)) return; /* a stage is where nothing is known of it */
  if (s->seen_count == MZ_CANDIDATES_MAX && !(l->cost < s->seen[s->seen_count - 1].cost)) return;
  for (int i = 0; i < s->seen_count; i++)
    if (mz_plan_equal(pipeline, &l->plan, &s->seen[i].plan)) return;
  int at = s->seen_count < MZ_CANDIDATES_MAX ? s->seen_count++ : MZ_CANDIDATES_MAX - 1;
  for (; at > 0 && l->cost < s->seen[at - 1].cost; at--) s->seen[at] = s->seen[at - 1];
  s->seen[at] = *l;
}

static look predict(const mz_situation *situation, const mz_plan *plan) {
  const mz_outlook o = mz_outlook_of(situation, plan);
  return (look){.plan = *plan, .prediction = o.prediction, .cost = o.cost};
}

static look look_at(search *s, const mz_plan *plan) {
  const mz_situation *situation = s->situation;
  look l = predict(situation, plan);
  const char *limit = mz_plan_refused(situation->pipeline, situation->bounds, plan);
  l.refused = limit;
  if (limit == NULL && situation->tabu != NULL && situation->tabu(situation->tabu_context, plan)) l.refused = "tabu";
  if (limit != NULL && (s->refused.refused == NULL || l.cost < s->refused.cost)) s->refused = l;
  if (l.refused == NULL && l.cost < s->best.cost) s->best = l;
  remember(s, &l);
  return l;
}

/* ---- moves ---- */

typedef struct move {
  int knob;
  int64_t value;
} move;

/* Up to `reach` steps up and as many down of every knob; of a choice every value. */
static int list_moves(const mz_pipeline *pipeline, const mz_plan *plan, int reach, move moves[MOVES_MAX]) {
  int count = 0;
  for (int k = 0; k < pipeline->knob_count; k++) {
    const mz_knob *knob = &pipeline->knobs[k];
    const int64_t now = plan->values[k];
    if (mz_knob_packs(pipeline, k)) continue; /* what that costs is not in the model */
    const int first = count, most = knob->scale == MZ_SCALE_CHOICE ? REACH_MAX / 2 : reach;
    for (int direction = 1; direction >= -1; direction -= 2) {
      int64_t at = now, next = mz_knob_step(knob, at, direction);
      for (int i = 0; i < most && next != at && count < first + REACH_MAX; i++) {
        moves[count++] = (move){k, next};
        at = next;
        next = mz_knob_step(knob, at, direction);
      }
    }
  }
  return count;
}

/* Whether a plan looked at is to be gone to rather than `best`, the one preferred so far. */
typedef bool (*preference)(const mz_situation *situation, const look *l, const look *best, double limit);

static bool is_faster(const mz_situation *situation, const look *l, const look *best, double limit) {
  (void)situation, (void)limit;
  return l->cost < best->cost * (1 - 1e-9);
}

static bool is_leaner(const mz_situation *situation, const look *l, const look *best, double limit) {
  return l->cost <= limit && mz_outlook_reserved(situation, &l->plan, &best->plan) < 0;
}

/* Puts into `best` the preferred one of the plans that differ from `from` in at most so many knobs by at most so many steps. */
static bool try_moves(search *s, const look *from, int knobs, int reach, preference preferred, double limit, look *best) {
  move moves[MOVES_MAX];
  const int count = list_moves(s->situation->pipeline, &from->plan, reach, moves);
  bool found = false;
  for (int i = 0; i < count; i++) {
    for (int j = knobs == 1 ? i : i + 1; j < (knobs == 1 ? i + 1 : count); j++) {
      if (knobs == 2 && moves[i].knob == moves[j].knob) continue;
      mz_plan plan = from->plan;
      plan.values[moves[i].knob] = moves[i].value;
      plan.values[moves[j].knob] = moves[j].value;
      const look l = look_at(s, &plan);
      if (l.refused != NULL || !preferred(s->situation, &l, best, limit)) continue;
      *best = l;
      found = true;
    }
  }
  return found;
}

/* To the best of the neighbours; where none is better, one knob goes anywhere in its range, or two go a step each: tasks that no
 * longer fit the threads evenly make ridges between good plans. */
static bool step(search *s, look *from, preference preferred, double limit) {
  look best = *from;
  const bool found = try_moves(s, from, 1, 1, preferred, limit, &best) ||
                     try_moves(s, from, 1, REACH_MAX / 2, preferred, limit, &best) ||
                     try_moves(s, from, 2, 1, preferred, limit, &best);
  *from = best;
  return found;
}

static void descend(search *s, look *from, preference preferred, double limit) {
  for (int i = 0; i < STEPS_MAX && step(s, from, preferred, limit); i++) continue;
}

/* Everything that may be there is on `device` (−1: where it is), every pool as large as there are cores, or half of that and so on
 * until it is allowed; false: it never is. */
static bool widen(search *s, int device, look *out) {
  const mz_pipeline *pipeline = s->situation->pipeline;
  for (int64_t threads = (int64_t)fmin(s->situation->bounds->cpu_max, MZ_CORES_MAX); threads >= 1; threads /= 2) {
    mz_plan plan = *s->situation->plan;
    mz_plan_set_pools(pipeline, threads, &plan);
    for (int i = 0; i < pipeline->stage_count && device >= 0; i++) {
      const int knob = pipeline->stages[i].device;
      if (knob >= 0) plan.values[knob] = mz_knob_clamp(&pipeline->knobs[knob], device);
    }
    *out = look_at(s, &plan);
    if (out->refused == NULL) return true;
  }
  return false;
}

/* Two places for each thread that takes from a queue, where that is predicted to be as good and costs next to nothing: a wake-up
 * costs both sides more than clocks show. */
static void size_queues(search *s, double limit, look *chosen) {
  const mz_pipeline *pipeline = s->situation->pipeline;
  const double little = LITTLE * s->situation->bounds->memory_max;
  for (int q = 0; q < pipeline->queue_count; q++) {
    const int capacity = pipeline->queues[q].capacity;
    if (capacity < 0) continue;
    mz_plan plan = chosen->plan;
    plan.values[capacity] =
        mz_knob_clamp(&pipeline->knobs[capacity], 2 * mz_stage_threads(pipeline, pipeline->queues[q].to, &plan));
    const double more = mz_plan_bytes(pipeline, &plan, NULL, 0) - mz_plan_bytes(pipeline, &chosen->plan, NULL, 0);
    const look l = look_at(s, &plan);
    if (l.refused == NULL && l.cost <= limit && more <= little) *chosen = l;
  }
}

/* Returns whether a plan counts as good as the best: the time lost by reserving less must not make it as bad as the plan in
 * force. */
static double tie_limit(const search *s, const look *base) {
  const double worth_changing = base->cost * (1 - MZ_OUTLOOK_TIE), limit = s->best.cost * (1 + MZ_OUTLOOK_TIE);
  return s->best.cost < worth_changing ? fmin(limit, worth_changing * (1 - 1e-9)) : limit;
}

/* ---- in words ---- */

enum { BINDS_TEXT = 52 };

static void say_why_not(const mz_situation *situation, const look *l, const look *chosen, char out[64]) {
  if (l->refused != NULL)
    snprintf(out, 64, "%s", l->refused);
  else
    mz_outlook_why_not(situation, &l->plan, l->cost, &chosen->plan, chosen->cost, out);
}

/* The chosen plan is at the end of a range beyond which the model would continue, perhaps with a step of another knob. */
static bool ends_at_range(const mz_situation *situation, const look *chosen) {
  const mz_pipeline *pipeline = situation->pipeline;
  const double limit = chosen->cost * (1 - MZ_OUTLOOK_TIE);
  for (int k = 0; k < pipeline->knob_count; k++) {
    const mz_knob *knob = &pipeline->knobs[k];
    if (knob->scale == MZ_SCALE_CHOICE || chosen->plan.values[k] != knob->max) continue;
    move moves[MOVES_MAX];
    const int count = list_moves(pipeline, &chosen->plan, 1, moves);
    mz_plan plan = chosen->plan;
    plan.values[k] *= 2;
    if (predict(situation, &plan).cost < limit) return true;
    for (int i = 0; i < count; i++) {
      mz_plan with = plan;
      with.values[moves[i].knob] = moves[i].value;
      if (moves[i].knob != k && predict(situation, &with).cost < limit) return true;
    }
  }
  return false;
}

static void say_binding(const mz_situation *situation, const mz_plan *plan, char out[BINDS_TEXT]) {
  const mz_pipeline *pipeline = situation->pipeline;
  mz_analysis analysis;
  mz_analytic_explain(situation->model, plan, &analysis);
  if (analysis.bottleneck >= 0)
    snprintf(out, BINDS_TEXT, "the %s stage binds", pipeline->stages[analysis.bottleneck].name);
  else if (analysis.shared >= 0 && pipeline->devices[analysis.shared].kind == MZ_DEVICE_CUDA)
    snprintf(out, BINDS_TEXT, "%s, which stages share, binds", pipeline->devices[analysis.shared].name);
  else
    snprintf(out, BINDS_TEXT, "the shared cores bind");
}

static void say_reason(const mz_situation *situation, const look *base, const look *chosen, mz_proposal *out) {
  char plan[96], now[MZ_OUTLOOK_TEXT], then[MZ_OUTLOOK_TEXT], binds[BINDS_TEXT];
  mz_outlook_text(base->prediction.unit_s, now);
  mz_outlook_text(chosen->prediction.unit_s, then);
  say_binding(situation, &chosen->plan, binds);
  mz_plan_text(situation->pipeline, &chosen->plan, &base->plan, plan, sizeof plan);
  if (!out->change)
    snprintf(out->reason, sizeof out->reason,
             "keep: of the plans looked at none that is allowed is predicted to beat %s a unit; %s", now, binds);
  else if (situation->settings->objective == MZ_OBJECTIVE_COST)
    snprintf(out->reason, sizeof out->reason, "%s, predicted %.3g %% cheaper at %s a unit instead of %s; %s then", plan,
             100 * (1 - chosen->cost / base->cost), then, now, binds);
  else
    snprintf(out->reason, sizeof out->reason, "%s, predicted %s a unit instead of %s; %s then", plan, then, now, binds);
}

/* ---- proposing ---- */

static void list_candidates(const search *s, const look *chosen, mz_proposal *out) {
  const mz_situation *situation = s->situation;
  out->candidates[out->candidate_count++] = (mz_candidate){.plan = chosen->plan, .prediction = chosen->prediction};
  for (int i = 0; i < s->seen_count && out->candidate_count < MZ_CANDIDATES_MAX; i++) {
    const look *l = &s->seen[i];
    if (mz_plan_equal(situation->pipeline, &l->plan, &chosen->plan)) continue;
    mz_candidate *c = &out->candidates[out->candidate_count++];
    *c = (mz_candidate){.plan = l->plan, .prediction = l->prediction};
    say_why_not(situation, l, chosen, c->why_not);
  }
}

/* Returns the most promising neighbour that was never measured and may be faster for all that is known. */
static bool explore(const mz_situation *situation, const look *base, mz_proposal *out) {
  move moves[MOVES_MAX];
  const int count = list_moves(situation->pipeline, situation->plan, 1, moves);
  double best = INFINITY;
  char text[96];
  for (int i = 0; i < count; i++) {
    mz_plan plan = *situation->plan;
    plan.values[moves[i].knob] = moves[i].value;
    if (mz_analytic_measured(situation->model, &plan) || mz_plan_refused(situation->pipeline, situation->bounds, &plan) ||
        (situation->tabu && situation->tabu(situation->tabu_context, &plan)))
      continue;
    const look l = predict(situation, &plan);
    const double hopes_for = l.prediction.low / l.prediction.unit_s * l.cost;
    if (!(hopes_for < base->cost * (1 - situation->settings->gain_min)) || !(hopes_for < best)) continue;
    best = hopes_for;
    out->plan = plan;
    out->prediction = l.prediction;
  }
  if (best == INFINITY) return false;
  const double ratio = out->prediction.unit_s / base->prediction.unit_s;
  mz_plan_text(situation->pipeline, &out->plan, situation->plan, text, sizeof text);
  snprintf(out->reason, sizeof out->reason, "explores %s: never measured here, predicted %.1f %% %s", text, 100 * fabs(ratio - 1),
           ratio < 1 ? "faster" : "slower");
  out->change = out->demanded = out->explores = true;
  out->candidates[0] = (mz_candidate){.plan = out->plan, .prediction = out->prediction};
  out->candidate_count = 1;
  return true;
}

/* The more stages overlap, the more ridges lie between good plans. Goes down where they overlap less, and from there again. */
static void descend_softly(search *s, const look *from) {
  mz_analytic soft = *s->situation->model;
  mz_situation situation = *s->situation;
  soft.gamma = fmin(soft.gamma, SOFT_GAMMA);
  situation.model = &soft;
  search softly = {.situation = &situation};
  softly.best = look_at(&softly, &from->plan);
  look at = softly.best;
  descend(&softly, &at, is_faster, 0);
  at = look_at(s, &at.plan);
  if (at.refused == NULL) descend(s, &at, is_faster, 0);
}

static void propose(const mz_situation *situation, void *memory, mz_proposal *out) {
  mz_patience *p = memory;
  mz_patience_follow(p, situation->pipeline, situation->plan);
  *out = (mz_proposal){.plan = *situation->plan, .predictor = "analytic model", .binding = ""};
  search s = {.situation = situation};
  const look base = look_at(&s, situation->plan);
  out->prediction = base.prediction;
  if (!isfinite(base.cost)) {
    snprintf(out->reason, sizeof out->reason, "keep: nothing was measured yet that a prediction could start from");
    return;
  }
  s.best = base;
  look chosen = base, wide;
  for (int device = situation->pipeline->device_count > 1 ? situation->pipeline->device_count - 1 : -1; device >= -1; device--)
    if (widen(&s, device, &wide)) {
      descend_softly(&s, &wide);
      descend(&s, &wide, is_faster, 0);
    }
  descend(&s, &chosen, is_faster, 0);
  for (bool first = true; first || s.best.cost < chosen.cost * (1 - MZ_OUTLOOK_TIE); first = false) {
    chosen = s.best; /* on the way to a leaner plan a faster one may come into sight */
    descend(&s, &chosen, is_faster, 0);
    descend(&s, &chosen, is_leaner, tie_limit(&s, &base));
  }
  size_queues(&s, tie_limit(&s, &base), &chosen);
  if (!(chosen.cost < base.cost * (1 - MZ_OUTLOOK_TIE))) chosen = base;
  const bool found = !mz_plan_equal(situation->pipeline, &chosen.plan, &base.plan);
  const bool quiet = !found && situation->window != NULL;
  if (quiet && mz_patience_due(p, situation->explored_enough) && explore(situation, &base, out)) {
    mz_patience_explores(p, &out->plan);
    return;
  }
  mz_patience_quiet(p, quiet);

  out->change = !mz_plan_equal(situation->pipeline, &chosen.plan, &base.plan);
  out->plan = chosen.plan;
  out->prediction = chosen.prediction;
  if (s.refused.refused != NULL && s.refused.cost < chosen.cost * (1 - MZ_OUTLOOK_TIE))
    out->binding = s.refused.refused;
  else if (ends_at_range(situation, &chosen))
    out->binding = "knob range";
  list_candidates(&s, &chosen, out);
  say_reason(situation, &base, &chosen, out);
}

const mz_strategy mz_strategy_greedy = {
    .name = "greedy",
    .summary = "goes downhill to the plan that the analytic model predicts to be fastest (or cheapest)",
    .source = "baseline",
    .memory_bytes = sizeof(mz_patience),
    .propose = propose,
};
