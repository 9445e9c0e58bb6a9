/* What a simulation costs at several batch sizes, what a batch and an update cost and how long a thread takes to wake, timed for some
 * milliseconds on this machine before a run: so that the allocator knows what a plan is worth before it has tried. */
#pragma once
#include "muzero/steering/trainer_pipeline.h"
#include "muzero/training/state.h"

/* Fills handoff_s, and probe_batch and probe_s of the actor, batch and learner stages: CPU time of the calling thread, with weights,
 * games and replay of its own, so that the state is not touched. */
mz_status mz_probe(mz_pipeline *pipeline, const mz_state *state);
