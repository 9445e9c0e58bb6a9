#include "muzero/steering/phase_meter.h"
#include "base/machine/clock.h"
#include "base/machine/machine.h"
#include "muzero/training/diagnosis.h"
#include "muzero/training/memory.h"
#include <math.h>

mz_phase_meter mz_phase_meter_start(const mz_state *state, const mz_workers *workers) {
  mz_phase_meter m = {.start_ns = mz_clock_ns(), .process_ns = mz_clock_process_ns(), .counters = state->counters};
  mz_stage_clocks_read(state, workers, m.stages);
  return m;
}

void mz_phase_measure(mz_phase *p, const mz_state *state, const mz_workers *workers, const mz_phase_meter *since,
                      const mz_round_stats *stats) {
  const double wall = (double)(mz_clock_ns() - since->start_ns) * 1e-9;
  mz_stage_sample now[MZ_CLOCKED_STAGES];
  double cpu = 0;
  mz_stage_clocks_read(state, workers, now);
  for (int i = 0; i < MZ_CLOCKED_STAGES; i++) {
    now[i] = mz_stage_time_between(&since->stages[i], &now[i]);
    cpu += now[i].cpu_s;
  }
  p->counters = state->counters;
  p->phase = (state->counters.rounds + state->settings.train.phase_rounds - 1) / state->settings.train.phase_rounds;
  p->env_steps_per_s = (double)(state->counters.env_steps - since->counters.env_steps) / wall;
  p->sims_per_s = (double)(state->counters.simulations - since->counters.simulations) / wall;
  p->updates_per_s = (double)(state->counters.updates - since->counters.updates) / wall;
  p->busy = cpu / (wall * mz_machine_cores());
  p->actor_busy = now[MZ_STAGE_ACTOR].busy_s / wall;
  p->batch_busy = now[MZ_STAGE_BATCH].busy_s / wall;
  p->learner_busy = now[MZ_STAGE_LEARNER].busy_s / wall;
  p->learner_wait = (double)stats->learner_wait_ns * 1e-9 / wall;
  p->batch_wait = (double)stats->batch_wait_ns * 1e-9 / wall;
  p->env_busy = now[MZ_STAGE_ENV].busy_s / wall;
  p->env_wait = now[MZ_STAGE_ENV].waited_for_s / wall;
  p->env_cpu_s = now[MZ_STAGE_ENV].cpu_s;
  p->mean_return = stats->episodes ? stats->return_sum / (double)stats->episodes : NAN;
  p->mean_length = stats->episodes ? (double)stats->length_sum / (double)stats->episodes : NAN;
  p->policy_entropy = stats->moves ? stats->policy_entropy_sum / (double)stats->moves : NAN;
  const mz_learning_stats *l = &stats->learning;
  double updates = l->updates ? (double)l->updates : NAN;
  p->loss = l->loss / updates;
  p->policy_loss = l->policy_loss / updates;
  p->value_loss = l->value_loss / updates;
  p->reward_loss = l->reward_loss / updates;
  p->gradient_norm = l->gradient_norm / updates;
  p->learning_rate = mz_learner_rate(state->learner);
  const mz_learning_settings *learning = &state->settings.learning;
  p->batch_size = learning->batch_size;
  p->loop_count = learning->loop_count;
  p->noise_scale = mz_noise_scale(&l->noise, learning->batch_size / learning->shards, learning->batch_size);
  p->prequential_loss = stats->prequential.rows[0] ? stats->prequential.loss[0] / (double)stats->prequential.rows[0] : NAN;
  mz_diagnose(p, &state->settings, l);
  p->positions = mz_buffer_positions(state->buffer);
  p->replay_bytes = mz_buffer_bytes(state->buffer);
  const mz_tier_use tiers = mz_buffer_tier_use(state->buffer);
  p->replay_raw = tiers.bytes[MZ_TIER_RAW];
  p->replay_packed = tiers.bytes[MZ_TIER_PACKED];
  p->replay_spilled = tiers.bytes[MZ_TIER_SPILLED];
  p->rss_bytes = (uint64_t)mz_memory_resident(state->env);
  p->phase_s = wall;
  p->round_s = (double)stats->wall_ns * 1e-9;
  p->cpu_s = (double)(mz_clock_process_ns() - since->process_ns) * 1e-9 + p->env_cpu_s;
  p->gib_s = (double)p->rss_bytes / 0x1p30 * wall;
  p->plan = workers->knobs;
  p->plan.learner_threads = mz_pool_threads(state->learner_pool);
}
