#include "selfplay/evaluate.h"
#include "muzero/base/arena.h"
#include "selfplay/lines.h"
#include "selfplay/planner.h"
#include <math.h>
#include <string.h>

enum {
  GROUP_MAX = 5,  /* games or positions searched together */
  LANES = 4,      /* planners that share the positions of an enumeration */
};
static const int64_t LINES_MAX = 10000000;

static int agent_simulations(const mz_agent *agent) {
  return agent->simulations ? agent->simulations : (int)agent->search->simulations;
}

/* An agent may think longer than it was trained with: its trees are made for that. */
static mz_status agent_planner(const mz_agent *agent, mz_planner *planner) {
  mz_search_settings search = *agent->search;
  search.simulations = agent_simulations(agent);
  return mz_planner_init(planner, agent->env, &search, agent->model, agent->backend, agent->discount, GROUP_MAX);
}

static mz_status run_tasks(mz_pool *pool, mz_task task, void *context, int tasks) {
  if (pool) return mz_pool_run(pool, task, context, tasks);
  for (int i = 0; i < tasks; i++) MZ_TRY(task(context, i, 0));
  return MZ_OK;
}

/* Mean, deviation and interval from the tallies by seat. */
static void conclude(mz_evaluation *out, double square_sum) {
  const mz_tally *first = &out->by_seat[0], *second = &out->by_seat[1];
  out->games = first->games + second->games;
  out->win = first->win + second->win;
  out->draw = first->draw + second->draw;
  out->loss = first->loss + second->loss;
  const double n = (double)out->games, sum = first->return_sum + second->return_sum;
  out->mean_return = sum / n;
  const double variance = out->games > 1 ? (square_sum - sum * sum / n) / (n - 1) : 0;
  out->std = variance > 0 ? sqrt(variance) : 0;
  out->ci95 = 1.96 * out->std / sqrt(n);
}

/* --- games --- */

enum { AGENT, RIVAL, AGENTS, OPPONENT = AGENTS };

typedef struct match {
  const mz_agent *agents[AGENTS]; /* RIVAL may be NULL */
  const mz_player *opponent;
  int games, tasks;
  uint64_t seed;
  uint32_t round;
  /* [games] */
  double *returns;
  int64_t *moves, *simulations;
} match;

/* The games first … first+count−1 of a match, played in lock step by one task. Arrays are [count]. */
typedef struct group {
  const match *match;
  const mz_env *env;
  int first, count, playing;
  mz_planner planners[AGENTS];
  uint8_t *states;
  bool *ended;
  int32_t *actions;
  mz_rng *chance, *opponent;
  mz_generator *generators;
  void *block;
} group;

static int seat_of(const mz_env *env, int game) { return env->spec.players == 2 ? game & 1 : 0; }

static uint8_t *group_state(const group *g, int i) { return g->states + (size_t)i * g->env->state_size; }

static mz_status group_init(group *g, const match *m, int task) {
  *g = (group){.match = m, .env = m->agents[AGENT]->env};
  g->first = (int)((int64_t)m->games * task / m->tasks);
  g->count = g->playing = (int)((int64_t)m->games * (task + 1) / m->tasks) - g->first;
  const size_t n = (size_t)g->count;
  mz_carver carver = {0};
  mz_carve(&carver, &g->states, n, g->env->state_size);
  mz_carve(&carver, &g->ended, n, sizeof *g->ended);
  mz_carve(&carver, &g->actions, n, sizeof *g->actions);
  mz_carve(&carver, &g->chance, n, sizeof *g->chance);
  mz_carve(&carver, &g->opponent, n, sizeof *g->opponent);
  mz_carve(&carver, &g->generators, n, sizeof *g->generators);
  MZ_TRY(mz_carve_commit(&carver, &g->block));
  for (int who = 0; who < AGENTS; who++) {
    if (m->agents[who]) MZ_TRY(agent_planner(m->agents[who], &g->planners[who]));
  }
  for (int i = 0; i < g->count; i++) {
    const uint64_t game = (uint64_t)(g->first + i);
    g->chance[i] = mz_rng_at(m->seed, MZ_RNG_EVAL_ENV, m->round, game);
    g->opponent[i] = mz_rng_at(m->seed, MZ_RNG_EVAL_OPPONENT, m->round, game);
    g->generators[i] = mz_generator_from_rng(&g->chance[i]);
    g->env->reset(g->env, group_state(g, i), &g->generators[i]);
  }
  return MZ_OK;
}

static void group_deinit(group *g) {
  for (int who = 0; who < AGENTS; who++) mz_planner_deinit(&g->planners[who]);
  free(g->block);
}

static int who_moves(const group *g, int i) {
  const bool own = mz_env_to_play(g->env, group_state(g, i)) == seat_of(g->env, g->first + i);
  if (own) return AGENT;
  if (g->match->opponent) return OPPONENT;
  return g->match->agents[RIVAL] ? RIVAL : AGENT;
}

/* Searches the positions in which this agent is to move, all together. */
static mz_status choose_by_search(group *g, int who) {
  const mz_agent *agent = g->match->agents[who];
  mz_planner *planner = &g->planners[who];
  int game_of[GROUP_MAX], n = 0;
  for (int i = 0; i < g->count; i++) {
    if (g->ended[i] || who_moves(g, i) != who) continue;
    mz_planner_observe(planner, n, 1, group_state(g, i));
    game_of[n++] = i;
  }
  if (n == 0) return MZ_OK;
  MZ_TRY(mz_planner_search(planner, n, agent->weights, 0));
  for (int k = 0; k < n; k++) {
    g->actions[game_of[k]] = planner->results[k].selected;
    g->match->simulations[g->first + game_of[k]] += agent_simulations(agent);
  }
  return MZ_OK;
}

static mz_status choose_all(group *g) {
  for (int who = 0; who < AGENTS; who++) {
    if (g->match->agents[who]) MZ_TRY(choose_by_search(g, who));
  }
  for (int i = 0; g->match->opponent && i < g->count; i++) {
    if (g->ended[i] || who_moves(g, i) != OPPONENT) continue;
    int action;
    MZ_TRY(mz_player_move(g->match->opponent, g->env, group_state(g, i), &g->opponent[i], &action));
    g->actions[i] = action;
  }
  return MZ_OK;
}

static void step_all(group *g) {
  for (int i = 0; i < g->count; i++) {
    if (g->ended[i]) continue;
    const int game = g->first + i;
    const bool own = mz_env_to_play(g->env, group_state(g, i)) == seat_of(g->env, game);
    mz_step step;
    g->env->step(group_state(g, i), 1, &g->actions[i], &g->generators[i], &step);
    g->match->moves[game]++;
    if (own) {
      g->match->returns[game] += (double)step.reward;
    } else if (g->env->spec.alternating) {
      g->match->returns[game] -= (double)step.reward;
    }
    g->ended[i] = step.terminated || step.truncated;
    g->playing -= g->ended[i];
  }
}

static mz_status play_group(void *context, int task, int worker) {
  (void)worker;
  group g;
  mz_status status;
  MZ_TRY_CLEANUP(group_init(&g, context, task));
  while (g.playing > 0) {
    MZ_TRY_CLEANUP(choose_all(&g));
    step_all(&g);
  }
cleanup:
  group_deinit(&g);
  return status;
}

mz_status mz_evaluate(const mz_agent *agent, const mz_player *opponent, const mz_agent *rival, int games, uint64_t seed,
                      uint32_t round, mz_pool *pool, mz_evaluation *out, double *returns) {
  const mz_env *env = agent->env;
  MZ_ASSERT(games >= 1 && !(opponent && rival) && (!rival || rival->env == env));
  if (env->spec.players == 1 && (opponent || rival)) {
    return mz_fail(MZ_E_CONFIG, "opponent: %s: %s is played alone; leave the opponent out", opponent ? opponent->name : "a run",
                   env->name);
  }
  match m = {.agents = {agent, rival},
             .opponent = opponent,
             .games = games,
             .tasks = (games + GROUP_MAX - 1) / GROUP_MAX,
             .seed = seed,
             .round = round};
  void *block;
  mz_carver carver = {0};
  mz_carve(&carver, &m.returns, (size_t)games, sizeof *m.returns);
  mz_carve(&carver, &m.moves, (size_t)games, sizeof *m.moves);
  mz_carve(&carver, &m.simulations, (size_t)games, sizeof *m.simulations);
  MZ_TRY(mz_carve_commit(&carver, &block));
  const mz_status status = run_tasks(pool, play_group, &m, m.tasks);
  if (status == MZ_OK) {
    *out = (mz_evaluation){0};
    double square_sum = 0;
    for (int i = 0; i < games; i++) {
      mz_tally *tally = &out->by_seat[seat_of(env, i)];
      mz_tally_add(tally, &square_sum, m.returns[i], 1);
      if (env->spec.players == 1) tally->win = tally->draw = tally->loss = 0;
      out->moves += m.moves[i];
      out->simulations += m.simulations[i];
    }
    conclude(out, square_sum);
    if (returns) memcpy(returns, m.returns, (size_t)games * sizeof *returns);
  }
  free(block);
  return status;
}

/* --- every line --- */

typedef struct oracle { /* the agent's moves in many positions; lane i of a request has planner i */
  const mz_agent *agent;
  mz_pool *pool;
  mz_planner planners[LANES];
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
    const int count = end - at < GROUP_MAX ? end - at : GROUP_MAX;
    mz_planner_observe(planner, 0, count, o->states + (size_t)at * o->agent->env->state_size);
    MZ_TRY(mz_planner_search(planner, count, o->agent->weights, 0));
    for (int i = 0; i < count; i++) o->actions[at + i] = planner->results[i].selected;
    at += count;
  }
  return MZ_OK;
}

static mz_status answer(void *context, int n, const void *states, int32_t *actions) {
  oracle *o = context;
  o->n = n;
  o->lanes = n < LANES * GROUP_MAX ? (n + GROUP_MAX - 1) / GROUP_MAX : LANES;
  o->states = states;
  o->actions = actions;
  return run_tasks(o->pool, answer_lane, o, o->lanes);
}

mz_status mz_evaluate_all(const mz_agent *agent, mz_pool *pool, mz_evaluation *out) {
  const mz_env *env = agent->env;
  if (env->spec.players != 2 || env->draws) {
    return mz_fail(MZ_E_CONFIG, "opponent: all: only for two players without chance, not for %s", env->name);
  }
  oracle o = {.agent = agent, .pool = pool};
  mz_evaluation result = {0};
  double square_sum = 0;
  mz_status status;
  for (int lane = 0; lane < LANES; lane++) MZ_TRY_CLEANUP(agent_planner(agent, &o.planners[lane]));
  for (int seat = 0; seat < 2; seat++) {
    mz_lines lines;
    MZ_TRY_CLEANUP(mz_lines_count(env, seat, answer, &o, LINES_MAX, &lines));
    result.by_seat[seat] = lines.tally;
    square_sum += lines.square_sum;
    result.moves += lines.moves;
    result.simulations += lines.positions * agent_simulations(agent);
  }
  conclude(&result, square_sum);
  *out = result;
cleanup:
  for (int lane = 0; lane < LANES; lane++) mz_planner_deinit(&o.planners[lane]);
  return status;
}
