/* The list of environments, and what every one of them promises (envs/env.h). */
#include "envs/env.h"
#include "envs/trace.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

enum { STATE_MAX = 4096, OBSERVATION_MAX = 65536, ACTIONS_MAX = 512, MOVES_MAX = 6000 };

static void finds_every_name(void **unused) {
  (void)unused;
  assert_true(mz_env_count() >= 2);
  for (int i = 0; i < mz_env_count(); i++) {
    const mz_env *found = NULL;
    assert_int_equal(mz_env_find(mz_env_at(i)->name, &found), MZ_OK);
    assert_ptr_equal(found, mz_env_at(i));
  }
}

static void an_unknown_name_says_the_nearest(void **unused) {
  (void)unused;
  const mz_env *found = NULL;
  assert_int_equal(mz_env_find("tictactoo", &found), MZ_E_CONFIG);
  assert_null(found);
  assert_non_null(strstr(mz_message(), "tictactoo"));
  assert_non_null(strstr(mz_message(), "did you mean tictactoe?"));
  assert_int_equal(mz_env_find("cart-pole", &found), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "did you mean cartpole?"));
  assert_int_equal(mz_env_find("zzzzzzzzzzzzzzzzzzz", &found), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "muzero envs"));
  assert_null(strstr(mz_message(), "did you mean"));
}

static void specs_are_consistent(void **unused) {
  (void)unused;
  for (int i = 0; i < mz_env_count(); i++) {
    const mz_env *env = mz_env_at(i);
    const mz_spec *spec = &env->spec;
    assert_true(env->title && env->rules && env->observation);
    assert_true(env->state_size > 0 && env->state_size % 8 == 0 && env->state_size <= STATE_MAX);
    assert_int_equal(spec->obs_size, spec->obs_shape[0] * spec->obs_shape[1] * spec->obs_shape[2]);
    assert_true(spec->actions > 0 && spec->actions <= ACTIONS_MAX);
    assert_true(mz_spec_obs_bytes(spec) <= OBSERVATION_MAX);
    assert_true(spec->players == 1 || spec->players == 2);
    assert_int_equal(spec->players == 2, mz_spec_zero_sum(spec));
    assert_true(spec->turns != MZ_TURNS_TOLD || !spec->one_sided); /* the other player's rewards are negative */
    assert_true(spec->symmetries >= 1);
    assert_true(spec->symmetries == 1 || spec->symmetries == 2 ||
                (spec->symmetries == 8 && spec->obs_shape[0] == spec->obs_shape[1]));
    assert_true(spec->reward_min <= spec->reward_max && spec->return_min < spec->return_max);
    assert_true(!spec->one_sided ||
                ((spec->reward_min == 0 || spec->reward_max == 0) && (spec->return_min == 0 || spec->return_max == 0)));
    assert_true(env->reset && env->step && env->valid && env->observe && env->text && env->action_text);
    assert_int_equal(env->numbers != NULL, env->load != NULL);
  }
}

/* What is loaded need not equal the state byte for byte: numbers do not tell of the past. */
static void expect_same_numbers(const mz_env *env, const void *state, const void *loaded) {
  double numbers[MZ_ENV_NUMBERS_MAX], again[MZ_ENV_NUMBERS_MAX];
  uint8_t mask[ACTIONS_MAX], mask_again[ACTIONS_MAX];
  const int count = env->numbers(env, state, numbers);
  assert_int_equal(env->numbers(env, loaded, again), count);
  assert_memory_equal(numbers, again, (size_t)count * sizeof numbers[0]);
  assert_int_equal(mz_env_legal(env, state, mask), mz_env_legal(env, loaded, mask_again));
  assert_memory_equal(mask, mask_again, (size_t)env->spec.actions);
  assert_int_equal(mz_env_to_play(env, state), mz_env_to_play(env, loaded));
}

/* One random game: rewards and the return stay in their ranges, the state survives its numbers, a time limit is kept. */
static void play_a_game(const mz_env *env, mz_rng *rng) {
  static uint64_t state[STATE_MAX / 8], loaded[STATE_MAX / 8];
  const mz_generator generator = mz_generator_from_rng(rng);
  float game_return = 0;
  assert_int_equal(env->reset(env, state, &generator), MZ_OK);
  for (int move = 0; move < MOVES_MAX; move++) {
    double numbers[MZ_ENV_NUMBERS_MAX];
    if (env->numbers) {
      assert_in_range(env->numbers(env, state, numbers), 1, MZ_ENV_NUMBERS_MAX);
      env->load(env, loaded, numbers, move);
      expect_same_numbers(env, state, loaded);
    }
    uint8_t mask[ACTIONS_MAX];
    const int legal = mz_env_legal(env, state, mask);
    assert_in_range(legal, 1, env->spec.actions);
    int32_t action = (int32_t)mz_rng_below(rng, (uint32_t)env->spec.actions);
    while (!mask[action]) action = (action + 1) % env->spec.actions;
    const int mover = mz_env_to_play(env, state);
    assert_in_range(mover, 0, env->spec.players - 1);
    mz_step result;
    assert_int_equal(env->step(env, state, 1, &action, env->draws ? &generator : NULL, &result), MZ_OK);
    assert_true(result.reward >= env->spec.reward_min && result.reward <= env->spec.reward_max);
    game_return += mz_spec_zero_sum(&env->spec) && mover == 1 ? -result.reward : result.reward;
    if (env->spec.max_moves) assert_int_equal(result.truncated, move + 1 >= env->spec.max_moves);
    if (result.terminated || result.truncated) {
      assert_true(game_return >= env->spec.return_min && game_return <= env->spec.return_max);
      return;
    }
  }
  fail_msg("%s: a game without an end", env->name);
}

static void random_games_keep_the_promises(void **unused) {
  (void)unused;
  for (int i = 0; i < mz_env_count(); i++) {
    mz_rng rng = mz_rng_at(1, MZ_RNG_TEST, (uint32_t)i, 0);
    for (int game = 0; game < 200; game++) play_a_game(mz_env_at(i), &rng);
  }
}

static void the_nth_legal_action(void **unused) {
  (void)unused;
  mz_rng rng = mz_rng_at(2, MZ_RNG_TEST, 0, 0);
  for (int actions = 1; actions <= 100; actions++) {
    uint8_t *mask; /* of its own, so that a sanitizer sees what is read beyond */
    assert_int_equal(mz_alloc(&mask, (size_t)actions, 1), MZ_OK);
    for (uint32_t sparse = 1; sparse <= 9; sparse += 4) {
      for (int a = 0; a < actions; a++) mask[a] = mz_rng_below(&rng, sparse) == 0;
      uint32_t nth = 0;
      for (int a = 0; a < actions; a++)
        if (mask[a]) assert_int_equal(mz_env_nth_legal(mask, actions, nth++), a);
    }
    free(mask);
  }
}

static void the_spec_as_json(void **unused) {
  (void)unused;
  for (int i = 0; i < mz_env_count(); i++) {
    const mz_env *env = mz_env_at(i);
    cJSON *json = mz_env_to_json(env);
    assert_non_null(json);
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(json, "name")), env->name);
    assert_int_equal(cJSON_GetNumberValue(cJSON_GetObjectItem(json, "actions")), env->spec.actions);
    assert_int_equal(cJSON_GetNumberValue(cJSON_GetObjectItem(json, "players")), env->spec.players);
    const cJSON *observation = cJSON_GetObjectItem(json, "observation");
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(observation, "shape")), 3);
    assert_non_null(cJSON_GetObjectItem(observation, "meaning"));
    cJSON_Delete(json);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(finds_every_name),     cmocka_unit_test(an_unknown_name_says_the_nearest),
      cmocka_unit_test(specs_are_consistent), cmocka_unit_test(random_games_keep_the_promises),
      cmocka_unit_test(the_nth_legal_action), cmocka_unit_test(the_spec_as_json),
  };
  return cmocka_run_group_tests_name("registry", tests, NULL, NULL);
}
