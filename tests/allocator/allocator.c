/* How an allocator begins, what it remembers, and that nothing that it is told leads it out of its bounds. */
#include "allocator/allocator_state.h"
#include "planted.h"

/* ---- beginning ---- */

static void test_start_plans_outside_the_bounds_are_refused_by_how_much(void **state) {
  (void)state;
  shop s = shop_open("fixed", 0, 0);
  mz_allocator *a = NULL;
  mz_allocator_options options = shop_options(&s, &base);
  options.bounds.cpu_max = 5;
  assert_int_equal(mz_allocator_create(&a, &options), MZ_E_CONFIG);
  assert_null(a);
  assert_non_null(strstr(mz_message(), "limits.cpu_max: the start plan keeps 8 cores busy, 3 more than allowed: setters 2"));
  options.bounds.cpu_max = 8;
  options.bounds.cpu_min = 8;
  options.start = (mz_plan){.values = {1, 1, 1, 1, 1, 1}};
  s.pipeline.devices[0].cores = 1;
  assert_int_equal(mz_allocator_create(&a, &options), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "limits.cpu_min: the start plan keeps 1 core busy, 7 fewer than asked for: setters 1"));
  s = shop_open("fixed", 0, 0);
  options = shop_options(&s, &base);
  options.bounds.memory_max = 64 << 20;
  assert_int_equal(mz_allocator_create(&a, &options), MZ_E_CONFIG);
  assert_non_null(
      strstr(mz_message(), "limits.memory_max: the start plan may need 96 MiB, 32.0 MiB more than the 64 MiB allowed"));
  options = shop_options(&s, &base);
  options.start.values[PLATES] = 9;
  assert_int_equal(mz_allocator_create(&a, &options), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "knob range: the start plan does not keep it"));
  s = shop_open("fixd", 0, 0);
  options = shop_options(&s, &base);
  assert_int_equal(mz_allocator_create(&a, &options), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "fixed"));
  mz_alloc_fail_after(1);
  s = shop_open("fixed", 0, 0);
  options = shop_options(&s, &base);
  const mz_status status = mz_allocator_create(&a, &options);
  mz_alloc_fail_after(0);
  assert_int_equal(status, MZ_E_MEMORY);
}

static mz_observation observe(const mz_plan *plan, double unit_s) {
  mz_observation o = {.plan = *plan, .noise = 0.01, .rounds = 10, .cpu_s = 0.5, .rss_bytes = 1e8};
  shop_round_s(plan, o.stages);
  o.unit_s = o.round_s = unit_s;
  return o;
}

static void test_with_a_history_a_run_begins_where_the_strategy_says(void **state) {
  (void)state;
  shop s = shop_open("fixed", 0.01, 12);
  const mz_plan better = with(&base, PRESSES, 8);
  const mz_observation history[] = {observe(&base, shop_round_s(&base, NULL))};
  mz_allocator_options options = shop_options(&s, &base);
  options.strategy = &strategy_planted;
  options.history = history;
  options.history_count = 1;
  plant(&better, 0.7);
  mz_allocator *a = NULL;
  mz_decision d;
  assert_int_equal(mz_allocator_create(&a, &options), MZ_OK);
  mz_allocator_begin(a, 5, 50, &d);
  expect(&d, MZ_DECISION_TRY, "begins with the plan that the history predicts best, by ");
  assert_non_null(strstr(d.reason, ", in turns with the start plan"));
  assert_int_equal(d.phase, 5);
  assert_int_equal(d.round, 50);
  assert_plan(d.plan, base);
  assert_plan(d.next, better);
  assert_plan(*mz_allocator_plan(a), better);
  mz_allocator_refused(a, "no memory", &d);
  assert_plan(*mz_allocator_plan(a), base);
  mz_allocator_free(a);

  plant(&better, 0.99);
  assert_int_equal(mz_allocator_create(&a, &options), MZ_OK);
  mz_allocator_begin(a, 0, 0, &d);
  expect(&d, MZ_DECISION_KEEP, "saves 1 %");
  assert_plan(d.next, base);
  mz_allocator_free(a);

  s.settings.verify = false;
  plant(&better, 0.7);
  assert_int_equal(mz_allocator_create(&a, &options), MZ_OK);
  mz_allocator_begin(a, 0, 0, &d);
  expect(&d, MZ_DECISION_CONFIRM, "begins with the plan that the history predicts best, by ");
  assert_null(strstr(d.reason, "in turns"));
  assert_plan(*mz_allocator_kept(a), better);
  mz_allocator_free(a);
}

/* A plan that is refused was never tried: strategies that wait longer after each exploration that is undone have to know. */
static void test_strategies_are_told_when_exploring_would_be_refused(void **state) {
  (void)state;
  shop s = shop_open("fixed", 0.02, 4);
  const mz_plan other = with(&base, SHEETS, 16);
  plant(&other, 1);
  planted.demanded = planted.explores = true;
  planted_slowness = 1;
  mz_allocator *a = shop_allocator(&s, &base, &strategy_planted);
  mz_decision d;
  mz_allocator_begin(a, 0, 0, &d);
  expect(&d, MZ_DECISION_KEEP, "exploring has cost its 1 % of the run's time"); /* nothing has run yet */
  assert_true(planted.explored_enough);
  d = phase(&s, a);
  expect(&d, MZ_DECISION_TRY, "");
  assert_false(planted.explored_enough);
  mz_allocator_free(a);
}

static void test_of_a_history_few_rows_of_many_plans_are_used(void **state) {
  (void)state;
  enum { ROWS = 400 };
  static mz_observation rows[ROWS];
  const shop s = shop_open("fixed", 0, 0);
  for (int i = 0; i < ROWS; i++) {
    const mz_plan plan = with(&base, SHEETS, i % 20 == 0 ? (int64_t)1 << (i / 20 % 7) : 8);
    rows[i] = observe(&plan, i + 1);
  }
  mz_allocator_options options = shop_options(&s, &base);
  options.history = rows;
  options.history_count = ROWS;
  const mz_observation *used[MZ_HISTORY_USED_MAX];
  const int count = mz_allocator_history(&options, used);
  int of_base = 0;
  for (int i = 0; i < count; i++) {
    of_base += mz_plan_equal(&s.pipeline, &used[i]->plan, &base);
    assert_true(used[i] >= &rows[ROWS - 256]);
    if (i > 0) assert_true(used[i - 1] < used[i]);
  }
  assert_int_equal(of_base, 8);
  assert_in_range(count, 8 + 6, 8 + 13);
  assert_ptr_equal(used[count - 1], &rows[ROWS - 1]);
  /* Picking again changes nothing. */
  mz_observation picked[MZ_HISTORY_USED_MAX];
  for (int i = 0; i < count; i++) picked[i] = *used[i];
  options.history = picked;
  options.history_count = count;
  assert_int_equal(mz_allocator_history(&options, used), count);
  for (int i = 0; i < count; i++) assert_ptr_equal(used[i], &picked[i]);
}

/* ---- what cannot be carried out ---- */

static void test_a_refused_plan_is_tabu_and_counts_as_no_revert(void **state) {
  (void)state;
  shop s = shop_open("fixed", 0.01, 10);
  const mz_plan other = with(&base, PRESSES, 8);
  plant(&other, 0.5);
  planted_slowness = 1;
  mz_allocator *a = shop_allocator(&s, &base, &strategy_planted);
  mz_decision d = phase(&s, a);
  expect(&d, MZ_DECISION_TRY, "");
  mz_allocator_refused(a, "no memory for 8 threads", &d);
  expect(&d, MZ_DECISION_KEEP, "could not be carried out: no memory for 8 threads");
  assert_plan(d.next, base);
  assert_plan(*mz_allocator_plan(a), base);
  assert_int_equal(d.reverts, 0);
  d = phase(&s, a);
  expect(&d, MZ_DECISION_KEEP, "rest");
  for (int i = 0; i < 7; i++) {
    d = phase(&s, a);
    expect(&d, MZ_DECISION_KEEP, "undone lately");
  }
  d = phase(&s, a);
  expect(&d, MZ_DECISION_TRY, "");
  mz_allocator_free(a);
}

/* A trial that is reverted, after `rest` windows; returns whether in a block of the new plan, as after some pairs may be. */
static bool reverted_under(shop *s, mz_allocator *a, const mz_plan *bad, int rest, mz_decision *d) {
  planted.promise = 2;
  for (int i = 0; i < rest; i++) phase(s, a);
  planted.promise = 0.5;
  expect((*d = phase(s, a), d), MZ_DECISION_TRY, "");
  *d = judged(s, a, NULL);
  expect(d, MZ_DECISION_REVERT, "");
  return mz_plan_equal(&s->pipeline, &d->plan, bad);
}

static void test_when_there_is_no_way_back_the_plan_on_trial_stays(void **state) {
  (void)state;
  const mz_plan bad = with(&base, PRESSES, 8);
  int found = 0;
  for (int rest = 0; rest < 8; rest++) {
    shop s = shop_open("fixed", 0.03, 11);
    mz_decision d;
    plant(&bad, 0.5);
    planted_slowness = 1.06 * shop_round_s(&base, NULL) / shop_round_s(&bad, NULL);
    mz_allocator *a = shop_allocator(&s, &base, &strategy_planted);
    if (reverted_under(&s, a, &bad, rest, &d)) {
      found++;
      assert_int_equal(d.reverts, 1);
      mz_allocator_refused(a, "the threads are gone", &d);
      expect(&d, MZ_DECISION_KEEP, "the threads are gone");
      assert_false(d.reverted);
      assert_int_equal(d.reverts, 0); /* what was not undone counts as no revert, */
      assert_int_equal(a->budget.spent, 0);
      assert_int_equal(mz_tabu_left(&a->tabu, &s.pipeline, &bad, a->decisions), 0); /* and the plan in force is not tabu */
      assert_plan(*mz_allocator_plan(a), bad);
      d = phase(&s, a);
      assert_plan(d.plan, bad);
    }
    mz_allocator_free(a);
  }
  assert_in_range(found, 1, 7);
}

/* The turns of a trial cannot be taken: the plan in force stays, the other is tabu. */
static void test_turns_that_cannot_be_taken_end_the_trial(void **state) {
  (void)state;
  shop s = shop_open("fixed", 0.01, 11);
  const mz_plan other = with(&base, PRESSES, 8);
  plant(&other, 0.5);
  planted_slowness = 1;
  mz_allocator *a = shop_allocator(&s, &base, &strategy_planted);
  mz_decision d = phase(&s, a);
  assert_plan(*mz_allocator_plan(a), other);
  d = phase(&s, a);
  expect(&d, MZ_DECISION_WAIT, "");
  assert_plan(d.next, base);
  mz_allocator_refused(a, "the threads are gone", &d);
  assert_plan(*mz_allocator_plan(a), other);
  assert_plan(*mz_allocator_kept(a), other);
  d = phase(&s, a);
  expect(&d, MZ_DECISION_KEEP, "rest");
  mz_allocator_free(a);
}

static void test_reasons_that_are_too_long_end_with_a_whole_character(void **state) {
  (void)state;
  shop s = shop_open("fixed", 0.01, 10);
  mz_allocator *a = shop_allocator(&s, &base, NULL);
  mz_decision d = phase(&s, a);
  for (int lead = 0; lead < 3; lead++) {
    char why[600] = "";
    snprintf(why, sizeof why, "%.*s", lead, "xx");
    for (size_t i = strlen(why); i + 3 < sizeof why; i += 3) memcpy(why + i, "\xe2\x82\xac", 4);
    mz_allocator_refused(a, why, &d);
    const size_t length = strlen(d.reason);
    assert_in_range(length, MZ_REASON_BYTES - 4, MZ_REASON_BYTES - 1);
    assert_string_equal(d.reason + length - 3, "\xe2\x82\xac");
  }
  mz_allocator_free(a);
}

/* ---- what is remembered ---- */

static int measured(const mz_allocator *allocator, const shop *s, const mz_plan *plan) {
  const mz_analytic *model = mz_allocator_model(allocator);
  for (int i = 0; i < model->plan_count; i++)
    if (mz_plan_equal(&s->pipeline, plan, &model->plans[i].plan)) return model->plans[i].count;
  return 0;
}

static void test_a_long_time_under_one_plan_does_not_make_others_forgotten(void **state) {
  (void)state;
  shop s = shop_open("fixed", 0.02, 13);
  const mz_plan other = with(&base, PRESSES, 8);
  const mz_observation history[] = {observe(&other, 0.07), observe(&other, 0.07)};
  mz_allocator_options options = shop_options(&s, &base);
  options.history = history;
  options.history_count = 2;
  mz_allocator *a = NULL;
  assert_int_equal(mz_allocator_create(&a, &options), MZ_OK);
  for (int i = 1; i <= 500; i++) {
    phase(&s, a);
    assert_int_equal(measured(a, &s, &base), i < 32 ? i : 32);
  }
  assert_int_equal(measured(a, &s, &other), 2);
  mz_allocator_free(a);
}

static void test_what_telemetry_counts_goes_into_predictions(void **state) {
  (void)state;
  shop s = shop_open("fixed", 0, 14);
  mz_allocator *a = shop_allocator(&s, &base, NULL);
  phase(&s, a);
  const double before = mz_allocator_predict(a, &base).unit_s;
  shop_phase work;
  mz_decision d;
  shop_work(&s, a, NULL, &work);
  mz_window *w = &work.window; /* twice the work, at the same cost each */
  w->wall_s *= 2;
  for (int i = 0; i < w->round_count; i++) w->round_s[i] *= 2;
  for (int i = 0; i < SHOP_STAGES; i++) {
    const mz_stage_sample once = w->stages[i];
    mz_stage_sample_add(&w->stages[i], &once, 1);
  }
  mz_allocator_decide(a, w, &d);
  const double after = mz_allocator_predict(a, &base).unit_s;
  assert_true(after > 1.9 * before && after < 2.1 * before);
  mz_allocator_free(a);
}

/* ---- whatever comes ---- */

/* wild: of any size, or nothing; otherwise 1 … 1.5. */
static double amount(mz_rng *rng, bool wild) {
  if (!wild) return 1 + mz_rng_f64(rng) / 2;
  return mz_rng_below(rng, 8) == 0 ? 0 : ldexp(mz_rng_f64(rng), (int)mz_rng_below(rng, 121) - 60);
}

static mz_window draw_window(mz_rng *rng, int64_t phase, bool wild) {
  mz_window w = {.phase = phase, .round = phase * 10, .units = amount(rng, wild), .wall_s = amount(rng, wild), .score = NAN};
  w.round_count = (int)mz_rng_below(rng, MZ_WINDOW_ROUNDS_MAX + 1);
  for (int i = 0; i < w.round_count; i++) w.round_s[i] = amount(rng, wild);
  for (int i = 0; i < SHOP_STAGES; i++) {
    double *const values[] = {&w.stages[i].items,     &w.stages[i].busy_s,     &w.stages[i].cpu_s,
                              &w.stages[i].wait_in_s, &w.stages[i].wait_out_s, &w.stages[i].elapsed_s};
    for (size_t k = 0; k < sizeof values / sizeof values[0]; k++) *values[k] = amount(rng, wild);
  }
  w.usage.missing = mz_rng_below(rng, 1u << MZ_SENSOR_COUNT);
  w.usage.wall_s = w.wall_s;
  w.usage.cpu_s = amount(rng, wild);
  w.usage.rss_bytes = amount(rng, wild);
  mz_window_quantise(&w);
  return w;
}

static void test_whatever_comes_plans_stay_within_ranges_and_bounds(void **state) {
  (void)state;
  const mz_strategy *strategies[8] = {&strategy_anything};
  int count = 1;
  for (int i = 0; mz_strategies[i] != NULL; i++) strategies[count++] = mz_strategies[i];
  for (int i = 0; i < count; i++) {
    int tries = 0;
    for (uint32_t seed = 0; seed < 12; seed++) {
      shop s = shop_open("fixed", 0, seed);
      s.settings.objective = (int32_t)(seed % 2);
      s.settings.gain_min = seed % 3 == 0 ? 0 : 0.03;
      s.bounds.cpu_max = 3 + seed % 6;
      s.bounds.memory_max = 96 << 20;
      const mz_plan plain = shop_plain();
      mz_allocator *a = shop_allocator(&s, &plain, strategies[i]);
      mz_rng rng = mz_rng_at(seed, MZ_RNG_TEST, 99, 0);
      for (int64_t p = 1; p <= 120; p++) {
        const bool wild = mz_rng_below(&rng, 40) < seed;
        for (uint32_t r = mz_rng_below(&rng, 12); r > 0; r--) mz_allocator_round(a, amount(&rng, wild));
        assert_null(mz_plan_refused(&s.pipeline, &s.bounds, mz_allocator_plan(a)));
        const mz_window w = draw_window(&rng, p, wild);
        mz_decision d;
        mz_allocator_decide(a, &w, &d);
        tries += d.action == MZ_DECISION_TRY;
        assert_null(mz_plan_refused(&s.pipeline, &s.bounds, &d.next));
        assert_plan(d.next, *mz_allocator_plan(a));
        if (mz_rng_below(&rng, 16) == 0) mz_allocator_refused(a, "by chance", &d);
        assert_null(mz_plan_refused(&s.pipeline, &s.bounds, mz_allocator_plan(a)));
      }
      mz_allocator_free(a);
    }
    const bool stays =
        strategies[i] == &mz_strategy_fixed || strategies[i] == &mz_strategy_static || strategies[i] == &mz_strategy_staged;
    assert_true(stays ? tries == 0 : tries >= 20);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_start_plans_outside_the_bounds_are_refused_by_how_much),
      cmocka_unit_test(test_with_a_history_a_run_begins_where_the_strategy_says),
      cmocka_unit_test(test_strategies_are_told_when_exploring_would_be_refused),
      cmocka_unit_test(test_of_a_history_few_rows_of_many_plans_are_used),
      cmocka_unit_test(test_a_refused_plan_is_tabu_and_counts_as_no_revert),
      cmocka_unit_test(test_when_there_is_no_way_back_the_plan_on_trial_stays),
      cmocka_unit_test(test_turns_that_cannot_be_taken_end_the_trial),
      cmocka_unit_test(test_reasons_that_are_too_long_end_with_a_whole_character),
      cmocka_unit_test(test_a_long_time_under_one_plan_does_not_make_others_forgotten),
      cmocka_unit_test(test_what_telemetry_counts_goes_into_predictions),
      cmocka_unit_test(test_whatever_comes_plans_stay_within_ranges_and_bounds),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
