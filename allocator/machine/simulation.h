/* A discrete-event simulation of a pipeline on a simulated machine: what the analytic model is checked against, and what stands in
 * for machines that are not at hand. Every thread of every stage is followed: tasks are taken in order, threads that run share their
 * device's cores (processor sharing, by weight), a producer waits for room and a consumer for the next item in order, a stage in
 * lockstep waits for its slowest thread; the machine's effects come on top (effects.h). It shares no formula with the model.
 * Deterministic: every duration is drawn from (seed, unit, stage, task). Its figures are simulated, and are labelled so.
 *
 * A step's stages run on one device each: CPU devices share their cores; on a GPU the tasks of all threads take turns, after their
 * other part has run on the cores of the node that the GPU hangs on. */
#pragma once
#include "allocator/machine/effects.h"
#include "allocator/machine/machine_spec.h"
#include "allocator/machine/truth.h"
#include "allocator/pipeline/telemetry.h"

typedef struct mz_simulation {
  const mz_pipeline *pipeline; /* stays alive; its devices are the machine's, or some of its cores */
  mz_sim_machine machine;      /* zeroed: no effects, and as many cores as the devices have */
  mz_sim_truth stages[MZ_STAGES_MAX];
  int erlang; /* task times are sums of so many exponentials (1: exponential, coefficient of variation 1/√erlang); 0: no variation */
  uint64_t seed;
  double units; /* of the whole run, for the machine's drift; 0: there is none */
} mz_simulation;

/* Where a run stands between two units. Zeroed: it begins. */
typedef struct mz_sim_clock {
  double quota_now_s, quota_used_s; /* in the quota's present period */
} mz_sim_clock;

/* One unit, all steps but those apart. */
typedef struct mz_sim_unit {
  double unit_s, round_s; /* of all steps; of the first */
  mz_stage_sample stages[MZ_STAGES_MAX];
  double cpu_s;        /* of all stages */
  double others_cpu_s; /* of the neighbours */
  double throttled_s;  /* in which the quota was used up */
  double waiting_s;    /* in which some thread waited for a core */
  double gpu_busy_s;   /* of GPUs in use together */
} mz_sim_unit;

/* MZ_E_MEMORY. */
mz_status mz_simulate_unit(const mz_simulation *simulation, const mz_plan *plan, uint64_t unit, mz_sim_clock *clock,
                           mz_sim_unit *out);
/* Mean of `units` units beginning with number `first`. Noise is 0. */
mz_status mz_simulate(const mz_simulation *simulation, const mz_plan *plan, uint64_t first, int units, mz_observation *out);
