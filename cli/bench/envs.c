#include "envs/env.h"
#include "cli/bench/bench.h"

enum { STATES = 1024, ACTION_ROWS = 61 }; /* rows of prepared actions: none divides a game's length */

typedef struct fixture {
  const mz_env *env;
  uint8_t *states, *mask;
  int32_t *actions; /* [ACTION_ROWS][STATES], where every action is always legal; else one row, chosen at each step */
  mz_step *results;
  mz_rng *rngs;
  mz_generator *generators;
  mz_rng choice;
  int row;
} fixture;

static void choose_legal(fixture *f) {
  const mz_env *env = f->env;
  for (int i = 0; i < STATES; i++) {
    const int count = mz_env_legal(env, f->states + (size_t)i * env->state_size, f->mask);
    f->actions[i] = mz_env_nth_legal(f->mask, env->spec.actions, mz_rng_below(&f->choice, (uint32_t)count));
  }
}

static mz_status step_all(void *context) {
  fixture *f = context;
  const mz_env *env = f->env;
  const int32_t *actions = f->actions;
  if (env->legal)
    choose_legal(f);
  else
    actions += (size_t)(f->row++ % ACTION_ROWS) * STATES;
  MZ_TRY(env->step(env, f->states, STATES, actions, f->generators, f->results));
  for (int i = 0; i < STATES; i++)
    if (f->results[i].terminated || f->results[i].truncated)
      MZ_TRY(env->reset(env, f->states + (size_t)i * env->state_size, &f->generators[i]));
  return MZ_OK;
}

static mz_status fixture_init(fixture *f, const mz_env *env) {
  *f = (fixture){.env = env, .choice = mz_rng_at(1, MZ_RNG_TEST, STATES, 0)};
  MZ_TRY(mz_alloc(&f->states, STATES, env->state_size));
  MZ_TRY(mz_alloc(&f->mask, (size_t)env->spec.actions, 1));
  MZ_TRY(mz_alloc(&f->actions, ACTION_ROWS * STATES, sizeof *f->actions));
  MZ_TRY(mz_alloc(&f->results, STATES, sizeof *f->results));
  MZ_TRY(mz_alloc(&f->rngs, STATES, sizeof *f->rngs));
  MZ_TRY(mz_alloc(&f->generators, STATES, sizeof *f->generators));
  for (int i = 0; i < ACTION_ROWS * STATES; i++) f->actions[i] = (int32_t)mz_rng_below(&f->choice, (uint32_t)env->spec.actions);
  for (int i = 0; i < STATES; i++) {
    f->rngs[i] = mz_rng_at(1, MZ_RNG_TEST, (uint32_t)i, 0);
    f->generators[i] = mz_generator_from_rng(&f->rngs[i]);
    MZ_TRY(env->reset(env, f->states + (size_t)i * env->state_size, &f->generators[i]));
  }
  return MZ_OK;
}

static void fixture_deinit(fixture *f) {
  free(f->states), free(f->mask), free(f->actions), free(f->results), free(f->rngs), free(f->generators);
}

mz_status mz_bench_envs(mz_bench *bench, cJSON **out) {
  cJSON *rows = cJSON_CreateArray();
  mz_status status = MZ_OK;
  for (int i = 0; i < mz_env_count() && status == MZ_OK; i++) {
    fixture f;
    double per_s = 0;
    status = fixture_init(&f, mz_env_at(i));
    if (status == MZ_OK) status = mz_bench_rate(bench->time_s, step_all, &f, &per_s);
    fixture_deinit(&f);
    cJSON *row = cJSON_CreateObject();
    cJSON_AddStringToObject(row, "env", mz_env_at(i)->name);
    cJSON_AddNumberToObject(row, "batch", STATES);
    cJSON_AddNumberToObject(row, "steps_per_s", per_s * STATES);
    cJSON_AddItemToArray(rows, row);
  }
  if (status == MZ_OK)
    *out = rows;
  else
    cJSON_Delete(rows);
  return status;
}
