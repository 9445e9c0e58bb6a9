#include "base/machine/machine.h"
#include "cli/bench/bench.h"
#include "envs/env.h"
#include <string.h>

enum { GAMES = 32, MOVES = 32 /* of a task */ };

/* Games in play, which uniformly random moves continue. */
typedef struct games {
  const mz_env *env;
  uint8_t *states, *mask;
  mz_rng rngs[GAMES], choice;
  mz_generator generators[GAMES];
  int32_t actions[GAMES];
  mz_step results[GAMES];
  uint8_t *observations;
} games;

static void *state_of(const games *g, int i) { return g->states + (size_t)i * g->env->state_size; }

static mz_status games_init(games *g, const mz_env *env) {
  *g = (games){.env = env, .choice = mz_rng_at(1, MZ_RNG_TEST, GAMES, 0)};
  MZ_TRY(mz_alloc(&g->states, GAMES, env->state_size));
  MZ_TRY(mz_alloc(&g->observations, GAMES, mz_spec_obs_bytes(&env->spec)));
  MZ_TRY(mz_alloc(&g->mask, (size_t)env->spec.actions, 1));
  for (int i = 0; i < GAMES; i++) {
    g->rngs[i] = mz_rng_at(1, MZ_RNG_TEST, (uint32_t)i, 0);
    g->generators[i] = mz_generator_from_rng(&g->rngs[i]);
    MZ_TRY(env->reset(env, state_of(g, i), &g->generators[i]));
  }
  return MZ_OK;
}

static void games_deinit(games *g) {
  if (g->states) mz_env_release(g->env, g->states, GAMES);
  free(g->states), free(g->observations), free(g->mask);
}

static mz_status play(void *context) {
  games *g = context;
  const mz_env *env = g->env;
  for (int move = 0; move < MOVES; move++) {
    for (int i = 0; i < GAMES; i++) {
      const int count = mz_env_legal(env, state_of(g, i), g->mask);
      g->actions[i] = mz_env_nth_legal(g->mask, env->spec.actions, mz_rng_below(&g->choice, (uint32_t)count));
    }
    MZ_TRY(env->step(env, g->states, GAMES, g->actions, g->generators, g->results));
    for (int i = 0; i < GAMES; i++)
      if (g->results[i].terminated || g->results[i].truncated) MZ_TRY(env->reset(env, state_of(g, i), &g->generators[i]));
    env->observe(env, g->states, GAMES, g->observations);
  }
  return MZ_OK;
}

mz_status mz_bench_gym(mz_bench *bench, cJSON **out) {
  const mz_env *env;
  games g;
  double tasks = 0;
  MZ_TRY(mz_env_find(bench->env, &env));
  mz_status status = games_init(&g, env);
  if (status == MZ_OK) status = mz_bench_rate(bench->time_s, play, &g, &tasks);
  games_deinit(&g);
  MZ_TRY(status);
  *out = cJSON_CreateObject();
  cJSON_AddStringToObject(*out, "env", env->name);
  cJSON_AddNumberToObject(*out, "games", GAMES);
  cJSON_AddNumberToObject(*out, "cores", mz_machine_cores());
  cJSON_AddNumberToObject(*out, "steps_per_s", tasks * GAMES * MOVES);
  return MZ_OK;
}
