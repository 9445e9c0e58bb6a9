/* Courses of random numbers, for tests of those who decide in them. */
#pragma once
#include "base/course/course_policy.h"
#include "base/maths/rng.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static inline double between(mz_rng *rng, double low, double high) { return low + (high - low) * mz_rng_f64(rng); }

/* A course of random numbers, with limits that are easy, hard or impossible to keep. */
static inline void invent(mz_course *out, mz_rng *rng, int stages, int plans) {
  memset(out, 0, sizeof *out);
  out->stages = stages;
  out->plans = plans;
  out->prices[MZ_COURSE_CORES] = 1;
  out->ceiling = 1;
  out->spread = mz_rng_below(rng, 2) ? 0.2 : 0;
  out->slower = mz_rng_below(rng, 2) ? 0.7 : 0;
  out->faster = mz_rng_below(rng, 2) ? 0.4 : 0;
  out->bursts = mz_rng_below(rng, 2) ? 0.8 : 0;
  out->resize_penalty = mz_rng_below(rng, 2) ? 0.1 : 0;
  out->ends_at_score = mz_rng_below(rng, 2);
  out->deadline_s = stages * between(rng, 20, 150);
  out->budget = stages * between(rng, 20, 200) / 3600;
  out->target = between(rng, 0.05, 0.99);
  for (int p = 0; p < plans; p++) {
    out->plan[p].amounts[MZ_COURSE_CORES] = between(rng, 0.5, 4);
    out->plan[p].batch_size = between(rng, 1, 1000);
  }
  for (int s = 0; s < stages; s++) {
    out->noise_scale[s] = between(rng, 1, 1000);
    for (int p = 0; p < plans; p++)
      out->cell[s][p] =
          (mz_course_cell){.seconds = between(rng, 10, 100), .growth = mz_rng_below(rng, 50) ? between(rng, 0, 0.7) : 1};
  }
  assert_int_equal(mz_course_prepare(out, "invented"), MZ_OK);
}
