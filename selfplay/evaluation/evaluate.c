#include "selfplay/evaluation/evaluate.h"
#include "base/maths/streams.h"
#include "base/arena.h"
#include "selfplay/evaluation/lines.h"
#include "selfplay/evaluation/opening.h"
#include <math.h>
#include <stdatomic.h>
#include <string.h>

void mz_evaluation_conclude(mz_evaluation *out, double square_sum) {
  const mz_tally *first = &out->by_seat[0], *second = &out->by_seat[1];
  out->games = first->games + second->games;
  out->win = first->win + second->win;
  out->draw = first->draw + second->draw;
  out->loss = first->loss + second->loss;
  const double n = (double)out->games, sum = first->return_sum + second->return_sum;
  out->mean_return = sum / n;
  const double variance = out->games > 1 ? (square_sum - sum * sum / n) / (n - 1) : 0;
  out->std = variance > 0 ? sqrt(variance) : 0;
  out->ci95 = out->games > 1 ? 1.96 * out->std / sqrt(n) : NAN;
  const double points = ((double)out->win + 0.5 * (double)out->draw) / n;
  out->points = (mz_interval){points, points, points};
}

/* --- what the tasks share --- */

typedef struct contest {
  const mz_match *match;
  int slots;        /* games that one task keeps in play */
  _Atomic int next; /* game that nobody has taken yet */
  /* [games] */
  double *returns;
  int64_t *moves, *simulations;
  mz_foreseen_game *values; /* zeros for a game that was truncated */
} contest;

static int seat_of(const mz_env *env, int game) { return env->spec.players == 2 ? game & 1 : 0; }

static bool is_played(const mz_side *side) { return side->agent || side->player; }

/* --- one task: games in lock step --- */

typedef struct group {
  contest *contest;
  const mz_match *match;
  int playing;
  mz_planner planners[2];
  /* [slots]; a slot without a game has −1 */
  int *games;
  int *slot_of; /* of the positions that are searched */
  uint8_t *states;
  int32_t *actions;
  mz_step *steps;
  bool *own; /* side 0's seat has made this move */
  mz_rng *chance, *players;
  mz_generator *generators;
  uint8_t *mask; /* [actions], scratch */
  void *block;
} group;

static uint8_t *group_state(const group *g, int slot) { return g->states + (size_t)slot * g->match->env->state_size; }

/* Takes up the next game that is left, if any. */
static mz_status start_game(group *g, int slot) {
  const mz_match *m = g->match;
  const int game = atomic_fetch_add(&g->contest->next, 1);
  g->games[slot] = game < m->games ? game : -1;
  if (game >= m->games) return MZ_OK;
  g->playing++;
  g->chance[slot] = mz_stream_eval_chance(m->seed, m->round, (uint64_t)game);
  g->players[slot] = mz_stream_eval_player(m->seed, m->round, (uint64_t)game);
  if (m->openings == 0) return m->env->reset(m->env, group_state(g, slot), &g->generators[slot]);
  mz_rng opening = mz_stream_eval_opening(m->seed, m->round, (uint64_t)(game / m->env->spec.players));
  const mz_generator generator = mz_generator_from_rng(&opening);
  int made;
  return mz_opening_play(m->env, group_state(g, slot), m->openings, g->mask, &opening, &generator, NULL, &made);
}

static mz_status group_init(group *g, contest *c) {
  const mz_match *m = c->match;
  *g = (group){.contest = c, .match = m};
  const size_t n = (size_t)c->slots;
  mz_carver carver = {0};
  mz_carve(&carver, &g->games, n, sizeof *g->games);
  mz_carve(&carver, &g->slot_of, n, sizeof *g->slot_of);
  mz_carve(&carver, &g->states, n, m->env->state_size);
  mz_carve(&carver, &g->actions, n, sizeof *g->actions);
  mz_carve(&carver, &g->steps, n, sizeof *g->steps);
  mz_carve(&carver, &g->own, n, sizeof *g->own);
  mz_carve(&carver, &g->chance, n, sizeof *g->chance);
  mz_carve(&carver, &g->players, n, sizeof *g->players);
  mz_carve(&carver, &g->generators, n, sizeof *g->generators);
  mz_carve(&carver, &g->mask, (size_t)m->env->spec.actions, 1);
  MZ_TRY(mz_carve_commit(&carver, &g->block));
  for (int side = 0; side < 2; side++) {
    if (m->sides[side].agent) MZ_TRY(mz_agent_planner(m->sides[side].agent, c->slots, &g->planners[side]));
  }
  for (int slot = 0; slot < c->slots; slot++) {
    g->generators[slot] = mz_generator_from_rng(&g->chance[slot]);
    MZ_TRY(start_game(g, slot));
  }
  return MZ_OK;
}

static void group_deinit(group *g) {
  for (int side = 0; side < 2; side++) mz_planner_deinit(&g->planners[side]);
  if (g->block) mz_env_release(g->match->env, g->states, g->contest->slots);
  free(g->block);
}

/* Whose reward the next move brings: side 0's seat, or the other one. */
static bool own_move(const group *g, int slot) {
  return mz_env_to_play(g->match->env, group_state(g, slot)) == seat_of(g->match->env, g->games[slot]);
}

static int side_to_move(const group *g, int slot) { return own_move(g, slot) || !is_played(&g->match->sides[1]) ? 0 : 1; }

/* Searches the positions in which this side is to move, all together. */
static mz_status choose_by_search(group *g, int side, const mz_agent *agent) {
  mz_planner *planner = &g->planners[side];
  int *slot_of = g->slot_of, n = 0;
  for (int slot = 0; slot < g->contest->slots; slot++) {
    if (g->games[slot] < 0 || side_to_move(g, slot) != side) continue;
    MZ_TRY(mz_planner_observe(planner, n, 1, group_state(g, slot)));
    slot_of[n++] = slot;
  }
  if (n == 0) return MZ_OK;
  MZ_TRY(mz_planner_search(planner, n, agent->weights, 0));
  for (int i = 0; i < n; i++) {
    const int slot = slot_of[i], game = g->games[slot];
    g->actions[slot] = planner->results[i].selected;
    g->contest->simulations[game] += planner->simulations;
    if (side == 0 && own_move(g, slot)) mz_foreseen_game_value(&g->contest->values[game], (double)planner->results[i].raw_value);
  }
  return MZ_OK;
}

static mz_status choose_by_player(group *g, int side, const mz_player *player) {
  for (int slot = 0; slot < g->contest->slots; slot++) {
    if (g->games[slot] < 0 || side_to_move(g, slot) != side) continue;
    int action;
    MZ_TRY(mz_player_move(player, g->match->env, group_state(g, slot), &g->players[slot], &action));
    g->actions[slot] = action;
    mz_stage_step();
  }
  return MZ_OK;
}

/* Counts the move that a slot has made; takes up another game where it ended one. */
static mz_status count_move(group *g, int slot) {
  const int game = g->games[slot];
  const mz_step *step = &g->steps[slot];
  const mz_agent *agent = g->match->sides[0].agent;
  const double gain = mz_spec_gain(&g->match->env->spec, g->own[slot], step->reward);
  g->contest->moves[game]++;
  g->contest->returns[game] += gain;
  if (agent) mz_foreseen_game_reward(&g->contest->values[game], agent->discount, gain);
  if (!step->terminated && !step->truncated) return MZ_OK;
  if (!step->terminated) g->contest->values[game] = (mz_foreseen_game){0};
  g->playing--;
  return start_game(g, slot);
}

/* Neighbours are stepped together: environments in other processes work on them at once. */
static mz_status step_all(group *g) {
  const mz_env *env = g->match->env;
  const int slots = g->contest->slots;
  for (int slot = 0; slot < slots; slot++) g->own[slot] = g->games[slot] >= 0 && own_move(g, slot);
  for (int first = 0, end; first < slots; first = end + 1) {
    for (end = first; end < slots && g->games[end] >= 0;) end++;
    if (end > first)
      MZ_TRY(env->step(env, group_state(g, first), end - first, &g->actions[first], &g->generators[first], &g->steps[first]));
  }
  for (int slot = 0; slot < slots; slot++)
    if (g->games[slot] >= 0) MZ_TRY(count_move(g, slot));
  return MZ_OK;
}

static mz_status play_games(void *context, int task, int worker) {
  (void)task, (void)worker;
  group g;
  mz_status status;
  MZ_TRY_CLEANUP(group_init(&g, context));
  while (g.playing > 0) {
    for (int side = 0; side < 2; side++) {
      const mz_side *who = &g.match->sides[side];
      if (who->agent) MZ_TRY_CLEANUP(choose_by_search(&g, side, who->agent));
      if (who->player) MZ_TRY_CLEANUP(choose_by_player(&g, side, who->player));
    }
    MZ_TRY_CLEANUP(step_all(&g));
  }
cleanup:
  group_deinit(&g);
  return status;
}

/* --- the match --- */

static mz_status run_tasks(mz_pool *pool, contest *c, int tasks) {
  return pool ? mz_pool_run(pool, play_games, c, tasks) : play_games(c, 0, 0);
}

/* Shares the games among tasks, each of which plays as many at once as its agents search together; about half of them wait for the same
 * side's search. On a GPU two tasks take turns: one steps its games while the other's are searched. */
static int share_games(const mz_match *match, int threads, int *slots) {
  enum { TASKS_ON_GPU = 2 };
  int tasks = threads < match->games ? threads : match->games, most = 0; /* most: 0: nobody searches */
  bool on_gpu = false;
  for (int side = 0; side < 2; side++) {
    const mz_agent *agent = match->sides[side].agent;
    if (agent == NULL) continue;
    on_gpu = on_gpu || !mz_lane_is_cpu(agent->where);
    const int own = mz_agent_slots_max(agent->where);
    if (most == 0 || own < most) most = own;
  }
  if (on_gpu && tasks > TASKS_ON_GPU) tasks = TASKS_ON_GPU;
  const int parts = on_gpu ? tasks : 2 * tasks; /* on CPUs half of a task's games: who is quicker takes up more */
  *slots = (match->games + parts - 1) / parts;
  if (most > 0 && *slots > most) *slots = most;
  return tasks;
}

static double points_of(double game_return) { return game_return > 0 ? 1 : game_return < 0 ? 0 : 0.5; }

/* Whether the same seats always play the same game. */
static mz_status find_repetition(const mz_match *m, bool *repeats) {
  bool differ = true;
  if (m->env->spec.players > 1 && m->openings == 0 && !m->env->draws && !m->sides[0].player && !m->sides[1].player)
    MZ_TRY(mz_starts_differ(m->env, &differ));
  *repeats = !differ;
  return MZ_OK;
}

typedef struct unit { /* games that depend on each other: first, first + stride … before `end` */
  int first, stride, end;
} unit;

static unit unit_at(const mz_match *m, bool repeats, int i) {
  if (repeats) return (unit){i, 2, m->games};
  if (m->openings > 0) return (unit){2 * i, 1, 2 * i + 2 < m->games ? 2 * i + 2 : m->games};
  return (unit){i, 1, i + 1};
}

static int count_units(const mz_match *m, bool repeats) {
  if (repeats) return m->games < 2 ? m->games : 2;
  return m->openings > 0 ? (m->games + 1) / 2 : m->games;
}

static double mean_points(const double *returns, unit u) {
  double sum = 0;
  int n = 0;
  for (int game = u.first; game < u.end; game += u.stride, n++) sum += points_of(returns[game]);
  return sum / n;
}

/* Half width of the 95 % interval of the mean return, from the units' sums of what their games differ from it. */
static double interval_of_mean(const mz_match *m, bool repeats, const double *returns, double mean) {
  const int count = count_units(m, repeats);
  double squares = 0;
  for (int i = 0; i < count; i++) {
    const unit u = unit_at(m, repeats, i);
    double apart = 0;
    for (int game = u.first; game < u.end; game += u.stride) apart += returns[game] - mean;
    squares += apart * apart;
  }
  return count > 1 ? 1.96 * sqrt(squares * count / (count - 1)) / m->games : NAN;
}

static void evaluation_of(const mz_match *m, bool repeats, const double *returns, double *units, mz_evaluation *out) {
  *out = (mz_evaluation){0};
  double square_sum = 0;
  for (int i = 0; i < m->games; i++) {
    mz_tally *tally = &out->by_seat[seat_of(m->env, i)];
    mz_tally_add(tally, &square_sum, returns[i], 1);
    if (m->env->spec.players == 1) tally->win = tally->draw = tally->loss = 0;
  }
  mz_evaluation_conclude(out, square_sum);
  if (m->env->spec.players == 1) return;
  const int count = count_units(m, repeats);
  for (int i = 0; i < count; i++) units[i] = mean_points(returns, unit_at(m, repeats, i));
  const mz_interval interval = mz_points_interval(units, count);
  out->points.low = interval.low;
  out->points.high = interval.high;
  if (count < m->games) out->ci95 = interval_of_mean(m, repeats, returns, out->mean_return);
}

void mz_evaluation_of(const mz_match *m, const double *returns, double *units, mz_evaluation *out) {
  evaluation_of(m, false, returns, units, out);
}

mz_status mz_evaluate(const mz_match *match, mz_pool *pool, mz_evaluation *out, double *returns) {
  const mz_env *env = match->env;
  const mz_side *other = &match->sides[1];
  MZ_ASSERT(match->games >= 1 && match->openings >= 0 && is_played(&match->sides[0]));
  for (int side = 0; side < 2; side++) MZ_ASSERT(!match->sides[side].agent || !match->sides[side].player);
  if (env->spec.players == 1 && is_played(other)) {
    return mz_fail(MZ_E_CONFIG, "opponent: %s: %s is played alone; leave the opponent out",
                   other->player ? other->player->name : "a run", env->name);
  }
  bool repeats;
  MZ_TRY(find_repetition(match, &repeats));
  contest c = {.match = match};
  const int tasks = share_games(match, pool ? mz_pool_threads(pool) : 1, &c.slots);
  const size_t games = (size_t)match->games;
  double *units;
  void *block;
  mz_carver carver = {0};
  mz_carve(&carver, &c.returns, games, sizeof *c.returns);
  mz_carve(&carver, &c.moves, games, sizeof *c.moves);
  mz_carve(&carver, &c.simulations, games, sizeof *c.simulations);
  mz_carve(&carver, &c.values, games, sizeof *c.values);
  mz_carve(&carver, &units, games, sizeof *units);
  MZ_TRY(mz_carve_commit(&carver, &block));
  const mz_status status = run_tasks(pool, &c, tasks);
  if (status == MZ_OK) {
    evaluation_of(match, repeats, c.returns, units, out);
    for (size_t i = 0; i < games; i++) {
      out->moves += c.moves[i];
      out->simulations += c.simulations[i];
      mz_foresight_add(&out->values, &c.values[i].sums);
    }
    if (returns) memcpy(returns, c.returns, games * sizeof *returns);
  }
  free(block);
  return status;
}
