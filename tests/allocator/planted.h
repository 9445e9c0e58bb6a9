/* Strategies that were planted: what they propose is up to the test. */
#pragma once
#include "simulated.h"

static struct {
  mz_plan plan; /* proposed whenever it is not in force */
  bool demanded, explores;
  double promise; /* seconds per unit, of those of the plan in force */
  int asked;
  bool explored_enough; /* as it was told last */
} planted;

static inline void propose_planted(const mz_situation *situation, void *memory, mz_proposal *out) {
  (void)memory;
  planted.asked++;
  planted.explored_enough = situation->explored_enough;
  *out = (mz_proposal){.change = true,
                       .plan = planted.plan,
                       .predictor = "planted",
                       .demanded = planted.demanded,
                       .explores = planted.explores,
                       .binding = "",
                       .reason = "it was planted"};
  const double now = mz_analytic_predict(situation->model, situation->plan).unit_s;
  out->prediction = (mz_prediction){now * planted.promise, now * planted.promise, now * planted.promise, 0};
}
static const mz_strategy strategy_planted = {
    .name = "planted", .summary = "proposes what the test says", .source = "test", .propose = propose_planted};

static inline void plant(const mz_plan *plan, double promise) {
  planted.plan = *plan;
  planted.demanded = planted.explores = false;
  planted.promise = promise;
  planted.asked = 0;
}

/* Any plan of the pipeline, promised to be twice as fast: a predictor without a clue. Its memory is a counter. */
static inline void propose_anything(const mz_situation *situation, void *memory, mz_proposal *out) {
  uint32_t *count = memory;
  mz_rng rng = mz_rng_at(7, MZ_RNG_TEST, ++*count, 0);
  *out = (mz_proposal){.change = true, .plan = *situation->plan, .predictor = "none", .binding = "", .reason = "why not"};
  const double now = mz_analytic_predict(situation->model, situation->plan).unit_s;
  out->prediction = (mz_prediction){now / 2, now / 2, now / 2, 0};
  const int most = mz_rng_below(&rng, 2) ? 8 : 2; /* powers of two, also beyond ranges; or small ones, which may be tried */
  for (int k = 0; k < situation->pipeline->knob_count; k++)
    out->plan.values[k] = (int64_t)1 << mz_rng_below(&rng, (uint32_t)most);
}
static const mz_strategy strategy_anything = {.name = "anything",
                                              .summary = "proposes anything",
                                              .source = "test",
                                              .memory_bytes = sizeof(uint32_t),
                                              .propose = propose_anything};

/* ---- helpers ---- */

static const mz_plan base = {.values = {2, 4, 8, 2, 2, 2}};

static inline mz_plan with(const mz_plan *plan, int knob, int64_t value) {
  mz_plan changed = *plan;
  changed.values[knob] = value;
  return changed;
}

/* How much slower than the formula says the planted plan is. */
static double planted_slowness = 1;
static inline double slow_where_planted(const mz_plan *plan) {
  const mz_pipeline p = shop_pipeline();
  return mz_plan_equal(&p, plan, &planted.plan) ? planted_slowness : 1;
}

static inline mz_decision phase(shop *s, mz_allocator *allocator) {
  shop_phase work;
  mz_decision decision;
  shop_work(s, allocator, slow_where_planted, &work);
  mz_allocator_decide(allocator, &work.window, &decision);
  return decision;
}

static inline void expect(const mz_decision *d, mz_decision_action action, const char *reason) {
  if (d->action != action || strstr(d->reason, reason) == NULL) {
    fail_msg("phase %lld: %s \"%s\", wanted %s \"%s\"", (long long)d->phase, mz_decision_action_name(d->action), d->reason,
             mz_decision_action_name(action), reason);
  }
}

/* The decision that ends a trial; *blocks (may be NULL): that it took. */
static inline mz_decision judged(shop *s, mz_allocator *allocator, int *blocks) {
  mz_decision d;
  int count = 0;
  do {
    d = phase(s, allocator);
    count++;
  } while (d.action == MZ_DECISION_WAIT);
  if (blocks != NULL) *blocks = count;
  return d;
}

#define assert_plan(a, b) assert_memory_equal(&(a), &(b), sizeof(mz_plan))
