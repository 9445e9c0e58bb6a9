#include "tests/allocator/demand_cases.h"

static double cores_used(const plant *p) { return p->window.usage.cpu_s / p->window.usage.wall_s; }

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

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(without_a_window_nothing_changes),
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
                                     cmocka_unit_test(no_step_leads_beyond_the_other_threshold)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
