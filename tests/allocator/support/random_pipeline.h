/* Pipelines drawn at random, with what is true of them: one or two pools that search in batches, a chain of stages joined by queues
 * that ends in a learner working in lockstep (or none), and a short step after them. */
#pragma once
#include "allocator/machine/simulation.h"
#include "allocator/model/analytic.h"

typedef struct random_pipeline {
  mz_pipeline pipeline;
  mz_simulation simulation; /* points at the pipeline; items' coefficient of variation 1/7, all threads of equal weight */
} random_pipeline;

/* cores_max: cores are 2, 4 … cores_max. knob_max: no knob's range is longer. */
void random_pipeline_init(random_pipeline *out, uint64_t seed, int cores_max, int64_t knob_max);
/* Adds GPUs, one or two, on which every pool and the learner may be, with latency, speed and batches that fill them drawn at random, and
 * what probes of them show. MZ_E_MEMORY. */
mz_status random_pipeline_add_gpus(random_pipeline *r, uint64_t seed);
/* Lets the stage give way to others where it is a pool whose tasks go through no queue. */
void random_pipeline_give_way(random_pipeline *r, int stage);
/* Any plan whose values can be stepped to. */
mz_plan random_pipeline_plan(const mz_pipeline *pipeline, uint64_t seed);
/* Every knob at its least. */
mz_plan random_pipeline_least(const mz_pipeline *pipeline);
/* As mz_simulate, which does not fail here. */
mz_observation simulate_units(const mz_simulation *simulation, const mz_plan *plan, uint64_t first, int units);
/* The analytic model with the costs that are true; those on a GPU are what the pipeline's probes say. */
mz_analytic random_pipeline_model(const random_pipeline *p);
