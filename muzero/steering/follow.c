/* A run that repeats the plans of a ledger, round by round: no allocator decides, and it does not follow what the machine grants. */
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

mz_status mz_steer_read_plans(mz_steer *s, const char *path, bool resumes) {
  MZ_TRY(mz_plan_list_read(&s->plans, path, &s->outset.pipeline, &s->bounds));
  MZ_TRY(check_training(s, path, resumes));
  if (!resumes) s->outset.plan = s->plans.items[0].plan;
  s->options.strategy = &mz_strategy_fixed;
  return MZ_OK;
}

static const mz_planned *planned(const mz_steer *s) {
  return &s->plans.items[mz_plan_list_at(&s->plans, s->state->counters.rounds)];
}

static int64_t planned_loops(const mz_steer *s) {
  const int64_t moved = planned(s)->training;
  return moved > 0 ? moved : s->state->settings.learning.loop_count;
}

bool mz_steer_plan_is_due(const mz_steer *s) {
  return mz_steer_follows(s) && (planned_loops(s) != s->state->settings.learning.loop_count ||
                                 !mz_plan_equal(&s->outset.pipeline, &planned(s)->plan, mz_allocator_plan(s->allocator)));
}

mz_status mz_steer_follow(mz_steer *s, mz_workers *workers) {
  return mz_steer_set_loop_count(s, workers, planned_loops(s), &planned(s)->plan);
}
