/* What a simulation costs at several batch sizes, what an update costs and how long a thread takes to wake, timed for a few milliseconds on this machine before a
 * run: so that the allocator knows how much searching many games together saves before it has tried. */
#pragma once
#include "muzero/pipeline.h"

/* Fills handoff_s, and probe_batch and probe_s of the actor and the learner stage: CPU time of the calling thread, on zeros and with weights of
 * its own, so that the state is not touched. */
mz_status mz_probe(mz_pipeline *pipeline, const mz_state *state);
