#include "allocator/model/load.h"
#include "tests/allocator/plant.h"

static const double TINY = 1e-12;

/* One window by hand: 10 s, of which sweeping took 2; three makers, one user. */
static plant measured(void) {
  plant p;
  plant_init(&p, 4);
  p.plan = (mz_plan){.values = {3, 8, 1, 4}};
  p.window = (mz_window){.phase = 1, .units = 10, .wall_s = 10, .score = NAN};
  p.window.stages[MAKE] = (mz_stage_sample){.busy_s = 18, .cpu_s = 12, .wait_out_s = 6, .elapsed_s = 7};
  p.window.stages[USE] = (mz_stage_sample){.busy_s = 6, .cpu_s = 4, .wait_in_s = 2, .elapsed_s = 8};
  p.window.stages[SWEEP] = (mz_stage_sample){.busy_s = 2, .cpu_s = 2, .elapsed_s = 2};
  p.window.usage = (mz_usage){.wall_s = 10, .cpu_s = 18, .rss_bytes = 1 << 28};
  for (int s = 0; s < PLANT_STAGES; s++)
    mz_forecaster_observe(&p.utilisation[s],
                          p.window.stages[s].busy_s / (10.0 * (double)mz_stage_threads(&p.pipeline, s, &p.plan)));
  mz_forecaster_observe(&p.cores, 1.8);
  mz_forecaster_observe(&p.memory, 1 << 28);
  return p;
}

static mz_load read_load(const plant *p, bool settled) {
  mz_load load;
  const mz_situation situation = plant_situation(p);
  mz_load_read(&load, &situation, settled);
  return load;
}

static void shares_are_of_the_step(void **state) {
  (void)state;
  const plant p = measured();
  const mz_load load = read_load(&p, false);
  assert_int_equal(load.pool_count, 2); /* nobody sweeps with threads of a knob */
  const mz_pool_load *make = &load.pools[0], *use = &load.pools[1];
  assert_string_equal(make->name, "make");
  assert_int_equal(make->knob, MAKERS);
  assert_int_equal(make->threads, 3);
  assert_true(fabs(make->busy.value - 18.0 / 24) < TINY);
  assert_true(fabs(make->blocked - 6.0 / 24) < TINY);
  assert_true(fabs(make->missed - 2.0 / 8) < TINY);
  assert_true(fabs(make->cpu_s - 1.2) < TINY);
  assert_true(fabs(make->cores_used - 16.0 / 8) < TINY);
  assert_true(fabs(use->busy.value - 6.0 / 8) < TINY);
  assert_true(use->blocked == 0 && use->missed == 0);
  assert_true(fabs(load.queues[0].blocked - make->blocked) < TINY);
  assert_true(fabs(load.queues[0].starved - make->missed) < TINY);
  assert_true(load.cores.value == 1.8 && load.capacity == 4 && load.memory.value == 1 << 28);
}

/* The makers sweep, too: their time is that of both steps, and in the second one most cores are free. */
static void a_pool_may_serve_several_steps(void **state) {
  (void)state;
  plant p = measured();
  p.pipeline.stages[SWEEP].threads = MAKERS;
  mz_forecaster_init(&p.utilisation[SWEEP]);
  mz_forecaster_observe(&p.utilisation[SWEEP], 2.0 / 30);
  const mz_load load = read_load(&p, false);
  assert_int_equal(load.pool_count, 2);
  assert_true(fabs(load.pools[0].busy.value - 20.0 / 30) < TINY);
  assert_true(fabs(load.pools[0].blocked - 6.0 / 30) < TINY);
  assert_true(fabs(load.pools[0].cpu_s - 1.4) < TINY);
  assert_true(fabs(load.pools[0].cores_used - 1) < TINY);
}

static void without_step_clocks_the_window_counts(void **state) {
  (void)state;
  plant p = measured();
  for (int s = 0; s < PLANT_STAGES; s++) p.window.stages[s].elapsed_s = 0;
  const mz_load load = read_load(&p, false);
  assert_true(fabs(load.pools[0].busy.value - 18.0 / 30) < TINY);
}

static void other_devices_cores_are_not_counted(void **state) {
  (void)state;
  plant p = measured();
  p.pipeline.devices[1] = (mz_device){.name = "cpu:1", .kind = MZ_DEVICE_CPU, .cores = 2};
  p.pipeline.device_count = 2;
  p.pipeline.stages[USE].device = SHELF; /* a knob that holds 1 */
  p.plan.values[SHELF] = 1;
  p.bounds.cpu_max = 5;
  const mz_load load = read_load(&p, false);
  assert_int_equal(load.pools[0].device, 0);
  assert_int_equal(load.pools[1].device, 1);
  assert_true(fabs(load.pools[0].cores_used - 12.0 / 8) < TINY);
  assert_true(fabs(load.pools[1].cores_used - 4.0 / 8) < TINY);
  assert_true(load.capacity == 5); /* of six */
}

static void forecasts_count_when_they_are_to_be_trusted(void **state) {
  (void)state;
  plant p = measured();
  mz_forecaster_init(&p.utilisation[USE]);
  for (int i = 0; i < 20; i++) mz_forecaster_observe(&p.utilisation[USE], 0.02 * i); /* a ramp to 0.38 of 8/10 of the time */
  mz_load load = read_load(&p, true);
  char text[48];
  mz_level_text(&load.pools[1].busy, text, sizeof text);
  assert_true(load.pools[1].busy.forecast);
  assert_int_equal(load.pools[1].busy.model, MZ_FORECAST_KALMAN);
  assert_true(fabs(load.pools[1].busy.value - 0.4 / 0.8) < 0.01);
  assert_non_null(strstr(text, "forecast (Kalman, MASE 0."));
  assert_false(load.pools[0].busy.forecast); /* of one value */
  load = read_load(&p, false);
  mz_level_text(&load.pools[1].busy, text, sizeof text);
  assert_false(load.pools[1].busy.forecast);
  assert_true(fabs(load.pools[1].busy.value - 0.38 / 0.8) < TINY);
  assert_string_equal(text, "(last value)");
}

static void what_is_not_measured_is_unknown(void **state) {
  (void)state;
  plant p = measured();
  mz_forecaster_init(&p.utilisation[MAKE]);
  mz_forecaster_init(&p.cores);
  p.window.usage.missing = 1u << MZ_SENSOR_RSS; /* it was seen before */
  p.window.stages[USE].cpu_s = 0;               /* no clocks of threads: busy time stands in */
  const mz_load load = read_load(&p, false);
  assert_true(isnan(load.pools[0].busy.value));
  assert_true(isnan(load.cores.value));
  assert_true(isnan(load.memory.value));
  assert_true(fabs(load.pools[1].cpu_s - 0.6) < TINY);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(shares_are_of_the_step),
      cmocka_unit_test(a_pool_may_serve_several_steps),
      cmocka_unit_test(without_step_clocks_the_window_counts),
      cmocka_unit_test(other_devices_cores_are_not_counted),
      cmocka_unit_test(forecasts_count_when_they_are_to_be_trusted),
      cmocka_unit_test(what_is_not_measured_is_unknown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
