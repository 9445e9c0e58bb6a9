/* Situations that predictors are trained on, and judged by: a pipeline whose stages cost something else than those of the one it is drawn
 * from, on a simulated machine that is drawn, and what some plans take there. Everything is simulated. Deterministic in (seed, number). */
#pragma once
#include "allocator/machine/simulation.h"

enum { MZ_PRACTICE_PLANS_MAX = 32 };

typedef struct mz_practice_options {
  const mz_pipeline *pipelines; /* to draw from: trainers' with their probes */
  int pipeline_count;
  uint64_t seed;
  int cores_min, cores_max; /* of the machine; 1 … MZ_CORES_MAX, drawn evenly on a logarithmic scale */
  double gpu_share;         /* of machines that have GPUs: 1 to 8 */
  int plans;                /* at most MZ_PRACTICE_PLANS_MAX: half of them anywhere, half a few steps from what is usual */
} mz_practice_options;

typedef struct mz_practice {
  mz_pipeline pipeline; /* with probes such as a run would take: they miss the truth by some ten percent */
  mz_simulation simulation;
  mz_training_stage training; /* when the plans were measured */
  mz_plan usual;              /* one actor a core */
  int count;                  /* of plans */
  mz_observation seen[MZ_PRACTICE_PLANS_MAX];
} mz_practice;

/* MZ_E_CONFIG: the pipeline has no probes; MZ_E_MEMORY. *out is large and stays where it is: the simulation points into it. */
mz_status mz_practice_draw(mz_practice *out, const mz_practice_options *options, uint64_t number);
