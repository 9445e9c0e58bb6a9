#include "envs/env.h"
#include "cli/bench/bench.h"
#include <string.h>

enum { STATES = 1024, MOVES = 64, MOVES_BEFORE = 61 /* games are then anywhere between their beginning and their end */ };

/* A stretch of random play, chosen once and played again and again: what choosing costs is not measured. */
typedef struct stretch {
  const mz_env *env;
  uint8_t *first, *states; /* [STATES]: where it begins; in play */
  mz_rng *first_rngs, *rngs;
  mz_generator *generators; /* of `rngs` */
  int32_t *actions;         /* [MOVES][STATES] */
  mz_step *results;
  uint8_t *observations, *masks; /* [STATES] */
  mz_rng choice;
} stretch;

static uint8_t *state_of(const stretch *s, int i) { return s->states + (size_t)i * s->env->state_size; }

static void choose(stretch *s, int32_t *actions) {
  const mz_env *env = s->env;
  for (int i = 0; i < STATES; i++) {
    const int count = mz_env_legal(env, state_of(s, i), s->masks);
    actions[i] = mz_env_nth_legal(s->masks, env->spec.actions, mz_rng_below(&s->choice, (uint32_t)count));
  }
}

static mz_status step_all(stretch *s, const int32_t *actions) {
  const mz_env *env = s->env;
  MZ_TRY(env->step(env, s->states, STATES, actions, s->generators, s->results));
  for (int i = 0; i < STATES; i++)
    if (s->results[i].terminated || s->results[i].truncated) MZ_TRY(env->reset(env, state_of(s, i), &s->generators[i]));
  return MZ_OK;
}

static mz_status begin(stretch *s) {
  for (int i = 0; i < STATES; i++) {
    s->rngs[i] = mz_rng_at(1, MZ_RNG_TEST, (uint32_t)i, 0);
    s->generators[i] = mz_generator_from_rng(&s->rngs[i]);
    MZ_TRY(s->env->reset(s->env, state_of(s, i), &s->generators[i]));
  }
  for (int move = 0; move < MOVES_BEFORE + MOVES; move++) {
    int32_t *actions = s->actions + (size_t)(move < MOVES_BEFORE ? 0 : move - MOVES_BEFORE) * STATES;
    if (move == MOVES_BEFORE) {
      memcpy(s->first, s->states, STATES * s->env->state_size);
      memcpy(s->first_rngs, s->rngs, STATES * sizeof *s->rngs);
    }
    choose(s, actions);
    MZ_TRY(step_all(s, actions));
  }
  return MZ_OK;
}

static mz_status stretch_init(stretch *s, const mz_env *env) {
  *s = (stretch){.env = env, .choice = mz_rng_at(1, MZ_RNG_TEST, STATES, 0)};
  MZ_TRY(mz_alloc(&s->first, STATES, env->state_size));
  MZ_TRY(mz_alloc(&s->states, STATES, env->state_size));
  MZ_TRY(mz_alloc(&s->first_rngs, STATES, sizeof *s->first_rngs));
  MZ_TRY(mz_alloc(&s->rngs, STATES, sizeof *s->rngs));
  MZ_TRY(mz_alloc(&s->generators, STATES, sizeof *s->generators));
  MZ_TRY(mz_alloc(&s->actions, MOVES * STATES, sizeof *s->actions));
  MZ_TRY(mz_alloc(&s->results, STATES, sizeof *s->results));
  MZ_TRY(mz_alloc(&s->observations, STATES, mz_spec_obs_bytes(&env->spec)));
  MZ_TRY(mz_alloc(&s->masks, STATES, (size_t)env->spec.actions));
  return begin(s);
}

static void stretch_deinit(stretch *s) {
  free(s->first), free(s->states), free(s->first_rngs), free(s->rngs), free(s->generators), free(s->actions);
  free(s->results), free(s->observations), free(s->masks);
}

static mz_status play(stretch *s, bool observes) {
  const mz_env *env = s->env;
  memcpy(s->states, s->first, STATES * env->state_size);
  memcpy(s->rngs, s->first_rngs, STATES * sizeof *s->rngs);
  for (int move = 0; move < MOVES; move++) {
    if (observes) env->observe(env, s->states, STATES, s->observations);
    for (int i = 0; observes && env->legal && i < STATES; i++)
      env->legal(env, state_of(s, i), s->masks + (size_t)i * (size_t)env->spec.actions);
    MZ_TRY(step_all(s, s->actions + (size_t)move * STATES));
  }
  return MZ_OK;
}

static mz_status play_unseen(void *context) { return play(context, false); }

static mz_status play_observed(void *context) { return play(context, true); }

static mz_status measure(mz_bench *bench, const mz_env *env, cJSON *row) {
  stretch s;
  double steps = 0, observed = 0;
  mz_status status = stretch_init(&s, env);
  if (status == MZ_OK) status = mz_bench_rate(bench->time_s, play_unseen, &s, &steps);
  if (status == MZ_OK) status = mz_bench_rate(bench->time_s, play_observed, &s, &observed);
  stretch_deinit(&s);
  cJSON_AddStringToObject(row, "env", env->name);
  cJSON_AddNumberToObject(row, "batch", STATES);
  cJSON_AddNumberToObject(row, "steps_per_s", steps * STATES * MOVES);
  cJSON_AddNumberToObject(row, "observed_steps_per_s", observed * STATES * MOVES);
  return status;
}

mz_status mz_bench_envs(mz_bench *bench, cJSON **out) {
  cJSON *rows = cJSON_CreateArray();
  mz_status status = MZ_OK;
  for (int i = 0; i < mz_env_count() && status == MZ_OK; i++) {
    cJSON *row = cJSON_CreateObject();
    cJSON_AddItemToArray(rows, row);
    status = measure(bench, mz_env_at(i), row);
  }
  if (status == MZ_OK)
    *out = rows;
  else
    cJSON_Delete(rows);
  return status;
}
