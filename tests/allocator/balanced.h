/* A pipeline that is simulated, with nothing but the balance factor to move its plan. */
#pragma once
#include "allocator/balance/balance_advice.h"
#include "tests/allocator/support/random_pipeline.h"
#include <math.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { LOOP_UNITS = 4 };

typedef struct loop {
  const random_pipeline *random;
  mz_allocation_settings settings;
  mz_bounds bounds;
  mz_plan plan;
  mz_window window;
  mz_forecaster utilisation[MZ_STAGES_MAX], cores, memory;
  mz_balance balance;
  mz_balance_memory state;
  mz_advice advice;
  int changes, reversals;
  int directions[MZ_PLAN_KNOBS_MAX];
} loop;

static inline void loop_init(loop *l, const random_pipeline *random, const mz_plan *start) {
  *l = (loop){.random = random,
              .settings = {.core_hour = 1, .gpu_hour = 20, .gib_hour = 0.1},
              .bounds = {.cpu_max = random->pipeline.devices[0].cores, .memory_max = 0x1p60},
              .plan = *start};
  for (int s = 0; s < MZ_STAGES_MAX; s++) mz_forecaster_init(&l->utilisation[s]);
  mz_forecaster_init(&l->cores);
  mz_forecaster_init(&l->memory);
}

static inline mz_situation loop_situation(const loop *l) {
  return (mz_situation){.pipeline = &l->random->pipeline,
                        .settings = &l->settings,
                        .bounds = &l->bounds,
                        .plan = &l->plan,
                        .window = &l->window,
                        .utilisation = l->utilisation,
                        .cores = &l->cores,
                        .memory = &l->memory};
}

/* A window of some units; nine tenths of what the plan may need are resident. */
static inline void loop_window(loop *l) {
  const mz_pipeline *p = &l->random->pipeline;
  mz_window *w = &l->window;
  const int64_t number = w->number + 1;
  const mz_observation o = simulate_units(&l->random->simulation, &l->plan, (uint64_t)(number * LOOP_UNITS), LOOP_UNITS);
  *w = (mz_window){.number = number, .units = 1, .wall_s = o.unit_s, .score = NAN};
  memcpy(w->stages, o.stages, sizeof o.stages);
  w->usage = (mz_usage){.missing = 1u << MZ_SENSOR_GPU | 1u << MZ_SENSOR_MEMORY,
                        .wall_s = o.unit_s,
                        .cpu_s = o.cpu_s,
                        .rss_peak_bytes = 0.9 * mz_plan_bytes(p, &l->plan, NULL, 0),
                        .core_share_p95 = fmin(1, o.cpu_s / (o.unit_s * l->bounds.cpu_max))};
  for (int s = 0; s < p->stage_count; s++)
    mz_forecaster_observe(&l->utilisation[s], o.stages[s].busy_s / ((double)mz_stage_threads(p, s, &l->plan) * o.unit_s));
}

static inline void loop_follow(loop *l) {
  for (int k = 0; k < l->random->pipeline.knob_count; k++) {
    const int64_t step = l->advice.plan.values[k] - l->plan.values[k];
    const int direction = step > 0 ? 1 : -1;
    if (step == 0) continue;
    l->reversals += l->directions[k] == -direction;
    l->directions[k] = direction;
  }
  l->changes++;
  l->plan = l->advice.plan;
}

/* Windows in which every advice is followed at once. */
static inline void loop_run(loop *l, int windows) {
  for (int i = 0; i < windows; i++) {
    loop_window(l);
    const mz_situation situation = loop_situation(l);
    mz_balance_read(&l->balance, &situation, NULL);
    mz_balance_advise(&l->balance, &situation, &l->state, &l->advice);
    if (l->advice.change) loop_follow(l);
  }
}

static inline double loop_unit_s(const loop *l, const mz_plan *plan) {
  return simulate_units(&l->random->simulation, plan, 1 << 20, 8).unit_s;
}
