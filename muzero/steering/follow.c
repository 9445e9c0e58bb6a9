/* A run that repeats the plans of a ledger, round by round: no allocator decides, and it does not follow what the machine grants. */
#include "muzero/steering/steer_state.h"

mz_status mz_steer_read_plans(mz_steer *s, const char *path, bool resumes) {
  MZ_TRY(mz_plan_list_read(&s->plans, path, &s->outset.pipeline, &s->bounds));
  if (!resumes) s->outset.plan = s->plans.items[0].plan;
  s->options.strategy = &mz_strategy_fixed;
  return MZ_OK;
}

static const mz_plan *planned(const mz_steer *s) {
  return &s->plans.items[mz_plan_list_at(&s->plans, s->state->counters.rounds)].plan;
}

bool mz_steer_plan_is_due(const mz_steer *s) {
  return mz_steer_follows(s) && !mz_plan_equal(&s->outset.pipeline, planned(s), mz_allocator_plan(s->allocator));
}

mz_status mz_steer_follow(mz_steer *s, mz_workers *workers) {
  if (!mz_steer_plan_is_due(s)) return MZ_OK;
  mz_allocator_options options = s->options;
  options.start = *planned(s);
  return mz_steer_begin_anew(s, workers, &options);
}
