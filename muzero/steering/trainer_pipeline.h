/* The trainer as the allocator sees it (allocator/pipeline/pipeline.h): the stages of a round, the queue between batches and
 * learning, the devices, and the knobs of mz_knobs. A unit of work is a round in which learning takes place. */
#pragma once
#include "allocator/pipeline/devices.h"
#include "muzero/knobs.h"
#include "muzero/training/memory.h"

enum { MZ_STAGE_ACTOR, MZ_STAGE_BATCH, MZ_STAGE_LEARNER, MZ_STAGE_FOLD, MZ_STAGE_EVALUATE, MZ_STAGE_ENV };
/* Items of each: simulations; batches; updates; rounds; moves of evaluation games; moves that other processes play. The
 * last stage, and its knob, are there only where other processes play the environment. */

/* held: knobs that the user has set (those not 0) cannot move. threads: the budget, --threads; knobs go up to twice that.
 * Probes are added apart (probe.h). */
void mz_pipeline_describe(mz_pipeline *p, const mz_settings *settings, const mz_memory *memory, const mz_devices *devices,
                          const mz_knobs *held, int threads);
/* Computes the memory that a plan takes, part by part: together mz_plan_bytes. */
void mz_pipeline_parts(const mz_pipeline *pipeline, const mz_memory *memory, const mz_plan *plan, double parts[MZ_MEMORY_PARTS]);
