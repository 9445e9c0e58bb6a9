/* The costs of stages are found again from a run on one core, and tell what plans do on more cores. */
#include "allocator/machine/simulation.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { ACTORS, GAMES, BUILDERS, LEARNERS, DEPTH, KNOBS };
enum { PLAY, BUILD, LEARN, FOLD, STAGES };
enum { BATCHES = 4, UNITS = 40 };
static const int64_t batches[BATCHES] = {1, 4, 16, 64};

static mz_pipeline trainer(int cores) {
  return (mz_pipeline){
      .name = "trainer",
      .stage_count = STAGES,
      .queue_count = 1,
      .device_count = 1,
      .knob_count = KNOBS,
      .stages =
          {[PLAY] =
               {.name = "play", .threads = ACTORS, .batch = GAMES, .device = -1, .items = 3200, .groups = 64, .gives_way = true},
           [BUILD] = {.name = "build", .threads = BUILDERS, .batch = -1, .device = -1, .items = 12, .groups = 12},
           [LEARN] = {.name = "learn", .threads = LEARNERS, .batch = -1, .device = -1, .items = 12, .groups = 8},
           [FOLD] = {.name = "fold", .step = 1, .threads = -1, .batch = -1, .device = -1, .items = 1}},
      .queues = {{.name = "batches", .from = BUILD, .to = LEARN, .capacity = DEPTH, .items = 12}},
      .devices = {{.name = "cpu:0", .cores = cores}},
      .knobs = {[ACTORS] = {"actors", MZ_EXACT, MZ_SCALE_LOG2, 1, 8},
                [GAMES] = {"games", MZ_EXACT, MZ_SCALE_LOG2, 1, 64},
                [BUILDERS] = {"builders", MZ_EXACT, MZ_SCALE_LOG2, 1, 8},
                [LEARNERS] = {"learners", MZ_EXACT, MZ_SCALE_LOG2, 1, 8},
                [DEPTH] = {"depth", MZ_EXACT, MZ_SCALE_LOG2, 1, 64}},
  };
}

/* The costs are invented, the noise is a machine's of which everything has its default. */
static mz_simulation invented(const mz_pipeline *pipeline, const char *machine) {
  mz_simulation s = {.pipeline = pipeline,
                     .stages = {[PLAY] = {.fixed_s = 6e-6, .item_s = 2e-6, .weight = 0.1},
                                [BUILD] = {.item_s = 4e-4, .weight = 1},
                                [LEARN] = {.item_s = 1.5e-3, .serial = 0.05, .lockstep = true, .weight = 1},
                                [FOLD] = {.item_s = 2e-4, .weight = 1}},
                     .seed = 11};
  if (mz_sim_machine_parse(&s.machine, machine) != MZ_OK) fail_msg("%s", mz_message());
  return s;
}

static mz_observation watch(const mz_simulation *s, const mz_plan *plan, uint64_t first) {
  mz_observation seen;
  assert_int_equal(mz_simulate(s, plan, first, UNITS, &seen), MZ_OK);
  return seen;
}

/* Every batch under one and two learners' threads, on one core. */
static int watch_one_core(mz_pipeline *pipeline, mz_observation *seen) {
  *pipeline = trainer(1);
  const mz_simulation s = invented(pipeline, "sim:cores=1,smt=0");
  int count = 0;
  for (int b = 0; b < BATCHES; b++)
    for (int64_t learners = 1; learners <= 2; learners++, count++)
      seen[count] = watch(&s, &(mz_plan){.values = {1, batches[b], 1, learners, 4}}, (uint64_t)(count * UNITS));
  return count;
}

static void assert_near(double value, double wanted, double relative) {
  if (!(fabs(value / wanted - 1) <= relative)) fail_msg("%.6g is not within %g of %.6g", value, relative, wanted);
}

static void test_costs_are_found_again(void **state) {
  (void)state;
  mz_pipeline pipeline;
  mz_observation seen[2 * BATCHES];
  mz_sim_truth found[MZ_STAGES_MAX] = {0};
  const int count = watch_one_core(&pipeline, seen);
  const mz_simulation known = invented(&pipeline, "sim:cores=1");
  for (int s = 0; s < STAGES; s++) pipeline.stages[s].items *= 3; /* what the pipeline was said to do does not count */
  assert_int_equal(mz_sim_truth_fit(&pipeline, seen, count, found), MZ_OK);
  assert_int_equal(found[PLAY].costs, BATCHES);
  assert_int_equal(found[LEARN].costs, 1);
  assert_true(found[LEARN].lockstep && !found[BUILD].lockstep && found[PLAY].weight < 1 && found[LEARN].weight == 1);
  for (int s = 0; s < STAGES; s++) {
    assert_near(pipeline.stages[s].items, trainer(1).stages[s].items, 1e-9);
    for (int i = 0; i < found[s].costs; i++)
      assert_near(found[s].batch_s[i], mz_sim_truth_item_s(&known.stages[s], found[s].batch[i]), 0.03);
  }
  assert_near(found[PLAY].fixed_s, known.stages[PLAY].fixed_s, 0.1);
  assert_near(found[PLAY].item_s, known.stages[PLAY].item_s, 0.1);
}

static void test_they_tell_what_plans_do_on_more_cores(void **state) {
  (void)state;
  mz_pipeline pipeline;
  mz_observation seen[2 * BATCHES];
  const int count = watch_one_core(&pipeline, seen);
  for (int cores = 2; cores <= 8; cores *= 2) {
    const mz_pipeline more = trainer(cores);
    char machine[40];
    snprintf(machine, sizeof machine, "sim:cores=%d,smt=0", cores);
    const mz_simulation known = invented(&more, machine);
    mz_pipeline fitted_pipeline = more;
    mz_simulation fitted = known;
    fitted.pipeline = &fitted_pipeline;
    fitted.seed = 12; /* another noise */
    for (int s = 0; s < STAGES; s++) fitted.stages[s] = (mz_sim_truth){.serial = known.stages[s].serial};
    assert_int_equal(mz_sim_truth_fit(&fitted_pipeline, seen, count, fitted.stages), MZ_OK);
    for (int64_t actors = 1; actors <= cores; actors *= 2)
      for (int b = 0; b < BATCHES; b++) {
        const mz_plan plan = {.values = {actors, batches[b], 1, actors < 8 ? actors : 8, 4}};
        assert_near(watch(&fitted, &plan, 0).unit_s, watch(&known, &plan, 0).unit_s, 0.05);
      }
  }
}

static void test_between_batches_and_beyond(void **state) {
  (void)state;
  const mz_sim_truth t = {.costs = 3, .batch = {2, 8, 32}, .batch_s = {8e-6, 4e-6, 5e-6}, .fixed_s = 1, .item_s = 1};
  assert_near(mz_sim_truth_item_s(&t, 1), 8e-6, 1e-12);
  assert_near(mz_sim_truth_item_s(&t, 2), 8e-6, 1e-12);
  assert_near(mz_sim_truth_item_s(&t, 4), sqrt(8e-6 * 4e-6), 1e-12);
  assert_near(mz_sim_truth_item_s(&t, 8), 4e-6, 1e-12);
  assert_near(mz_sim_truth_item_s(&t, 16), sqrt(4e-6 * 5e-6), 1e-12);
  assert_near(mz_sim_truth_item_s(&t, 500), 5e-6, 1e-12);
  assert_near(mz_sim_truth_item_s(&(mz_sim_truth){.fixed_s = 4, .item_s = 3}, 2), 5, 1e-12);
}

static void test_one_wild_measurement_does_not_count(void **state) {
  (void)state;
  mz_pipeline pipeline = trainer(1);
  mz_observation seen[5];
  mz_sim_truth found[MZ_STAGES_MAX] = {0};
  for (int i = 0; i < 5; i++) {
    seen[i] = (mz_observation){.plan = {.values = {1, 8, 1, 1, 4}}, .unit_s = 1};
    seen[i].stages[PLAY] = (mz_stage_sample){.items = 3200, .cpu_s = i == 3 ? 3200 : 3200e-6};
  }
  assert_int_equal(mz_sim_truth_fit(&pipeline, seen, 5, found), MZ_OK);
  assert_near(found[PLAY].batch_s[0], 1e-6, 1e-12);
  assert_int_equal(found[LEARN].costs, 0); /* nothing was seen of it */
}

static void test_nothing_seen_is_refused(void **state) {
  (void)state;
  mz_pipeline pipeline = trainer(1);
  const mz_observation seen = {.plan = {.values = {1, 8, 1, 1, 4}}, .unit_s = 1};
  mz_sim_truth found[MZ_STAGES_MAX] = {0};
  assert_int_equal(mz_sim_truth_fit(&pipeline, &seen, 1, found), MZ_E_CONFIG);
  assert_int_equal(mz_sim_truth_fit(&pipeline, &seen, 0, found), MZ_E_CONFIG);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_costs_are_found_again),      cmocka_unit_test(test_they_tell_what_plans_do_on_more_cores),
      cmocka_unit_test(test_between_batches_and_beyond), cmocka_unit_test(test_one_wild_measurement_does_not_count),
      cmocka_unit_test(test_nothing_seen_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
