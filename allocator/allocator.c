#include "allocator/allocator_state.h"
#include "allocator/records/decision.h"
#include <math.h>
#include <string.h>

enum { ROUNDS_MIN = 2, WINDOW_ROUNDS_MIN = 5, SHOWN_CHANGE = 4, SHOWN_KEEP = 1 };
static const double PROBED_GAIN_MIN =
    0.25; /* probes know what one stage costs alone: enough to leave a bad plan, not to refine a good one */
static const char MODEL_NAME[] = "analytic model";

/* ---- creating ---- */

static double shared_cores(const mz_allocator_options *options) {
  if (options->bounds.cpu_max > 0) return options->bounds.cpu_max;
  return fmax(1, mz_pipeline_cores(options->pipeline));
}

mz_status mz_allocator_create(mz_allocator **out, const mz_allocator_options *options) {
  *out = NULL;
  const mz_strategy *strategy = options->strategy;
  const mz_predictor *predictor;
  if (strategy == NULL) MZ_TRY(mz_strategy_find(options->settings->strategy, "allocate.strategy", &strategy));
  MZ_ASSERT(strategy->memory_bytes <= MZ_STRATEGY_MEMORY_MAX);
  MZ_TRY(mz_predictor_chosen(options->settings->predictor, &predictor));
  MZ_TRY(mz_allocator_check(options));
  mz_allocator *a = NULL;
  MZ_TRY(mz_alloc(&a, 1, sizeof *a));
  a->settings = *options->settings;
  a->bounds = options->bounds;
  a->strategy = strategy;
  a->plan = a->before = options->start;
  a->expected = (mz_prediction)MZ_UNPREDICTED;
  a->rounds.warming = true;
  a->around[MZ_SIDE_OLD] = a->around[MZ_SIDE_NEW] = mz_surroundings_of(&(mz_usage){0});
  mz_evidence_init(&a->evidence, options->pipeline, shared_cores(options));
  const mz_observation *used[MZ_HISTORY_USED_MAX];
  const int count = mz_allocator_history(options, used);
  for (int i = 0; i < count; i++) mz_evidence_add(&a->evidence, used[i]);
  if (count > 0) mz_evidence_fit(&a->evidence);
  const mz_evidence *e = &a->evidence;
  const mz_status status = strategy->learns ? mz_champion_create(&a->champion, &e->pipeline, e->model.cores, predictor,
                                                                 options->pretrained, MZ_OBSERVATIONS_MAX)
                                            : MZ_OK;
  if (status != MZ_OK) {
    free(a);
    return status;
  }
  *out = a;
  return MZ_OK;
}

void mz_allocator_free(mz_allocator *allocator) {
  if (allocator) mz_champion_free(allocator->champion);
  free(allocator);
}

const mz_plan *mz_allocator_plan(const mz_allocator *allocator) { return &allocator->plan; }
const mz_analytic *mz_allocator_model(const mz_allocator *allocator) { return &allocator->evidence.model; }
mz_prediction mz_allocator_predict(const mz_allocator *a, const mz_plan *plan) {
  return mz_predict(a->champion, &a->evidence.model, plan);
}

/* ---- what is written into a decision ---- */

static bool same(const mz_allocator *a, const mz_plan *x, const mz_plan *y) { return mz_plan_equal(&a->evidence.pipeline, x, y); }

static mz_decision begin_decision(const mz_allocator *a, int64_t phase, int64_t round) {
  return (mz_decision){.phase = phase,
                       .round = round,
                       .strategy = a->strategy->name,
                       .predictor = a->champion ? mz_champion_predictor(a->champion)->name : MODEL_NAME,
                       .plan = a->plan,
                       .predicted = a->expected,
                       .observed = NAN,
                       .expected = MZ_UNPREDICTED,
                       .binding = "",
                       .ratio = NAN,
                       .ratio_low = NAN,
                       .ratio_high = NAN};
}

/* The model predicts the next window where the strategy did not. */
static void end_decision(mz_allocator *a, mz_decision *d) {
  d->next = a->plan;
  if (!isfinite(d->expected.unit_s)) d->expected = mz_allocator_predict(a, &a->plan);
  d->expected = mz_calibrated(&a->calibration, &d->expected);
  d->predictions = a->calibration.judged;
  d->predictions_held = a->calibration.held;
  d->reverts = a->reverts;
  d->reverted = d->action == MZ_DECISION_REVERT;
  d->calm = d->action == MZ_DECISION_KEEP && (a->champion == NULL || a->baseline.over);
  a->expected = d->expected;
}

/* ---- proposals ---- */

static int64_t tabu_left(const mz_allocator *a, const mz_plan *plan) {
  return mz_tabu_left(&a->tabu, &a->evidence.pipeline, plan, a->decisions);
}
static bool is_tabu(const void *context, const mz_plan *plan) { return tabu_left(context, plan) > 0; }

static void ask(mz_allocator *a, const mz_window *window, mz_proposal *out) {
  const mz_situation situation = {.pipeline = &a->evidence.pipeline,
                                  .settings = &a->settings,
                                  .bounds = &a->bounds,
                                  .plan = &a->plan,
                                  .window = window,
                                  .model = &a->evidence.model,
                                  .champion = a->champion,
                                  .utilisation = a->evidence.utilisation,
                                  .cores = &a->evidence.cores,
                                  .memory = &a->evidence.memory,
                                  .noise = mz_evidence_noise(&a->evidence),
                                  .explored_enough = !mz_budget_explores(&a->budget),
                                  .tabu = is_tabu,
                                  .tabu_context = a};
  *out = (mz_proposal){.plan = a->plan, .prediction = MZ_UNPREDICTED};
  a->strategy->propose(&situation, a->memory, out);
  MZ_ASSERT(out->candidate_count >= 0 && out->candidate_count <= MZ_CANDIDATES_MAX);
  if (same(a, &out->plan, &a->plan)) out->change = false;
}

static double price_s(const mz_allocator *a, const mz_plan *plan) {
  return mz_plan_price_s(&a->evidence.pipeline, &a->settings, plan);
}

/* Price of a second now over that under `plan`, where the objective asks for it; 1 where it does not or all is free. */
static double worth(const mz_allocator *a, const mz_plan *plan) {
  if (a->settings.objective != MZ_OBJECTIVE_COST) return 1;
  const double now = price_s(a, &a->plan), then = price_s(a, plan);
  return now > 0 && then > 0 ? now / then : 1;
}

static bool releases(const mz_allocator *a, const mz_plan *plan) {
  return a->settings.objective != MZ_OBJECTIVE_COST && price_s(a, plan) < price_s(a, &a->plan);
}

static double with_apart(const mz_prediction *p) { return p->unit_s + p->apart_s; }

/* Share of a unit's time (or price), with its part of what is apart, that the proposal promises to save. */
static double gain_of(const mz_allocator *a, const mz_proposal *p) {
  const mz_prediction now = mz_allocator_predict(a, &a->plan);
  return 1 - with_apart(&p->prediction) / (with_apart(&now) * worth(a, &p->plan));
}

/* A strategy is never trusted: why its proposal is not tried, "" when it is. */
static void find_objection(const mz_allocator *a, const mz_proposal *p, char out[64]) {
  const char *limit = mz_plan_refused(&a->evidence.pipeline, &a->bounds, &p->plan);
  const int64_t windows = tabu_left(a, &p->plan);
  const double least = fmax(a->settings.gain_min, 2 * mz_evidence_noise(&a->evidence)), gain = gain_of(a, p);
  out[0] = '\0';
  if (limit != NULL)
    snprintf(out, 64, "breaks %s", limit);
  else if (windows > 0)
    snprintf(out, 64, "undone lately, not tried for %lld more windows", (long long)windows);
  else if (p->explores && !mz_budget_explores(&a->budget))
    snprintf(out, 64, "exploring has cost its %.3g %% of the run's time", 100 * MZ_EXPLORING_SHARE);
  else if (!p->demanded && !isfinite(gain))
    snprintf(out, 64, "nothing predicts what it would save");
  else if (!p->demanded && gain < least)
    snprintf(out, 64, "saves %.3g %%, less than the %.3g %% asked for", 100 * gain, 100 * least);
}

/* Teaches the champion all that is known; a contest that this was reason for is told. */
static void teach(mz_allocator *a, mz_decision *d) {
  int count, before, plans;
  if (a->champion == NULL) return;
  a->taught = a->decisions;
  mz_champion_contest(a->champion, &count, &before);
  mz_champion_learn(a->champion, a->evidence.observations, a->evidence.count);
  const mz_contender *contenders = mz_champion_contest(a->champion, &count, &plans);
  d->predictor = mz_champion_predictor(a->champion)->name;
  if (plans == before) return;
  d->contest_plans = plans;
  d->contest_count = count;
  for (int i = 0; i < count; i++) {
    d->contest[i].predictor = contenders[i].predictor->name;
    d->contest[i].error = contenders[i].error;
  }
}

/* Asks the strategy. true: its proposal may be carried out; otherwise `d` says why not. */
static bool consult(mz_allocator *a, const mz_window *window, mz_proposal *p, mz_decision *d) {
  char text[MZ_PLAN_TEXT], objection[64] = "";
  ask(a, window, p);
  if (p->predictor != NULL) d->predictor = p->predictor;
  if (p->binding != NULL) d->binding = p->binding;
  memcpy(d->assigned, p->assigned, sizeof d->assigned);
  if (p->change) find_objection(a, p, objection);
  const bool taken = p->change && objection[0] == '\0';
  mz_decision_show(d, &a->evidence.pipeline, p, objection, taken ? SHOWN_CHANGE : SHOWN_KEEP);
  if (p->change && !taken)
    mz_decision_say(d, "%s: %s", mz_allocator_text(a, &p->plan, &a->plan, text), objection);
  else
    mz_decision_say(d, "%s", p->reason);
  return taken;
}

static bool has_probes(const mz_pipeline *pipeline) {
  for (int s = 0; s < pipeline->stage_count; s++)
    if (mz_stage_is_probed(&pipeline->stages[s])) return true;
  return false;
}

void mz_allocator_begin(mz_allocator *a, int64_t phase, int64_t round, mz_decision *d) {
  mz_proposal p;
  char text[MZ_PLAN_TEXT];
  *d = begin_decision(a, phase, round);
  const bool measured = a->evidence.count > 0;
  if (a->champion) {
    teach(a, d);
    mz_decision_say(d, "begins with a baseline run: %d quiet windows of the start plan, before anything is searched",
                    MZ_BASELINE_QUIET);
  } else if (!measured && !has_probes(&a->evidence.pipeline)) {
    mz_decision_say(d, "begins with the plan it was given: there is no history");
  } else if (consult(a, NULL, &p, d)) {
    const double gain = gain_of(a, &p);
    mz_allocator_text(a, &p.plan, &a->plan, text);
    if (!measured && gain < PROBED_GAIN_MIN) {
      mz_decision_say(d, "%s: probes promise %.3g %%, less than the %.3g %% asked of them", text, 100 * gain,
                      100 * PROBED_GAIN_MIN);
      end_decision(a, d);
      return;
    }
    mz_decision_say(d, "%s: begins with the plan that %s best, by %.3g %%%s", text,
                    measured ? "the history predicts" : "probes predict", 100 * gain,
                    a->settings.verify ? ", in turns with the start plan" : "");
    mz_verify_begin(a, &p, worth(a, &p.plan), releases(a, &p.plan), d);
  }
  end_decision(a, d);
}

/* ---- the baseline run ---- */

static void say_baseline(const mz_allocator *a, double error, mz_decision *d) {
  const mz_baseline *b = &a->baseline;
  char share[48] = "nothing had been predicted";
  if (isfinite(error)) snprintf(share, sizeof share, "%.3g times what was predicted", exp(error));
  mz_decision_say(d, "baseline, window %d, %d quiet so far: the plan took %s", b->windows, b->quiet, share);
}

/* Checks the champion's prediction of the window, and teaches it the window. true: that was the decision. error: log(measured /
 * predicted). */
static bool check_prediction(mz_allocator *a, double error, mz_decision *d) {
  if (a->champion == NULL) return false;
  const bool quiet = a->quiet && isfinite(d->observed);
  const mz_baseline_event event = mz_baseline_window(&a->baseline, error, mz_evidence_sigma(&a->evidence), quiet);
  if (event == MZ_BASELINE_RESETS) {
    mz_evidence_reset(&a->evidence, MZ_BASELINE_OUTSIDE);
    mz_verify_forget(a);
  }
  if (event != MZ_BASELINE_HOLDS || mz_budget_decides(&a->budget)) teach(a, d);
  if (event == MZ_BASELINE_ENDS) d->baseline = a->baseline;
  if (event == MZ_BASELINE_CONTINUES)
    say_baseline(a, error, d);
  else if (event == MZ_BASELINE_RESETS)
    mz_decision_say(
        d,
        "costs have changed: %d windows in a row were off by more than %d standard deviations, the last one took %.3g "
        "times what was predicted: earlier ones count as of another run, and a baseline begins",
        MZ_BASELINE_OUTSIDE, MZ_BASELINE_FAR, exp(error));
  return event == MZ_BASELINE_CONTINUES || event == MZ_BASELINE_RESETS;
}

/* log(measured / predicted) of a window, by what the champion had learned before it; NAN where that was not all that was known, or
 * where it knew nothing of the plan once the baseline is over. */
static double error_of(const mz_allocator *a, const mz_decision *d, double predicted_s, bool known) {
  const bool fresh = a->taught == a->decisions - 1;
  return fresh && (known || !a->baseline.over) ? log(d->observed / predicted_s) : NAN;
}

/* ---- deciding ---- */

/* Without a trial: asks for a proposal, where there is reason to. */
static void look_for_better(mz_allocator *a, const mz_window *window, mz_decision *d) {
  mz_proposal p;
  if (a->champion && !mz_budget_decides(&a->budget))
    mz_decision_say(d, "keep: deciding has taken its %.3g %% of the run's time", 100 * MZ_DECIDING_SHARE);
  else if (mz_budget_wait(&a->budget) > 0)
    mz_decision_say(d, "%d changes were undone lately: the plan stays for %d more windows", MZ_REVERTS_MAX,
                    mz_budget_wait(&a->budget));
  else if (a->decisions < a->rest_until)
    mz_decision_say(d, "a window of rest after a change");
  else if (!isfinite(d->observed) || a->rounds.count < ROUNDS_MIN)
    mz_decision_say(d, "fewer than %d full rounds under this plan: nothing to compare another with", ROUNDS_MIN);
  else if (consult(a, window, &p, d))
    mz_verify_begin(a, &p, worth(a, &p.plan), releases(a, &p.plan), d);
}

void mz_allocator_decide(mz_allocator *a, const mz_window *window, mz_decision *d) {
  *d = begin_decision(a, window->phase, window->round);
  if (a->state == MZ_ABANDONED) d->plan = a->other;
  a->before = a->plan;
  a->decisions++;
  mz_budget_window(&a->budget);
  const bool measured = a->evidence.count > 0; /* probes on an idle machine are no measure of a run */
  if (!measured) d->predicted = (mz_prediction)MZ_UNPREDICTED;
  const bool known = mz_analytic_measured(&a->evidence.model, &a->plan);
  const double predicted_s = a->champion ? mz_allocator_predict(a, &a->plan).unit_s : NAN; /* nobody else's is checked */
  if (!mz_verify_window(a, window, d)) {
    mz_budget_cost(&a->budget, d->observed, mz_evidence_noise(&a->evidence));
    if (!check_prediction(a, error_of(a, d, predicted_s, known), d)) look_for_better(a, window, d);
  }
  if (a->quiet) mz_calibration_add(&a->calibration, &d->predicted, d->observed);
  end_decision(a, d);
  /* What is done between windows (deciding, evaluating) leaves cold caches: the next round counts as warm-up where there are enough
   * others. */
  if (a->window_rounds >= WINDOW_ROUNDS_MIN) mz_rounds_warm_up(&a->rounds);
  a->window_rounds = 0;
}

void mz_allocator_spent(mz_allocator *a, double seconds, mz_decision *d) {
  d->took_s = mz_quantised(seconds);
  if (d->took_s > 0) mz_budget_decided(&a->budget, d->took_s);
}

void mz_allocator_follow(mz_allocator *a, const mz_window *window, const mz_plan *plan, const mz_plan *next) {
  mz_evidence_window(&a->evidence, plan, window);
  a->plan = a->before = *next;
}

void mz_allocator_refused(mz_allocator *a, const char *why, mz_decision *d) {
  mz_verify_undo(a);
  mz_tabu_add(&a->tabu, &a->plan, a->decisions);
  if (d->action == MZ_DECISION_TRY || d->action == MZ_DECISION_CONFIRM) a->rounds = a->trial.rounds[MZ_SIDE_OLD];
  if (d->action == MZ_DECISION_REVERT) a->rounds = a->trial.rounds[MZ_SIDE_NEW];
  if (d->action == MZ_DECISION_WAIT) a->rounds = a->trial.rounds[a->trial.side == MZ_SIDE_NEW ? MZ_SIDE_OLD : MZ_SIDE_NEW];
  mz_rounds_warm_up(&a->rounds);
  a->plan = a->before;
  a->state = MZ_STEADY;
  mz_verify_rest(a);
  d->action = MZ_DECISION_KEEP;
  d->expected = (mz_prediction)MZ_UNPREDICTED;
  mz_decision_say(d, "could not be carried out: %s", why);
  end_decision(a, d);
}
