#include "muzero/library/game.h"
#include "muzero/library/call.h"

enum { TEXT_MAX = 8192, ACTION_TEXT_MAX = 32 };

/* ---- environments ---- */

const char *muzero_env_name(size_t index) { return index < (size_t)mz_env_count() ? mz_env_at((int)index)->name : NULL; }

static muzero_status find_env(const char *name, const char *function, const mz_env **out) {
  if (!name) return mz_failure(MUZERO_E_USAGE, "%s: the environment's name is NULL", function);
  return mz_failure_of(mz_env_find(name, out));
}

static muzero_status describe(const char *name, muzero_env_info *out) {
  const mz_env *env;
  MUZERO_TRY(find_env(name, "muzero_env_describe", &env));
  const mz_spec *spec = &env->spec;
  const muzero_env_info info = {.size = sizeof info,
                                .name = env->name,
                                .title = env->title,
                                .rules = env->rules,
                                .observation = env->observation,
                                .observation_shape = {spec->obs_shape[0], spec->obs_shape[1], spec->obs_shape[2]},
                                .observation_size = spec->obs_size,
                                .actions = spec->actions,
                                .players = spec->players,
                                .moves_max = spec->max_moves};
  return mz_call_write(out, sizeof info, &info, sizeof info, "muzero_env_describe", "muzero_env_info");
}

muzero_status muzero_env_describe(const char *name, muzero_env_info *out) {
  mz_call call;
  MUZERO_TRY(mz_call_begin(&call, __func__));
  MUZERO_NOT_NULL(out);
  return mz_call_end(&call, describe(name, out));
}

/* ---- making and closing games ---- */

static mz_rng chance(const mz_library_game *game, int32_t draw) {
  return mz_rng_at(game->seed, MZ_RNG_EVAL_ENV, 0, (uint64_t)draw);
}

static void look_at_legal(mz_library_game *game) {
  const mz_spec *spec = &game->env->spec;
  game->legal_count = mz_library_game_is_over(game) ? 0 : mz_env_legal(game->env, game->state, game->legal);
  if (game->legal_count == 0) memset(game->legal, 0, (size_t)spec->actions);
}

static void game_free(mz_library_game *game) {
  if (!game) return;
  if (game->state) mz_env_release(game->env, game->state, 1);
  free(game->state);
  free(game->legal);
  free(game);
}

static mz_status game_alloc(mz_library_game **out, const mz_env *env) {
  mz_library_game *game = NULL;
  MZ_TRY(mz_alloc(&game, 1, sizeof *game));
  game->env = env;
  mz_status status;
  MZ_TRY_CLEANUP(mz_alloc(&game->state, 1, env->state_size));
  MZ_TRY_CLEANUP(mz_alloc(&game->legal, (size_t)env->spec.actions, 1));
  *out = game;
cleanup:
  if (status != MZ_OK) game_free(game);
  return status;
}

static muzero_status give_out(muzero_game **out, mz_library_game *game) {
  void *handle;
  const muzero_status status = mz_handle_create(&handle, MZ_HANDLE_GAME, game);
  if (status == MUZERO_OK)
    *out = handle;
  else
    game_free(game);
  return status;
}

static muzero_status create(muzero_game **out, const char *name, uint64_t seed) {
  const mz_env *env;
  mz_library_game *game = NULL;
  MUZERO_TRY(find_env(name, "muzero_game_create", &env));
  MUZERO_TRY(mz_failure_of(game_alloc(&game, env)));
  game->seed = seed;
  mz_rng rng = chance(game, 0);
  const mz_generator generator = mz_generator_from_rng(&rng);
  const mz_status status = env->reset(env, game->state, &generator);
  if (status != MZ_OK) {
    game_free(game);
    return mz_failure_of(status);
  }
  look_at_legal(game);
  return give_out(out, game);
}

muzero_status muzero_game_create(muzero_game **out, const char *env, uint64_t seed) {
  mz_call call;
  MUZERO_TRY(mz_call_begin(&call, __func__));
  MUZERO_NOT_NULL(out);
  return mz_call_end(&call, create(out, env, seed));
}

static muzero_status copy(muzero_game **out, const mz_library_game *from) {
  mz_library_game *game = NULL;
  MUZERO_TRY(mz_failure_of(mz_env_check_copies(from->env, "muzero_game_copy", "a game of its own")));
  MUZERO_TRY(mz_failure_of(game_alloc(&game, from->env)));
  uint8_t *state = game->state, *legal = game->legal;
  memcpy(state, from->state, from->env->state_size);
  memcpy(legal, from->legal, (size_t)from->env->spec.actions);
  *game = *from;
  game->state = state;
  game->legal = legal;
  return give_out(out, game);
}

muzero_status muzero_game_copy(muzero_game **out, muzero_game *game) {
  mz_call call;
  MUZERO_TRY(mz_call_begin_on(&call, __func__, MZ_HANDLE_GAME, game));
  MUZERO_NOT_NULL(out);
  return mz_call_end(&call, copy(out, call.object));
}

muzero_status muzero_game_close(muzero_game *game) {
  mz_call call;
  MUZERO_TRY(mz_call_begin_on(&call, __func__, MZ_HANDLE_GAME, game));
  game_free(call.object);
  return mz_call_end_closed(&call, MUZERO_OK);
}

/* ---- playing ---- */

static muzero_status check_count(size_t count, int wanted, const char *function, const char *what) {
  if (count == (size_t)wanted) return MUZERO_OK;
  return mz_failure(MUZERO_E_USAGE, "%s: there are %d %s, not %zu", function, wanted, what, count);
}

static muzero_status check_action(const mz_library_game *game, int32_t action, const char *function) {
  const int actions = game->env->spec.actions;
  if (action >= 0 && action < actions) return MUZERO_OK;
  return mz_failure(MUZERO_E_USAGE, "%s: %d is no action of %s; takes 0 … %d", function, (int)action, game->env->name,
                    actions - 1);
}

muzero_status muzero_game_state_get(muzero_game *game, muzero_game_state *out) {
  mz_call call;
  MUZERO_TRY(mz_call_begin_on(&call, __func__, MZ_HANDLE_GAME, game));
  MUZERO_NOT_NULL(out);
  const mz_library_game *g = call.object;
  const muzero_game_state state = {.size = sizeof state,
                                   .env = g->env->name,
                                   .to_play = mz_library_game_is_over(g) ? 0 : mz_env_to_play(g->env, g->state),
                                   .legal = g->legal_count,
                                   .moves = g->moves,
                                   .terminated = g->last.terminated,
                                   .truncated = g->last.truncated,
                                   .reward = g->last.reward};
  return mz_call_end(&call, mz_call_write(out, sizeof state, &state, sizeof state, __func__, "muzero_game_state"));
}

muzero_status muzero_game_legal(muzero_game *game, uint8_t *mask, size_t count) {
  mz_call call;
  MUZERO_TRY(mz_call_begin_on(&call, __func__, MZ_HANDLE_GAME, game));
  MUZERO_NOT_NULL(mask);
  const mz_library_game *g = call.object;
  const muzero_status status = check_count(count, g->env->spec.actions, __func__, "actions");
  if (status == MUZERO_OK) memcpy(mask, g->legal, count);
  return mz_call_end(&call, status);
}

static muzero_status step(mz_library_game *game, int32_t action) {
  static const char function[] = "muzero_game_step";
  char name[ACTION_TEXT_MAX];
  MUZERO_TRY(check_action(game, action, function));
  if (mz_library_game_is_over(game)) return mz_failure(MUZERO_E_USAGE, "%s: the game is over", function);
  if (!game->legal[action]) {
    game->env->action_text(game->env, action, name, sizeof name);
    return mz_failure(MUZERO_E_USAGE, "%s: action %d (%s) is not legal here", function, (int)action, name);
  }
  mz_rng rng = chance(game, 1 + game->moves);
  const mz_generator generator = mz_generator_from_rng(&rng);
  mz_step made = {0};
  const mz_status status = game->env->step(game->env, game->state, 1, &action, game->env->draws ? &generator : NULL, &made);
  game->last = status == MZ_OK ? made : (mz_step){.truncated = true}; /* what the failed step left is no position to go on from */
  game->moves += status == MZ_OK;
  look_at_legal(game);
  return mz_failure_of(status);
}

muzero_status muzero_game_step(muzero_game *game, int32_t action) {
  mz_call call;
  MUZERO_TRY(mz_call_begin_on(&call, __func__, MZ_HANDLE_GAME, game));
  return mz_call_end(&call, step(call.object, action));
}

static muzero_status check_observed(const mz_env *env) { return env->failure ? mz_failure_of(env->failure(env)) : MUZERO_OK; }

static muzero_status observe(const mz_library_game *game, float *observation, size_t count) {
  const mz_spec *spec = &game->env->spec;
  MUZERO_TRY(check_count(count, spec->obs_size, "muzero_game_observe", "entries in an observation"));
  if (spec->obs_kind == MZ_OBS_F32) {
    game->env->observe(game->env, game->state, 1, observation);
    return check_observed(game->env);
  }
  uint8_t *bytes;
  MUZERO_TRY(mz_failure_of(mz_alloc(&bytes, count, 1)));
  game->env->observe(game->env, game->state, 1, bytes);
  for (size_t i = 0; i < count; i++) observation[i] = (float)bytes[i];
  free(bytes);
  return check_observed(game->env);
}

muzero_status muzero_game_observe(muzero_game *game, float *observation, size_t count) {
  mz_call call;
  MUZERO_TRY(mz_call_begin_on(&call, __func__, MZ_HANDLE_GAME, game));
  MUZERO_NOT_NULL(observation);
  return mz_call_end(&call, observe(call.object, observation, count));
}

muzero_status muzero_game_text(muzero_game *game, char *text, size_t size) {
  mz_call call;
  char whole[TEXT_MAX];
  MUZERO_TRY(mz_call_begin_on(&call, __func__, MZ_HANDLE_GAME, game));
  MUZERO_NOT_NULL(text);
  const mz_library_game *g = call.object;
  const int length = g->env->text(g->env, g->state, whole, sizeof whole);
  MZ_ASSERT(length < TEXT_MAX);
  return mz_call_end(&call, mz_call_write_text(text, size, whole, __func__));
}

muzero_status muzero_game_action_text(muzero_game *game, int32_t action, char *text, size_t size) {
  mz_call call;
  char whole[ACTION_TEXT_MAX];
  MUZERO_TRY(mz_call_begin_on(&call, __func__, MZ_HANDLE_GAME, game));
  MUZERO_NOT_NULL(text);
  const mz_library_game *g = call.object;
  const muzero_status status = check_action(g, action, __func__);
  if (status != MUZERO_OK) return mz_call_end(&call, status);
  g->env->action_text(g->env, action, whole, sizeof whole);
  return mz_call_end(&call, mz_call_write_text(text, size, whole, __func__));
}
