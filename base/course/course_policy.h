/* Decision makers to compare a learned one with: the plan redone at every stage, and two simple rules. They decide one stage at a time from
 * the course and the state alone, never from the episode's seed; the plan is one that mz_course_mask allows. The run has not ended.
 *
 * They decide by what the run may still be, its outlook. Where runs differ in their pace it is the MZ_COURSE_OUTLOOK of MZ_COURSE_DRAWS
 * runs drawn from the course whose score at this stage, had they kept the plan in force, would be nearest to the run's: approximate
 * Bayesian computation by rejection (Pritchard et al. 1999). Otherwise it is the mean alone. */
#pragma once
#include "base/course/course_oracle.h"

enum { MZ_COURSE_OUTLOOK = 32, MZ_COURSE_DRAWS = 256 };

typedef struct mz_course_outlook {
  mz_course course; /* with spread 0 where the mean is all of it */
  int count;
  uint64_t seeds[MZ_COURSE_OUTLOOK]; /* [count], as they draw the course */
} mz_course_outlook;

void mz_course_outlook_find(const mz_course *course, const mz_course_state *state, mz_course_outlook *out);

/* Sets values [plans] to what the best run is worth that begins with the plan: the mean over the outlook, each run of which is solved for
 * itself; −INFINITY where the mask forbids the plan. MZ_E_MEMORY. */
mz_status mz_course_values(mz_course_oracle *oracle, const mz_course *course, const mz_course_state *state, double *values);
/* Returns the plan with the highest of these values, the first of equal ones. */
int mz_course_best(const double *values, int plans);
/* Takes the plan with the highest of these values. MZ_E_MEMORY. */
mz_status mz_course_replan(mz_course_oracle *oracle, const mz_course *course, const mz_course_state *state, int *plan);
/* Returns the plan that closes most of the distance to the ceiling (its logarithm) for what the stage costs, a change included: on
 * means. */
int mz_course_greedy(const mz_course *course, const mz_course_state *state);
/* Returns the plan in force, or at the start the one that, kept for the whole run, is best over the outlook. Where limits do not allow
 * it, the allowed plan that is best when kept from here on. */
int mz_course_static(const mz_course *course, const mz_course_state *state);
