#include "tests/allocator/plant.h"

static const mz_strategy *const demand = &mz_strategy_demand;

static int64_t threads(const plant *p, int stage) { return mz_stage_threads(&p->pipeline, stage, &p->plan); }
static double cores_used(const plant *p) { return p->window.usage.cpu_s / p->window.usage.wall_s; }

static void expect_why_not(const plant *p, int candidate, const char *words) {
  assert_true(candidate < p->proposal.candidate_count);
  if (!strstr(p->proposal.candidates[candidate].why_not, words))
    fail_msg("'%s' is not in: %s", words, p->proposal.candidates[candidate].why_not);
}
static void expect_reason(const plant *p, const char *words) {
  if (!strstr(p->proposal.reason, words)) fail_msg("'%s' is not in: %s", words, p->proposal.reason);
}

/* ---- what it is told ---- */

static void without_a_window_nothing_changes(void **state) {
  (void)state;
  plant p;
  plant_init(&p, 4);
  mz_situation situation = plant_situation(&p);
  situation.window = NULL;
  for (int i = 0; i < 2; i++) {
    demand->propose(&situation, p.strategy_memory, &p.proposal);
    assert_false(p.proposal.change);
    assert_true(mz_plan_equal(&p.pipeline, &p.proposal.plan, &p.plan));
    assert_true(isnan(p.proposal.prediction.unit_s));
    expect_reason(&p, "no full unit");
    situation.window = &p.window; /* an empty one: replay is still filling */
  }
}

static void one_window_is_not_enough(void **state) {
  (void)state;
  plant p;
  plant_init(&p, 4);
  p.work_s[MAKE] = 2;
  assert_false(plant_phase(&p, demand)->change);
  expect_why_not(&p, 0, "one window only");
  assert_true(plant_phase(&p, demand)->change);
  assert_true(p.proposal.demanded);
  assert_int_equal(p.proposal.plan.values[MAKERS], 2);
  assert_string_equal(p.proposal.reason, "make: 100 % busy (last value) > 80 %: 1 → 2 threads");
  assert_string_equal(p.proposal.predictor, "forecast (last value)");
}

static void windows_have_to_follow_one_another(void **state) {
  (void)state;
  plant p;
  plant_init(&p, 4);
  p.work_s[MAKE] = 2;
  for (int i = 0; i < 4; i++) {
    assert_false(plant_phase(&p, demand)->change);
    p.window.phase++;
  }
}

/* ---- adding and removing ---- */

static void it_grows_until_the_cores_are_used(void **state) {
  (void)state;
  plant p;
  plant_init(&p, 8);
  p.work_s[MAKE] = 6;
  plant_phases(&p, demand, 40);
  assert_true(cores_used(&p) > 0.95 * 8);
  assert_true(p.changes <= 6);
  const int changes = p.changes;
  plant_phases(&p, demand, 100);
  assert_int_equal(p.changes, changes);
  assert_true(strstr(p.proposal.binding, "cores"));
  expect_reason(&p, "cores are full");
}

static void it_shrinks_when_idle(void **state) {
  (void)state;
  plant p;
  plant_init(&p, 8);
  p.plan = (mz_plan){.values = {8, 8, 4, 4}};
  p.pace_s = 20;
  plant_phases(&p, demand, 60);
  assert_int_equal(threads(&p, MAKE), 1);
  assert_int_equal(threads(&p, USE), 1);
  assert_int_equal(p.changes, 5); /* one step, one pool at a time */
  assert_int_equal(p.plan.values[TRAYS], 8);
  assert_int_equal(p.plan.values[SHELF], 4);
}

static void it_follows_a_load_that_comes_and_goes(void **state) {
  (void)state;
  plant p;
  plant_init(&p, 4);
  for (int round = 0; round < 3; round++) {
    p.work_s[MAKE] = 3;
    p.pace_s = 1;
    plant_phases(&p, demand, 30);
    assert_int_equal(threads(&p, MAKE), 4);
    p.work_s[MAKE] = 0.1;
    plant_phases(&p, demand, 30);
    assert_int_equal(threads(&p, MAKE), 1);
  }
}

/* Two pools are always busy: what is added goes to the one that needs more of it. */
static void who_needs_more_gets_more(void **state) {
  (void)state;
  for (int first = 0; first < 2; first++) {
    plant p;
    plant_init(&p, 16);
    p.work_s[first] = 60;
    p.work_s[1 - first] = 15;
    for (int i = 0; i < 80; i++) {
      plant_phase(&p, demand);
      for (int s = 0; s < 2; s++) mz_forecaster_init(&p.utilisation[s]), mz_forecaster_observe(&p.utilisation[s], 0.97);
      if (p.proposal.change) p.plan = p.proposal.plan;
    }
    assert_true(threads(&p, first) >= 2 * threads(&p, 1 - first));
    assert_true(threads(&p, first) >= 8);
  }
}

/* ---- waiting ---- */

static void who_waits_for_room_gets_no_threads(void **state) {
  (void)state;
  plant p;
  plant_init(&p, 8);
  p.work_s[MAKE] = 2;
  p.blocked[MAKE] = 0.3;
  plant_phases(&p, demand, 10);
  assert_int_equal(threads(&p, MAKE), 1);
  expect_why_not(&p, 0, "blocked by its output 30 %");
}

/* 65 % busy is below the threshold, and yet the consumer waits for it. */
static void a_starving_consumer_gets_its_producer_a_step(void **state) {
  (void)state;
  plant p;
  plant_init(&p, 8);
  p.work_s[MAKE] = 0.65;
  p.work_s[USE] = 0.5;
  p.pace_s = 1;
  plant_phases(&p, demand, 10);
  assert_int_equal(p.changes, 0);
  p.starved[USE] = 0.4;
  plant_phases(&p, demand, 3);
  assert_int_equal(threads(&p, MAKE), 2);
  assert_int_equal(threads(&p, USE), 1);
  assert_int_equal(p.changes, 1);
}

static void a_producer_that_is_waited_for_does_not_shrink(void **state) {
  (void)state;
  plant p;
  plant_init(&p, 8);
  p.plan.values[MAKERS] = 4;
  p.work_s[MAKE] = p.work_s[USE] = 0.4;
  p.pace_s = 1;
  p.starved[USE] = 0.5;
  plant_phases(&p, demand, 20);
  assert_int_equal(threads(&p, MAKE), 4);
  expect_why_not(&p, 0, "its consumer waits for it 50 %");
}

static void bursts_double_the_queue(void **state) {
  (void)state;
  plant p;
  plant_init(&p, 8);
  p.work_s[MAKE] = p.work_s[USE] = 0.5;
  p.pace_s = 1;
  p.blocked[MAKE] = 0.3;
  plant_phases(&p, demand, 10);
  assert_int_equal(p.changes, 0); /* the consumer does not wait: it is the slower one */
  p.starved[USE] = 0.3;
  plant_until_change(&p, demand, 4);
  assert_int_equal(p.proposal.plan.values[SHELF], 8);
  expect_reason(&p, "queue shelf: producer blocked 30 %, consumer starved 30 % of the time: capacity 4 → 8");
  plant_phases(&p, demand, 100);
  assert_int_equal(p.plan.values[SHELF], 64); /* the most */
  assert_string_equal(p.proposal.binding, "knob range");
}

/* ---- not flapping ---- */

/* Use around a threshold at every step that the pool can take. */
static void noise_around_a_threshold_changes_little(void **state) {
  (void)state;
  static const double loads[] = {0.2, 0.4, 0.75, 0.8, 0.85, 1.6, 3.2};
  for (size_t i = 0; i < sizeof loads / sizeof *loads; i++) {
    for (int64_t begin = 1; begin <= 8; begin *= 2) {
      plant p;
      plant_init(&p, 8);
      p.rng = mz_rng_at(2, MZ_RNG_TEST, (uint32_t)i, (uint64_t)begin);
      p.plan.values[MAKERS] = begin;
      p.work_s[MAKE] = loads[i];
      p.work_s[USE] = 0.5;
      p.pace_s = 1;
      p.noise = 0.05;
      plant_phases(&p, demand, 500);
      assert_true(p.changes <= 4); /* three lead from one end of 1 … 8 to the other */
    }
  }
}

/* A wild load: the rests are kept all the same, and a change of direction within four windows needs a clear case. */
static void rests_are_kept_whatever_happens(void **state) {
  (void)state;
  plant p;
  plant_init(&p, 8);
  p.pace_s = 1;
  double share[2] = {0.5, 0.5};
  int64_t changed[PLANT_KNOBS] = {-9, -9, -9, -9};
  int direction[PLANT_KNOBS] = {0}, reversals = 0, changes = 0;
  for (int i = 0; i < 2000; i++) {
    for (int s = 0; s < 2; s++) {
      if (mz_rng_below(&p.rng, 3) == 0)
        share[s] = mz_rng_f64(&p.rng) < 0.5 ? 0.25 * mz_rng_f64(&p.rng) : 1 - 0.25 * mz_rng_f64(&p.rng);
      p.work_s[s] = share[s] * (double)threads(&p, s);
    }
    if (!plant_phase(&p, demand)->change) continue;
    for (int k = 0; k < PLANT_KNOBS; k++) {
      const int64_t now = p.proposal.plan.values[k], before = p.plan.values[k];
      if (now == before) continue;
      const int way = now > before ? 1 : -1;
      const double busy = p.utilisation[k == MAKERS ? MAKE : USE].last;
      assert_true(now == mz_knob_step(&p.pipeline.knobs[k], before, way));
      assert_true(i - changed[k] >= 2);
      if (direction[k] == -way && i - changed[k] < 4) {
        reversals++;
        assert_true(way > 0 ? busy > 0.9 : busy < 0.1);
      }
      changed[k] = i;
      direction[k] = way;
      changes++;
    }
    p.plan = p.proposal.plan;
  }
  assert_true(changes > 100 && reversals > 10);
}

/* Thresholds so near that a step would cross from one to the other. */
static void no_step_leads_beyond_the_other_threshold(void **state) {
  (void)state;
  plant p;
  plant_init(&p, 8);
  p.settings.low = 0.7;
  p.plan.values[MAKERS] = 2;
  p.work_s[MAKE] = 1.3; /* 65 % of two threads, all of one */
  p.work_s[USE] = 0.75;
  p.pace_s = 1;
  plant_phases(&p, demand, 20);
  assert_int_equal(p.changes, 0);
  expect_why_not(&p, 0, "would be 130 % busy");
  p.work_s[MAKE] = 1.68;
  plant_phases(&p, demand, 20);
  assert_int_equal(p.changes, 0);
  expect_why_not(&p, 0, "would be 42 % busy");
}

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
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(without_a_window_nothing_changes),
      cmocka_unit_test(one_window_is_not_enough),
      cmocka_unit_test(windows_have_to_follow_one_another),
      cmocka_unit_test(it_grows_until_the_cores_are_used),
      cmocka_unit_test(it_shrinks_when_idle),
      cmocka_unit_test(it_follows_a_load_that_comes_and_goes),
      cmocka_unit_test(who_needs_more_gets_more),
      cmocka_unit_test(who_waits_for_room_gets_no_threads),
      cmocka_unit_test(a_starving_consumer_gets_its_producer_a_step),
      cmocka_unit_test(a_producer_that_is_waited_for_does_not_shrink),
      cmocka_unit_test(bursts_double_the_queue),
      cmocka_unit_test(noise_around_a_threshold_changes_little),
      cmocka_unit_test(rests_are_kept_whatever_happens),
      cmocka_unit_test(no_step_leads_beyond_the_other_threshold),
      cmocka_unit_test(a_knob_ends_where_its_range_ends),
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
      cmocka_unit_test(predictions_are_the_models_for_the_proposed_plan),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
