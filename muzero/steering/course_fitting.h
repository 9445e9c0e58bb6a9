/* A course for runs with some settings, fitted to learning curves (allocator/runs/course_fit.h): for `muzero plan --course`. */
#pragma once
#include "allocator/runs/course_fit.h"
#include "muzero/steering/run_planning.h"

/* The runs that a course is for. */
typedef struct mz_course_runs {
  const mz_curve_key *key;
  const mz_pipeline *pipeline; /* of the curves' plans */
  const mz_settings *settings;
  /* Deadline and budget are finite, epochs those of a whole run; a batch size that is not open is the only one of the course. */
  const mz_run_ask *ask;
  int stages;            /* 0: the default */
  const char *simulated; /* the machine that the curves were simulated on; NULL: they were measured */
} mz_course_runs;

/* Fits as mz_course_fit does. */
mz_status mz_course_fitting_to(mz_fitted_course *out, const mz_curve *curves, int count, const mz_course_runs *runs);
/* The same with the history's curves of this machine. place: what the plans' knobs mean. As mz_run_planning_for and mz_course_fit. */
mz_status mz_course_fitting_for(mz_fitted_course *out, mz_run_place *place, const mz_env *env, const mz_settings *settings,
                                const mz_device_choice *choice, const mz_run_options *options, const mz_run_ask *ask, int stages);
