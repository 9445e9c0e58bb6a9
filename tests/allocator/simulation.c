/* The simulation of a pipeline on a machine: without effects it is what it was before there were any, each effect costs time and never
 * makes any, more threads than cores work, and the same numbers come of it every time. */
#include "allocator/machine/simulation.h"
#include "tests/allocator/analytic_cases.h"
#include "tests/allocator/mixed.h"

enum { GOLDEN = 24, GOLDEN_UNITS = 3 };

/* unit_s, round_s, cpu_s; busy_s, wait_in_s, wait_out_s and elapsed_s of all stages together: made by the simulation as it was when it
 * was a part of the tests and had no effects, with today's stream of random numbers. */
static const double golden[GOLDEN][7] = {
    {0.398416685876, 0.390016383745, 0.398416685876, 0.398416685876, 0, 0, 0.398416685876},
    {0.381251094773, 0.370885088527, 2.01005270206, 2.12899129036, 3.72163976895, 2.31580008033, 0.682306787899},
    {0.284990201877, 0.275012005644, 0.554583964894, 1.74786511942, 0.106378513682, 0, 0.726465164292},
    {0.107499471527, 0.10597654766, 0.210019949922, 0.392206239931, 0, 0, 0.107499471527},
    {0.291864984082, 0.287321629097, 0.51804509876, 0.919791038127, 0.276858947946, 0, 0.625818442609},
    {0.0349962942357, 0.0273365262065, 0.0613600222219, 0.0613600222219, 0, 0, 0.0349962942357},
    {0.240889800867, 0.239281691471, 0.328252479553, 0.328252479553, 0, 0, 0.328252479553},
    {0.060681625305, 0.0522465335593, 0.0643719468345, 0.0643719468345, 0, 0, 0.060681625305},
    {0.52305444679, 0.522031174395, 0.52305444679, 0.52305444679, 0, 0, 0.52305444679},
    {0.217140221559, 0.210458049959, 0.398471690271, 0.73396413149, 0.0702483252946, 0, 0.436993908781},
    {0.144381089868, 0.136678225696, 0.275638779167, 0.462140138511, 0.394324047476, 0.325438072151, 0.348480258705},
    {0.258226849442, 0.251830360452, 0.706154408386, 0.706154408386, 0.0180792226363, 0.324685697609, 0.50633389502},
    {0.191033044054, 0.189720799924, 0.371910278717, 1.03746966745, 0.00647414707379, 0.0405016456667, 0.545285149782},
    {0.246753582071, 0.244068397899, 0.465465376518, 1.60746794968, 0.14880509623, 0.104865410008, 0.584128615012},
    {0.41212839442, 0.409667620265, 0.766695103103, 1.65158356455, 0.236492180282, 0.973811039706, 0.661600034995},
    {0.0833316634597, 0.0818582310272, 0.324560828732, 0.789774309197, 0.00635185537409, 0, 0.170922738711},
    {0.351391496139, 0.347953893364, 0.351391496139, 0.351391496139, 0, 0, 0.351391496139},
    {0.603141224512, 0.601681791605, 1.58931738072, 1.58931738072, 0, 0, 0.70973214095},
    {0.276294959693, 0.268672400069, 0.537047005977, 1.10497238036, 0.0687509364077, 0, 0.702458637458},
    {0.180602058323, 0.177301705067, 0.357503760672, 1.36909415501, 0.0366251676485, 0, 0.435096912963},
    {0.146047777032, 0.145148899778, 0.533058451059, 1.57836595445, 0.0805545946534, 0, 0.327268536583},
    {0.506618381285, 0.500954178981, 0.549079835617, 0.601387774202, 0.0014453970299, 0.12843126667, 0.561847166742},
    {0.371946301209, 0.369165315707, 0.679929711538, 1.60325500804, 1.57353786317, 1.15354614723, 0.961821356107},
    {0.338314010804, 0.334103486969, 0.670621844056, 2.18438544567, 0.173160807566, 0.213398837661, 0.746683566701},
};

/* Every other pipeline has pools that give way. */
static void draw_pipeline(random_pipeline *out, int index) {
  random_pipeline_init(out, (uint64_t)index, 16, 64);
  for (int s = 0; index % 2 && s < out->pipeline.stage_count; s++) random_pipeline_give_way(out, s);
}

static void test_without_effects_it_is_what_it_was(void **state) {
  (void)state;
  for (int i = 0; i < GOLDEN; i++) {
    random_pipeline r;
    draw_pipeline(&r, i);
    const mz_plan plan = random_pipeline_plan(&r.pipeline, (uint64_t)(1000 * i));
    const mz_observation seen = simulate_units(&r.simulation, &plan, (uint64_t)i, GOLDEN_UNITS);
    double got[7] = {seen.unit_s, seen.round_s, seen.cpu_s};
    for (int s = 0; s < r.pipeline.stage_count; s++) {
      got[3] += seen.stages[s].busy_s, got[4] += seen.stages[s].wait_in_s;
      got[5] += seen.stages[s].wait_out_s, got[6] += seen.stages[s].elapsed_s;
    }
    for (int k = 0; k < 7; k++) assert_near(got[k], golden[i][k], 1e-9);
  }
}

/* ---- on a machine ---- */

/* Seconds of one unit after `before` others. */
static double unit_s(const mz_simulation *simulation, const mz_plan *plan, uint64_t before) {
  mz_sim_clock clock = {0};
  mz_sim_unit unit = {0};
  for (uint64_t i = 0; i <= before; i++) {
    assert_int_equal(mz_simulate_unit(simulation, plan, i, &clock, &unit), MZ_OK);
    assert_possible(simulation, plan, &unit);
  }
  return unit.unit_s;
}

typedef struct effect {
  const char *key;
  double values[4]; /* each costs more than the one before; the first may be 0 */
  double least;     /* times as long as without it that the last one makes it */
} effect;

static void assert_costs(const mz_simulation *simulation, const mz_plan *plan, const effect *e) {
  const double alone = mean_s(simulation, plan);
  double before = alone;
  for (int i = 0; i < 4; i++) {
    mz_simulation with = *simulation;
    assert_int_equal(mz_sim_machine_set(&with.machine, e->key, e->values[i]), MZ_OK);
    const double seconds = mean_s(&with, plan);
    if (i == 0 && seconds != alone) fail_msg("%s=0: %.9g instead of %.9g", e->key, seconds, alone);
    if (!(seconds >= before * (1 - 1e-9))) fail_msg("%s=%g: %.9g after %.9g", e->key, e->values[i], seconds, before);
    before = seconds;
  }
  if (!(before >= e->least * alone)) fail_msg("%s: only %.4f times as long", e->key, before / alone);
}

static void test_each_effect_costs_time_and_more_with_its_parameter(void **state) {
  (void)state;
  static const effect effects[] = {
      {"smt", {0, 1.6, 1.3, 1}, 1.1},       {"l2_miss", {0, 0.1, 0.3, 1}, 1.05},   {"l3_miss", {0, 0.2, 1, 3}, 1.2},
      {"wake", {0, 10, 100, 1000}, 1.1},    {"tail", {0, 0.003, 0.02, 0.1}, 1.02}, {"stream", {0, 16, 64, 128}, 1.1},
      {"neighbour", {0, 16, 64, 128}, 1.1}, {"quota", {0, 32, 8, 2}, 3},           {"spread", {0, 0.2, 0.6, 1.5}, 1.001},
      {"drift", {0, 0.5, 2, 8}, 1.2},
  };
  const mz_pipeline pipeline = mixed();
  mz_simulation simulation = plain(&pipeline);
  simulation.units = 12;
  mz_plan plan = mixed_plan();
  for (size_t e = 0; e < sizeof effects / sizeof *effects; e++) assert_costs(&simulation, &plan, &effects[e]);
  simulation.stages[2].item_s = 1e-2; /* the stage in lockstep takes longest */
  assert_costs(&simulation, &plan, &(effect){"straggler", {0, 0.05, 0.2, 0.6}, 1.3});
  simulation = plain(&pipeline);
  simulation.units = 12;
  simulation.machine.streaming = 0.4;
  plan.values[POOL_DEVICE] = 1; /* its weights come from the other node */
  plan.values[POOL_THREADS] = 1;
  assert_costs(&simulation, &plan, &(effect){"remote", {0, 0.5, 1, 3}, 1.05});
}

static void test_memory_is_short(void **state) {
  (void)state;
  const mz_pipeline pipeline = mixed();
  mz_plan plan = mixed_plan();
  mz_simulation simulation = plain(&pipeline);
  const double alone = mean_s(&simulation, &plan);
  simulation.machine.streaming = 0.4;
  assert_near(mean_s(&simulation, &plan), alone, 1e-12); /* bandwidth without end, on one's own node */
  double before = alone;
  for (double bandwidth = 80; bandwidth >= 10; bandwidth /= 2) {
    simulation.machine.bandwidth = bandwidth;
    const double seconds = mean_s(&simulation, &plan);
    assert_true(seconds >= before);
    before = seconds;
  }
  assert_true(before > 1.5 * alone);
  simulation.machine.bandwidth = 0;
  simulation.machine.remote = 1;
  assert_near(mean_s(&simulation, &plan), alone, 1e-12);
  plan.values[POOL_DEVICE] = 1; /* its weights come from the other node now */
  const double apart = mean_s(&simulation, &plan);
  simulation.machine.remote = 0;
  assert_true(mean_s(&simulation, &plan) < apart);
}

static void test_a_gpu_takes_work_off_the_cores(void **state) {
  (void)state;
  const mz_pipeline pipeline = mixed();
  mz_plan plan = mixed_plan();
  plan.values[POOL_THREADS] = 4, plan.values[POOL_BATCH] = 32;
  mz_simulation simulation = plain(&pipeline);
  const double on_cores = mean_s(&simulation, &plan);
  plan.values[POOL_DEVICE] = 2;
  const double on_gpu = mean_s(&simulation, &plan);
  assert_true(on_gpu < on_cores);
  double before = on_gpu;
  static const effect costs[] = {
      {"gpu_latency", {20, 100, 500, 2000}, 0}, {"gpu_full", {0, 64, 256, 1024}, 0}, {"gpu_bytes", {0, 10, 100, 1000}, 0}};
  for (size_t e = 0; e < sizeof costs / sizeof *costs; e++, before = on_gpu) {
    for (int i = 0; i < 4; i++) {
      mz_simulation with = simulation;
      assert_int_equal(mz_sim_machine_set(&with.machine, costs[e].key, costs[e].values[i]), MZ_OK);
      const double seconds = mean_s(&with, &plan);
      assert_true(seconds >= before * (1 - 1e-9));
      before = seconds;
    }
    assert_true(before > 1.05 * on_gpu);
  }
  plan.values[LEARNER_DEVICE] = 2;
  mean_s(&simulation, &plan); /* asserts what is possible */
}

static void test_neighbours_and_quotas_are_shown(void **state) {
  (void)state;
  const mz_pipeline pipeline = mixed();
  const mz_plan plan = mixed_plan();
  mz_simulation simulation = plain(&pipeline);
  mz_sim_clock clock = {0};
  mz_sim_unit unit;
  assert_int_equal(mz_simulate_unit(&simulation, &plan, 0, &clock, &unit), MZ_OK);
  assert_true(unit.others_cpu_s == 0 && unit.throttled_s == 0);
  simulation.machine.neighbour = 48;
  assert_int_equal(mz_simulate_unit(&simulation, &plan, 0, &clock, &unit), MZ_OK);
  assert_true(unit.others_cpu_s > 40 * unit.unit_s && unit.others_cpu_s <= 48 * unit.unit_s && unit.waiting_s > 0);
  simulation.machine.neighbour = 0;
  simulation.machine.quota = 4;
  simulation.machine.period = 10;
  double cpu_s = 0, wall_s = 0, throttled_s = 0;
  for (uint64_t i = 0; i < 20; i++) {
    assert_int_equal(mz_simulate_unit(&simulation, &plan, i, &clock, &unit), MZ_OK);
    cpu_s += unit.cpu_s, wall_s += unit.unit_s, throttled_s += unit.throttled_s;
  }
  assert_true(cpu_s <= 4 * (wall_s + 0.01) && throttled_s > 0.1 * wall_s);
}

static void test_the_same_comes_of_it_every_time(void **state) {
  (void)state;
  const mz_pipeline pipeline = mixed();
  mz_plan plan = mixed_plan();
  mz_simulation simulation = plain(&pipeline);
  assert_int_equal(mz_sim_machine_parse(&simulation.machine, "sim:cores=64,numa=2,gpus=1,neighbour=5,quota=40,tail=0.05,drift=2"),
                   MZ_OK);
  simulation.units = 8;
  for (uint64_t i = 0; i < 8; i++) {
    mz_sim_clock a = {0}, b = {0};
    mz_sim_unit first, second, other;
    memset(&first, 0, sizeof first), memset(&second, 0, sizeof second);
    assert_int_equal(mz_simulate_unit(&simulation, &plan, i, &a, &first), MZ_OK);
    assert_int_equal(mz_simulate_unit(&simulation, &plan, i, &b, &second), MZ_OK);
    assert_memory_equal(&first, &second, sizeof first);
    assert_memory_equal(&a, &b, sizeof a);
    assert_possible(&simulation, &plan, &first);
    simulation.seed++;
    b = (mz_sim_clock){0};
    assert_int_equal(mz_simulate_unit(&simulation, &plan, i, &b, &other), MZ_OK);
    assert_true(other.unit_s != first.unit_s);
    simulation.seed--;
  }
}

static void test_hundreds_of_threads_on_64_cores(void **state) {
  (void)state;
  const mz_pipeline pipeline = mixed();
  mz_plan plan = mixed_plan();
  mz_simulation simulation = plain(&pipeline);
  plan.values[POOL_BATCH] = 1, plan.values[BUILDERS] = 128;
  for (int64_t threads = 128; threads <= 512; threads *= 2) {
    plan.values[POOL_THREADS] = threads;
    assert_true(unit_s(&simulation, &plan, 0) > 0);
  }
  assert_int_equal(mz_sim_machine_parse(&simulation.machine, "sim:cores=64,numa=2"), MZ_OK);
  assert_true(unit_s(&simulation, &plan, 2) > 0);
}

/* Whoever takes or brings several items at once finds room for them in a queue of any depth. */
static void test_tasks_of_many_items_pass_a_short_queue(void **state) {
  (void)state;
  mz_pipeline pipeline = mixed();
  mz_simulation simulation = plain(&pipeline);
  mz_plan plan = mixed_plan();
  simulation.stages[2].lockstep = false;
  for (int brought = 1; brought <= 16; brought++) {
    for (int taken = 1; taken <= 16; taken++) {
      pipeline.stages[1].groups = ceil(16.0 / brought);
      pipeline.stages[2].groups = ceil(16.0 / taken);
      for (plan.values[DEPTH] = 1; plan.values[DEPTH] <= 16; plan.values[DEPTH] *= 2)
        assert_true(unit_s(&simulation, &plan, 0) > 0);
    }
  }
}

static void test_memory_that_cannot_be_had_is_said(void **state) {
  (void)state;
  const mz_pipeline pipeline = mixed();
  const mz_plan plan = mixed_plan();
  const mz_simulation simulation = plain(&pipeline);
  mz_sim_unit unit;
  int failed = 0;
  for (long n = 1;; n++) {
    mz_sim_clock clock = {0};
    mz_alloc_fail_after(n);
    const mz_status status = mz_simulate_unit(&simulation, &plan, 0, &clock, &unit);
    mz_alloc_fail_after(0);
    if (status == MZ_OK) break;
    assert_int_equal(status, MZ_E_MEMORY);
    failed++;
  }
  assert_true(failed >= 3);
}

/* ---- truth from probes ---- */

static void test_probes_are_taken_for_true(void **state) {
  (void)state;
  mz_pipeline pipeline = mixed();
  mz_sim_truth truths[MZ_STAGES_MAX];
  assert_int_equal(mz_sim_truth_from_probes(&pipeline, truths), MZ_E_CONFIG);
  mz_pipeline_stage *pool = &pipeline.stages[0], *build = &pipeline.stages[1], *learn = &pipeline.stages[2];
  for (int i = 0; i < 3; i++) {
    pool->probes[MZ_DEVICE_CPU].batch[i] = (double[]){1, 8, 64}[i];
    pool->probes[MZ_DEVICE_CPU].cpu_s[i] = 2e-5 / pool->probes[MZ_DEVICE_CPU].batch[i] + 1e-5;
  }
  pool->gives_way = true;
  learn->serial = 0.1;
  build->probes[MZ_DEVICE_CPU].batch[0] = learn->probes[MZ_DEVICE_CPU].batch[0] = 1;
  build->probes[MZ_DEVICE_CPU].cpu_s[0] = 5e-4, learn->probes[MZ_DEVICE_CPU].cpu_s[0] = 4e-3;
  assert_int_equal(mz_sim_truth_from_probes(&pipeline, truths), MZ_OK);
  assert_near(truths[0].fixed_s, 2e-5, 1e-6);
  assert_near(truths[0].item_s, 1e-5, 1e-6);
  assert_near(truths[1].item_s, 5e-4, 1e-9);
  assert_near(truths[2].item_s, 4e-3, 1e-9);
  assert_true(truths[2].lockstep && !truths[1].lockstep && !truths[0].lockstep);
  assert_true(truths[0].weight < truths[1].weight && truths[2].serial == 0.1);
  assert_near(truths[3].item_s, 0.004 * (12800 * 3e-5 + 16 * 4.5e-3), 1e-6);
  pool->probes[MZ_DEVICE_CPU].cpu_s[0] = 0.9e-5; /* a larger batch that costs more an item has no cost per call */
  assert_int_equal(mz_sim_truth_from_probes(&pipeline, truths), MZ_OK);
  assert_true(truths[0].fixed_s == 0 && truths[0].item_s > 0.9e-5 && truths[0].item_s < 1.3e-5);
  pool->probes[MZ_DEVICE_CPU].cpu_s[0] = 1e-3, pool->probes[MZ_DEVICE_CPU].cpu_s[1] = 1e-4,
  pool->probes[MZ_DEVICE_CPU].cpu_s[2] = 1e-5;
  assert_int_equal(mz_sim_truth_from_probes(&pipeline, truths), MZ_OK);
  assert_true(truths[0].item_s >= 0 && truths[0].fixed_s > 0.6e-3);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_without_effects_it_is_what_it_was),
                                     cmocka_unit_test(test_each_effect_costs_time_and_more_with_its_parameter),

                                     cmocka_unit_test(test_memory_is_short),
                                     cmocka_unit_test(test_a_gpu_takes_work_off_the_cores),
                                     cmocka_unit_test(test_neighbours_and_quotas_are_shown),
                                     cmocka_unit_test(test_the_same_comes_of_it_every_time),
                                     cmocka_unit_test(test_hundreds_of_threads_on_64_cores),
                                     cmocka_unit_test(test_tasks_of_many_items_pass_a_short_queue),
                                     cmocka_unit_test(test_memory_that_cannot_be_had_is_said),
                                     cmocka_unit_test(test_probes_are_taken_for_true)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
