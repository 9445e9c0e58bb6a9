#include "selfplay/judge.h"
#include "muzero/base/arena.h"
#include "selfplay/perfect.h"
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

typedef struct bench { /* of one task: positions in which all sides are asked */
  court *court;
  uint8_t *states;        /* [TOGETHER] */
  uint8_t *optimal;       /* [TOGETHER][actions] */
  uint8_t *legal, *state; /* scratch */
  mz_planner *planners;   /* [count]; zeroed for players */
  void *block;
} bench;

static mz_status bench_init(bench *b, court *c) {
  *b = (bench){.court = c};
  const size_t actions = (size_t)c->env->spec.actions;
  mz_carver carver = {0};
  mz_carve(&carver, &b->states, TOGETHER, c->env->state_size);
  mz_carve(&carver, &b->optimal, TOGETHER, actions);
  mz_carve(&carver, &b->legal, 1, actions);
  mz_carve(&carver, &b->state, 1, c->env->state_size);
  mz_carve(&carver, &b->planners, (size_t)c->count, sizeof *b->planners);
  MZ_TRY(mz_carve_commit(&carver, &b->block));
  for (int i = 0; i < c->count; i++)
    if (c->sides[i].agent) MZ_TRY(mz_agent_planner(c->sides[i].agent, TOGETHER, &b->planners[i]));
  return MZ_OK;
}

static void bench_deinit(bench *b) {
  if (!b->block) return;
  for (int i = 0; i < b->court->count; i++) mz_planner_deinit(&b->planners[i]);
  free(b->block);
}

/* A position of a fresh game, each ply from which perfect play is quick as likely as any other; false: the game ended before. */
static mz_status draw_any(bench *b, void *out, bool *found, mz_rng *rng) {
  const mz_env *env = b->court->env;
  const mz_generator generator = mz_generator_from_rng(rng);
  const int from = mz_perfect_quick_after(env);
  *found = false;
  env->reset(env, b->state, &generator);
  for (int ply = 0;; ply++) {
    if (ply >= from && mz_rng_below(rng, (uint32_t)(ply - from + 1)) == 0) {
      memcpy(out, b->state, env->state_size);
      *found = true;
    }
    int action;
    MZ_TRY(mz_player_move(&b->court->guide, env, b->state, rng, &action));
    const int32_t chosen = action;
    mz_step step;
    env->step(b->state, 1, &chosen, &generator, &step);
    if (step.terminated || step.truncated) return MZ_OK;
  }
}

static mz_status draw_decisive(bench *b, int position, void *state, uint8_t *optimal) {
  const mz_env *env = b->court->env;
  mz_rng rng = mz_rng_at(b->court->seed, MZ_RNG_JUDGE, 0, (uint64_t)position);
  for (int game = 0; game < GAMES_MAX; game++) {
    bool found;
    int good;
    MZ_TRY(draw_any(b, state, &found, &rng));
    if (!found) continue;
    MZ_TRY(mz_perfect_moves(env, state, optimal, &good));
    if (good < mz_env_legal(env, state, b->legal)) return MZ_OK;
  }
  return mz_fail(MZ_E_CONFIG, "judge: %s: no position in %d games in which a move throws the outcome away", env->name, GAMES_MAX);
}

static mz_status ask_agent(bench *b, int side, int first, int n, double *kept) {
  const mz_env *env = b->court->env;
  mz_planner *planner = &b->planners[side];
  mz_planner_observe(planner, 0, n, b->states);
  MZ_TRY(mz_planner_search(planner, n, b->court->sides[side].agent->weights, 0));
  for (int i = 0; i < n; i++)
    kept[first + i] = b->optimal[(size_t)i * (size_t)env->spec.actions + (size_t)planner->results[i].selected];
  return MZ_OK;
}

static mz_status ask_player(bench *b, int side, int first, int n, double *kept) {
  const mz_env *env = b->court->env;
  for (int i = 0; i < n; i++) {
    mz_rng rng = mz_rng_at(b->court->seed, MZ_RNG_JUDGE, 1 + (uint32_t)side, (uint64_t)(first + i));
    int action;
    MZ_TRY(mz_player_move(b->court->sides[side].player, env, b->states + (size_t)i * env->state_size, &rng, &action));
    kept[first + i] = b->optimal[(size_t)i * (size_t)env->spec.actions + (size_t)action];
  }
  return MZ_OK;
}

static mz_status sit(void *context, int task, int worker) {
  (void)task, (void)worker;
  court *c = context;
  bench b;
  mz_status status;
  MZ_TRY_CLEANUP(bench_init(&b, c));
  for (int first; (first = atomic_fetch_add(&c->next, TOGETHER)) < c->positions;) {
    const int n = c->positions - first < TOGETHER ? c->positions - first : TOGETHER;
    for (int i = 0; i < n; i++)
      MZ_TRY_CLEANUP(draw_decisive(&b, first + i, b.states + (size_t)i * c->env->state_size,
                                   b.optimal + (size_t)i * (size_t)c->env->spec.actions));
    for (int side = 0; side < c->count; side++) {
      double *kept = c->kept + (size_t)side * (size_t)c->positions;
      MZ_TRY_CLEANUP((c->sides[side].agent ? ask_agent : ask_player)(&b, side, first, n, kept));
    }
  }
cleanup:
  bench_deinit(&b);
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
  if (!mz_perfect_known(env) || env->spec.players != 2)
    return mz_fail(MZ_E_CONFIG, "judge: perfect play is not known for %s; there is tictactoe and connect4", env->name);
  MZ_TRY(mz_player_parse("rule", env, &c.guide));
  MZ_TRY(mz_alloc(&c.kept, (size_t)count * (size_t)positions, sizeof *c.kept));
  const mz_status status = pool ? mz_pool_run(pool, sit, &c, mz_pool_threads(pool)) : sit(&c, 0, 0);
  for (int side = 0; side < count && status == MZ_OK; side++)
    out[side] = judgement_of(c.kept + (size_t)side * (size_t)positions, positions);
  free(c.kept);
  return status;
}
