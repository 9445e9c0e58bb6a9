/* Probes of a simulated machine's GPUs are what its effects say of one call, and the model knows from them what a GPU costs. */
#include "allocator/machine/gpu_probes.h"
#include "allocator/machine/effects.h"
#include "allocator/model/analytic.h"
#include "tests/allocator/mixed.h"
#include <string.h>

static void assert_near(double value, double wanted) {
  if (!(fabs(value - wanted) <= 1e-9 * fabs(wanted))) fail_msg("%.12g instead of %.12g", value, wanted);
}

/* The mixed pipeline; its pool and its learner were timed on a core. */
static mz_pipeline probed(void) {
  mz_pipeline p = mixed();
  p.stages[0].probes[MZ_DEVICE_CPU] = (mz_probes){.batch = {1, 8}, .cpu_s = {3e-5, 1.25e-5}};
  p.stages[2].probes[MZ_DEVICE_CPU] = (mz_probes){.batch = {1}, .cpu_s = {1e-3}};
  return p;
}

static void a_call_takes_what_the_effects_say(void **state) {
  (void)state;
  mz_pipeline p = probed();
  mz_simulation simulation = plain(&p);
  mz_sim_machine *m = &simulation.machine;
  m->gpu_full = 32, m->gpu_bytes = 2;
  m->jitter = 0.1, m->spread = 0.3, m->tail = 0.1, m->neighbour = 64, m->quota = 2, m->wake = 100; /* a probe is not disturbed */
  assert_int_equal(mz_sim_probe_gpus(&p, m, simulation.stages), MZ_OK);
  const mz_probes *pool = &p.stages[0].probes[MZ_DEVICE_CUDA], *learn = &p.stages[2].probes[MZ_DEVICE_CUDA];
  const mz_sim_truth *truth = &simulation.stages[0];
  const mz_sim_gpu gpu = {
      .latency_s = m->gpu_latency * 1e-6, .speed = m->gpu_speed, .full = 32, .link = m->gpu_link * 1e9, .bytes = 2048};
  assert_int_equal(mz_probes_count(pool), 4);
  for (int i = 0; i < 4; i++) {
    const double batch = (double[]){1, 8, 64, 128}[i]; /* no more than there are groups */
    assert_true(pool->batch[i] == batch);
    assert_near(batch * pool->device_s[i], mz_sim_gpu_call_s(&gpu, batch, m->gpu_share * truth->item_s));
    assert_near(batch * pool->cpu_s[i], truth->fixed_s + (1 - m->gpu_share) * batch * truth->item_s);
  }
  assert_int_equal(mz_probes_count(learn), 1);
  assert_near(learn->cpu_s[0], (1 - m->gpu_share) * 1e-3);
  assert_true(learn->device_s[0] > m->gpu_share * 1e-3 / m->gpu_speed);
  assert_int_equal(mz_probes_count(&p.stages[1].probes[MZ_DEVICE_CUDA]), 0); /* on no kind of device was it timed */
}

static void a_machine_without_gpus_has_none(void **state) {
  (void)state;
  mz_pipeline p = probed();
  const mz_pipeline before = p;
  mz_simulation simulation = plain(&p);
  simulation.machine.gpus = 0;
  assert_int_equal(mz_sim_probe_gpus(&p, &simulation.machine, simulation.stages), MZ_OK);
  assert_memory_equal(&p, &before, sizeof p);
}

/* Before there are probes of the GPU, or windows on it, a plan that uses it has no prediction; one stage that nobody times is no
 * obstacle. */
static void what_is_unknown_on_a_gpu_is_not_predicted(void **state) {
  (void)state;
  mz_pipeline p = probed();
  const mz_simulation simulation = plain(&p);
  mz_plan plan = mixed_plan(), on_gpu = plan;
  mz_analytic model;
  mz_observation seen;
  on_gpu.values[POOL_DEVICE] = 2;
  mz_analytic_init(&model, &p, 64);
  assert_true(mz_analytic_covers(&model, &plan) && mz_analytic_predict(&model, &plan).unit_s > 0);
  assert_false(mz_analytic_covers(&model, &on_gpu));
  assert_true(isnan(mz_analytic_predict(&model, &on_gpu).unit_s));
  assert_int_equal(mz_simulate(&simulation, &plan, 0, 4, &seen), MZ_OK);
  mz_analytic_fit(&model, &seen, 1);
  assert_true(isnan(mz_analytic_predict(&model, &on_gpu).unit_s));
  on_gpu.values[POOL_DEVICE] = 0,
  on_gpu.values[LEARNER_DEVICE] = 2; /* the learner, whose cost is known here; builder and fold, which nobody timed */
  p.stages[2].probes[MZ_DEVICE_CUDA] = (mz_probes){.batch = {1}, .cpu_s = {2e-4}, .device_s = {1e-4}};
  mz_analytic_fit(&model, &seen, 1);
  assert_true(mz_analytic_predict(&model, &on_gpu).unit_s > 0);
  on_gpu.values[POOL_DEVICE] = 2;
  assert_int_equal(mz_simulate(&simulation, &on_gpu, 0, 4, &seen), MZ_OK);
  mz_analytic_fit(&model, &seen, 1); /* a window on it tells as much */
  assert_true(mz_analytic_predict(&model, &on_gpu).unit_s > 0);
}

static void stages_on_one_gpu_share_it(void **state) {
  (void)state;
  mz_pipeline p = mixed();
  mz_plan plan = mixed_plan();
  mz_analytic model;
  mz_analysis analysis;
  p.stages[0].probes[MZ_DEVICE_CUDA] = (mz_probes){.batch = {1}, .cpu_s = {1e-6}, .device_s = {1e-4}}; /* 1.28 s a unit */
  p.stages[2].probes[MZ_DEVICE_CUDA] = (mz_probes){.batch = {1}, .cpu_s = {1e-6}, .device_s = {8e-2}}; /* likewise */
  plan.values[POOL_DEVICE] = plan.values[LEARNER_DEVICE] = 2;
  mz_analytic_init(&model, &p, 64);
  mz_analytic_explain(&model, &plan, &analysis);
  assert_int_equal(analysis.bottleneck, -1);
  assert_int_equal(analysis.shared, 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_call_takes_what_the_effects_say), cmocka_unit_test(a_machine_without_gpus_has_none),
      cmocka_unit_test(what_is_unknown_on_a_gpu_is_not_predicted), cmocka_unit_test(stages_on_one_gpu_share_it)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
