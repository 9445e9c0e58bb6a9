#include "envs/env.h"
#include "cli/bench/bench.h"
#include "muzero/training/state.h"
#include "networks/lane.h"
#include "selfplay/games/actor.h"
#include "selfplay/games/games_state.h"

/* One batch's size: the same network asked for nothing but inferences, and by the search of as many games. */
typedef struct fixture {
  mz_settings settings; /* of the bench; as many games as the batch */
  const mz_env *env;
  mz_state state; /* its games and weights */
  mz_actor *actor;
  mz_lane lane;
  mz_infer *infer; /* two latents a board: from, to */
  float *policy, *value, *reward;
  int32_t *from, *to, *action;
  int batch;
} fixture;

static mz_status infer(void *context) {
  fixture *f = context;
  return mz_infer_recurrent(f->infer, f->batch, f->from, f->action, f->to, f->policy, f->value, f->reward);
}

static mz_status play(void *context) {
  fixture *f = context;
  mz_selfplay_result result = {0};
  const mz_status status = mz_games_advance(f->state.games, f->actor, 0, f->batch, 1, f->state.published, 0, 0, &result);
  mz_selfplay_result_deinit(&result);
  return status;
}

static mz_status make_requests(fixture *f) {
  const size_t n = (size_t)f->batch, actions = (size_t)f->env->spec.actions;
  MZ_TRY(mz_lane_open(&f->lane, &mz_lane_cpu));
  MZ_TRY(mz_infer_create(&f->infer, &f->state.model, &f->lane, f->batch, 2 * f->batch));
  MZ_TRY(mz_infer_set_weights(f->infer, f->state.published));
  MZ_TRY(mz_alloc(&f->policy, n * actions, sizeof *f->policy));
  MZ_TRY(mz_alloc(&f->value, 2 * n, sizeof *f->value));
  MZ_TRY(mz_alloc(&f->from, 3 * n, sizeof *f->from));
  f->reward = f->value + n, f->to = f->from + n, f->action = f->to + n;
  for (int i = 0; i < f->batch; i++) {
    f->from[i] = i;
    f->to[i] = f->batch + i;
    f->action[i] = i % f->env->spec.actions;
  }
  return MZ_OK;
}

static mz_status fixture_init(fixture *f, mz_bench *bench, int batch) {
  *f = (fixture){.settings = bench->settings, .batch = batch};
  f->settings.network = mz_bench_residual(bench);
  f->settings.selfplay.games = batch;
  MZ_TRY(mz_settings_resolve(&f->settings, bench->given));
  MZ_TRY(mz_env_find("connect4", &f->env));
  MZ_TRY(mz_state_init(&f->state, f->env, &f->settings, 1, 1, NULL));
  MZ_TRY(mz_actor_create(&f->actor, f->env, &f->settings.search, &f->state.model, &mz_lane_cpu, 1, batch));
  return make_requests(f);
}

static void fixture_deinit(fixture *f) {
  free(f->policy), free(f->value), free(f->from);
  mz_infer_free(f->infer);
  mz_lane_close(&f->lane);
  if (f->actor) mz_actor_free(f->actor);
  mz_state_deinit(&f->state);
}

/* In turns, so that a machine that is faster at times is so for both. */
static mz_status measure(fixture *f, double time_s, cJSON *rows) {
  enum { TURNS = 8 };
  double moves_per_s = 0, batches_per_s = 0;
  for (int i = 0; i < TURNS; i++) {
    double inferring, playing;
    MZ_TRY(mz_bench_rate(time_s / TURNS, infer, f, &inferring));
    MZ_TRY(mz_bench_rate(time_s / TURNS, play, f, &playing));
    batches_per_s += inferring / TURNS;
    moves_per_s += playing / TURNS;
  }
  const double simulations = (double)f->settings.search.simulations;
  cJSON *row = cJSON_CreateObject();
  cJSON_AddNumberToObject(row, "batch", f->batch);
  cJSON_AddNumberToObject(row, "simulations", simulations);
  cJSON_AddNumberToObject(row, "sims_per_s", moves_per_s * f->batch * simulations);
  cJSON_AddNumberToObject(row, "evaluations_per_s", batches_per_s * f->batch);
  cJSON_AddNumberToObject(row, "share", moves_per_s * (simulations + 1) / batches_per_s); /* a move evaluates its root besides */
  cJSON_AddItemToArray(rows, row);
  return MZ_OK;
}

mz_status mz_bench_selfplay(mz_bench *bench, cJSON **out) {
  static const int batches[] = {1, 8, 32, 128};
  mz_status status = MZ_OK;
  cJSON *rows = cJSON_CreateArray();
  for (size_t i = 0; i < sizeof batches / sizeof *batches && status == MZ_OK; i++) {
    static fixture f; /* large */
    status = fixture_init(&f, bench, batches[i]);
    if (status == MZ_OK) status = measure(&f, bench->time_s, rows);
    fixture_deinit(&f);
  }
  if (status == MZ_OK)
    *out = rows;
  else
    cJSON_Delete(rows);
  return status;
}
