/* Reads the clocks of the stages that have pools of threads: what they have worked since the run was opened. */
#pragma once
#include "allocator/pipeline/telemetry.h"
#include "muzero/steering/trainer_pipeline.h"
#include "muzero/training/workers.h"

enum { MZ_CLOCKED_STAGES = MZ_STAGE_ENV + 1 };

/* Fills busy, CPU and elapsed seconds of self-play, building of batches and learner; all of the processes that play the environment. The
 * rest, and other stages, are 0. */
void mz_stage_clocks_read(const mz_state *state, const mz_workers *workers, mz_stage_sample out[MZ_CLOCKED_STAGES]);
/* Computes what was worked from `before` to `after`. */
mz_stage_sample mz_stage_time_between(const mz_stage_sample *before, const mz_stage_sample *after);
