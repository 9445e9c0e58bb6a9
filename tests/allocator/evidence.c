/* Observations of which not everything was measured. */
#include "allocator/model/evidence.h"
#include "tests/allocator/plant.h"

static mz_evidence evidence;

/* Only the rounds of a plan that was given up are known: nothing else may pass for a measurement. */
static void what_is_not_known_of_a_plan_that_was_given_up_is_unknown(void **state) {
  (void)state;
  plant p;
  plant_init(&p, 4);
  mz_plan slow = p.plan;
  slow.values[USERS] = 2;
  plant_run(&p);
  p.window.training = (mz_training_stage){0.5, 9, 0.25, 0.125};
  p.window.round_count = 2;
  p.window.round_s[0] = p.window.round_s[1] = 1;
  mz_evidence_init(&evidence, &p.pipeline, 4);
  const double unit_s = mz_evidence_window(&evidence, &p.plan, &p.window);
  assert_true(unit_s > 0 && evidence.count == 1);
  const mz_observation *seen = &evidence.observations[0], *given_up = &evidence.observations[1];
  assert_true(seen->others == 0 && seen->waiting == 0 && seen->throttled == 0 && seen->training.horizon == 0.25);
  mz_evidence_slow(&evidence, &slow, &p.plan, 2, 5);
  assert_int_equal(evidence.count, 2);
  assert_true(mz_plan_equal(&p.pipeline, &given_up->plan, &slow));
  assert_true(given_up->unit_s == 2 * unit_s && given_up->round_s == 2 && given_up->rounds == 5);
  assert_true(isnan(given_up->cpu_s) && isnan(given_up->rss_bytes));
  assert_true(isnan(given_up->others) && isnan(given_up->waiting) && isnan(given_up->throttled));
  const mz_training_stage *t = &given_up->training;
  assert_true(isnan(t->replay_fill) && isnan(t->episode_length) && isnan(t->horizon) && isnan(t->score_slope));
  mz_evidence_slow(&evidence, &slow, &(mz_plan){.values = {1, 1, 1, 1}}, 2, 5); /* the old plan was never measured */
  assert_int_equal(evidence.count, 2);
}

/* A sensor that is missing is none that shows zero. */
static void what_no_sensor_tells_is_forecast_by_none(void **state) {
  (void)state;
  plant p;
  plant_init(&p, 4);
  plant_run(&p);
  p.window.usage.missing = 1u << MZ_SENSOR_CPU | 1u << MZ_SENSOR_RSS;
  mz_evidence_init(&evidence, &p.pipeline, 4);
  assert_true(mz_evidence_window(&evidence, &p.plan, &p.window) > 0);
  assert_int_equal(evidence.cores.seen, 0);
  assert_int_equal(evidence.memory.seen, 0);
  assert_true(isnan(evidence.observations[0].cpu_s) && isnan(evidence.observations[0].rss_bytes));
  p.window.usage.missing = 0;
  p.window.usage.rss_bytes = 1e8;
  assert_true(mz_evidence_window(&evidence, &p.plan, &p.window) > 0);
  assert_true(evidence.cores.last > 0 && evidence.memory.last == 1e8);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_not_known_of_a_plan_that_was_given_up_is_unknown),
                                     cmocka_unit_test(what_no_sensor_tells_is_forecast_by_none)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
