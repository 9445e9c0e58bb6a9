/* Files of fitted courses: a course file (mz_course_read), which every reader of courses takes, with one more member:
 *   "fitted": {"version": 1, "env": …, "network": …, "learning": …, "epochs": …,
 *              "simulated": "sim:cores=64",         the machine that the times were simulated on; absent: they were measured
 *              "plans": [{"cpu_actor": 2, …}, …],   knobs of each plan of the course
 *              "composed": [0, …],                  1: the batch size was not run on the plan's amounts
 *              "error": {"seconds": …, "score": …, "seconds_noise": …, "score_noise": …, "seconds_count": …, "score_count": …},
 *              "notes": …} */
#pragma once
#include "allocator/runs/course_fit.h"

enum { MZ_FITTED_VERSION = 1 };

/* Writes the file whole or not at all. MZ_E_IO, MZ_E_MEMORY. */
mz_status mz_course_file_write(const char *path, const mz_fitted_course *fitted, const mz_pipeline *pipeline);
/* Reads a file with a fitted course whose plans have the pipeline's knobs; ranges are not checked. The course has the spread
 * MZ_COURSE_SPREAD. MZ_E_CONFIG: no course, one that was not fitted, a damaged one, or one of another version or pipeline: names the
 * place. MZ_E_IO, MZ_E_MEMORY. */
mz_status mz_course_file_read(mz_fitted_course *out, const char *path, const mz_pipeline *pipeline);
