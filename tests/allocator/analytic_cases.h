/* Pipelines and plans that the analytic model is checked on. */
#pragma once
#include "allocator/model/analytic.h"
#include "base/maths/rng.h"
#include "tests/allocator/support/random_pipeline.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static inline void assert_near(double value, double wanted, double relative) {
  if (!(fabs(value - wanted) <= relative * fabs(wanted))) fail_msg("%.9g is not within %g of %.9g", value, relative, wanted);
}

static inline int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

typedef struct spread {
  double median, p90, p99, worst;
} spread;

/* Quantiles of relative errors, which it sorts. */
static inline spread spread_of(const char *what, double *errors, int n) {
  qsort(errors, (size_t)n, sizeof *errors, by_value);
  const spread s = {errors[n / 2], errors[n * 9 / 10], errors[n * 99 / 100], errors[n - 1]};
  printf("%s: errors of %d: median %.1f %%, 90 %% within %.1f %%, 99 %% within %.1f %%, worst %.1f %%\n", what, n, 100 * s.median,
         100 * s.p90, 100 * s.p99, 100 * s.worst);
  return s;
}

/* ---- a small pipeline: two pools beside each other, or a producer and a consumer ---- */

enum { THREADS_A, THREADS_B, BATCH, PLACES, SMALL_KNOBS };

static inline mz_pipeline small(int cores, double groups) {
  return (mz_pipeline){
      .name = "small",
      .stage_count = 2,
      .device_count = 1,
      .knob_count = SMALL_KNOBS,
      .stages = {{.name = "a", .threads = THREADS_A, .batch = BATCH, .device = -1, .items = 100, .groups = groups},
                 {.name = "b", .threads = THREADS_B, .batch = -1, .device = -1, .items = 100}},
      .queues = {{.name = "q", .from = 0, .to = 1, .capacity = PLACES, .items = 100}},
      .devices = {{.name = "cpu:0", .cores = cores}},
      .knobs = {[THREADS_A] = {"threads_a", MZ_EXACT, MZ_SCALE_LOG2, 1, 32},
                [THREADS_B] = {"threads_b", MZ_EXACT, MZ_SCALE_LOG2, 1, 32},
                [BATCH] = {"batch", MZ_EXACT, MZ_SCALE_LOG2, 1, 1024},
                [PLACES] = {"places", MZ_EXACT, MZ_SCALE_LOG2, 1, 1024}}};
}

static inline mz_plan plan_of(int64_t a, int64_t b, int64_t batch, int64_t places) {
  return (mz_plan){.values = {a, b, batch, places}};
}

/* Without variation, and with full overlap: what remains is arithmetic. */
static inline mz_analytic exact(const mz_pipeline *pipeline, double a_fixed, double a_item, double b_item) {
  mz_analytic model;
  mz_analytic_init(&model, pipeline, pipeline->devices[0].cores);
  model.variation = 0;
  model.gamma = 10;
  model.stages[0].costs[MZ_DEVICE_CPU].fixed_s = a_fixed;
  model.stages[0].costs[MZ_DEVICE_CPU].item_s = a_item;
  model.stages[1].costs[MZ_DEVICE_CPU].item_s = b_item;
  return model;
}
