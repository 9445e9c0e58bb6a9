/* How far the stages that pools of runs foretell are from those of a run that is not among them. */
#pragma once
#include "allocator/runs/stage_pool.h"

#define MZ_FIT_ERROR_MAX 0.15 /* above it a course says nothing of real runs */

typedef struct mz_course_fit_error {
  /* Medians of |foretold − measured| over the stages of every run, with the runs of its seed left out: of a stage's seconds, relative
   * to them; of the score at its end, foretold from the run's own score at its start, relative to what the target asks for above the
   * start. NAN: no run could be foretold from others. */
  double seconds, score;
  /* The noise: the medians of how far a run is from others of the same settings at the same stage, on the same scales. An error near
   * it cannot be lowered by a better fit. NAN: no two runs were alike. */
  double seconds_noise, score_noise;
  int seconds_count, score_count; /* stages that were foretold */
  bool usable;                    /* both errors are known, and at most MZ_FIT_ERROR_MAX */
} mz_course_fit_error;

/* pool: of all runs; it leaves none out. */
mz_status mz_course_fit_error_of(const mz_stage_pool *pool, double target, mz_course_fit_error *out);
/* Whether errors are known and small enough; what `usable` says. */
bool mz_course_fit_error_is_small(const mz_course_fit_error *error);
