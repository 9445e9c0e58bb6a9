/* Trials and what is not tried: a strategy is never trusted. */
#include "allocator/strategies/budget.h"
#include "allocator/strategies/tabu.h"
#include "allocator/strategies/trial.h"
#include "planted.h"

/* ---- trials ---- */

/* Before anything was measured probes can say that a plan is plainly bad: another one is tried at once. */
static void test_probes_leave_a_plainly_bad_plan(void **state) {
  (void)state;
  for (int right = 0; right < 2; right++) {
    shop s = shop_open("fixed", 0.01, 1);
    const mz_plan better = with(&base, PRESSES, 8);
    plant(&better, 0.7);
    planted_slowness = right ? 1 : 1.2 * shop_round_s(&base, NULL) / shop_round_s(&better, NULL);
    mz_allocator *a = shop_allocator(&s, &base, &strategy_planted);
    mz_decision d;
    mz_allocator_begin(a, 0, 0, &d);
    expect(&d, MZ_DECISION_TRY, "probes predict best");
    assert_plan(d.next, better);
    assert_plan(*mz_allocator_kept(a), base); /* what a run that stops now resumes from */
    d = judged(&s, a, NULL);
    expect(&d, right ? MZ_DECISION_CONFIRM : MZ_DECISION_REVERT, "");
    assert_plan(*mz_allocator_kept(a), *(right ? &better : &base));
    mz_allocator_free(a);
  }
}

static void test_a_better_plan_is_tried_waited_for_and_confirmed(void **state) {
  (void)state;
  shop s = shop_open("fixed", 0.01, 1);
  const mz_plan better = with(&base, PRESSES, 8);
  plant(&better, 0.8); /* less than what probes must promise */
  planted_slowness = 1;
  mz_allocator *a = shop_allocator(&s, &base, &strategy_planted);
  mz_decision d;
  int windows = 0;
  mz_allocator_begin(a, 0, 0, &d);
  expect(&d, MZ_DECISION_KEEP, "probes promise");
  assert_true(isnan(d.observed) && isnan(d.predicted.unit_s) && isfinite(d.expected.unit_s));

  d = phase(&s, a);
  expect(&d, MZ_DECISION_TRY, "it was planted");
  assert_plan(*mz_allocator_plan(a), better);
  assert_plan(*mz_allocator_kept(a), base);
  assert_true(isnan(d.predicted.unit_s)); /* probes are no measure of a run */
  assert_true(d.observed > 0.9 * shop_round_s(&base, NULL) && d.observed < 1.1 * shop_round_s(&base, NULL));
  assert_plan(d.plan, base);
  assert_plan(d.next, better);
  assert_plan(*mz_allocator_plan(a), better);
  assert_int_equal(d.candidate_count, 1);
  assert_string_equal(d.candidates[0].why_not, "");
  assert_string_equal(d.predictor, "planted");

  d = phase(&s, a);
  expect(&d, MZ_DECISION_WAIT, "presses 8: 0 pairs of blocks, not enough to judge");
  assert_int_equal(d.candidate_count, 0);
  assert_plan(d.plan, better);
  assert_plan(d.next, base); /* in turns */
  assert_plan(*mz_allocator_kept(a), base);
  d = judged(&s, a, &windows);
  expect(&d, MZ_DECISION_CONFIRM, "it stays");
  assert_int_equal(windows, 1 + 2 * (MZ_TRIAL_LEAD + 1)); /* three pairs, in the last two of which it led */
  const double truth = shop_round_s(&base, NULL) / shop_round_s(&better, NULL);
  assert_plan(*mz_allocator_kept(a), better);
  assert_true(d.ratio_low < truth && truth < d.ratio_high && d.ratio_low > 1);
  assert_plan(d.next, better);
  assert_int_equal(d.reverts, 0);
  assert_int_equal(planted.asked, 2);
  d = phase(&s, a);
  expect(&d, MZ_DECISION_KEEP, "rest");
  assert_int_equal(planted.asked, 2);
  d = phase(&s, a);
  expect(&d, MZ_DECISION_KEEP, "it was planted"); /* it is in force: no change */
  assert_int_equal(planted.asked, 3);
  mz_allocator_free(a);
}

/* Promises 40 %, costs 11 %: undone after two windows, again and again, with ever longer waits between. */
static void test_a_bad_predictor_is_reverted_within_two_windows_and_costs_little(void **state) {
  (void)state;
  enum { PHASES = 600, TABU = MZ_TABU_WINDOWS + 1 };
  shop s = shop_open("fixed", 0.02, 2), fixed = shop_open("fixed", 0.02, 2);
  const mz_plan bad = with(&base, SHEETS, 16);
  plant(&bad, 0.6);
  planted_slowness = 1.11 * shop_round_s(&base, NULL) / shop_round_s(&bad, NULL);
  mz_allocator *a = shop_allocator(&s, &base, &strategy_planted), *b = shop_allocator(&fixed, &base, NULL);
  int64_t tried = 0, tries = 0, reverts = 0, soon = 0, last = 0, waited = TABU;
  for (int i = 0; i < PHASES; i++) {
    const mz_decision d = phase(&s, a);
    phase(&fixed, b);
    if (d.action == MZ_DECISION_TRY) {
      const int64_t wait = d.phase - last;
      if (tries > 0 && tries < MZ_REVERTS_MAX) assert_int_equal(wait, TABU);
      if (tries > MZ_REVERTS_MAX) assert_in_range(wait, TABU, MZ_REFILL_WINDOWS_MAX);
      if (tries > 0) waited = wait;
      tried = d.phase;
      tries++;
    }
    if (d.action == MZ_DECISION_REVERT) {
      const bool two_blocks = strstr(d.reason, "which the old plan's rounds before and after show, in 1 pair of blocks: back");
      if (two_blocks) assert_int_equal(d.phase, tried + 2);
      soon += two_blocks;
      assert_true(d.reverted && d.ratio < 0.95 && (two_blocks ? isnan(d.ratio_high) : d.ratio_high < 1));
      assert_plan(d.next, base);
      assert_int_equal(d.reverts, ++reverts);
      last = d.phase;
    }
    if (reverts > 0 && reverts < MZ_REVERTS_MAX && d.phase == last + 1) expect(&d, MZ_DECISION_KEEP, "rest");
    if (reverts > 0 && reverts < MZ_REVERTS_MAX && d.phase == last + 2) {
      expect(&d, MZ_DECISION_KEEP, "sheets 16: undone lately, not tried for 7 more windows");
      assert_int_equal(d.candidate_count, 1);
      assert_string_equal(d.candidates[0].why_not, "undone lately, not tried for 7 more windows");
    }
    if (reverts > MZ_REVERTS_MAX + 1 && d.phase == last + 1) expect(&d, MZ_DECISION_KEEP, "undone lately: the plan stays for ");
  }
  assert_in_range(tries, 6, 12);
  assert_true(soon >= reverts - 1); /* where the old plan's two blocks differ by chance, pairs tell */
  assert_true(waited > MZ_REFILL_WINDOWS_MAX / 2);
  print_message("a bad predictor costs %.2f %% of %d phases, %d trials\n", 100 * (s.seconds / fixed.seconds - 1), PHASES,
                (int)tries);
  assert_true(s.seconds < 1.01 * fixed.seconds);

  /* It still adapts: what is good is tried and kept. */
  const mz_plan good = with(&base, PRESSES, 8);
  plant(&good, 0.8);
  planted_slowness = 1;
  bool kept = false;
  for (int i = 0; i < 200 && !kept; i++) {
    const mz_decision d = phase(&s, a);
    kept = d.action == MZ_DECISION_CONFIRM && mz_plan_equal(&s.pipeline, &d.next, &good);
  }
  assert_true(kept);
  mz_allocator_free(a);
  mz_allocator_free(b);
}

/* A plan that is explored, 11 % slower: exploring may cost a hundredth of the time and no reverts. */
static void test_exploring_costs_its_share(void **state) {
  (void)state;
  shop s = shop_open("fixed", 0.02, 4), fixed = shop_open("fixed", 0.02, 4);
  const mz_plan slower = with(&base, SHEETS, 16);
  plant(&slower, 1);
  planted.demanded = planted.explores = true;
  planted_slowness = 1.11 * shop_round_s(&base, NULL) / shop_round_s(&slower, NULL);
  mz_allocator *a = shop_allocator(&s, &base, &strategy_planted), *b = shop_allocator(&fixed, &base, NULL);
  int64_t tries = 0, cut_short = 0;
  for (int i = 0; i < 600; i++) {
    const mz_decision d = phase(&s, a);
    phase(&fixed, b);
    tries += d.action == MZ_DECISION_TRY;
    cut_short += d.action == MZ_DECISION_REVERT && strstr(d.reason, "exploring has cost its 1 %") != NULL;
    assert_null(strstr(d.reason, "undone lately: the plan stays"));
  }
  const double cost = s.seconds / fixed.seconds - 1;
  print_message("exploring costs %.2f %% of 600 phases, %d trials\n", 100 * cost, (int)tries);
  assert_true(tries > 10 && cut_short > 0);
  assert_true(cost < 0.011);
  mz_allocator_free(a);
  mz_allocator_free(b);
}

static void test_a_predictor_without_a_clue_costs_little(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 8; seed++) {
    shop s = shop_open("fixed", 0.02, seed), fixed = shop_open("fixed", 0.02, seed);
    const mz_plan good = {.values = {2, 8, 16, 2, 8, 8}};
    mz_allocator *a = shop_allocator(&s, &good, &strategy_anything), *b = shop_allocator(&fixed, &good, NULL);
    int tries = 0;
    for (int i = 0; i < 600; i++) {
      const mz_decision d = phase(&s, a);
      tries += d.action == MZ_DECISION_TRY;
      phase(&fixed, b);
      assert_null(mz_plan_refused(&s.pipeline, &s.bounds, &d.next));
      if (strstr(d.reason, "undone lately: the plan stays")) assert_int_equal(d.action, MZ_DECISION_KEEP);
    }
    assert_true(tries >= 5 && s.seconds < 1.03 * fixed.seconds);
    mz_allocator_free(a);
    mz_allocator_free(b);
  }
}

static void test_a_plainly_bad_plan_is_given_up_within_the_phase(void **state) {
  (void)state;
  shop s = shop_open("fixed", 0.02, 3);
  const mz_plan bad = with(&base, PLATES, 8);
  plant(&bad, 0.6);
  planted_slowness = 3;
  mz_allocator *a = shop_allocator(&s, &base, &strategy_planted);
  mz_decision d = phase(&s, a);
  expect(&d, MZ_DECISION_TRY, "");
  shop_phase work;
  shop_work(&s, a, slow_where_planted, &work);
  assert_int_equal(work.given_up, 4); /* two rounds to warm up, two to see */
  assert_plan(*mz_allocator_plan(a), base);
  assert_int_equal((int)work.window.units, SHOP_ROUNDS - 4);
  mz_allocator_decide(a, &work.window, &d);
  expect(&d, MZ_DECISION_REVERT, "plates 8: given up when a round took ");
  assert_true(d.reverted && isnan(d.observed) && isnan(d.ratio));
  assert_int_equal(d.reverts, 1);
  assert_plan(d.plan, bad);
  assert_plan(d.next, base);
  d = phase(&s, a);
  expect(&d, MZ_DECISION_KEEP, "rest");
  assert_plan(d.plan, base);
  d = phase(&s, a);
  expect(&d, MZ_DECISION_KEEP, "undone lately");
  assert_true(mz_allocator_predict(a, &bad).unit_s > 1.5 * mz_allocator_predict(a, &base).unit_s); /* it has learned */
  mz_allocator_free(a);
}

/* Plans that reserve less and are 1 % slower than the one before them, one after another. */
static mz_plan chain[8];
static double slow_along_the_chain(const mz_plan *plan) {
  const mz_pipeline p = shop_pipeline();
  for (int i = 0; i < 8; i++)
    if (mz_plan_equal(&p, plan, &chain[i])) return pow(1.01, i) * shop_round_s(&chain[0], NULL) / shop_round_s(plan, NULL);
  return 1;
}

static void test_concessions_together_stay_within_three_percent(void **state) {
  (void)state;
  shop s = shop_open("fixed", 0.003, 12);
  for (int i = 0; i < 8; i++) chain[i] = (mz_plan){.values = {8 - i, 4, 8, 2, 2, 2}};
  mz_allocator *a = shop_allocator(&s, &chain[0], &strategy_planted);
  for (int next = 1; next < 8; next++) {
    plant(&chain[next], 1);
    planted.demanded = true;
    for (int i = 0; i < 60; i++) {
      shop_phase work;
      mz_decision d;
      shop_work(&s, a, slow_along_the_chain, &work);
      mz_allocator_decide(a, &work.window, &d);
    }
  }
  const double lost =
      slow_along_the_chain(mz_allocator_kept(a)) * shop_round_s(mz_allocator_kept(a), NULL) / shop_round_s(&chain[0], NULL) - 1;
  print_message("conceded %.2f %%\n", 100 * lost);
  assert_true(lost > 0.005 && lost < 0.032);
  mz_allocator_free(a);
}

/* ---- what is not tried ---- */

static void test_small_promises_are_not_tried_unless_demanded(void **state) {
  (void)state;
  shop s = shop_open("fixed", 0.01, 4);
  const mz_plan other = with(&base, PRESSES, 8);
  planted_slowness = 1;
  mz_allocator *a = shop_allocator(&s, &base, &strategy_planted);
  plant(&other, 0.98);
  mz_decision d = phase(&s, a);
  expect(&d, MZ_DECISION_KEEP, "presses 8: saves 2 %, less than the 3 % asked for");
  assert_string_equal(d.candidates[0].why_not, "saves 2 %, less than the 3 % asked for");
  assert_plan(d.candidates[0].plan, other);
  plant(&other, NAN);
  d = phase(&s, a);
  expect(&d, MZ_DECISION_KEEP, "nothing predicts what it would save");
  planted.demanded = true;
  d = phase(&s, a);
  expect(&d, MZ_DECISION_TRY, "");
  assert_true(isfinite(d.expected.unit_s)); /* the model predicts what the strategy did not */
  mz_allocator_free(a);
}

static void test_noisy_rounds_ask_for_a_larger_gain(void **state) {
  (void)state;
  shop s = shop_open("fixed", 0.3, 5);
  const mz_plan other = with(&base, PRESSES, 8);
  plant(&other, 0.92); /* noise of a window: 0.3 / √10, twice that is 19 % */
  mz_allocator *a = shop_allocator(&s, &base, &strategy_planted);
  mz_decision d;
  for (int i = 0; i < 3; i++) {
    d = phase(&s, a);
    expect(&d, MZ_DECISION_KEEP, "saves 8 %, less than the ");
  }
  mz_allocator_free(a);
}

static void test_a_strategy_is_never_trusted(void **state) {
  (void)state;
  shop s = shop_open("fixed", 0.01, 6);
  s.bounds.memory_max = mz_plan_bytes(&s.pipeline, &base, NULL, 0) + 1e6;
  mz_allocator *a = shop_allocator(&s, &base, &strategy_planted);
  const struct {
    int knob;
    int64_t value;
    const char *objection;
  } cases[] = {{PRESSES, 16, "breaks "}, {PRESSES, 0, "breaks knob range"}, {SHEETS, 64, "breaks limits.memory_max"}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const mz_plan wrong = with(&base, cases[i].knob, cases[i].value);
    plant(&wrong, 0.1);
    planted.demanded = true;
    const mz_decision d = phase(&s, a);
    expect(&d, MZ_DECISION_KEEP, cases[i].objection);
    assert_plan(d.next, base);
  }
  mz_allocator_free(a);
}

static void test_nothing_is_tried_without_rounds_to_compare_with(void **state) {
  (void)state;
  shop s = shop_open("fixed", 0.01, 7);
  const mz_plan better = with(&base, PRESSES, 8);
  plant(&better, 0.5);
  mz_allocator *a = shop_allocator(&s, &base, &strategy_planted);
  mz_decision d;
  mz_window empty = {.phase = 1, .score = NAN};
  mz_allocator_decide(a, &empty, &d);
  expect(&d, MZ_DECISION_KEEP, "fewer than 2 full rounds");
  assert_true(isnan(d.observed));
  shop_phase work;
  shop_work(&s, a, NULL, &work);
  mz_allocator_decide(a, &empty, &d); /* rounds, but a window without a unit */
  expect(&d, MZ_DECISION_KEEP, "fewer than 2 full rounds");
  d = phase(&s, a);
  expect(&d, MZ_DECISION_TRY, "");
  /* Windows without rounds decide nothing about a trial, however many there are. */
  for (int i = 0; i < 20; i++) {
    mz_allocator_decide(a, &empty, &d);
    expect(&d, MZ_DECISION_WAIT, "0 pairs of blocks, not enough to judge");
    assert_plan(d.next, better);
  }
  d = judged(&s, a, NULL);
  expect(&d, MZ_DECISION_CONFIRM, "");
  mz_allocator_free(a);
}

/* ---- objectives ---- */

/* Half the presses: 1.5 times the time for less than 2/3 of the cores. */
static void test_by_cost_a_cheaper_plan_stays_that_by_time_goes(void **state) {
  (void)state;
  static const mz_plan many = {.values = {2, 4, 8, 2, 2, 2}}, few = {.values = {1, 2, 8, 1, 2, 2}};
  for (int objective = MZ_OBJECTIVE_TIME; objective <= MZ_OBJECTIVE_GOODPUT; objective++) {
    shop s = shop_open("fixed", 0.01, 8);
    s.settings.objective = objective;
    plant(&few, 1.2);
    planted.demanded = true;
    planted_slowness = 1.3 * shop_round_s(&many, NULL) / shop_round_s(&few, NULL);
    mz_allocator *a = shop_allocator(&s, &many, &strategy_planted);
    mz_decision d = phase(&s, a);
    expect(&d, MZ_DECISION_TRY, "");
    d = judged(&s, a, NULL);
    if (objective == MZ_OBJECTIVE_COST) {
      expect(&d, MZ_DECISION_CONFIRM, "times the work per money");
      assert_true(d.ratio > 1.4); /* twice the cores at the least, by 1.3 */
    } else {
      expect(&d, MZ_DECISION_REVERT, "times as fast");
      assert_true(d.ratio < 0.8);
    }
    mz_allocator_free(a);
  }
}

static void test_by_cost_gains_are_of_the_price(void **state) {
  (void)state;
  static const mz_plan few = {.values = {1, 2, 8, 1, 2, 2}};
  shop s = shop_open("fixed", 0.01, 9);
  s.settings.objective = MZ_OBJECTIVE_COST;
  plant(&few, 1.2); /* slower, but at half the cores */
  mz_allocator *a = shop_allocator(&s, &base, &strategy_planted);
  mz_decision d = phase(&s, a);
  expect(&d, MZ_DECISION_TRY, "");
  mz_allocator_free(a);
  s = shop_open("fixed", 0.01, 9);
  a = shop_allocator(&s, &base, &strategy_planted);
  d = phase(&s, a);
  expect(&d, MZ_DECISION_KEEP, "saves -20 %, less than the 3 % asked for");
  mz_allocator_free(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_probes_leave_a_plainly_bad_plan),
      cmocka_unit_test(test_a_better_plan_is_tried_waited_for_and_confirmed),
      cmocka_unit_test(test_a_bad_predictor_is_reverted_within_two_windows_and_costs_little),
      cmocka_unit_test(test_exploring_costs_its_share),
      cmocka_unit_test(test_a_predictor_without_a_clue_costs_little),
      cmocka_unit_test(test_a_plainly_bad_plan_is_given_up_within_the_phase),
      cmocka_unit_test(test_concessions_together_stay_within_three_percent),
      cmocka_unit_test(test_small_promises_are_not_tried_unless_demanded),
      cmocka_unit_test(test_noisy_rounds_ask_for_a_larger_gain),
      cmocka_unit_test(test_a_strategy_is_never_trusted),
      cmocka_unit_test(test_nothing_is_tried_without_rounds_to_compare_with),
      cmocka_unit_test(test_by_cost_a_cheaper_plan_stays_that_by_time_goes),
      cmocka_unit_test(test_by_cost_gains_are_of_the_price),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
