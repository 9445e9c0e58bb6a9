/* The price of a decision in a real run, by the means of its course: how much less the best run is worth that begins with it, than the
 * best of all. */
#pragma once
#include "base/course/course_oracle.h"

/* Sets regrets [count] to those of the plans from `state`, which is none of an ended run; 0 for the best plan, and never below.
 * means: a course of spread 0. MZ_E_MEMORY. */
mz_status mz_course_regrets(mz_course_oracle *oracle, const mz_course *means, const mz_course_state *state, const int *plans,
                            int count, double *regrets);
/* Sets *out to the same course with spread 0. */
mz_status mz_course_means(mz_course *out, const mz_course *course);
/* Returns the plan of a course that is nearest to what a run has: first in the batch size, then in GPUs and cores. */
int mz_course_nearest_plan(const mz_course *course, double batch_size, double cores, double gpus);
