#include "muzero/steering/stage_clock.h"
#include "envs/worker/workers.h"
#include <string.h>

static mz_stage_sample read_clock(const mz_stage *stage) {
  return (mz_stage_sample){.busy_s = (double)atomic_load(&stage->busy_ns) * 1e-9,
                           .cpu_s = (double)atomic_load(&stage->cpu_ns) * 1e-9,
                           .elapsed_s = (double)atomic_load(&stage->elapsed_ns) * 1e-9};
}

void mz_stage_clocks_read(const mz_state *state, const mz_workers *workers, mz_stage_sample out[MZ_CLOCKED_STAGES]) {
  memset(out, 0, MZ_CLOCKED_STAGES * sizeof *out);
  out[MZ_STAGE_ACTOR] = read_clock(&workers->actor_stage);
  out[MZ_STAGE_BATCH] = read_clock(&workers->batch_stage);
  out[MZ_STAGE_LEARNER] = read_clock(&state->learner_stage);
  if (!state->env->workers) return;
  const mz_env_workers_use use = mz_env_workers_used(state->env->workers);
  out[MZ_STAGE_ENV] =
      (mz_stage_sample){.items = use.rows, .busy_s = use.busy_s, .cpu_s = use.cpu_s, .waited_for_s = use.waited_for_s};
}

mz_stage_sample mz_stage_time_between(const mz_stage_sample *before, const mz_stage_sample *after) {
  return (mz_stage_sample){.items = after->items - before->items,
                           .busy_s = after->busy_s - before->busy_s,
                           .cpu_s = after->cpu_s - before->cpu_s,
                           .waited_for_s = after->waited_for_s - before->waited_for_s,
                           .elapsed_s = after->elapsed_s - before->elapsed_s};
}
