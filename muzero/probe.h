/* What a simulation costs at several batch sizes, timed for a few milliseconds on this machine before a run: so that the
 * allocator knows how much searching many games together saves before it has tried. */
#pragma once
#include "muzero/pipeline.h"

/* Fills probe_batch and probe_s of the actor stage. CPU time of the calling thread. */
mz_status mz_probe(mz_pipeline *pipeline, const mz_state *state);
