#include "selfplay/evaluation/judge.h"
#include "base/maths/streams.h"
#include "base/arena.h"
#include "selfplay/players/perfect.h"
#include <stdatomic.h>
#include <string.h>

enum {
  TOGETHER = 16,   /* positions that one search takes */
  GAMES_MAX = 1000 /* for one position: of games from play in which decisive positions are rare */
};

typedef struct court { /* what the tasks share */
  const mz_env *env;
  const mz_side *sides;
  int count, positions;
  uint64_t seed;
  mz_player guide;  /* plays the games */
  _Atomic int next; /* position that nobody has taken yet */
  double *kept;     /* [count][positions]: 0 or 1 */
} court;

typedef struct panel { /* of one task: positions in which all sides are asked */
  court *court;
  uint8_t *states;        /* [TOGETHER] */
  uint8_t *optimal;       /* [TOGETHER][actions] */
  uint8_t *legal, *state; /* scratch */
  mz_planner *planners;   /* [count]; zeroed for players */
  void *block;
} panel;

static mz_status panel_init(panel *p, court *c) {
  *p = (panel){.court = c};
  const size_t actions = (size_t)c->env->spec.actions;
  mz_carver carver = {0};
  mz_carve(&carver, &p->states, TOGETHER, c->env->state_size);
  mz_carve(&carver, &p->optimal, TOGETHER, actions);
  mz_carve(&carver, &p->legal, 1, actions);
  mz_carve(&carver, &p->state, 1, c->env->state_size);
  mz_carve(&carver, &p->planners, (size_t)c->count, sizeof *p->planners);
  MZ_TRY(mz_carve_commit(&carver, &p->block));
  for (int i = 0; i < c->count; i++)
    if (c->sides[i].agent) MZ_TRY(mz_agent_planner(c->sides[i].agent, TOGETHER, &p->planners[i]));
  return MZ_OK;
}

static void panel_deinit(panel *p) {
  if (!p->block) return;
  for (int i = 0; i < p->court->count; i++) mz_planner_deinit(&p->planners[i]);
  free(p->block);
}

/* A position of a fresh game, each ply from which perfect play is quick as likely as any other; false: the game ended before. */
static mz_status draw_any(panel *p, void *out, bool *found, mz_rng *rng) {
  const mz_env *env = p->court->env;
  const mz_generator generator = mz_generator_from_rng(rng);
  const int from = mz_perfect_quick_after(env);
  *found = false;
  MZ_TRY(env->reset(env, p->state, &generator));
  for (int ply = 0;; ply++) {
    if (ply >= from && mz_rng_below(rng, (uint32_t)(ply - from + 1)) == 0) {
      memcpy(out, p->state, env->state_size);
      *found = true;
    }
    int action;
    MZ_TRY(mz_player_move(&p->court->guide, env, p->state, rng, &action));
    const int32_t chosen = action;
    mz_step step;
    MZ_TRY(env->step(env, p->state, 1, &chosen, &generator, &step));
    if (step.terminated || step.truncated) return MZ_OK;
  }
}

static mz_status draw_decisive(panel *p, int position, void *state, uint8_t *optimal) {
  const mz_env *env = p->court->env;
  mz_rng rng = mz_stream_judged_position(p->court->seed, (uint64_t)position);
  for (int game = 0; game < GAMES_MAX; game++) {
    bool found;
    int good;
    MZ_TRY(draw_any(p, state, &found, &rng));
    if (!found) continue;
    MZ_TRY(mz_perfect_moves(env, state, optimal, &good));
    if (good < mz_env_legal(env, state, p->legal)) return MZ_OK;
  }
  return mz_fail(MZ_E_CONFIG, "judge: %s: no position in %d games in which a move throws the outcome away", env->name, GAMES_MAX);
}

static mz_status ask_agent(panel *p, int side, int first, int n, double *kept) {
  const mz_env *env = p->court->env;
  mz_planner *planner = &p->planners[side];
  MZ_TRY(mz_planner_observe(planner, 0, n, p->states));
  MZ_TRY(mz_planner_search(planner, n, p->court->sides[side].agent->weights, 0));
  for (int i = 0; i < n; i++)
    kept[first + i] = p->optimal[(size_t)i * (size_t)env->spec.actions + (size_t)planner->results[i].selected];
  return MZ_OK;
}

static mz_status ask_player(panel *p, int side, int first, int n, double *kept) {
  const mz_env *env = p->court->env;
  for (int i = 0; i < n; i++) {
    mz_rng rng = mz_stream_judged_move(p->court->seed, side, (uint64_t)(first + i));
    int action;
    MZ_TRY(mz_player_move(p->court->sides[side].player, env, p->states + (size_t)i * env->state_size, &rng, &action));
    kept[first + i] = p->optimal[(size_t)i * (size_t)env->spec.actions + (size_t)action];
  }
  return MZ_OK;
}

static mz_status sit(void *context, int task, int worker) {
  (void)task, (void)worker;
  court *c = context;
  panel p;
  mz_status status;
  MZ_TRY_CLEANUP(panel_init(&p, c));
  for (int first; (first = atomic_fetch_add(&c->next, TOGETHER)) < c->positions;) {
    const int n = c->positions - first < TOGETHER ? c->positions - first : TOGETHER;
    for (int i = 0; i < n; i++)
      MZ_TRY_CLEANUP(draw_decisive(&p, first + i, p.states + (size_t)i * c->env->state_size,
                                   p.optimal + (size_t)i * (size_t)c->env->spec.actions));
    for (int side = 0; side < c->count; side++) {
      double *kept = c->kept + (size_t)side * (size_t)c->positions;
      MZ_TRY_CLEANUP((c->sides[side].agent ? ask_agent : ask_player)(&p, side, first, n, kept));
    }
  }
cleanup:
  panel_deinit(&p);
  return status;
}

static mz_judgement judgement_of(const double *kept, int positions) {
  mz_judgement out = {.positions = positions, .share = mz_points_interval(kept, positions)};
  for (int i = 0; i < positions; i++) out.kept += (int64_t)kept[i];
  return out;
}

mz_status mz_judge(const mz_env *env, const mz_side *sides, int count, int positions, uint64_t seed, mz_pool *pool,
                   mz_judgement *out) {
  MZ_ASSERT(count >= 1 && positions >= 1);
  court c = {.env = env, .sides = sides, .count = count, .positions = positions, .seed = seed};
  if (!mz_perfect_known(env))
    return mz_fail(MZ_E_CONFIG, "judge: perfect play is not known for %s; there is tictactoe, connect4 and pig", env->name);
  if (env->spec.players == 1)
    return mz_fail(MZ_E_CONFIG, "judge: %s is played alone; its games tell how good an agent is", env->name);
  MZ_TRY(mz_player_parse(mz_rule_known(env) ? "rule" : "random", env, &c.guide));
  MZ_TRY(mz_alloc(&c.kept, (size_t)count * (size_t)positions, sizeof *c.kept));
  const mz_status status = pool ? mz_pool_run(pool, sit, &c, mz_pool_threads(pool)) : sit(&c, 0, 0);
  for (int side = 0; side < count && status == MZ_OK; side++)
    out[side] = judgement_of(c.kept + (size_t)side * (size_t)positions, positions);
  free(c.kept);
  return status;
}
