/* Every line that an opponent can play, with the agent's moves found by many searches at once. */
#include "selfplay/evaluation/evaluate.h"
#include "selfplay/evaluation/lines.h"
#include "selfplay/evaluation/opening.h"
#include <math.h>

enum {
  GROUP_ON_CPU = 5, /* positions searched together; on a GPU as many as an agent's slots */
  LANES = 4,        /* planners that share the positions; on a GPU one */
};
static const int64_t LINES_MAX = 10000000;

typedef struct oracle { /* the agent's moves in many positions; lane i of a request has planner i */
  const mz_agent *agent;
  mz_pool *pool;
  mz_planner planners[LANES];
  int group, lanes_max;
  int n, lanes;
  const uint8_t *states;
  int32_t *actions;
} oracle;

static mz_status answer_lane(void *context, int lane, int worker) {
  (void)worker;
  oracle *o = context;
  mz_planner *planner = &o->planners[lane];
  const int end = (int)((int64_t)o->n * (lane + 1) / o->lanes);
  int at = (int)((int64_t)o->n * lane / o->lanes);
  while (at < end) {
    const int count = end - at < o->group ? end - at : o->group;
    MZ_TRY(mz_planner_observe(planner, 0, count, o->states + (size_t)at * o->agent->env->state_size));
    MZ_TRY(mz_planner_search(planner, count, o->agent->weights, 0));
    for (int i = 0; i < count; i++) o->actions[at + i] = planner->results[i].selected;
    at += count;
  }
  return MZ_OK;
}

static mz_status run_lanes(oracle *o) {
  if (o->pool) return mz_pool_run(o->pool, answer_lane, o, o->lanes);
  for (int lane = 0; lane < o->lanes; lane++) MZ_TRY(answer_lane(o, lane, 0));
  return MZ_OK;
}

static mz_status answer(void *context, int n, const void *states, int32_t *actions) {
  oracle *o = context;
  o->n = n;
  o->lanes = n < o->lanes_max * o->group ? (n + o->group - 1) / o->group : o->lanes_max;
  o->states = states;
  o->actions = actions;
  return run_lanes(o);
}

mz_status mz_evaluate_all_check(const mz_env *env, const char *where) {
  if (env->spec.players != 2 || env->draws) {
    return mz_fail(MZ_E_CONFIG, "%s: only for two players without chance, not for %s", where, env->name);
  }
  MZ_TRY(mz_env_check_copies(env, where, "random"));
  bool differ;
  MZ_TRY(mz_starts_differ(env, &differ));
  if (differ)
    return mz_fail(MZ_E_CONFIG, "%s: only where all games begin alike, not for %s; play a sample of games instead", where,
                   env->name);
  return MZ_OK;
}

mz_status mz_evaluate_all(const mz_agent *agent, mz_pool *pool, mz_evaluation *out) {
  MZ_TRY(mz_evaluate_all_check(agent->env, "opponent: all"));
  const bool on_cpu = mz_lane_is_cpu(agent->where);
  oracle o = {.agent = agent,
              .pool = pool,
              .group = on_cpu ? GROUP_ON_CPU : mz_agent_slots_max(agent->where),
              .lanes_max = on_cpu ? LANES : 1};
  mz_evaluation result = {0};
  double square_sum = 0;
  mz_status status;
  for (int lane = 0; lane < o.lanes_max; lane++) MZ_TRY_CLEANUP(mz_agent_planner(agent, o.group, &o.planners[lane]));
  for (int seat = 0; seat < 2; seat++) {
    mz_lines lines;
    MZ_TRY_CLEANUP(mz_lines_count(agent->env, seat, answer, &o, LINES_MAX, &lines));
    result.by_seat[seat] = lines.tally;
    square_sum += lines.square_sum;
    result.moves += lines.moves;
    result.simulations += lines.positions * mz_agent_simulations(agent);
  }
  mz_evaluation_conclude(&result, square_sum);
  result.ci95 = NAN; /* nothing was drawn at random */
  *out = result;
cleanup:
  for (int lane = 0; lane < LANES; lane++) mz_planner_deinit(&o.planners[lane]);
  return status;
}
