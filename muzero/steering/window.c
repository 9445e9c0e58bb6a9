#include "muzero/steering/window.h"
#include "base/machine/clock.h"
#include <math.h>
#include <string.h>

static void start_clocks(mz_window_meter *m, const mz_state *state, const mz_workers *workers) {
  mz_stage_clocks_read(state, workers, m->start);
  m->started = m->before;
  m->simulations = state->counters.simulations;
  m->open = true;
}

void mz_window_begin(mz_window_meter *m, const mz_state *state, const mz_workers *workers) {
  const mz_knobs last = m->knobs;
  *m = (mz_window_meter){.run = 1, .knobs = last};
  if (memcmp(&last, &workers->knobs, sizeof last) == 0) start_clocks(m, state, workers);
}

void mz_window_restart(mz_window_meter *m) {
  const int played = m->played;
  const mz_round_stats before = m->before;
  *m = (mz_window_meter){.run = 1, .played = played, .before = before, .knobs = m->knobs};
}

/* More rounds than there are places are averaged in runs of equal length, which doubles when the places are full. */
static void keep_round(mz_window_meter *m, double seconds) {
  m->pending_s += seconds;
  if (++m->pending < m->run) return;
  m->round_s[m->count++] = m->pending_s / m->run;
  m->pending_s = m->pending = 0;
  if (m->count < MZ_WINDOW_ROUNDS_MAX) return;
  m->count /= 2;
  m->run *= 2;
  for (int i = 0; i < m->count; i++) m->round_s[i] = (m->round_s[2 * i] + m->round_s[2 * i + 1]) / 2;
}

double mz_window_round(mz_window_meter *m, const mz_state *state, const mz_workers *workers, const mz_round_stats *stats) {
  const int64_t updates = stats->learning.updates - m->before.learning.updates, loops = state->settings.learning.loop_count;
  const double seconds = mz_quantised((double)(stats->wall_ns - m->before.wall_ns) * 1e-9);
  const bool full = loops > 0 && updates == loops;
  m->before = *stats;
  m->knobs = workers->knobs;
  m->played++;
  if (!full || !m->open) { /* replay is filling, or the plan has just changed: the clocks begin with the next round */
    start_clocks(m, state, workers);
    return full ? seconds : 0;
  }
  m->full++;
  m->full_s += seconds;
  keep_round(m, seconds);
  return seconds;
}

void mz_window_close_rounds(mz_window_meter *m, const mz_state *state, const mz_workers *workers, const mz_round_stats *stats) {
  if (m->closed) return;
  mz_stage_sample now[MZ_CLOCKED_STAGES];
  mz_stage_clocks_read(state, workers, now);
  for (int i = 0; i < MZ_CLOCKED_STAGES; i++) m->rounds[i] = mz_stage_time_between(&m->start[i], &now[i]);
  mz_stage_sample *actor = &m->rounds[MZ_STAGE_ACTOR], *batch = &m->rounds[MZ_STAGE_BATCH],
                  *learner = &m->rounds[MZ_STAGE_LEARNER], *fold = &m->rounds[MZ_STAGE_FOLD];
  const double learn_s = (double)(stats->learn_ns - m->started.learn_ns) * 1e-9;
  const double fold_s = (double)(stats->fold_ns - m->started.fold_ns) * 1e-9;
  actor->items = (double)(state->counters.simulations - m->simulations);
  batch->items = learner->items = (double)(stats->learning.updates - m->started.learning.updates);
  batch->wait_out_s = (double)(stats->batch_wait_ns - m->started.batch_wait_ns) * 1e-9;
  /* Its threads wait together, for the one that takes batches from the queue. */
  learner->wait_in_s =
      (double)(stats->learner_wait_ns - m->started.learner_wait_ns) * 1e-9 * (double)workers->knobs.learner_threads;
  /* Between the pool's tasks the driving thread continues alone: no stage clock sees that. */
  const double alone_s = fmax(0, learn_s - learner->elapsed_s);
  learner->cpu_s += alone_s;
  learner->busy_s += alone_s;
  learner->elapsed_s = learn_s;
  *fold = (mz_stage_sample){.items = m->full, .busy_s = fold_s, .cpu_s = fold_s, .elapsed_s = fold_s};
  m->evaluation = now[MZ_STAGE_ACTOR];
  m->evaluation_ns = mz_clock_ns();
  m->closed = true;
}

void mz_window_evaluated(mz_window_meter *m, const mz_state *state, const mz_workers *workers, int64_t moves) {
  MZ_ASSERT(m->closed);
  mz_stage_sample now[MZ_CLOCKED_STAGES];
  mz_stage_clocks_read(state, workers, now);
  m->evaluation = mz_stage_time_between(&m->evaluation, &now[MZ_STAGE_ACTOR]);
  m->evaluation.items = (double)moves;
  m->evaluation_s = m->evaluation.elapsed_s = (double)(mz_clock_ns() - m->evaluation_ns) * 1e-9;
  m->rounds[MZ_STAGE_EVALUATE] = m->evaluation;
}

void mz_window_read(const mz_window_meter *m, const mz_state *state, mz_window *out) {
  *out = (mz_window){.phase = state->counters.phases, .round = state->counters.rounds, .units = m->full, .score = NAN};
  if (!m->full) return;
  /* Rounds that do not count have their part of the evaluation, too. */
  const double part = (double)m->full / (double)m->played;
  out->wall_s = m->full_s + part * m->evaluation_s;
  out->round_count = m->count;
  memcpy(out->round_s, m->round_s, sizeof out->round_s);
  memcpy(out->stages, m->rounds, sizeof m->rounds);
  mz_stage_sample *e = &out->stages[MZ_STAGE_EVALUATE];
  e->items *= part, e->busy_s *= part, e->cpu_s *= part, e->elapsed_s *= part;
}
