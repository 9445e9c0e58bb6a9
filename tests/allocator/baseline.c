/* The baseline run: before anything is searched the predictor is checked at the start plan, and again whenever costs have changed. */
#include "allocator/strategies/baseline.h"
#include "allocator/predictors/predictor.h"
#include "planted.h"

static const double SIGMA = 0.01;

/* ---- the windows that count ---- */

static void two_quiet_windows_end_it(void **state) {
  (void)state;
  mz_baseline b = {0};
  assert_int_equal(mz_baseline_window(&b, 0.5, SIGMA, false), MZ_BASELINE_CONTINUES);
  assert_int_equal(mz_baseline_window(&b, 0.3, SIGMA, true), MZ_BASELINE_CONTINUES);
  assert_int_equal(mz_baseline_window(&b, 0.02, SIGMA, true), MZ_BASELINE_ENDS);
  assert_int_equal(b.windows, 3);
  assert_int_equal(b.quiet, 2);
  assert_true(b.before == 0.3 && b.after == 0.02);
  assert_int_equal(mz_baseline_window(&b, 0.02, SIGMA, true), MZ_BASELINE_HOLDS);
}

/* The predictor has still not learned what the plan takes; or nothing is ever quiet; or nothing is ever predicted. */
static void it_lasts_until_predictions_hold_but_not_for_ever(void **state) {
  (void)state;
  for (int kind = 0; kind < 3; kind++) {
    mz_baseline b = {0};
    for (int i = 1; i < MZ_BASELINE_WINDOWS; i++) {
      const double error = kind == 2 ? NAN : i % 2 ? 0.2 : -0.2;
      const mz_baseline_event event = mz_baseline_window(&b, error, SIGMA, kind != 1);
      assert_int_equal(event, kind == 2 && i == MZ_BASELINE_QUIET ? MZ_BASELINE_ENDS : MZ_BASELINE_CONTINUES);
      if (b.over) break;
    }
    if (!b.over) assert_int_equal(mz_baseline_window(&b, 0.2, SIGMA, kind == 0), MZ_BASELINE_ENDS);
  }
}

static mz_baseline over(void) {
  mz_baseline b = {0};
  while (mz_baseline_window(&b, 0, SIGMA, true) != MZ_BASELINE_ENDS) continue;
  return b;
}

static void two_in_a_row_that_are_far_off_are_a_change(void **state) {
  (void)state;
  mz_baseline b = over();
  assert_int_equal(mz_baseline_window(&b, 0.041, SIGMA, true), MZ_BASELINE_HOLDS);
  assert_int_equal(mz_baseline_window(&b, 0.03, SIGMA, true), MZ_BASELINE_HOLDS); /* not in a row */
  assert_int_equal(mz_baseline_window(&b, -0.041, SIGMA, true), MZ_BASELINE_HOLDS);
  assert_int_equal(mz_baseline_window(&b, 0.9, SIGMA, false), MZ_BASELINE_HOLDS); /* disturbed: it does not count, */
  assert_int_equal(mz_baseline_window(&b, NAN, SIGMA, true), MZ_BASELINE_HOLDS);  /* nor does what nothing predicted */
  assert_int_equal(mz_baseline_window(&b, 0.041, SIGMA, true), MZ_BASELINE_RESETS);
  assert_false(b.over);
  assert_int_equal(mz_baseline_window(&b, 0, SIGMA, true), MZ_BASELINE_CONTINUES);
  assert_int_equal(mz_baseline_window(&b, 0, SIGMA, true), MZ_BASELINE_ENDS);
}

/* Windows that differ by ten times what is said of them, without end: each reset makes the next one ask for more. */
static void what_is_always_far_off_is_no_change(void **state) {
  (void)state;
  mz_baseline b = over();
  mz_rng rng = mz_rng_at(3, MZ_RNG_TEST, 0, 0);
  int resets = 0, late = 0;
  for (int i = 0; i < 2000; i++) {
    const bool reset = mz_baseline_window(&b, 10 * SIGMA * mz_rng_normal(&rng), SIGMA, true) == MZ_BASELINE_RESETS;
    resets += reset;
    late += reset && i >= 200;
  }
  assert_in_range(resets, 1, 12);
  assert_in_range(late, 0, 1);
}

/* ---- of an allocator ---- */

static double costs; /* times what the formula says, all plans */
static double costly(const mz_plan *plan) {
  (void)plan;
  return costs;
}

/* Other processes use so many cores. */
static mz_decision window_of(shop *s, mz_allocator *a, double others) {
  static int64_t number;
  shop_phase work;
  mz_decision d;
  shop_work(s, a, costly, &work);
  mz_usage *u = &work.window.usage;
  u->others_cpu_s = others * u->wall_s;
  u->pressure_cpu = 0.5;
  u->missing &= ~(1u << MZ_SENSOR_PRESSURE);
  work.window.number = ++number;
  mz_allocator_decide(a, &work.window, &d);
  return d;
}

static mz_allocator *begin(shop *s, const mz_plan *start) {
  mz_decision d;
  mz_allocator *a = shop_allocator(s, start, NULL);
  mz_allocator_begin(a, 0, 0, &d);
  expect(&d, MZ_DECISION_KEEP, "begins with a baseline run: 2 quiet windows of the start plan");
  assert_plan(*mz_allocator_plan(a), *start);
  return a;
}

/* Everything takes 1.6 times what probes say. A neighbour's window, who is gone again, counts for nothing. */
static void adaptive_searches_when_it_knows_how_far_it_was_off(void **state) {
  (void)state;
  const mz_plan plain = {.values = {1, 2, 8, 1, 2, 2}};
  for (int beside = 0; beside < 2; beside++) {
    shop s = shop_open("adaptive", 0.01, 5);
    costs = 1.6;
    mz_allocator *a = begin(&s, &plain);
    const double predicted = mz_allocator_predict(a, &plain).unit_s;
    mz_decision d = window_of(&s, a, 0);
    expect(&d, MZ_DECISION_KEEP, "baseline, window 1, 1 quiet so far: the plan took ");
    assert_false(d.calm);
    assert_true(isnan(d.predicted.unit_s)); /* what probes say is no prediction that intervals are calibrated by */
    const double before = log(d.observed / predicted);
    if (beside) {
      const double known = mz_allocator_predict(a, &plain).unit_s;
      for (int i = 0; i < 2; i++) {
        d = window_of(&s, a, i == 0 ? 4 : 0);
        expect(&d, MZ_DECISION_KEEP, ", 1 quiet so far: ");
        assert_true(isfinite(d.observed));
        assert_int_equal(d.predictions, 0);
        assert_true(mz_allocator_predict(a, &plain).unit_s == known);
      }
    }
    d = window_of(&s, a, 0);
    assert_int_equal(d.baseline.windows, beside ? 4 : 2);
    assert_true(d.calm || d.action != MZ_DECISION_KEEP);
    assert_int_equal(d.baseline.quiet, 2);
    assert_true(fabs(d.baseline.before - before) < 1e-12);
    assert_true(before > log(1.2) && fabs(d.baseline.after) < 0.03);
    assert_int_equal(d.predictions, 1);
    while (d.action == MZ_DECISION_KEEP) d = window_of(&s, a, 0);
    expect(&d, MZ_DECISION_TRY, "the best of ");
    mz_allocator_free(a);
  }
}

/* All that a strategy without a champion knows is T_ana: it begins as it did. */
static void greedy_has_none(void **state) {
  (void)state;
  const mz_plan plain = shop_plain();
  shop s = shop_open("greedy", 0.01, 5);
  costs = 1;
  mz_allocator *a = shop_allocator(&s, &plain, NULL);
  mz_decision d;
  mz_allocator_begin(a, 0, 0, &d);
  for (int i = 0; i < 40; i++) {
    assert_int_equal(d.baseline.windows, 0);
    assert_null(strstr(d.reason, "baseline"));
    d = window_of(&s, a, 0);
  }
  mz_allocator_free(a);
}

/* The plan that an allocator keeps to, and a history in which another one took 1.3 times as long. */
static mz_allocator *begin_held(shop *s, const mz_plan *held, const mz_plan *slower) {
  mz_observation history[8];
  mz_allocator *a = NULL;
  mz_decision d;
  for (int k = 0; k < SHOP_KNOBS; k++) s->pipeline.knobs[k].min = s->pipeline.knobs[k].max = held->values[k];
  for (int i = 0; i < 8; i++) {
    history[i] = (mz_observation){.plan = i % 2 ? *slower : *held, .run = 1, .noise = 0.02, .rounds = 10, .cpu_s = NAN};
    history[i].unit_s = history[i].round_s = (i % 2 ? 1.3 : 1) * shop_round_s(held, history[i].stages);
    history[i].rss_bytes = history[i].others = history[i].waiting = history[i].throttled = NAN;
  }
  mz_allocator_options options = shop_options(s, held);
  options.history = history;
  options.history_count = 8;
  assert_int_equal(mz_allocator_create(&a, &options), MZ_OK);
  mz_allocator_begin(a, 0, 0, &d);
  return a;
}

/* Costs double or halve. After two windows predictions are at the new level, and what is known of how plans compare is not lost. */
static void costs_that_change_at_once_begin_another(void **state) {
  (void)state;
  const mz_plan slower = with(&base, PRESSES, 2);
  for (int up = 0; up < 2; up++) {
    shop s = shop_open("adaptive", 0.02, 6);
    mz_allocator *a = begin_held(&s, &base, &slower);
    costs = 1;
    for (int i = 0; i < 40; i++) assert_null(strstr(window_of(&s, a, 0).reason, "costs have changed"));
    const double before = mz_allocator_predict(a, &base).unit_s, ratio = mz_allocator_predict(a, &slower).unit_s / before;
    assert_true(ratio > 1.15 && ratio < 1.45);
    costs = up ? 2 : 0.5;
    mz_decision d = window_of(&s, a, 0);
    expect(&d, MZ_DECISION_KEEP, "keep");
    d = window_of(&s, a, 0);
    expect(&d, MZ_DECISION_KEEP, "costs have changed: 2 windows in a row");
    assert_true(fabs(mz_allocator_predict(a, &base).unit_s / (before * costs) - 1) < 0.03);
    assert_true(fabs(mz_allocator_predict(a, &slower).unit_s / (before * costs * ratio) - 1) < 0.1);
    d = window_of(&s, a, 0);
    expect(&d, MZ_DECISION_KEEP, "baseline, window 1, 1 quiet so far");
    d = window_of(&s, a, 0);
    assert_int_equal(d.baseline.windows, 2);
    assert_true(fabs(d.baseline.before) < 0.04 && fabs(d.baseline.after) < 0.04);
    for (int i = 0; i < 20; i++) assert_null(strstr(window_of(&s, a, 0).reason, "costs have changed"));
    mz_allocator_free(a);
  }
}

/* Neither noise nor a cost that grows by a hundredth with every window, which the level of predictions follows. */
static void noise_and_drift_do_not(void **state) {
  (void)state;
  const mz_plan slower = with(&base, PRESSES, 2);
  for (int drift = 0; drift < 2; drift++) {
    shop s = shop_open("adaptive", 0.05, 7);
    mz_allocator *a = begin_held(&s, &base, &slower);
    costs = 1;
    for (int i = 0; i < 300; i++) {
      assert_null(strstr(window_of(&s, a, 0).reason, "costs have changed"));
      if (drift) costs *= 1.01;
    }
    mz_allocator_free(a);
  }
}

/* As long as deciding has taken more than its share of the rounds' seconds, nothing is learned or searched. */
static void deciding_has_its_share(void **state) {
  (void)state;
  const mz_plan plain = shop_plain();
  shop s = shop_open("adaptive", 0.02, 9);
  costs = 1;
  mz_allocator *a = begin(&s, &plain);
  mz_decision d = window_of(&s, a, 0);
  mz_allocator_spent(a, 0.02 * s.seconds, &d);
  assert_true(d.took_s > 0.0199 * s.seconds);
  d = window_of(&s, a, 0);
  assert_int_equal(d.baseline.windows, 2); /* it ends all the same */
  int waited = 0;
  for (; strstr(d.reason, "keep: deciding has taken its 0.5 % of the run's time"); waited++) {
    assert_int_equal(d.action, MZ_DECISION_KEEP);
    d = window_of(&s, a, 0);
  }
  assert_in_range(waited, 2, 3); /* 0.02 of one window is 0.005 of four */
  expect(&d, MZ_DECISION_TRY, "the best of ");
  mz_allocator_free(a);
}

/* Whatever disturbs every window is how the machine is. */
static void what_never_rests_teaches_in_the_end(void **state) {
  (void)state;
  const mz_plan plain = {.values = {1, 2, 8, 1, 2, 2}};
  shop s = shop_open("adaptive", 0.02, 8);
  costs = 1;
  mz_allocator *a = begin(&s, &plain);
  for (int i = 0; i < 12; i++) window_of(&s, a, i % 2 ? 4 : 0);
  assert_true(mz_allocator_model(a)->observations > 4);
  mz_allocator_free(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(two_quiet_windows_end_it),
      cmocka_unit_test(it_lasts_until_predictions_hold_but_not_for_ever),
      cmocka_unit_test(two_in_a_row_that_are_far_off_are_a_change),
      cmocka_unit_test(what_is_always_far_off_is_no_change),
      cmocka_unit_test(adaptive_searches_when_it_knows_how_far_it_was_off),
      cmocka_unit_test(greedy_has_none),
      cmocka_unit_test(costs_that_change_at_once_begin_another),
      cmocka_unit_test(noise_and_drift_do_not),
      cmocka_unit_test(deciding_has_its_share),
      cmocka_unit_test(what_never_rests_teaches_in_the_end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
