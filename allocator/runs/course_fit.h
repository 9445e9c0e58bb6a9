/* A course (base/course/course.h) from what runs took and reached. Deterministic; plain structs.
 *
 * Stages are stretches of equally many epochs (they differ by one where the number does not divide). What a stage takes is the median
 * over the runs of its plan, rounds and evaluations together. What it closes of the distance to the ceiling comes from the median curve
 * of the best scores of runs that kept one batch size, over seeds (stage_pool.h): resources change no result, so runs of all amounts
 * of them count.
 *
 * A run that ended after it had reached the target counts with its best score from there on.
 *
 * Its deadline is what the games that end a run leave of the one asked for.
 *
 * How unevenly runs go comes from their stages (mz_pool_bursts). How far they differ in their pace comes from the epochs that they took to
 * the target (epoch_score.h), less what uneven stages make of it by themselves. A run of the course ends when it
 * has reached it. A change of plans costs a tenth of what the typical run costs until then under the cheapest plan.
 *
 * A plan is a batch size on so many cores and GPUs, with the knobs under which the whole run was quickest. Where a batch size was not
 * run on some amounts, its time there is that of the nearest batch size that was, times the ratio of both on the nearest amounts on
 * which both were: nearest in doublings of rows and cores. Where a plan was run in some stages only, the nearest of them is scaled by
 * the ratio that other plans show between the stages; a stage that no run reached, because all had ended at the target, takes what
 * the nearest one took. At most 24 plans are kept, none of which another beats in seconds and
 * cost, of the whole run and until the target, and in growth. */
#pragma once
#include "allocator/runs/course_error.h"

enum { MZ_FIT_STAGES_MIN = 4, MZ_FIT_STAGES = 8 }; /* the least; the default */

typedef struct mz_course_fit_options {
  const mz_pipeline *pipeline; /* of the curves' plans */
  const char *env, *network,
      *learning;         /* what was run, the network's shape, a hash of what learning depends on; kept, env used in messages */
  const char *simulated; /* the machine that the times were simulated on, as the user named it; "": they were measured; kept */
  int epochs;            /* of a whole run */
  int stages;            /* 4 … 16; 0: 8 */
  double moves;          /* fresh moves of an epoch; 0: those of each curve */
  double prices[MZ_COURSE_RESOURCES]; /* per core-hour, GPU-hour, GiB-hour */
  double deadline_s, budget, target;  /* limits of a run of the course */
  double start;                       /* score before the first epoch; NAN: the least first score of any run */
  double ceiling; /* bound of the score; NAN: the most that any run reached, and a twentieth of its rise from the start */
} mz_course_fit_options;

typedef struct mz_fitted_course {
  mz_course course; /* spread MZ_COURSE_SPREAD */
  char env[128], network[128], learning[32], simulated[128];
  int epochs;
  mz_plan plans[MZ_COURSE_PLANS_MAX]; /* knobs of the course's plans */
  bool composed[MZ_COURSE_PLANS_MAX]; /* the batch size was not run on these amounts: its times are composed */
  mz_course_fit_error error;
  char notes[1024]; /* sentences: what was left out, batch sizes whose score never rises; "": nothing */
} mz_fitted_course;

/* Returns the score that runs tend to: a twentieth of the rise above the most that any run reached. */
double mz_course_fit_ceiling(double least, double most);
/* Fits. MZ_E_CONFIG: too few epochs or stages (the nearest valid value), no score, a target that no run reached, fewer than two plans
 * (names which batch sizes lack runs, on what, and the command that makes them); what mz_course_prepare refuses. MZ_E_MEMORY. */
mz_status mz_course_fit(mz_fitted_course *out, const mz_curve *curves, int count, const mz_course_fit_options *options);
