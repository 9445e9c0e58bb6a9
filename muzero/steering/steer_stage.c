/* A run that an agent plans by stages (staged.h): the lines of the ledger, and the plan between stages. */
#include "base/log.h"
#include "muzero/batch_rule.h"
#include "muzero/steering/steer_state.h"

/* ---- opening ---- */

mz_status mz_steer_open_staged(mz_steer *s, bool has_parent) {
  const mz_allocation_settings *settings = &s->state->settings.allocation;
  mz_curve_key key;
  bool asked;
  if (mz_steer_follows(s)) return MZ_OK; /* plans are those of the ledger */
  MZ_TRY(mz_staged_is_asked(&s->state->own, s->state->moves_loop_count, &asked));
  if (!asked) return MZ_OK;
  if (has_parent)
    return mz_fail(MZ_E_CONFIG,
                   "allocate.policy: a course begins with an untrained network, and this run with another's state (--from)");
  mz_curve_key_of(&key, &s->key, &s->state->own);
  MZ_TRY(mz_alloc(&s->whole.pipeline, 1, sizeof *s->whole.pipeline));
  *s->whole.pipeline = s->outset.pipeline;
  s->whole.bounds = s->bounds;
  return mz_staged_open(&s->staged, settings, &key, "", &s->outset.pipeline);
}

/* ---- stages ---- */

/* The batch sizes of a course that the run may move to. */
static bool has_batch(const void *context, double batch_size) {
  const mz_steer *s = context;
  mz_settings copy = s->state->own;
  return mz_batch_rule_apply(&copy, (int64_t)batch_size, "batch_size") == MZ_OK;
}

static mz_staged_run run_of(const mz_steer *s) {
  return (mz_staged_run){.pipeline = s->whole.pipeline,
                         .bounds = &s->whole.bounds,
                         .batch_size = (double)s->state->settings.learning.batch_size,
                         .has_batch = has_batch,
                         .context = s,
                         .phase = s->state->counters.phases,
                         .round = s->state->counters.rounds};
}

/* The run may have fewer cores than when it began: knobs are brought into their ranges. */
static mz_status move_to(mz_steer *s, mz_workers *workers, const mz_plan *plan, int64_t rows) {
  if (rows != s->state->settings.learning.batch_size)
    return mz_steer_set_batch_size(s, workers, rows, plan, mz_strategy_staged.name);
  const mz_pipeline *p = &s->outset.pipeline;
  mz_allocator_options options = s->options;
  options.start = mz_plan_clamp(p, plan);
  if (mz_plan_equal(p, &options.start, mz_allocator_plan(s->allocator))) return MZ_OK;
  return mz_steer_begin_anew(s, workers, &options);
}

/* Puts a plan of the course in force. One that there is no memory for leaves the old one in force, where nothing has changed yet. */
static mz_status put_in_force(mz_steer *s, mz_workers *workers, int plan) {
  const int64_t rows = (int64_t)mz_staged_batch_size(s->staged, plan), before = s->state->settings.learning.batch_size;
  mz_status status = mz_steer_limit_cores(s, workers, mz_staged_cores(s->staged, plan));
  if (status == MZ_OK) status = move_to(s, workers, mz_staged_plan(s->staged, plan), rows);
  if (status != MZ_E_MEMORY || s->state->settings.learning.batch_size != before) return status;
  mz_log_write(MZ_LOG_WARNING, "the stage's plan could not be carried out, the workers stay as they are: %s", mz_message());
  return mz_steer_restart(s, workers);
}

static mz_status begin_stage(mz_steer *s, mz_workers *workers) {
  mz_stage_record record;
  const mz_staged_run run = run_of(s);
  MZ_TRY(mz_staged_decide(s->staged, &run, &record));
  MZ_TRY(mz_ledger_append_stage(&s->ledger, &record, mz_staged_plan_count(s->staged)));
  return record.chosen >= 0 ? put_in_force(s, workers, record.chosen) : MZ_OK;
}

mz_status mz_steer_begin_stages(mz_steer *s, mz_workers *workers) {
  mz_stage_lines lines;
  if (!s->resumes && mz_steer_plan_is_due(s)) return mz_steer_follow(s, workers);
  if (!s->staged) return MZ_OK;
  if (!s->resumes) return begin_stage(s, workers);
  MZ_TRY(mz_stage_lines_read(&lines, s->ledger.path));
  MZ_TRY(mz_staged_resume(s->staged, &lines, s->ledger.path));
  return lines.last.chosen >= 0 ? mz_steer_limit_cores(s, workers, mz_staged_cores(s->staged, lines.last.chosen)) : MZ_OK;
}

static mz_status append_sum(mz_steer *s, double seconds, double cost) {
  mz_stages_record record;
  const mz_staged_run run = run_of(s);
  mz_staged_sum_up(s->staged, &run, seconds, cost, &record);
  return mz_ledger_append_stages(&s->ledger, &record);
}

mz_status mz_steer_stage_epoch(mz_steer *s, mz_workers *workers, const mz_epoch *epoch, double cost) {
  if (!s->staged || mz_staged_is_over(s->staged)) return MZ_OK;
  if (!mz_staged_epoch(s->staged, epoch, cost)) return mz_ledger_append_stage_epoch(&s->ledger, epoch);
  return mz_staged_is_over(s->staged) ? append_sum(s, epoch->wall_s, cost) : begin_stage(s, workers);
}

mz_status mz_steer_ends(mz_steer *s, double seconds, double cost) {
  return s->staged && !mz_staged_is_over(s->staged) ? append_sum(s, seconds, cost) : MZ_OK;
}
