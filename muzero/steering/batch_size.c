/* Moves of the batch size: by setting batch_schedule, by a ledger whose plans are repeated, or by another decider. */
#include "muzero/batch_rule.h"
#include "muzero/batch_schedule.h"
#include "muzero/steering/steer_state.h"

/* Multiplies what a batch was timed to cost: its time is taken to grow with its rows. */
static void scale_probes(mz_pipeline *pipeline, double ratio) {
  static const int stages[] = {MZ_STAGE_BATCH, MZ_STAGE_LEARNER};
  for (size_t s = 0; s < sizeof stages / sizeof *stages; s++)
    for (int kind = 0; kind < MZ_DEVICE_KINDS; kind++)
      for (int i = 0; i < MZ_PROBES_MAX; i++) {
        pipeline->stages[stages[s]].probes[kind].cpu_s[i] *= ratio;
        pipeline->stages[stages[s]].probes[kind].device_s[i] *= ratio;
      }
}

/* Holds what a move would put in force, found before anything is given up. */
typedef struct next_batch {
  mz_settings settings;
  mz_memory memory;
  mz_outset outset;
  mz_plan plan;
} next_batch;

/* Brings the start plan into ranges and memory. One that is repeated from a ledger is not shrunk: it would be another plan. */
static mz_status fit(const mz_steer *s, const mz_plan *start, const char *where, next_batch *next) {
  const mz_pipeline *p = &next->outset.pipeline;
  next->plan = mz_plan_clamp(p, start);
  if (!mz_steer_follows(s)) mz_plan_shrink(p, s->bounds.memory_max, &next->plan);
  const double bytes = mz_plan_bytes(p, &next->plan, NULL, 0);
  if (bytes > s->bounds.memory_max)
    return mz_fail(MZ_E_MEMORY,
                   "%s: with batches of %lld rows the run may need %.0f MiB, %.0f MiB more than the %.0f MiB that may be had "
                   "(limits.memory_max)",
                   where, (long long)next->settings.learning.batch_size, bytes / 0x1p20, (bytes - s->bounds.memory_max) / 0x1p20,
                   s->bounds.memory_max / 0x1p20);
  return mz_plan_check_gpus(p, &next->plan);
}

static mz_status prepare(mz_steer *s, int64_t rows, const mz_plan *start, const char *where, next_batch *next) {
  const double before = (double)s->state->settings.learning.batch_size;
  next->settings = s->state->own;
  MZ_TRY(mz_batch_rule_apply(&next->settings, rows, where));
  MZ_TRY(mz_outset_count_memory(&next->memory, s->state->env, &next->settings, &s->choice));
  next->memory.fixed[MZ_MEMORY_PROCESS] = s->memory.fixed[MZ_MEMORY_PROCESS]; /* by now it has all the rest in it, too */
  next->memory.env = s->memory.env;                                           /* games in play have their processes */
  MZ_TRY(mz_steer_describe(s, &next->settings, &next->memory, &next->outset));
  scale_probes(&next->outset.pipeline, (double)rows / before);
  return fit(s, start, where, next);
}

static mz_status take(mz_steer *s, mz_workers *workers, const next_batch *next, const mz_batch_move *move, const char *where) {
  MZ_TRY(mz_workers_set_batch_size(workers, move->to, where));
  s->memory = next->memory;
  s->outset = next->outset;
  MZ_TRY(mz_steer_turn_to_work(s));
  MZ_TRY(mz_ledger_append_batch_move(&s->ledger, move));
  mz_allocator_options options = s->options;
  options.start = next->plan;
  return mz_steer_begin_anew(s, workers, &options);
}

mz_status mz_steer_set_batch_size(mz_steer *s, mz_workers *workers, int64_t rows, const mz_plan *start, const char *by) {
  const int64_t from = s->state->settings.learning.batch_size;
  if (rows == from) return MZ_OK;
  mz_batch_move move = {.phase = s->state->counters.phases, .round = s->state->counters.rounds, .from = from, .to = rows};
  char where[64];
  snprintf(move.by, sizeof move.by, "%s", by);
  snprintf(where, sizeof where, "batch_size, moved by %s", move.by);
  if (s->state->moves_loop_count)
    return mz_fail(MZ_E_CONFIG,
                   "%s: this run moves loop_count, or did (allocate.objective=goodput), and only one of the two may move", where);
  next_batch *next;
  MZ_TRY(mz_alloc(&next, 1, sizeof *next));
  mz_status status = prepare(s, rows, start, where, next);
  if (status == MZ_OK) status = take(s, workers, next, &move, where);
  free(next);
  return status;
}

mz_status mz_steer_follow_schedule(mz_steer *s, mz_workers *workers) {
  if (s->plans.batch > 0 || s->state->own.learning.batch_schedule[0] == '\0') return MZ_OK;
  const mz_plan start = *mz_allocator_kept(s->allocator);
  return mz_steer_set_batch_size(s, workers, mz_batch_schedule_at(&s->state->own, s->state->counters.phases), &start, "schedule");
}
