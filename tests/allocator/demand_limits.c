/* The strategy demand within limits and memory, by forecasts, and as the ledger replays it. */
#include "tests/allocator/demand_cases.h"

/* ---- limits ---- */

static void a_knob_ends_where_its_range_ends(void **state) {
  (void)state;
  plant p;
  plant_init(&p, 8);
  p.pipeline.knobs[MAKERS].max = 2;
  p.work_s[MAKE] = 4;
  p.work_s[USE] = 0.1;
  plant_phases(&p, demand, 20);
  assert_int_equal(threads(&p, MAKE), 2);
  assert_string_equal(p.proposal.binding, "knob range");
  assert_false(p.proposal.change);
}

static void what_was_undone_is_not_proposed(void **state) {
  (void)state;
  plant p;
  plant_init(&p, 8);
  p.work_s[MAKE] = 2;
  p.tabu[p.tabu_count] = p.plan;
  p.tabu[p.tabu_count++].values[MAKERS] = 2;
  plant_phases(&p, demand, 20);
  assert_int_equal(threads(&p, MAKE), 1);
  expect_why_not(&p, 0, "undone lately");
}

/* A step that is undone counts as a change: what follows waits its two windows, too. */
static void an_undone_step_rests(void **state) {
  (void)state;
  plant p;
  plant_init(&p, 8);
  p.work_s[MAKE] = 2;
  plant_until_change(&p, demand, 4);
  p.window.phase += 3; /* on trial; then the old plan is back */
  int64_t since = 0;
  while (!plant_phase(&p, demand)->change) since++;
  assert_int_equal(since, 1);
  p.window.phase += 3;
  assert_false(plant_phase(&p, demand)->change);
  expect_why_not(&p, 0, "one window only");
}

/* Two cores of eight may be used: a pool that is not needed gives a thread to the one that is. */
static void where_there_is_no_room_the_idle_give(void **state) {
  (void)state;
  plant p;
  plant_init(&p, 8);
  p.bounds.cpu_max = p.settings.cpu_max = 4;
  p.plan = (mz_plan){.values = {2, 8, 2, 4}};
  p.work_s[MAKE] = 2;
  p.work_s[USE] = 0.1;
  plant_until_change(&p, demand, 4);
  assert_int_equal(p.proposal.plan.values[MAKERS], 2); /* 4 + 1 threads would be five */
  assert_int_equal(p.proposal.plan.values[USERS], 1);
  assert_string_equal(p.proposal.binding, "limits.cpu_max");
  p.bounds.cpu_max = p.settings.cpu_max = 5;
  plant_until_change(&p, demand, 4);
  assert_int_equal(p.proposal.plan.values[MAKERS], 4);
  assert_int_equal(p.proposal.plan.values[USERS], 1);
  expect_reason(&p, "2 → 4 threads, use 2 → 1");
}

static void plans_stay_within_bounds(void **state) {
  (void)state;
  mz_rng rng = mz_rng_at(3, MZ_RNG_TEST, 0, 0);
  for (int round = 0; round < 40; round++) {
    plant p;
    plant_init(&p, 1 + (int)mz_rng_below(&rng, 16));
    p.bounds.cpu_max = p.settings.cpu_max = 2 + mz_rng_below(&rng, 8);
    p.bounds.memory_max = (double)((120 + mz_rng_below(&rng, 200)) << 20);
    p.plan = (mz_plan){.values = {1, 1, 1, 1}};
    p.noise = 0.1;
    for (int i = 0; i < 100; i++) {
      for (int s = 0; s < 2; s++) {
        if (mz_rng_below(&rng, 10) == 0) p.work_s[s] = 8 * mz_rng_f64(&rng) * mz_rng_f64(&rng);
        p.starved[s] = 0.5 * mz_rng_f64(&rng);
        p.blocked[s] = 0.5 * mz_rng_f64(&rng);
      }
      p.pace_s = mz_rng_f64(&rng);
      p.resident = mz_plan_bytes(&p.pipeline, &p.plan, NULL, 0) * (0.5 + 0.5 * mz_rng_f64(&rng));
      plant_phases(&p, demand, 1);
      const char *limit = mz_plan_refused(&p.pipeline, &p.bounds, &p.plan);
      if (limit && strcmp(limit, "limits.cpu_max") == 0 && p.changes == 0) break; /* the least plan is too large already */
      assert_null(limit);
      assert_true(p.proposal.candidate_count <= MZ_CANDIDATES_MAX);
      assert_true(p.proposal.reason[0] != '\0');
    }
  }
}

/* ---- memory ---- */

static void short_memory_shrinks_what_frees_most(void **state) {
  (void)state;
  plant p;
  plant_init(&p, 8);
  p.plan = (mz_plan){.values = {2, 16, 2, 4}}; /* 2 · (1 + 16) + 2 · 8 + 4 MiB over 100 */
  p.bounds.memory_max = 200 << 20;
  p.work_s[MAKE] = p.work_s[USE] = 1;
  p.pace_s = 1;
  p.resident = 150 << 20;
  plant_phases(&p, demand, 10);
  assert_int_equal(p.changes, 0);
  p.resident = 170 << 20;
  plant_until_change(&p, demand, 4);
  assert_true(p.proposal.demanded);
  assert_int_equal(p.proposal.plan.values[MAKERS], 1); /* 17 MiB; fewer trays would free 16 */
  expect_reason(&p, "> 80 % of 200 MiB: makers 2 → 1 frees 17 MiB");
  p.pipeline.knobs[MAKERS].min = 2;
  plant_until_change(&p, demand, 4);
  assert_int_equal(p.proposal.plan.values[TRAYS], 8);
  p.plan.values[USERS] = 8;
  p.work_s[USE] = 4;
  plant_until_change(&p, demand, 4);
  assert_int_equal(p.proposal.plan.values[USERS], 4); /* 32 MiB */
}

static void memory_that_is_gone_is_not_waited_for(void **state) {
  (void)state;
  plant p;
  plant_init(&p, 8);
  p.bounds.memory_max = 200 << 20;
  p.resident = 210 << 20;
  assert_true(plant_phase(&p, demand)->change);
}

static void nothing_grows_into_short_memory(void **state) {
  (void)state;
  plant p;
  plant_init(&p, 8);
  p.work_s[MAKE] = 2;
  p.bounds.memory_max = 200 << 20;
  p.resident = 155 << 20; /* 5 MiB are left below the threshold; makers ask for 9 */
  plant_phases(&p, demand, 10);
  assert_int_equal(p.changes, 0);
  expect_why_not(&p, 0, "memory: 9 MiB more, 5 free");
  assert_string_equal(p.proposal.binding, "limits.memory_max");
  p.resident = 0; /* no sensor: the plan's own sum is what counts */
  plant_phases(&p, demand, 3);
  assert_int_equal(threads(&p, MAKE), 2);
}

/* ---- forecasts ---- */

static void the_forecast_that_drives_is_named(void **state) {
  (void)state;
  plant p;
  plant_init(&p, 8);
  p.work_s[MAKE] = 0.7;
  p.work_s[USE] = 0.5;
  p.pace_s = 1;
  p.noise = 0.04;
  plant_phases(&p, demand, 60);
  assert_int_equal(p.changes, 0); /* single values reach 80 % */
  assert_true(strcmp(p.proposal.predictor, "forecast (EWMA)") == 0 || strcmp(p.proposal.predictor, "forecast (Kalman)") == 0);
  expect_reason(&p, "MASE 0.");
}

/* A ramp is provided for before it arrives: the last value would be 80 % three windows later. */
static void a_rising_load_is_seen_coming(void **state) {
  (void)state;
  plant p;
  plant_init(&p, 8);
  p.work_s[USE] = 0.5;
  p.pace_s = 1;
  for (int i = 0; i < 40 && p.changes == 0; i++) {
    p.work_s[MAKE] = 0.4 + 0.02 * i;
    plant_phases(&p, demand, 1);
  }
  assert_int_equal(p.changes, 1);
  assert_true(p.utilisation[MAKE].last < 0.815);
  expect_reason(&p, "forecast (Kalman");
}

/* Right after a change forecasts are those of another plan. */
static void forecasts_begin_anew_with_a_plan(void **state) {
  (void)state;
  plant p;
  plant_init(&p, 8);
  p.work_s[MAKE] = 0.7;
  p.work_s[USE] = 0.1;
  p.pace_s = 1;
  p.noise = 0.02;
  plant_phases(&p, demand, 30);
  assert_non_null(strstr(p.proposal.reason, "forecast"));
  p.plan.values[TRAYS] = 16; /* by somebody else */
  for (int i = 0; i < 6; i++) {
    plant_phase(&p, demand);
    assert_true((strstr(p.proposal.reason, "MASE") != NULL) == (i >= 3));
  }
}

static void missing_sensors_are_not_zeros(void **state) {
  (void)state;
  plant p;
  plant_init(&p, 4);
  p.work_s[MAKE] = 4;
  for (int i = 0; i < 30; i++) {
    plant_run(&p);
    mz_forecaster_init(&p.cores); /* never seen */
    p.window.stages[MAKE].cpu_s = p.window.stages[USE].cpu_s = 0;
    const mz_situation situation = plant_situation(&p);
    demand->propose(&situation, p.strategy_memory, &p.proposal);
    if (p.proposal.change) p.plan = p.proposal.plan;
  }
  assert_true(threads(&p, MAKE) >= 2 && threads(&p, MAKE) <= 4); /* busy time stands in for CPU time */
}

/* ---- the ledger ---- */

static void the_same_windows_give_the_same_proposals(void **state) {
  (void)state;
  plant a, b;
  plant_init(&a, 8);
  plant_init(&b, 8);
  a.noise = b.noise = 0.2;
  for (int i = 0; i < 300; i++) {
    plant_phases(&a, demand, 1);
    plant_phases(&b, demand, 1);
    assert_true(mz_plan_equal(&a.pipeline, &a.plan, &b.plan));
    assert_string_equal(a.proposal.reason, b.proposal.reason);
    assert_memory_equal(a.strategy_memory, b.strategy_memory, sizeof a.strategy_memory);
  }
  assert_true(a.changes > 0);
}

static void predictions_are_the_models_for_the_proposed_plan(void **state) {
  (void)state;
  plant p;
  plant_init(&p, 4);
  p.work_s[MAKE] = 2;
  plant_phases(&p, demand, 1);
  mz_analytic model;
  mz_observation observation;
  mz_analytic_init(&model, &p.pipeline, 4);
  assert_true(mz_observation_from_window(&observation, &p.plan, &p.window));
  mz_analytic_fit(&model, &observation, 1);
  plant_run(&p);
  mz_situation situation = plant_situation(&p);
  situation.model = &model;
  demand->propose(&situation, p.strategy_memory, &p.proposal);
  assert_true(p.proposal.change);
  const mz_prediction expected = mz_analytic_predict(&model, &p.proposal.plan);
  assert_true(isfinite(expected.unit_s));
  assert_true(p.proposal.prediction.unit_s == expected.unit_s);
  assert_true(p.proposal.candidates[0].prediction.unit_s == expected.unit_s);
  assert_true(mz_plan_equal(&p.pipeline, &p.proposal.candidates[0].plan, &p.proposal.plan));
  assert_string_equal(p.proposal.candidates[0].why_not, "");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_knob_ends_where_its_range_ends),
                                     cmocka_unit_test(what_was_undone_is_not_proposed),
                                     cmocka_unit_test(an_undone_step_rests),
                                     cmocka_unit_test(where_there_is_no_room_the_idle_give),
                                     cmocka_unit_test(plans_stay_within_bounds),
                                     cmocka_unit_test(short_memory_shrinks_what_frees_most),
                                     cmocka_unit_test(memory_that_is_gone_is_not_waited_for),
                                     cmocka_unit_test(nothing_grows_into_short_memory),
                                     cmocka_unit_test(the_forecast_that_drives_is_named),
                                     cmocka_unit_test(a_rising_load_is_seen_coming),
                                     cmocka_unit_test(forecasts_begin_anew_with_a_plan),
                                     cmocka_unit_test(missing_sensors_are_not_zeros),
                                     cmocka_unit_test(the_same_windows_give_the_same_proposals),
                                     cmocka_unit_test(predictions_are_the_models_for_the_proposed_plan)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
