/* Costs of stages, by kind of device: fitted to probes and observations. Shared by analytic*.c. */
#pragma once
#include "allocator/model/analytic_parts.h"

/* By how much a stage's costs were above those of the newest observation, as logarithms. */
typedef struct mz_analytic_level {
  double cpu, device;
} mz_analytic_level;

typedef struct mz_analytic_point {
  const mz_observation *seen;
  double weight; /* by age and noise; within a plan they add up to less than 1 */
  int plan;      /* −1: none of the newest */
  double log_s, variance;
  double speed; /* of its threads, by how many were busy at once: of a whole core's */
  mz_analytic_level levels[MZ_STAGES_MAX];
  mz_analytic_steps steps;
} mz_analytic_point;

/* Returns what the probes of a kind of device say. */
mz_analytic_cost mz_analytic_probed(const mz_probes *probes);
/* Fits the costs of every stage as they are now, and the points' levels. Points: newest first. */
void mz_analytic_fit_costs(mz_analytic *model, mz_analytic_point *points, int count);
/* Returns the costs at another level. */
mz_analytic_cost mz_analytic_cost_at(const mz_analytic_cost *cost, const mz_analytic_level *level);
/* Returns the CPU seconds per item; 0: unknown, or so far out that it can be no measurement. */
double mz_analytic_item_cpu_s(const mz_stage_sample *sample);
