/* The best run of a course, found exactly: what every decision maker is judged by. It lies beside the course because environments,
 * strategies and tests all ask it. */
#pragma once
#include "base/course/course.h"

typedef struct mz_course_answer {
  int plans[MZ_COURSE_STAGES_MAX]; /* of the stages that are left, the next one first */
  double value;                    /* sum of their rewards */
  int violations;
  int64_t labels; /* partial runs that were extended: how hard it was */
} mz_course_answer;

/* Memory of the solver, kept for its next use. One thread at a time. */
typedef struct mz_course_oracle mz_course_oracle;
mz_status mz_course_oracle_create(mz_course_oracle **out); /* MZ_E_MEMORY */
void mz_course_oracle_free(mz_course_oracle *oracle);      /* NULL is fine */

/* Finds the plans that bring the highest sum of rewards from `state` to the end, in the course as the state's seed draws it: for a
 * known course (spread 0) the optimum, for a drawn one what only clairvoyance reaches. The next plan is one that mz_course_mask
 * allows; later ones may be any.
 *
 * The problem is a multiple-choice knapsack whose items also pay for differing from the item before. It is solved exactly, without
 * grids, by labels: partial runs (seconds, cost, score, sum of rewards, plan in force), stage by stage, of which one is dropped where
 * another is no worse in all, and where a Lagrangian bound says that no end of it beats the best run known. The penalties are dealt
 * with by solving for each set of limits that are to be met. MZ_E_MEMORY. */
mz_status mz_course_solve(mz_course_oracle *oracle, const mz_course *course, const mz_course_state *state, mz_course_answer *out);
