#include "muzero/storage/metrics.h"
#include "base/machine/clock.h"
#include "base/file/file.h"
#include "base/log.h"
#include "base/machine/machine.h"
#include "muzero/training/diagnosis.h"
#include <math.h>
#include <string.h>

mz_status mz_metrics_open(mz_metrics *metrics, const char *dir, uint64_t offset) {
  metrics->fd = -1;
  MZ_TRY(mz_path_join(metrics->path, sizeof metrics->path, dir, "metrics.jsonl"));
  metrics->offset = offset;
  MZ_TRY(mz_file_open_lines(metrics->path, &metrics->offset, &metrics->fd));
  metrics->end = metrics->offset;
  return MZ_OK;
}

void mz_metrics_close(mz_metrics *metrics) {
  if (mz_file_close(&metrics->fd, metrics->path) != MZ_OK) mz_log_write(MZ_LOG_WARNING, "%s", mz_message());
}

mz_status mz_metrics_sync(const mz_metrics *metrics) { return mz_file_sync(metrics->fd, metrics->path); }

static mz_status append_line(mz_metrics *metrics, const char *line, size_t length) {
  uint64_t missing;
  if (metrics->end > metrics->offset) MZ_TRY(mz_file_truncate(metrics->fd, metrics->path, metrics->offset, &missing));
  metrics->end = metrics->offset;
  MZ_TRY(mz_file_append(metrics->fd, metrics->path, line, length));
  metrics->end += length;
  return MZ_OK;
}

mz_status mz_metrics_append(mz_metrics *metrics, const cJSON *record, bool kept) {
  char *line = mz_json_line(record);
  if (!line) return mz_fail(MZ_E_MEMORY, "%s: no memory for a record", metrics->path);
  size_t length = strlen(line);
  line[length] = '\n'; /* takes the place of the NUL */
  mz_status status = append_line(metrics, line, length + 1);
  free(line);
  if (status == MZ_OK && kept) metrics->offset = metrics->end;
  return status;
}

static const mz_stage *stage_of(const mz_state *state, const mz_workers *workers, int i) {
  return i == 0 ? &workers->actor_stage : i == 1 ? &workers->batch_stage : &state->learner_stage;
}

mz_meter mz_meter_start(const mz_state *state, const mz_workers *workers) {
  mz_meter m = {.start_ns = mz_clock_ns(),
                .process_ns = mz_clock_process_ns(),
                .env_steps = state->counters.env_steps,
                .simulations = state->counters.simulations,
                .updates = state->counters.updates};
  for (int i = 0; i < 3; i++) {
    m.cpu_ns[i] = atomic_load(&stage_of(state, workers, i)->cpu_ns);
    m.busy_ns[i] = atomic_load(&stage_of(state, workers, i)->busy_ns);
  }
  return m;
}

void mz_phase_measure(mz_phase *p, const mz_state *state, const mz_workers *workers, const mz_meter *since,
                      const mz_round_stats *stats) {
  double wall = (double)(mz_clock_ns() - since->start_ns) * 1e-9, busy[3], cpu = 0;
  const mz_stage *stages[3];
  for (int i = 0; i < 3; i++) {
    stages[i] = stage_of(state, workers, i);
    busy[i] = (double)(atomic_load(&stages[i]->busy_ns) - since->busy_ns[i]) * 1e-9 / wall;
    cpu += (double)(atomic_load(&stages[i]->cpu_ns) - since->cpu_ns[i]) * 1e-9;
  }
  p->counters = state->counters;
  p->phase = (state->counters.rounds + state->settings.train.phase_rounds - 1) / state->settings.train.phase_rounds;
  p->env_steps_per_s = (double)(state->counters.env_steps - since->env_steps) / wall;
  p->sims_per_s = (double)(state->counters.simulations - since->simulations) / wall;
  p->updates_per_s = (double)(state->counters.updates - since->updates) / wall;
  p->busy = cpu / (wall * mz_machine_cores());
  p->actor_busy = busy[0];
  p->batch_busy = busy[1];
  p->learner_busy = busy[2];
  p->learner_wait = (double)stats->learner_wait_ns * 1e-9 / wall;
  p->batch_wait = (double)stats->batch_wait_ns * 1e-9 / wall;
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
  p->learning_rate = mz_learning_rate(&state->settings.optimizer, state->counters.updates, state->settings.train.horizon);
  mz_diagnose(p, &state->settings, l);
  p->positions = mz_buffer_positions(state->buffer);
  p->replay_bytes = mz_buffer_bytes(state->buffer);
  const mz_tier_use tiers = mz_buffer_tier_use(state->buffer);
  p->replay_raw = tiers.bytes[MZ_TIER_RAW];
  p->replay_packed = tiers.bytes[MZ_TIER_PACKED];
  p->replay_spilled = tiers.bytes[MZ_TIER_SPILLED];
  p->rss_bytes = mz_machine_rss();
  p->phase_s = wall;
  p->round_s = (double)stats->wall_ns * 1e-9;
  p->cpu_s = (double)(mz_clock_process_ns() - since->process_ns) * 1e-9;
  p->gib_s = (double)p->rss_bytes / 0x1p30 * wall;
  p->plan = workers->knobs;
  p->plan.learner_threads = mz_pool_threads(state->learner_pool);
}
