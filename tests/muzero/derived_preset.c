/* Settings that follow from an environment's numbers: whole, valid and of the right kind for every environment there is. */
#include "muzero/derived_preset.h"
#include "base/json/json.h"
#include "muzero/settings.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static void derive(const mz_env *env, mz_settings *settings) {
  uint8_t given[MZ_SETTINGS_ROWS_MAX] = {0};
  mz_config config = mz_settings_config(settings, given);
  char *text;
  size_t size;
  cJSON *json;
  mz_config_defaults(&config);
  assert_int_equal(mz_preset_derive(env, &text, &size), MZ_OK);
  assert_int_equal(strlen(text), size);
  if (mz_json_parse(text, size, env->name, true, MZ_E_CONFIG, &json) != MZ_OK) fail_msg("%s: %s", env->name, mz_message());
  if (mz_config_set_json(&config, json, env->name) != MZ_OK) fail_msg("%s: %s", env->name, mz_message());
  uint8_t by_user[MZ_SETTINGS_ROWS_MAX] = {0};
  if (mz_settings_resolve(settings, by_user) != MZ_OK) fail_msg("%s: %s", env->name, mz_message());
  cJSON_Delete(json);
  free(text);
}

static const mz_env *named(const char *name) {
  const mz_env *env;
  if (mz_env_find(name, &env) != MZ_OK) fail_msg("%s", mz_message());
  return env;
}

static void test_every_environment_gets_valid_settings(void **state) {
  (void)state;
  for (int i = 0; i < mz_env_count(); i++) {
    const mz_env *env = mz_env_at(i);
    mz_settings settings;
    mz_model model;
    derive(env, &settings);
    if (mz_model_init(&model, &settings.network, &env->spec) != MZ_OK) fail_msg("%s: %s", env->name, mz_message());
    assert_string_equal(settings.train.eval_opponent, env->spec.players == 2 ? "random" : "");
    assert_true(settings.train.updates > 0);
    const bool board = env->spec.obs_shape[0] * env->spec.obs_shape[1] > 16;
    assert_int_equal(settings.network.kind, board ? MZ_MODEL_CONV : MZ_MODEL_MLP);
  }
}

static void test_ranges_follow_from_the_numbers(void **state) {
  (void)state;
  mz_settings settings;
  mz_env env = *named("cartpole");
  env.spec = (mz_spec){.obs_shape = {1, 1, 4},
                       .obs_size = 4,
                       .actions = 2,
                       .players = 1,
                       .symmetries = 1,
                       .reward_min = -1,
                       .reward_max = 1,
                       .return_min = -3,
                       .return_max = 3};
  derive(&env, &settings);
  assert_int_equal(settings.network.value_bins, 7); /* one for each whole number */
  assert_int_equal(settings.network.reward_bins, 3);
  assert_false(settings.network.transform);
  assert_true(settings.train.target == 3);
  env.spec.return_max = 1000;
  derive(&env, &settings);
  assert_true(settings.network.transform);
  assert_true(settings.replay.discount < 1);
}

/* A game for one of pictures, which is looked at only. */
static mz_env game_of_pictures(int size, int channels) {
  mz_env env = *mz_env_at(0);
  env.spec = (mz_spec){
      .obs_shape = {size, size, channels}, .obs_size = size * size * channels, .actions = 4, .players = 1, .symmetries = 1};
  return env;
}

/* A game for one of vectors, which is played, too. */
static mz_env game_of_vectors(void) {
  mz_env env = *named("cartpole");
  env.spec.return_min = env.spec.return_max = env.spec.reward_min = env.spec.reward_max = 0;
  return env;
}

/* Moves of such games cost more than updates of their networks: each is trained on more than a dozen times; elsewhere a few times. */
static void test_long_games_alone_are_trained_on_most(void **state) {
  (void)state;
  mz_settings settings;
  mz_env env = game_of_vectors();
  env.spec.max_moves = 1000;
  env.spec.reward_max = 1;
  env.spec.return_max = 9;
  derive(&env, &settings);
  assert_true(settings.learning.replay_ratio > 12);
  assert_true(settings.loss.consistency_weight > 0); /* what so much training needs beside it */
  env.spec.max_moves = 20;
  derive(&env, &settings);
  assert_true(settings.learning.replay_ratio < 4);
  assert_true(settings.loss.consistency_weight == 0);
}

/* Random play hardly meets a goal for whose lack every move costs: such games are explored by the other search. */
static void test_games_of_costs_alone_are_explored(void **state) {
  (void)state;
  mz_settings settings;
  mz_env env = game_of_vectors();
  env.spec.max_moves = 500;
  env.spec.reward_min = -1;
  env.spec.return_min = -500;
  derive(&env, &settings);
  assert_int_equal(settings.search.algorithm, MZ_GUMBEL);
  env.spec.return_max = 1;
  derive(&env, &settings);
  assert_int_equal(settings.search.algorithm, MZ_PUCT);
  assert_true(settings.search.spread_min > 0);
}

/* A model knows no more than the mean of what chance brings: searches look one move ahead there. */
static void test_chance_is_not_planned_through(void **state) {
  (void)state;
  mz_settings settings;
  mz_env env = *named("2048");
  env.spec.obs_shape[0] = env.spec.obs_shape[1] = 1;
  env.spec.obs_shape[2] = env.spec.obs_size;
  derive(&env, &settings);
  assert_true(settings.search.max_depth == 1 && settings.loss.unroll == 1 && settings.loss.consistency_weight == 0);
  env = game_of_vectors(); /* draws where it begins, and then no more */
  env.spec.return_max = 1;
  derive(&env, &settings);
  assert_true(settings.search.max_depth == 0 && settings.loss.unroll > 1 && settings.loss.consistency_weight > 0);
}

/* Values of a network that knows nothing are far above what most games bring, and targets that bootstrap keep them there. */
static void test_long_games_of_pictures_begin_at_zero(void **state) {
  (void)state;
  mz_settings settings;
  mz_env env = game_of_pictures(16, 8);
  env.spec.max_moves = 1000;
  env.spec.reward_max = 1;
  env.spec.return_max = 900;
  derive(&env, &settings);
  assert_true(settings.learning.replay_ratio < 4);
  assert_true(settings.loss.consistency_weight > 0 && settings.network.projection > 0 && settings.network.head_width > 0);
  assert_int_equal(settings.network.value_start, MZ_VALUE_START_ZERO);
  env.spec.max_moves = 20;
  derive(&env, &settings);
  assert_true(settings.network.projection == 0 && settings.network.value_start == MZ_VALUE_START_MIDDLE);
}

/* Pictures are packed, a frame a move, so that replay fits into memory. */
static void test_large_observations_are_packed(void **state) {
  (void)state;
  mz_settings settings;
  mz_env env = *mz_env_at(0);
  env.spec = (mz_spec){.obs_kind = MZ_OBS_U8,
                       .obs_shape = {84, 84, 4},
                       .obs_size = 84 * 84 * 4,
                       .frames = 4,
                       .actions = 6,
                       .players = 1,
                       .symmetries = 1,
                       .reward_max = 1,
                       .return_max = 20};
  derive(&env, &settings);
  assert_int_equal(settings.replay.capacity, 30000);
  assert_int_equal(settings.replay.raw_bytes, 64000000);
  mz_model model;
  assert_int_equal(mz_model_init(&model, &settings.network, &env.spec), MZ_OK);
  assert_int_equal(model.board.height, 6);
  env.spec.obs_shape[0] = env.spec.obs_shape[1] = 16;
  env.spec.obs_size = 16 * 16 * 4;
  derive(&env, &settings);
  assert_int_equal(settings.replay.capacity, 50000);
  assert_int_equal(settings.replay.raw_bytes, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_games_of_costs_alone_are_explored),     cmocka_unit_test(test_chance_is_not_planned_through),
      cmocka_unit_test(test_every_environment_gets_valid_settings), cmocka_unit_test(test_ranges_follow_from_the_numbers),
      cmocka_unit_test(test_long_games_alone_are_trained_on_most),  cmocka_unit_test(test_long_games_of_pictures_begin_at_zero),
      cmocka_unit_test(test_large_observations_are_packed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
