/* A random pipeline whose model is known, and the strategy greedy before it. */
#pragma once
#include "allocator/strategies/strategy.h"
#include "base/maths/rng.h"
#include "tests/allocator/support/random_pipeline.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef struct stand {
  random_pipeline random;
  mz_allocation_settings settings;
  mz_bounds bounds;
  mz_analytic model;
  mz_plan plan;
  mz_situation situation;
} stand;

static inline void stand_init(stand *s, uint64_t seed) {
  memset(s, 0, sizeof *s);
  random_pipeline_init(&s->random, seed, 16, 16);
  s->settings = (mz_allocation_settings){.core_hour = 1, .gib_hour = 0.1};
  s->bounds = (mz_bounds){.cpu_max = s->random.pipeline.devices[0].cores, .memory_max = 0x1p60};
  s->model = random_pipeline_model(&s->random);
  s->model.sigma = 0; /* it is sure of itself: what it predicts is what counts */
  s->plan = random_pipeline_least(&s->random.pipeline);
  s->situation = (mz_situation){
      .pipeline = &s->random.pipeline, .settings = &s->settings, .bounds = &s->bounds, .plan = &s->plan, .model = &s->model};
}

static inline mz_proposal ask(const stand *s) {
  mz_proposal p;
  memset(&p, 0xAA, sizeof p);
  uint64_t memory[MZ_STRATEGY_MEMORY_MAX / 8] = {0};
  assert_true(mz_strategy_greedy.memory_bytes <= sizeof memory);
  mz_strategy_greedy.propose(&s->situation, memory, &p);
  return p;
}

static inline bool may_be(const stand *s, const mz_plan *plan) {
  if (mz_plan_refused(&s->random.pipeline, &s->bounds, plan) != NULL) return false;
  return s->situation.tabu == NULL || !s->situation.tabu(s->situation.tabu_context, plan);
}
