/* Probes time a simulation at several batch sizes, a batch, an update and the waking of a thread, for some
 * milliseconds on this machine before a run: so that the allocator knows what a plan is worth before it has tried. */
#pragma once
#include "muzero/steering/trainer_pipeline.h"
#include "muzero/training/state.h"

/* Fills handoff_s, and the probes on a CPU of the actor, batch and learner stages: CPU time of the calling thread, with
 * weights, games and replay of its own, so that the state is not touched. */
mz_status mz_probe(mz_pipeline *pipeline, const mz_state *state);
/* Computes the share of an update that one thread does alone, by CPU time of updates on the calling thread. */
mz_status mz_probe_serial(const mz_state *state, double *share);
