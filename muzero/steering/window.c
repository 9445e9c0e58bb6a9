#include "muzero/steering/window.h"
#include "base/machine/clock.h"
#include <math.h>
#include <string.h>

enum { WINDOW_ROUNDS_LEAST = 8, BLOCK_ROUNDS_LEAST = 4 };
static const double WINDOW_MOST_S = 5, WINDOW_GROWTH = 1.25, BLOCK_LEAST_S = 0.06;

double mz_window_next_s(double least_s, bool calm) {
  return calm ? fmin(least_s * WINDOW_GROWTH, WINDOW_MOST_S) : MZ_WINDOW_LEAST_S;
}

bool mz_window_is_long_enough(const mz_window_meter *m, int64_t rounds, bool on_trial, int told, double least_s) {
  if (on_trial && told < BLOCK_ROUNDS_LEAST) return false;
  if (on_trial && rounds == 0) return m->full_s >= BLOCK_LEAST_S;
  return rounds > 0 ? m->played >= rounds : m->full >= WINDOW_ROUNDS_LEAST && m->full_s >= least_s;
}

static void start_clocks(mz_window_meter *m, const mz_state *state, const mz_workers *workers) {
  mz_stage_clocks_read(state, workers, m->start);
  m->started = m->before;
  m->simulations = state->counters.simulations;
  m->clocked = 0;
  m->open = m->running = true;
}

void mz_window_begin(mz_window_meter *m, const mz_state *state, const mz_workers *workers) {
  mz_window_restart(m);
  m->played = 0;
  if (memcmp(&m->knobs, &workers->knobs, sizeof m->knobs) == 0) start_clocks(m, state, workers);
}

void mz_window_phase(mz_window_meter *m, const mz_state *state, const mz_workers *workers) {
  m->before = (mz_round_stats){0};
  if (m->open) start_clocks(m, state, workers);
}

void mz_window_restart(mz_window_meter *m) {
  *m = (mz_window_meter){.played = m->played, .before = m->before, .knobs = m->knobs};
}

/* More rounds than there are places are averaged in runs of equal length, which doubles when the places are full. */
static void keep_round(mz_window_meter *m, double seconds) {
  m->pending_s += seconds;
  if (++m->pending < 1 << m->doublings) return;
  m->round_s[m->count++] = m->pending_s / m->pending;
  m->pending_s = m->pending = 0;
  if (m->count < MZ_WINDOW_ROUNDS_MAX) return;
  m->count /= 2;
  m->doublings++;
  for (int i = 0; i < m->count; i++) m->round_s[i] = (m->round_s[2 * i] + m->round_s[2 * i + 1]) / 2;
}

void mz_window_count(mz_window_meter *m, double seconds) {
  m->full++;
  m->full_s += seconds;
  keep_round(m, seconds);
}

double mz_window_round(mz_window_meter *m, const mz_state *state, const mz_workers *workers, const mz_round_stats *stats) {
  const int64_t updates = stats->learning.updates - m->before.learning.updates, loops = state->settings.learning.loop_count;
  const double seconds = mz_quantised((double)(stats->wall_ns - m->before.wall_ns) * 1e-9);
  const bool full = loops > 0 && updates == loops, counts = full && m->open;
  m->played++;
  if (!full) mz_window_restart(m); /* replay is filling */
  m->before = *stats;
  m->knobs = workers->knobs;
  if (!counts) { /* or the plan has just changed: the clocks begin with the next round */
    start_clocks(m, state, workers);
    return full ? seconds : 0;
  }
  m->clocked++;
  mz_window_count(m, seconds);
  return seconds;
}

static double seconds_since(uint64_t now_ns, uint64_t then_ns) { return (double)(now_ns - then_ns) * 1e-9; }

/* A thread that is in a task and takes no CPU time waits for its device, which works for all that wait at once. */
static void wait_for_device(mz_stage_sample *sample, const mz_lane *where) {
  if (!mz_lane_is_cpu(where)) sample->device_s = fmin(fmax(0, sample->busy_s - sample->cpu_s), sample->elapsed_s);
}

void mz_window_stop_clocks(mz_window_meter *m, const mz_state *state, const mz_workers *workers, const mz_round_stats *stats) {
  if (!m->running) return;
  m->running = false;
  mz_stage_sample now[MZ_CLOCKED_STAGES];
  mz_stage_clocks_read(state, workers, now);
  for (int i = 0; i < MZ_CLOCKED_STAGES; i++) now[i] = mz_stage_time_between(&m->start[i], &now[i]);
  mz_stage_sample *learner = &now[MZ_STAGE_LEARNER];
  const double learn_s = seconds_since(stats->learn_ns, m->started.learn_ns);
  now[MZ_STAGE_ACTOR].items = (double)(state->counters.simulations - m->simulations);
  now[MZ_STAGE_BATCH].items = learner->items = (double)(stats->learning.updates - m->started.learning.updates);
  now[MZ_STAGE_BATCH].wait_out_s = seconds_since(stats->batch_wait_ns, m->started.batch_wait_ns);
  /* Its threads wait together, for the one that takes batches from the queue. */
  learner->wait_in_s = seconds_since(stats->learner_wait_ns, m->started.learner_wait_ns) * (double)workers->knobs.learner_threads;
  /* Between the pool's tasks the driving thread continues alone: no stage clock sees that. */
  const double alone_s = fmax(0, learn_s - learner->elapsed_s);
  const bool on_cpu = mz_lane_is_cpu(&state->where.learning);
  learner->cpu_s += on_cpu ? alone_s : fmin(alone_s, seconds_since(stats->learn_cpu_ns, m->started.learn_cpu_ns));
  learner->busy_s += alone_s;
  learner->elapsed_s = learn_s;
  wait_for_device(&now[MZ_STAGE_ACTOR], &state->where.selfplay);
  if (state->settings.learning.reanalyze_ratio > 0) wait_for_device(&now[MZ_STAGE_BATCH], &state->where.reanalyze);
  wait_for_device(learner, &state->where.learning);
  for (int i = 0; i < MZ_CLOCKED_STAGES; i++) mz_stage_sample_add(&m->stages[i], &now[i], 1);
  const double fold_s = seconds_since(stats->fold_ns, m->started.fold_ns);
  mz_stage_sample_add(&m->stages[MZ_STAGE_FOLD],
                      &(mz_stage_sample){.items = m->clocked, .busy_s = fold_s, .cpu_s = fold_s, .elapsed_s = fold_s}, 1);
}

mz_evaluation_clock mz_window_evaluation_starts(const mz_state *state, const mz_workers *workers) {
  mz_stage_sample now[MZ_CLOCKED_STAGES];
  mz_stage_clocks_read(state, workers, now);
  return (mz_evaluation_clock){.start = now[MZ_STAGE_ACTOR], .env = now[MZ_STAGE_ENV], .ns = mz_clock_ns()};
}

void mz_window_evaluated(mz_window_meter *m, const mz_evaluation_clock *since, const mz_state *state, const mz_workers *workers,
                         int64_t moves) {
  MZ_ASSERT(!m->running);
  mz_stage_sample now[MZ_CLOCKED_STAGES];
  mz_stage_clocks_read(state, workers, now);
  mz_stage_sample evaluation = mz_stage_time_between(&since->start, &now[MZ_STAGE_ACTOR]);
  evaluation.items = (double)moves;
  evaluation.cpu_s += mz_stage_time_between(&since->env, &now[MZ_STAGE_ENV]).cpu_s; /* those who play wait for it */
  evaluation.elapsed_s = seconds_since(mz_clock_ns(), since->ns);
  wait_for_device(&evaluation, &state->where.selfplay);
  mz_stage_sample_add(&m->stages[MZ_STAGE_EVALUATE], &evaluation, 1);
}

void mz_window_read(const mz_window_meter *m, const mz_state *state, mz_window *out) {
  const int64_t rounds = state->counters.rounds, phase_rounds = state->settings.train.phase_rounds;
  *out = (mz_window){.phase = (rounds + phase_rounds - 1) / phase_rounds, .round = rounds, .units = m->full, .score = NAN};
  if (!m->full) return;
  out->wall_s = m->full_s;
  out->round_count = m->count;
  memcpy(out->round_s, m->round_s, sizeof out->round_s);
  memcpy(out->stages, m->stages, sizeof m->stages);
}
