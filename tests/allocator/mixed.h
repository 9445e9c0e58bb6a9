/* A pipeline of two pools beside a chain, on a machine without effects; and what any unit of it must keep to. */
#pragma once
#include "allocator/machine/simulation.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* All that a unit shows must be possible, whatever the machine. */
static inline void assert_possible(const mz_simulation *simulation, const mz_plan *plan, const mz_sim_unit *unit) {
  const mz_pipeline *p = simulation->pipeline;
  const double most = 1 + 1e-9;
  double cores = 0, gpus = 0;
  for (int d = 0; d < p->device_count; d++)
    *(p->devices[d].kind == MZ_DEVICE_CPU ? &cores : &gpus) += p->devices[d].kind == MZ_DEVICE_CPU ? p->devices[d].cores : 1;
  for (int s = 0; s < p->stage_count; s++) {
    const mz_stage_sample *sample = &unit->stages[s];
    const double threads = (double)mz_stage_threads(p, s, plan);
    assert_true(sample->busy_s + sample->wait_in_s + sample->wait_out_s <= threads * unit->unit_s * most);
    assert_true(sample->device_s >= 0 && sample->cpu_s + sample->device_s <= sample->busy_s * most);
    assert_true(sample->cpu_s <= sample->busy_s * most && sample->elapsed_s <= unit->unit_s * most && sample->cpu_s >= 0);
  }
  assert_true(unit->cpu_s + unit->others_cpu_s <= cores * unit->unit_s * most);
  assert_true(unit->throttled_s <= unit->unit_s * most && unit->waiting_s <= unit->unit_s * most);
  assert_true(unit->gpu_busy_s <= gpus * unit->unit_s * most);
  assert_true(unit->round_s <= unit->unit_s && unit->round_s > 0);
}

/* Two pools beside a chain whose last stage works in lockstep, on two nodes and a GPU. */
enum { POOL_THREADS, POOL_BATCH, BUILDERS, LEARNERS, DEPTH, POOL_DEVICE, LEARNER_DEVICE, MIXED_KNOBS };

static inline mz_pipeline mixed(void) {
  return (mz_pipeline){
      .name = "mixed",
      .stage_count = 4,
      .queue_count = 1,
      .device_count = 3,
      .knob_count = MIXED_KNOBS,
      .stages = {{.name = "pool",
                  .threads = POOL_THREADS,
                  .batch = POOL_BATCH,
                  .device = POOL_DEVICE,
                  .items = 12800,
                  .groups = 128,
                  .bytes_slot = 1 << 16},
                 {.name = "build", .threads = BUILDERS, .batch = -1, .device = LEARNER_DEVICE, .items = 16, .groups = 16},
                 {.name = "learn", .threads = LEARNERS, .batch = -1, .device = LEARNER_DEVICE, .items = 16, .groups = 8},
                 {.name = "fold", .step = 1, .threads = -1, .batch = -1, .device = LEARNER_DEVICE, .items = 1}},
      .queues = {{.name = "batches", .from = 1, .to = 2, .capacity = DEPTH, .items = 16}},
      .devices = {{.name = "cpu:0", .cores = 32}, {.name = "cpu:1", .cores = 32}, {.name = "cuda:0", .kind = MZ_DEVICE_CUDA}},
      .knobs = {[POOL_THREADS] = {"pool_threads", MZ_EXACT, MZ_SCALE_LOG2, 1, 512},
                [POOL_BATCH] = {"pool_batch", MZ_EXACT, MZ_SCALE_LOG2, 1, 128},
                [BUILDERS] = {"builders", MZ_EXACT, MZ_SCALE_LOG2, 1, 128},
                [LEARNERS] = {"learners", MZ_EXACT, MZ_SCALE_LOG2, 1, 8},
                [DEPTH] = {"depth", MZ_EXACT, MZ_SCALE_LOG2, 1, 64},
                [POOL_DEVICE] = {"pool_device", MZ_NUMERIC, MZ_SCALE_CHOICE, 0, 2},
                [LEARNER_DEVICE] = {"learner_device", MZ_NUMERIC, MZ_SCALE_CHOICE, 0, 2}},
  };
}
static inline mz_plan mixed_plan(void) { return (mz_plan){.values = {32, 4, 4, 8, 4, 0, 0}}; }

static inline mz_simulation plain(const mz_pipeline *pipeline) {
  return (mz_simulation){.pipeline = pipeline,
                         .machine = {.cores = 64,
                                     .numa = 2,
                                     .gpus = 1,
                                     .period = 100,
                                     .neighbour_weight = 1,
                                     .core_bandwidth = 10,
                                     .l2 = 64,
                                     .l3 = 4,
                                     .tail_shape = 2,
                                     .gpu_speed = 50,
                                     .gpu_link = 25,
                                     .gpu_share = 0.8,
                                     .gpu_latency = 20},
                         .stages = {{.fixed_s = 2e-5, .item_s = 1e-5, .weight = 0.1},
                                    {.item_s = 5e-4, .weight = 1},
                                    {.item_s = 1e-3, .serial = 0.1, .lockstep = true, .weight = 1},
                                    {.item_s = 1e-3, .weight = 1}},
                         .seed = 3};
}

static inline double mean_s(const mz_simulation *simulation, const mz_plan *plan) {
  enum { UNITS = 12 };
  double sum = 0;
  mz_sim_clock clock = {0};
  for (uint64_t i = 0; i < UNITS; i++) {
    mz_sim_unit unit;
    assert_int_equal(mz_simulate_unit(simulation, plan, i, &clock, &unit), MZ_OK);
    assert_possible(simulation, plan, &unit);
    sum += unit.unit_s / UNITS;
  }
  return sum;
}
