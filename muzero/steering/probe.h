/* Probes time a simulation at several batch sizes, a batch, an update and the waking of a thread, for some
 * milliseconds on this machine before a run: so that the allocator knows what a plan is worth before it has tried. */
#pragma once
#include "muzero/steering/trainer_pipeline.h"
#include "muzero/training/state.h"

/* Fills handoff_s, and the probes of the actor, batch and learner stages on every kind of device that plans may put them on: CPU time of
 * the calling thread and, on a GPU, the time that it waits for the device. Weights, games and replay are its own: the state is not
 * touched. devices: those of the pipeline; NULL, or simulated ones: what is timed is timed on CPUs. */
mz_status mz_probe(mz_pipeline *pipeline, const mz_devices *devices, const mz_state *state);
/* Computes the share of an update that one thread does alone, by CPU time of updates on the calling thread. */
mz_status mz_probe_serial(const mz_state *state, double *share);
