/* A course for runs with some settings, fitted to the history's learning curves (allocator/runs/course_fit.h): for `muzero plan --course`. */
#pragma once
#include "allocator/runs/course_fit.h"
#include "muzero/steering/run_planning.h"

/* ask: deadline and budget are finite, epochs those of a whole run; stages: 0: the default. place: what the plans' knobs mean. As
 * mz_run_planning_for and mz_course_fit. */
mz_status mz_course_fitting_for(mz_fitted_course *out, mz_run_place *place, const mz_env *env, const mz_settings *settings,
                                const mz_device_choice *choice, const mz_run_options *options, const mz_run_ask *ask, int stages);
