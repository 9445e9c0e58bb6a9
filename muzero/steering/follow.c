/* A run that repeats the plans of a ledger, round by round: no allocator decides, and it does not follow what the machine grants. */
#include "muzero/batch_rule.h"
#include "muzero/knobs.h"
#include "muzero/steering/steer_state.h"

/* A run that repeats a moved loop_count must have it as state, and begin with the same. */
static mz_status check_training(const mz_steer *s, const char *path, bool resumes) {
  const long long first = (long long)s->plans.training, own = (long long)s->state->settings.learning.loop_count;
  if (first == 0) return MZ_OK;
  if (!s->state->moves_loop_count)
    return mz_fail(MZ_E_CONFIG,
                   "%s: its run moved loop_count, which this one would not: repeat it with --set allocate.objective=goodput",
                   path);
  if (resumes || first == own) return MZ_OK;
  return mz_fail(MZ_E_CONFIG, "%s: its run began with loop_count %lld, this one with %lld: repeat it with --set loop_count=%lld",
                 path, first, own, first);
}

static mz_status check_batches(const mz_steer *s, const char *path, bool resumes) {
  const long long first = (long long)s->plans.batch, own = (long long)s->state->own.learning.batch_size;
  if (first == 0) return MZ_OK;
  if (!resumes && first != own)
    return mz_fail(MZ_E_CONFIG,
                   "%s: its run began with batches of %lld rows, this one with %lld: repeat it with --set batch_size=%lld", path,
                   first, own, first);
  for (int i = 0; i < s->plans.count; i++) {
    mz_settings copy = s->state->own;
    if (s->plans.items[i].batch > 0) MZ_TRY(mz_batch_rule_apply(&copy, s->plans.items[i].batch, path));
  }
  return MZ_OK;
}

/* A ledger that moves the batch size has plans for smaller batches, too, of which a round has more: so it may have more builders. */
static mz_status read_list(mz_steer *s, const char *path) {
  mz_pipeline *any;
  mz_settings settings = s->state->settings;
  MZ_TRY(mz_alloc(&any, 1, sizeof *any));
  *any = s->outset.pipeline;
  settings.learning.loop_count = 0; /* as many builders as threads allow */
  mz_knob knobs[MZ_KNOBS];
  mz_knobs_describe(knobs, &settings, &settings.knobs, s->threads > 0 ? s->threads : (int)s->bounds.cpu_max, any->device_count);
  any->knobs[MZ_KNOB_BATCH_ACTOR] = knobs[MZ_KNOB_BATCH_ACTOR];
  mz_status status = mz_plan_list_read(&s->plans, path, any, &s->bounds);
  if (status == MZ_OK && s->plans.batch == 0) {
    mz_plan_list_deinit(&s->plans);
    status = mz_plan_list_read(&s->plans, path, &s->outset.pipeline, &s->bounds);
  }
  free(any);
  return status;
}

static const mz_planned *planned(const mz_steer *s) {
  return &s->plans.items[mz_plan_list_at(&s->plans, s->state->counters.rounds)];
}

mz_status mz_steer_read_plans(mz_steer *s, const char *path, bool resumes) {
  MZ_TRY(read_list(s, path));
  MZ_TRY(check_training(s, path, resumes));
  MZ_TRY(check_batches(s, path, resumes));
  if (!resumes) s->outset.plan = mz_plan_clamp(&s->outset.pipeline, &s->plans.items[0].plan);
  s->options.strategy = &mz_strategy_fixed;
  return MZ_OK;
}

static int64_t planned_loops(const mz_steer *s) {
  const int64_t moved = planned(s)->training;
  return moved > 0 ? moved : s->state->settings.learning.loop_count;
}

static int64_t planned_batch(const mz_steer *s) {
  const int64_t moved = planned(s)->batch;
  return moved > 0 ? moved : s->state->settings.learning.batch_size;
}

bool mz_steer_plan_is_due(const mz_steer *s) {
  const mz_learning_settings *present = &s->state->settings.learning;
  if (!mz_steer_follows(s)) return false;
  const mz_plan plan = mz_plan_clamp(&s->outset.pipeline, &planned(s)->plan);
  return planned_batch(s) != present->batch_size || planned_loops(s) != present->loop_count ||
         !mz_plan_equal(&s->outset.pipeline, &plan, mz_allocator_plan(s->allocator));
}

mz_status mz_steer_follow(mz_steer *s, mz_workers *workers) {
  if (planned_batch(s) != s->state->settings.learning.batch_size)
    return mz_steer_set_batch_size(s, workers, planned_batch(s), &planned(s)->plan, "replay-plan");
  return mz_steer_set_loop_count(s, workers, planned_loops(s), &planned(s)->plan);
}
