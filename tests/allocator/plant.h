/* A tiny invented plant: makers fill a shelf, users empty it, a sweep follows. Windows of it are computed from how much work
 * there is, so that a strategy can be driven through hundreds of phases. */
#pragma once
#include "allocator/strategies/strategy.h"
#include "base/maths/rng.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

enum { MAKERS, TRAYS, USERS, SHELF, PLANT_KNOBS };
enum { MAKE, USE, SWEEP, PLANT_STAGES };
enum { TABU_MAX = 8 };

typedef struct plant {
  mz_pipeline pipeline;
  mz_allocation_settings settings;
  mz_bounds bounds;
  mz_plan plan;
  /* What happens in it. */
  double work_s[2];              /* CPU seconds per unit: making, using */
  double pace_s;                 /* seconds per unit at the least: it waits for the world */
  double blocked[2], starved[2]; /* shares of the threads' time */
  double resident;               /* bytes; 0: no sensor */
  double noise;                  /* standard deviation of use, added */
  mz_plan tabu[TABU_MAX];
  int tabu_count;
  /* What is seen of it. */
  mz_window window;
  mz_forecaster utilisation[PLANT_STAGES], cores, memory;
  mz_rng rng;
  _Alignas(max_align_t) uint8_t strategy_memory[MZ_STRATEGY_MEMORY_MAX];
  mz_proposal proposal;
  int changes;
} plant;

static inline void plant_init(plant *p, int cores) {
  *p = (plant){
      .pipeline =
          {.name = "plant",
           .unit_samples = 100,
           .bytes_fixed = 100 << 20,
           .stage_count = PLANT_STAGES,
           .queue_count = 1,
           .device_count = 1,
           .knob_count = PLANT_KNOBS,
           .stages = {[MAKE] = {.name = "make",
                                .threads = MAKERS,
                                .batch = TRAYS,
                                .device = -1,
                                .items = 64,
                                .groups = 64,
                                .bytes_thread = 1 << 20,
                                .bytes_slot = 1 << 20},
                      [USE] = {.name = "use", .threads = USERS, .batch = -1, .device = -1, .items = 8, .bytes_thread = 8 << 20},
                      [SWEEP] = {.name = "sweep", .step = 1, .threads = -1, .batch = -1, .device = -1, .items = 1}},
           .queues = {{.name = "shelf", .from = MAKE, .to = USE, .capacity = SHELF, .items = 8, .bytes = 1 << 20}},
           .devices = {{.name = "cpu:0", .kind = MZ_DEVICE_CPU, .cores = cores}},
           .knobs = {[MAKERS] = {"makers", MZ_EXACT, MZ_SCALE_LOG2, 1, 2 * cores},
                     [TRAYS] = {"trays", MZ_EXACT, MZ_SCALE_LOG2, 1, 64},
                     [USERS] = {"users", MZ_EXACT, MZ_SCALE_LOG2, 1, 2 * cores},
                     [SHELF] = {"shelf", MZ_EXACT, MZ_SCALE_LOG2, 1, 64}}},
      .settings = {.strategy = "demand", .high = 0.8, .low = 0.2, .windows = 3},
      .bounds = {.cpu_max = cores, .memory_max = 0x1p33},
      .plan = {.values = {1, 8, 1, 4}},
      .work_s = {1, 1},
      .rng = mz_rng_at(1, MZ_RNG_TEST, 0, 0),
  };
  for (int s = 0; s < PLANT_STAGES; s++) mz_forecaster_init(&p->utilisation[s]);
  mz_forecaster_init(&p->cores);
  mz_forecaster_init(&p->memory);
}

/* Threads share the cores; the slowest pool, the cores or the world set the pace. */
static inline void plant_run(plant *p) {
  const double cores = p->pipeline.devices[0].cores;
  double wall_s = fmax(p->pace_s, (p->work_s[MAKE] + p->work_s[USE]) / cores), threads[2], all = 0;
  for (int s = 0; s < 2; s++) {
    threads[s] = (double)mz_stage_threads(&p->pipeline, s, &p->plan);
    all += threads[s];
    wall_s = fmax(wall_s, p->work_s[s] / threads[s]);
  }
  mz_window *w = &p->window;
  *w = (mz_window){.phase = w->phase + 1, .round = w->round + 10, .units = 10, .wall_s = 10 * wall_s, .score = NAN};
  for (int s = 0; s < 2; s++) {
    const double share = p->work_s[s] / (threads[s] * wall_s) * fmax(1, all / cores) + p->noise * (double)mz_rng_normal(&p->rng);
    const double time_s = threads[s] * w->wall_s;
    w->stages[s] = (mz_stage_sample){.items = 10 * p->pipeline.stages[s].items,
                                     .busy_s = fmin(fmax(share, 0), 1) * time_s,
                                     .cpu_s = 10 * p->work_s[s],
                                     .wait_in_s = p->starved[s] * time_s,
                                     .wait_out_s = p->blocked[s] * time_s};
  }
  w->usage = (mz_usage){.wall_s = w->wall_s, .cpu_s = 10 * (p->work_s[MAKE] + p->work_s[USE]), .rss_bytes = p->resident};
  if (p->resident == 0) w->usage.missing |= 1u << MZ_SENSOR_RSS;
  for (int s = 0; s < PLANT_STAGES; s++)
    mz_forecaster_observe(&p->utilisation[s],
                          w->stages[s].busy_s / ((double)mz_stage_threads(&p->pipeline, s, &p->plan) * w->wall_s));
  mz_forecaster_observe(&p->cores, w->usage.cpu_s / w->wall_s);
  mz_forecaster_observe(&p->memory, p->resident > 0 ? p->resident : NAN);
}

static inline bool plant_tabu(const void *context, const mz_plan *plan) {
  const plant *p = context;
  for (int i = 0; i < p->tabu_count; i++)
    if (mz_plan_equal(&p->pipeline, plan, &p->tabu[i])) return true;
  return false;
}

static inline mz_situation plant_situation(const plant *p) {
  return (mz_situation){.pipeline = &p->pipeline,
                        .settings = &p->settings,
                        .bounds = &p->bounds,
                        .plan = &p->plan,
                        .window = &p->window,
                        .utilisation = p->utilisation,
                        .cores = &p->cores,
                        .memory = &p->memory,
                        .tabu = plant_tabu,
                        .tabu_context = p};
}

/* A phase: the window, the proposal. */
static inline const mz_proposal *plant_phase(plant *p, const mz_strategy *strategy) {
  plant_run(p);
  const mz_situation situation = plant_situation(p);
  strategy->propose(&situation, p->strategy_memory, &p->proposal);
  return &p->proposal;
}

/* Phases in which every proposal is carried out at once. */
static inline void plant_phases(plant *p, const mz_strategy *strategy, int phases) {
  for (int i = 0; i < phases; i++) {
    if (!plant_phase(p, strategy)->change) continue;
    p->changes++;
    p->plan = p->proposal.plan;
  }
}

/* Until something is proposed, at most `phases`; it is not carried out. */
static inline const mz_proposal *plant_until_change(plant *p, const mz_strategy *strategy, int phases) {
  for (int i = 0; i < phases; i++)
    if (plant_phase(p, strategy)->change) break;
  return &p->proposal;
}
