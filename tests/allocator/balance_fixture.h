/* A plant whose balance can be set: how busy each stage is, what it waits for, and what is used. */
#pragma once
#include "allocator/balance/balance_advice.h"
#include "tests/allocator/plant.h"

enum { OVEN = PLANT_KNOBS, CORES = 16, DRAWS = 5000 };
__attribute__((unused)) static const double TINY = 1e-9;

/* A plant, its last window, what came of it. */
typedef struct seen {
  plant p;
  mz_balance balance;
  mz_balance_memory memory;
  mz_advice advice;
} seen;

static inline mz_situation situation_of(const seen *s) { return plant_situation(&s->p); }

static inline void read_balance(seen *s) {
  for (int i = 0; i < 2; i++) {
    const double time_s = (double)mz_stage_threads(&s->p.pipeline, i, &s->p.plan) * s->p.window.wall_s;
    mz_forecaster_observe(&s->p.utilisation[i], s->p.window.stages[i].busy_s / time_s);
  }
  const mz_situation situation = situation_of(s);
  mz_balance_read(&s->balance, &situation, NULL);
}

static inline const mz_advice *next_advice(seen *s) {
  s->p.window.number++;
  read_balance(s);
  const mz_situation situation = situation_of(s);
  mz_balance_advise(&s->balance, &situation, &s->memory, &s->advice);
  return &s->advice;
}

static inline const mz_resource_balance *resource_of(const seen *s, mz_resource r) { return &s->balance.resources[r]; }

/* busy, waiting for input, waiting for room: shares of the time of a stage's threads. */
static inline void set_stage(seen *s, int stage, double busy, double in, double out) {
  const double time_s = (double)mz_stage_threads(&s->p.pipeline, stage, &s->p.plan) * s->p.window.wall_s;
  s->p.window.stages[stage] = (mz_stage_sample){.items = 1,
                                                .busy_s = busy * time_s,
                                                .cpu_s = busy * time_s,
                                                .wait_in_s = in * time_s,
                                                .wait_out_s = out * time_s,
                                                .elapsed_s = s->p.window.wall_s};
}

static inline void set_cores(seen *s, double cores) {
  s->p.window.usage.core_share_p95 = cores / s->p.bounds.cpu_max;
  s->p.window.usage.cpu_s = cores * s->p.window.wall_s;
}

static inline void set_resident(seen *s, double share) {
  s->p.window.usage.rss_bytes = s->p.window.usage.rss_peak_bytes = share * mz_plan_bytes(&s->p.pipeline, &s->p.plan, NULL, 0);
}

/* 8 makers, 4 users, 16 cores; nobody waits, everything that is reserved is used. */
static inline seen balanced(void) {
  seen s = {.memory = {.turns = {0}}};
  plant_init(&s.p, CORES);
  s.p.settings.core_hour = 1, s.p.settings.gpu_hour = 20, s.p.settings.gib_hour = 0.1;
  s.p.bounds.memory_max = 0x1p34;
  s.p.plan = (mz_plan){.values = {8, 8, 4, 16, 0}};
  s.p.pipeline.stages[MAKE].groups = 0; /* as many tasks as there are threads for */
  s.p.window = (mz_window){.units = 10, .wall_s = 10, .score = NAN, .usage = {.wall_s = 10, .available_bytes = 0x1p33}};
  s.p.window.usage.missing = 1u << MZ_SENSOR_GPU;
  set_stage(&s, MAKE, 1, 0, 0);
  set_stage(&s, USE, 1, 0, 0);
  s.p.window.stages[SWEEP] = (mz_stage_sample){0};
  set_cores(&s, 12);
  set_resident(&s, 1);
  return s;
}

/* Users work on a GPU; there are `count`. */
static inline seen with_gpus(int count) {
  seen s = balanced();
  mz_pipeline *p = &s.p.pipeline;
  for (int i = 0; i < count; i++) {
    p->devices[1 + i] = (mz_device){.kind = MZ_DEVICE_CUDA};
    snprintf(p->devices[1 + i].name, sizeof p->devices[1 + i].name, "cuda:%d", i);
  }
  p->device_count = 1 + count;
  p->knobs[OVEN] = (mz_knob){"oven", MZ_EXACT, MZ_SCALE_CHOICE, 0, count, ""};
  p->knob_count = OVEN + 1;
  p->stages[USE].device = OVEN;
  s.p.plan.values[OVEN] = 1;
  s.p.bounds.gpu_max = count;
  s.p.window.usage.missing = 0;
  s.p.window.usage.gpu_busy = 1;
  assert_int_equal(mz_pipeline_check(p), MZ_OK);
  return s;
}

static inline void expect_text(const char *text, const char *words) {
  if (!strstr(text, words)) fail_msg("'%s' is not in: %s", words, text);
}
