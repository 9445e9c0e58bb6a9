/* What is true of a simulated pipeline's stages, and what models have to find out. */
#pragma once
#include "allocator/pipeline/telemetry.h"

enum { MZ_SIM_COSTS_MAX = 12 };

typedef struct mz_sim_truth {
  double fixed_s, item_s; /* CPU seconds per call, per item */
  /* CPU seconds of an item at batch sizes, ascending, where it was measured at work: they count in place of those two, caches included */
  int costs;
  double batch[MZ_SIM_COSTS_MAX], batch_s[MZ_SIM_COSTS_MAX];
  double serial; /* share that one thread does alone: of the whole, or of every item in lockstep */
  bool lockstep; /* items one after the other, each shared by all threads (a learner); otherwise a pool of tasks */
  double weight; /* a thread's claim on a core against others'; 1, less for those that give way */
} mz_sim_truth;

/* Takes the costs of the pipeline's probes on a CPU for true: fixed_s / batch + item_s by least squares on relative errors. A stage that
 * ends a chain of queues works in lockstep. A stage without probes takes 0.4 % of what the probed ones take together. MZ_E_CONFIG: no
 * stage has probes. */
mz_status mz_sim_truth_from_probes(const mz_pipeline *pipeline, mz_sim_truth out[MZ_STAGES_MAX]);
/* Takes for true what a run showed of its stages: `seen` are observations under one plan each, on as few cores as one. CPU seconds of an
 * item are the medians at every batch size, and each stage's items, which the pipeline then has, the median of all. A stage of which
 * nothing was seen keeps what `out` holds. MZ_E_CONFIG: nothing was seen of any stage with work. */
mz_status mz_sim_truth_fit(mz_pipeline *pipeline, const mz_observation *seen, int count, mz_sim_truth out[MZ_STAGES_MAX]);
/* Returns the CPU seconds of an item in a call of `batch`: between the sizes that were measured in a straight line of logarithms, beyond
 * them as at the nearest. */
double mz_sim_truth_item_s(const mz_sim_truth *truth, double batch);
