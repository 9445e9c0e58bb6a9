/* The same allocator steers what is no MuZero: a print shop, under every strategy. */
#include "simulated.h"

enum { PHASES = 120 };

typedef struct result {
  mz_plan plan;  /* in force in the end */
  double unit_s; /* of it, by the formula */
  double off;    /* its time (or price) over the optimum's */
  int found;     /* phases until a plan within 5 % of the optimum was in force for good, trials apart; -1: never */
  int tried, confirmed, reverted;
} result;

static double cost_of(const shop *s, const mz_plan *plan) {
  const double seconds = shop_round_s(plan, NULL);
  return s->settings.objective == MZ_OBJECTIVE_COST ? seconds * mz_plan_price_s(&s->pipeline, &s->settings, plan) : seconds;
}

static result steer(shop *s, const mz_plan *start) {
  mz_plan best;
  const double least = shop_optimum(s, &best);
  mz_allocator *a = shop_allocator(s, start, NULL);
  result r = {.found = -1};
  mz_decision d;
  mz_allocator_begin(a, 0, 0, &d);
  r.tried = d.action == MZ_DECISION_TRY;
  for (int i = 0; i < PHASES; i++) {
    shop_phase work;
    shop_work(s, a, NULL, &work);
    mz_allocator_decide(a, &work.window, &d);
    assert_null(mz_plan_refused(&s->pipeline, &s->bounds, mz_allocator_plan(a)));
    r.tried += d.action == MZ_DECISION_TRY;
    r.confirmed += d.action == MZ_DECISION_CONFIRM;
    r.reverted += d.action == MZ_DECISION_REVERT;
    if (d.action == MZ_DECISION_TRY || d.action == MZ_DECISION_WAIT) continue; /* a trial: it may be undone */
    if (cost_of(s, mz_allocator_plan(a)) > 1.05 * least)
      r.found = -1;
    else if (r.found < 0)
      r.found = i + 1;
  }
  r.plan = *mz_allocator_kept(a);
  r.unit_s = shop_round_s(&r.plan, NULL);
  r.off = cost_of(s, &r.plan) / least;
  char text[128], optimal[128];
  mz_plan_text(&s->pipeline, &r.plan, NULL, text, sizeof text);
  mz_plan_text(&s->pipeline, &best, NULL, optimal, sizeof optimal);
  print_message("%s: %s: %.2f of the optimum (%s), there after %d phases; %d tried, %d confirmed, %d reverted\n",
                s->settings.strategy, text, r.off, optimal, r.found, r.tried, r.confirmed, r.reverted);
  mz_allocator_free(a);
  return r;
}

static void test_greedy_finds_what_all_plans_offer_from_the_plain_one(void **state) {
  (void)state;
  const mz_plan plain = shop_plain();
  for (uint64_t seed = 0; seed < 4; seed++) {
    shop s = shop_open("greedy", 0.02, seed);
    const result r = steer(&s, &plain);
    assert_in_range(r.found, 1, 12);
    assert_in_range(r.tried - r.confirmed - r.reverted, 0, 1); /* one may be on trial */
  }
}

static void test_adaptive_finds_it_too(void **state) {
  (void)state;
  const mz_plan plain = shop_plain();
  for (uint64_t seed = 0; seed < 4; seed++) {
    shop s = shop_open("adaptive", 0.02, seed);
    const result r = steer(&s, &plain);
    assert_in_range(r.found, 1, 12);
    assert_in_range(r.tried - r.confirmed - r.reverted, 0, 1); /* one may be on trial */
  }
}

static void test_adaptive_by_cost_and_within_bounds(void **state) {
  (void)state;
  const mz_plan plain = shop_plain();
  shop s = shop_open("adaptive", 0.02, 2);
  s.settings.objective = MZ_OBJECTIVE_COST;
  assert_in_range(steer(&s, &plain).found, 1, 24);
  s = shop_open("adaptive", 0.02, 1);
  s.bounds.cpu_max = 5;
  s.bounds.memory_max = 84 << 20;
  assert_true(steer(&s, &plain).off < 1.15); /* asserts the bounds after every phase */
}

/* Each part can be taken away; what is left still works. */
static void test_ablations_of_adaptive(void **state) {
  (void)state;
  const mz_plan plain = shop_plain();
  for (int i = 0; mz_predictor_name(i); i++) {
    shop s = shop_open("adaptive", 0.02, 3);
    snprintf(s.settings.predictor, sizeof s.settings.predictor, "%s", mz_predictor_name(i));
    const result r = steer(&s, &plain);
    assert_true(r.off < 1.15);
  }
  shop s = shop_open("adaptive", 0.02, 3);
  s.settings.search = MZ_SEARCH_RANDOM;
  assert_true(steer(&s, &plain).off < 1.15);
  s = shop_open("adaptive", 0.02, 3);
  s.settings.balance = true;
  assert_true(steer(&s, &plain).off < 1.15);
  s = shop_open("adaptive", 0.02, 3);
  s.settings.verify = false;
  const result r = steer(&s, &plain);
  assert_int_equal(r.tried, 0);
  assert_true(r.confirmed > 0 && r.reverted == 0);
  assert_true(r.off < 1.3);
}

static void test_an_unknown_predictor_is_refused(void **state) {
  (void)state;
  const mz_plan plain = shop_plain();
  shop s = shop_open("adaptive", 0.02, 3);
  snprintf(s.settings.predictor, sizeof s.settings.predictor, "analitic");
  const mz_allocator_options options = shop_options(&s, &plain);
  mz_allocator *a;
  assert_int_equal(mz_allocator_create(&a, &options), MZ_E_CONFIG);
  assert_string_equal(mz_message(), "allocate.predictor: 'analitic' is no predictor; did you mean analytic?");
}

static void test_greedy_keeps_to_its_bounds(void **state) {
  (void)state;
  const mz_plan plain = shop_plain();
  shop s = shop_open("greedy", 0.02, 1);
  s.bounds.cpu_max = 5;
  s.bounds.memory_max = 84 << 20;
  const result r = steer(&s, &plain); /* asserts them after every phase */
  assert_true(r.off < 1.15);
  assert_true(r.unit_s < 0.4 * shop_round_s(&plain, NULL));
}

static void test_greedy_by_cost(void **state) {
  (void)state;
  const mz_plan plain = shop_plain();
  shop s = shop_open("greedy", 0.02, 2);
  s.settings.objective = MZ_OBJECTIVE_COST;
  const result r = steer(&s, &plain);
  assert_in_range(r.found, 1, 12);
}

static void test_knobs_that_are_held_stay(void **state) {
  (void)state;
  mz_plan start = shop_plain();
  shop s = shop_open("greedy", 0.02, 3);
  start.values[PRESSES] = s.pipeline.knobs[PRESSES].min = s.pipeline.knobs[PRESSES].max = 3;
  const result r = steer(&s, &start);
  assert_int_equal(r.plan.values[PRESSES], 3);
  assert_true(r.off < 1.15);
}

static void test_fixed_keeps_its_plan(void **state) {
  (void)state;
  const mz_plan start = {.values = {2, 2, 4, 2, 2, 2}};
  shop s = shop_open("fixed", 0.05, 1);
  const result r = steer(&s, &start);
  assert_memory_equal(&r.plan, &start, sizeof start);
  assert_int_equal(r.tried, 0);
}

/* It looks at use, not at time: better than plain is what can be asked of it. */
static void test_demand_adds_where_pools_are_busy(void **state) {
  (void)state;
  const mz_plan plain = shop_plain();
  shop s = shop_open("demand", 0.02, 1);
  const result r = steer(&s, &plain);
  assert_true(r.confirmed > 0);
  assert_true(r.unit_s < 0.7 * shop_round_s(&plain, NULL));
  assert_int_equal(r.plan.values[SHEETS], 1); /* no threshold speaks of it */
}

/* A run that continues where one stopped, and knows what that one saw. */
static void test_a_history_saves_the_search(void **state) {
  (void)state;
  const mz_plan plain = shop_plain();
  shop s = shop_open("greedy", 0.02, 5);
  mz_allocator *a = shop_allocator(&s, &plain, NULL);
  static mz_observation history[PHASES];
  int count = 0;
  mz_decision d;
  for (int i = 0; i < PHASES; i++) {
    const mz_plan plan = *mz_allocator_plan(a);
    shop_phase work;
    shop_work(&s, a, NULL, &work);
    mz_allocator_decide(a, &work.window, &d);
    if (work.given_up == 0) count += mz_observation_from_window(&history[count], &plan, &work.window);
  }
  const mz_plan found = *mz_allocator_plan(a);
  mz_allocator_free(a);

  mz_allocator_options options = shop_options(&s, &plain);
  options.history = history;
  options.history_count = count;
  assert_int_equal(mz_allocator_create(&a, &options), MZ_OK);
  mz_allocator_begin(a, 0, 0, &d);
  assert_int_equal(d.action, MZ_DECISION_TRY);
  assert_non_null(strstr(d.reason, "the history predicts best"));
  assert_true(shop_round_s(&d.next, NULL) < 1.02 * shop_round_s(&found, NULL));
  mz_allocator_free(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_greedy_finds_what_all_plans_offer_from_the_plain_one),
      cmocka_unit_test(test_adaptive_finds_it_too),
      cmocka_unit_test(test_adaptive_by_cost_and_within_bounds),
      cmocka_unit_test(test_ablations_of_adaptive),
      cmocka_unit_test(test_an_unknown_predictor_is_refused),
      cmocka_unit_test(test_greedy_keeps_to_its_bounds),
      cmocka_unit_test(test_greedy_by_cost),
      cmocka_unit_test(test_knobs_that_are_held_stay),
      cmocka_unit_test(test_fixed_keeps_its_plan),
      cmocka_unit_test(test_demand_adds_where_pools_are_busy),
      cmocka_unit_test(test_a_history_saves_the_search),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
