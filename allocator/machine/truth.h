/* What is true of a simulated pipeline's stages, and what models have to find out. */
#pragma once
#include "allocator/pipeline/pipeline.h"

typedef struct mz_sim_truth {
  double fixed_s, item_s; /* CPU seconds per call, per item */
  double serial;          /* share that one thread does alone: of the whole, or of every item in lockstep */
  bool lockstep;          /* items one after the other, each shared by all threads (a learner); otherwise a pool of tasks */
  double weight;          /* a thread's claim on a core against others'; 1, less for those that give way */
} mz_sim_truth;

/* Takes the costs of the pipeline's probes for true: fixed_s / batch + item_s by least squares on relative errors. A stage that ends a
 * chain of queues works in lockstep. A stage without probes takes 0.4 % of what the probed ones take together. MZ_E_CONFIG: no stage
 * has probes. */
mz_status mz_sim_truth_from_probes(const mz_pipeline *pipeline, mz_sim_truth out[MZ_STAGES_MAX]);
