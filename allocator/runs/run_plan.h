/* The plan of a whole run, made before it begins: the static strategy's search (docs/plans.md, "Static"). It looks at all
 * resources and batches that were measured, and at all numbers of epochs that a slow run may need for what was reached, and takes the
 * cheapest plan that keeps the limits by the models' bounds:
 *     minimise  Σ price · amount · U_time(e)   subject to  U_time(e) ≤ deadline,  L_score(batch, e) ≥ target,  U_cost ≤ budget
 * where U_time(e) is e times the upper bound of an epoch's seconds, and the closing evaluation. The search is exhaustive. */
#pragma once
#include "allocator/runs/epoch_score.h"
#include "allocator/runs/epoch_time.h"

enum { MZ_RUN_EPOCHS_MAX = 1000000 };

typedef struct mz_run_limits {
  double deadline_s, target, budget;               /* deadline, budget: INFINITY: none; target: the least score */
  double price[MZ_COURSE_RESOURCES];               /* per core-hour, GPU-hour, GiB-hour */
  double cores_min, cores_max, gpus_min, gpus_max; /* that are to be held, and may be */
  double moves;                                    /* fresh moves of an epoch */
  double batch_size;                               /* that the user set; 0: open */
  int64_t epochs;                                  /* likewise; at most MZ_RUN_EPOCHS_MAX */
  double level;                                    /* probability with which each interval holds a run's value, 0.9 */
} mz_run_limits;

typedef struct mz_run_plan {
  double amounts[MZ_COURSE_RESOURCES], batch_size;
  int epochs;
  mz_plan knobs;                    /* the fastest that was measured on these resources, at this or the nearest batch */
  mz_interval seconds, score, cost; /* of one more run */
} mz_run_plan;

/* By how much a limit alone would have to give, the others being kept. NAN: by no amount, or by none that is known: of a target that the
 * median run never reaches. */
typedef struct mz_run_shortfall {
  double deadline_s, target, budget; /* nearest values with which there is a plan */
} mz_run_shortfall;

enum { MZ_RUN_CHOICES_MAX = 256 };
typedef struct mz_run_planning {
  bool feasible;
  mz_run_plan best;           /* feasible: the plan; otherwise the one that comes nearest in score */
  mz_run_shortfall shortfall; /* where it is not feasible */
  int count; /* for each of resources and batch the fewest epochs that reach the target, or as many as there are */
  mz_run_plan choices[MZ_RUN_CHOICES_MAX];
  int64_t looked_at;  /* combinations of resources, batch and epochs */
  mz_epoch_time time; /* over as many epochs as were measured, or fewer where the noise is known of fewer only */
  mz_epoch_score score;
} mz_run_planning;

/* mz_run_planning_free. MZ_E_CONFIG where the curves are too few, saying on which axis and what fills it; where no batch's score rises;
 * where prices are all 0; where limits contradict each other, or the user set too many epochs. MZ_E_MEMORY. `fill` is the command that
 * adds curves ("muzero profile cartpole --score"). */
mz_status mz_run_planning_make(mz_run_planning **out, const mz_curve *curves, int count, const mz_pipeline *pipeline,
                               const mz_run_limits *limits, const char *fill);
void mz_run_planning_free(mz_run_planning *planning);
