/* A discrete-event simulation of a pipeline: what the analytic model is checked
 * against. Every thread of every stage is followed: tasks are taken in order,
 * threads that run share their device's cores (processor sharing, by weight), a
 * producer waits for room and a consumer for the next item in order, a stage in
 * lockstep waits for its slowest thread. It shares no formula with the model.
 * Deterministic: every duration is drawn from (seed, unit, stage, task). */
#pragma once
#include "allocator/pipeline/telemetry.h"

/* What is true of a stage and what the model has to find out. */
typedef struct simulated_stage {
  double fixed_s, item_s; /* CPU seconds per call, per item */
  double serial;          /* share that one thread does alone: of the whole, or of every
                    item in lockstep */
  bool lockstep;          /* items one after the other, each shared by all threads (a
                    learner); otherwise a pool of tasks */
  double weight;          /* a thread's claim on a core against others'; 1, less for
                    those that give way */
} simulated_stage;

typedef struct queue_simulation {
  const mz_pipeline *pipeline;
  simulated_stage stages[MZ_STAGES_MAX];
  int erlang; /* task times are sums of so many exponentials (1: exponential,
                 coefficient of variation 1/√erlang); 0: no variation */
  uint64_t seed;
} queue_simulation;

/* Mean of `units` units beginning with number `first`: unit_s, round_s (step 0)
 * and the stages' samples. Noise is 0. */
mz_observation queue_simulation_run(const queue_simulation *simulation, const mz_plan *plan, uint64_t first, int units);
