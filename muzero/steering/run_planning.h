/* A plan of a whole run that does not run yet (allocator/runs/run_plan.h), from the history's learning curves: for `muzero plan
 * --target`, and for the strategy `static`, which carries it out. */
#pragma once
#include "allocator/records/curve_history.h"
#include "allocator/runs/run_plan.h"
#include "muzero/steering/outset.h"
#include "muzero/trainer.h"

typedef struct mz_run_ask {
  double deadline_s, target, budget; /* deadline, budget: INFINITY: none */
  bool batch_open, epochs_open;      /* the plan chooses them; otherwise the size that the settings begin with, and `epochs` */
  int64_t epochs;
  const char *env; /* as the user named it: in the commands that messages name */
} mz_run_ask;

/* As the settings say, and what the options set: limits.*, batch_size or batch_schedule, train.rounds. */
mz_run_ask mz_run_ask_of(const mz_settings *settings, const mz_env *env, const mz_run_options *options);

/* The pipeline and bounds that plans' knobs and devices belong to, for whoever carries one out. */
typedef struct mz_run_place {
  mz_outset outset;
  mz_bounds bounds;
} mz_run_place;

/* Finds what plans of runs with these settings mean, the key of their learning curves and, in the history, the curves (mz_curves_free).
 * MZ_E_CONFIG where the options name no history. */
mz_status mz_run_curves_read(mz_run_place *place, mz_curve_key *key, mz_curve **curves, int *count, const mz_env *env,
                             const mz_settings *settings, const mz_device_choice *choice, const mz_run_options *options);
/* Returns the limits of the search: what is asked, prices and bounds. */
mz_run_limits mz_run_limits_of(const mz_run_ask *ask, const mz_settings *settings, const mz_bounds *bounds);
/* settings: resolved. Reads the history at `history` (NULL, "none": MZ_E_CONFIG). choice: GPUs that may be used. Errors as
 * mz_run_planning_make's. mz_run_planning_free. */
mz_status mz_run_planning_for(mz_run_planning **out, mz_run_place *place, const mz_env *env, const mz_settings *settings,
                              const mz_device_choice *choice, const mz_run_options *options, const mz_run_ask *ask);
/* MZ_E_CONFIG where no plan keeps the limits: by how much each of them, alone, would have to give. */
mz_status mz_run_planning_check(const mz_run_planning *planning, const mz_run_ask *ask);
/* Sets what `plan`, of this pipeline, chose where it was open, so that a run by these settings carries it out: cores, knobs, devices of
 * stages where there are several, batches, epochs. */
void mz_run_plan_apply(const mz_run_plan *plan, const mz_pipeline *pipeline, const mz_run_ask *ask, mz_settings *settings);
