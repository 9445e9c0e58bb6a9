/* Lessons for predictors: plans of a random pipeline that a discrete-event simulation has timed, and the program's own pretrained
 * networks. */
#pragma once
#include "allocator/predictors/champion.h"
#include "allocator/predictors/pretrained.h"
#include "base/maths/rng.h"
#include "tests/allocator/support/random_pipeline.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { PLANS = 24, WINDOWS = 3, UNITS = 6, SEEN = PLANS * WINDOWS };

static mz_pretrained *pretrained; /* the program's own, of all tests here */

static inline int open_pretrained(void **state) {
  (void)state;
  return mz_pretrained_bundled(&pretrained);
}

static inline int close_pretrained(void **state) {
  (void)state;
  mz_pretrained_free(pretrained);
  return 0;
}

static inline bool is_bundled(const mz_predictor *p) {
  return p == &mz_predictor_mlp || p == &mz_predictor_graph || p == &mz_predictor_graph_residual;
}

/* Makes lessons as a champion makes them of what it is taught. */
static inline void lessons_init(mz_lessons *l, const mz_pipeline *pipeline, double cores, const mz_observation *seen, int count) {
  mz_lessons_init(l, pipeline, cores, seen, count);
  assert_int_equal(mz_pretrained_prepare(pretrained, pipeline), MZ_OK);
  l->pretrained = pretrained;
}

typedef struct school {
  random_pipeline real;
  mz_observation seen[SEEN];
  mz_lessons lessons;
} school;

/* Different plans, each in three windows, oldest first; `factor` is what a window's level of cost is. */
static inline void school_open(school *s, uint64_t seed, double (*factor)(int window)) {
  memset(s, 0, sizeof *s);
  random_pipeline_init(&s->real, seed, 8, 16);
  mz_plan plans[PLANS];
  uint64_t draw = 0;
  for (int p = 0; p < PLANS;) {
    plans[p] = random_pipeline_plan(&s->real.pipeline, 100 * seed + draw++);
    bool drawn = false;
    for (int i = 0; i < p; i++) drawn = drawn || mz_plan_equal(&s->real.pipeline, &plans[i], &plans[p]);
    p += !drawn || draw > 5000; /* a space smaller than that */
  }
  for (int i = 0; i < SEEN; i++) {
    s->seen[i] = simulate_units(&s->real.simulation, &plans[i % PLANS], (uint64_t)(i / PLANS * UNITS), UNITS);
    s->seen[i].unit_s *= factor ? factor(i) : 1;
  }
  lessons_init(&s->lessons, &s->real.pipeline, s->real.pipeline.devices[0].cores, s->seen, SEEN);
}

/* Makes what was seen a quadratic of logarithms of two knobs, without noise. */
static inline void school_see_quadratic(school *s) {
  for (int i = 0; i < SEEN; i++) {
    const double a = log2(1 + (double)s->seen[i].plan.values[0]), b = log2(1 + (double)s->seen[i].plan.values[1]);
    s->seen[i].unit_s = exp(0.2 - 0.4 * a + 0.1 * a * a + 0.05 * a * b);
    s->seen[i].noise = 0;
  }
}

static inline mz_contender judged(const mz_lessons *lessons, const mz_predictor *predictor) {
  mz_contest_room *room;
  mz_contender c;
  assert_int_equal(mz_contest_room_create(&room, SEEN), MZ_OK);
  mz_contest_judge(lessons, predictor, 0, room, &c);
  mz_contest_room_free(room);
  return c;
}

static inline void *fitted(const mz_predictor *predictor, const mz_lessons *lessons) {
  void *memory = calloc(1, predictor->memory_bytes);
  assert_non_null(memory);
  predictor->fit(memory, lessons);
  return memory;
}
