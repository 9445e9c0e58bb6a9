/* Whole runs on a simulated machine in a world that is made up: learning curves of CartPole in two batch sizes, and what stages cost. */
#pragma once
#include "muzero/compare/simulated_whole.h"
#include "muzero/run.h"
#include "muzero/steering/curve_record.h"
#include "muzero/steering/trainer_pipeline.h"
#include "testing.h"
#include <math.h>
#include <stdlib.h>

enum { EPOCHS = 60, SEEDS = 8, BATCHES = 2, CURVES = SEEDS * BATCHES };
static const double ROWS[BATCHES] = {64, 256}, TARGET = 400, EVALUATION_S = 0.02, OTHER_S = 0.005;

static inline double noise_scale_at(int epoch, double rows) { return rows + 10 * epoch; }

/* A score of 500 · (1 − exp(−epoch / scale)), where the scale differs from seed to seed and is larger for large batches. */
static inline mz_curve curve_of(int seed, double rows, double moves) {
  mz_curve curve = {.seed = (uint64_t)seed + 1, .moves = moves, .timed = true, .learned = true, .count = EPOCHS};
  const double scale = 5 * exp(0.08 * (seed - 0.5 * SEEDS)) * sqrt(rows / 64);
  curve.epochs = calloc(EPOCHS, sizeof *curve.epochs);
  assert_non_null(curve.epochs);
  for (int e = 0; e < EPOCHS; e++)
    curve.epochs[e] = (mz_epoch){.number = e + 1,
                                 .score = 500 * (1 - exp(-(e + 1) / scale)),
                                 .wall_s = (e + 1) * (0.5 + EVALUATION_S + OTHER_S),
                                 .rounds_s = 0.5,
                                 .evaluation_s = EVALUATION_S,
                                 .batch_size = rows,
                                 .amounts = {1, 0, 0.1},
                                 .noise_scale = noise_scale_at(e + 1, rows)};
  return curve;
}

/* Larger batches cost less a row. */
static inline mz_simulated_probes probes_of(double rows) {
  mz_simulated_probes p = {.stages = {.stage_count = MZ_STAGE_EVALUATE + 1}, .process_bytes = 40 << 20};
  p.stages.stages[MZ_STAGE_ACTOR] = (mz_pipeline_stage){.probes = {{.batch = {1, 8, 32}, .cpu_s = {4e-6, 1.6e-6, 1.3e-6}}}};
  p.stages.stages[MZ_STAGE_BATCH] = (mz_pipeline_stage){.probes = {{.batch = {1}, .cpu_s = {5e-7 * rows}}}};
  p.stages.stages[MZ_STAGE_LEARNER] = (mz_pipeline_stage){.probes = {{.batch = {1}, .cpu_s = {1e-4 + 8e-6 * rows}}}};
  return p;
}

static inline mz_simulated_runs *runs_on(const char *machine) {
  const mz_run_options run = {.env = "cartpole"};
  mz_simulated_runs *r = calloc(1, sizeof *r);
  mz_memory memory;
  assert_non_null(r);
  r->env = env_named("cartpole");
  r->env_name = "cartpole";
  r->machine_text = machine;
  r->key = (mz_curve_key){.env = "cartpole", .network = "of the test", .learning = "of the test"};
  r->target = TARGET;
  expect_ok(mz_sim_machine_parse(&r->machine, machine));
  expect_ok(mz_settings_for_new_run(&run, &r->settings));
  r->curves = calloc(CURVES, sizeof *r->curves);
  assert_non_null(r->curves);
  for (; r->count < CURVES; r->count++)
    r->curves[r->count] = curve_of(r->count / BATCHES, ROWS[r->count % BATCHES], mz_epoch_moves(&r->settings));
  expect_ok(mz_epoch_rest_init(&r->rest, r->curves, CURVES));
  expect_ok(mz_epoch_score_init(&r->score, r->curves, CURVES, TARGET));
  r->learned = calloc(CURVES, sizeof *r->learned);
  assert_non_null(r->learned);
  for (; r->learned_count < CURVES; r->learned_count++)
    r->learned[r->learned_count] =
        curve_of(r->learned_count / BATCHES, ROWS[r->learned_count % BATCHES], mz_epoch_moves(&r->settings));
  for (int i = 0; i < CURVES; i++) r->curves[i].timed = false;
  assert_true(mz_curves_range(r->learned, CURVES, &r->start, &r->ceiling));
  r->ceiling = mz_course_fit_ceiling(r->start, r->ceiling);
  r->probes = calloc(BATCHES, sizeof *r->probes);
  assert_non_null(r->probes);
  for (int b = 0; b < BATCHES; b++) r->probes[b] = probes_of(ROWS[b]);
  const mz_grants grants = mz_sim_machine_grants(&r->machine, mz_sim_machine_cores(&r->machine), 0);
  expect_ok(mz_bounds_resolve(&r->place.bounds, &r->settings.allocation, &grants));
  expect_ok(mz_memory_count(&memory, r->env, &r->settings, NULL));
  mz_sim_machine_devices(&r->machine, &r->place.outset.devices);
  expect_ok(mz_outset_on_devices(&r->place.outset, &r->settings, &memory, &(mz_outset_options){.bounds = r->place.bounds}));
  return r;
}
