/* How far a run's training is: what the allocator's windows are told of it. */
#include "muzero/limits.h"
#include "muzero/run.h"
#include <math.h>

double mz_run_episode_length(const mz_run *run) {
  const mz_round_stats *s = &run->phase_stats;
  return s->episodes > 0 ? (double)s->length_sum / (double)s->episodes : run->episode_length;
}

static double replay_fill(const mz_run *run) {
  const mz_replay_settings *replay = &run->settings.replay;
  const mz_buffer *buffer = run->state.buffer;
  return fmin(fmax((double)mz_buffer_positions(buffer) / (double)replay->capacity,
                   (double)mz_buffer_bytes(buffer) / (double)replay->bytes_max),
              1);
}

mz_training_stage mz_run_training_stage(const mz_run *run, const mz_limits *l, double invocation_s) {
  const bool ends = l->rounds || l->env_steps || l->updates || l->for_s > 0;
  return (mz_training_stage){.replay_fill = replay_fill(run),
                             .episode_length = mz_run_episode_length(run),
                             .horizon = ends ? 1 - mz_limits_fraction(l, &run->state.counters, invocation_s) : NAN,
                             .score_slope = l->until && l->score != 0 ? run->score_rise / fabs(l->score) : NAN};
}
