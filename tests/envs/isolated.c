/* Shared objects that processes play: games, messages and files are as without, and a game outlives its process. */
#include "base/log.h"
#include "envs/own/shared_object.h"
#include "envs/worker/worker_env.h"
#include "tests/envs/game_table.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { MOVES = 40, OBS_MAX = 36, ACTIONS_MAX = 8 };

static char heard[1 << 16]; /* all warnings */

static void hear(void *context, mz_log_level level, const char *line) {
  (void)context, (void)level;
  const size_t used = strlen(heard);
  snprintf(heard + used, sizeof heard - used, "%s\n", line);
}

static mz_status find_game(int broken, const char *options, const mz_env **env) {
  char name[512];
  snprintf(name, sizeof name, OWN_GAMES "/game_%d.so%s", broken, options);
  return mz_env_find(name, env);
}

/* tests/envs/own/game.c, compiled with -DBREAK=n. */
static const mz_env *open_game(int broken, const char *options) {
  const mz_env *env = NULL;
  if (find_game(broken, options, &env) != MZ_OK) fail_msg("game %d%s: %s", broken, options, mz_message());
  return env;
}

/* told_0: tests/envs/own/told.c, pictures, and the next player is told; game_n_v1: game n by the header of version 1. */
static const mz_env *open_other(const char *game, const char *options) {
  char name[512];
  const mz_env *env = NULL;
  snprintf(name, sizeof name, OWN_GAMES "/%s.so%s", game, options);
  if (mz_env_find(name, &env) != MZ_OK) fail_msg("%s: %s", name, mz_message());
  return env;
}

/* ---- the same games ---- */

static void assert_same(table *a, table *b, int i) {
  const mz_env *env = a->env, *other = b->env;
  float seen[2][OBS_MAX];
  uint8_t masks[2][ACTIONS_MAX];
  assert_int_equal(mz_env_saved_size(env), mz_env_saved_size(other));
  assert_memory_equal(state_at(a, i), state_at(b, i), mz_env_saved_size(env));
  assert_memory_equal(&a->rngs[i], &b->rngs[i], sizeof(mz_rng));
  env->observe(env, state_at(a, i), 1, seen[0]);
  other->observe(other, state_at(b, i), 1, seen[1]);
  assert_memory_equal(seen[0], seen[1], mz_spec_obs_bytes(&env->spec));
  const int legal = mz_env_legal(env, state_at(a, i), masks[0]);
  assert_int_equal(mz_env_legal(other, state_at(b, i), masks[1]), legal);
  assert_memory_equal(masks[0], masks[1], (size_t)env->spec.actions);
  if (legal > 0) assert_int_equal(mz_env_to_play(env, state_at(a, i)), mz_env_to_play(other, state_at(b, i)));
}

static mz_status step_all(table *t, const int32_t *actions) {
  return t->env->step(t->env, t->states, GAMES, actions, t->generators, t->results);
}

/* Plays both at the same time by random legal actions and compares all that can be seen. */
static void assert_same_games(const mz_env *env, const mz_env *other) {
  table a, b;
  mz_rng choice = mz_rng_at(6, MZ_RNG_TEST, 0, 0);
  sit_down(&a, env);
  sit_down(&b, other);
  assert_memory_equal(&env->spec, &other->spec, sizeof env->spec);
  for (int move = 0; move < MOVES; move++) {
    int32_t actions[GAMES];
    for (int i = 0; i < GAMES; i++) {
      uint8_t mask[ACTIONS_MAX];
      const int count = mz_env_legal(env, state_at(&a, i), mask);
      actions[i] = mz_env_nth_legal(mask, env->spec.actions, mz_rng_below(&choice, (uint32_t)count));
    }
    assert_int_equal(step_all(&a, actions), MZ_OK);
    if (step_all(&b, actions) != MZ_OK) fail_msg("step: %s", mz_message());
    for (int i = 0; i < GAMES; i++) {
      assert_same(&a, &b, i);
      assert_true(a.results[i].reward == b.results[i].reward && a.results[i].terminated == b.results[i].terminated &&
                  a.results[i].truncated == b.results[i].truncated);
      if (!a.results[i].terminated) continue;
      assert_int_equal(env->reset(env, state_at(&a, i), &a.generators[i]), MZ_OK);
      assert_int_equal(other->reset(other, state_at(&b, i), &b.generators[i]), MZ_OK);
      assert_same(&a, &b, i);
    }
  }
}

static void test_games_are_the_same(void **state) {
  (void)state;
  static const char *const ways[] = {":isolate=1,workers=1", ":isolate=1,workers=2", ":isolate=1"};
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    const mz_env *env = open_game(42, ways[i]);
    assert_string_equal(env->name, OWN_GAMES "/game_42.so");
    assert_true(env->copies && env->draws);
    assert_same_games(open_game(42, ""), env);
    assert_same_games(open_game(0, ""), open_game(0, ways[i]));
    assert_same_games(open_other("told_0", ""), open_other("told_0", ways[i]));
    assert_same_games(open_game(42, ""), open_other("game_42_v1", ways[i]));
    assert_same_games(open_game(42, ""), open_other("game_42_v1", ""));
    assert_int_equal(mz_worker_env_lost(env).workers, 0);
  }
  assert_ptr_equal(open_game(42, ":isolate=1"), open_game(42, ":isolate=1"));
  assert_ptr_equal(open_game(42, ":isolate=0"), open_game(42, ""));
}

static void test_states_from_files_are_completed(void **state) {
  (void)state;
  table a, b;
  const mz_env *env = open_game(42, ":isolate=1,workers=1");
  sit_down(&a, env);
  sit_down(&b, env);
  const size_t saved = mz_env_saved_size(env);
  assert_true(saved < env->state_size);
  assert_true(env->valid(env, state_at(&a, 0)));
  memset(state_at(&a, 0) + saved, 0xFF, env->state_size - saved);
  assert_false(env->valid(env, state_at(&a, 0)));
  assert_true(env->complete(env, state_at(&a, 0)));
  assert_memory_equal(state_at(&a, 0), state_at(&b, 0), env->state_size);
  memset(state_at(&a, 0), 0xFF, saved); /* no state: it has ended */
  assert_false(env->complete(env, state_at(&a, 0)));
  char text[2][64];
  const mz_env *plain = open_game(42, "");
  env->text(env, state_at(&b, 0), text[0], sizeof text[0]);
  plain->text(plain, state_at(&b, 0), text[1], sizeof text[1]);
  assert_string_equal(text[0], text[1]);
  assert_int_equal(env->action_text(env, 2, text[0], sizeof text[0]), 1);
  assert_string_equal(text[0], "c");
}

/* ---- crashes ---- */

static void test_a_crash_now_and_then_changes_no_game(void **state) {
  (void)state;
  static const char *const ways[] = {":isolate=1,workers=1", ":isolate=1,workers=2"};
  for (int i = 0; i < 2; i++) {
    unlink(getenv("OWN_GAME_COUNTER"));
    heard[0] = '\0';
    const mz_env *env = open_game(43, ways[i]);
    assert_same_games(open_game(42, ""), env);
    assert_int_equal(mz_worker_env_lost(env).workers, 3);
    assert_int_equal(mz_worker_env_lost(env).games, 0);
    assert_non_null(strstr(heard, "is lost in step: "));
  }
}

static void test_a_step_without_an_end_is_played_again(void **state) {
  (void)state;
  unlink(getenv("OWN_GAME_COUNTER"));
  heard[0] = '\0';
  const mz_env *env = open_game(45, ":isolate=1,workers=1,timeout=3");
  assert_same_games(open_game(42, ""), env);
  assert_true(mz_worker_env_lost(env).workers >= 1);
  assert_non_null(strstr(heard, "is lost in step: no answer in 3 s (timeout=3; a larger one waits longer)"));
}

static void test_a_state_that_always_crashes_is_given_up(void **state) {
  (void)state;
  table t;
  heard[0] = '\0';
  sit_down(&t, open_game(44, ":isolate=1,workers=1"));
  for (int32_t move = 0; move < 3; move++) {
    const int32_t actions[GAMES] = {move, move, move, move, move};
    assert_int_equal(step_all(&t, actions), move < 2 ? MZ_OK : MZ_E_CONFIG);
  }
  assert_non_null(
      strstr(mz_message(), "game_44.so: a step lost its worker 8 times; the last time: in step: killed by signal 6 (Aborted)"));
  assert_non_null(strstr(mz_message(), "game_44.so --check` looks for the mistake"));
  assert_non_null(strstr(heard, "the action was 2, the state's bytes "));
}

static void test_files_that_cannot_be_described(void **state) {
  (void)state;
  const mz_env *env = NULL;
  assert_int_equal(find_game(46, ":isolate=1", &env), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "the worker ended before it described the game: killed by signal 6 (Aborted)"));
  for (int broken = 31; broken <= 41; broken++) { /* as without processes */
    char plain[MZ_MESSAGE_MAX];
    assert_int_equal(find_game(broken, "", &env), MZ_E_CONFIG);
    snprintf(plain, sizeof plain, "%s", mz_message());
    assert_int_equal(find_game(broken, ":isolate=1", &env), MZ_E_CONFIG);
    assert_string_equal(mz_message(), plain);
  }
}

/* ---- messages ---- */

/* Plays games by the first legal action; returns the first failure. */
static mz_status play(const mz_env *env) {
  mz_rng rng = mz_rng_at(3, MZ_RNG_TEST, 0, 0);
  const mz_generator generator = mz_generator_from_rng(&rng);
  _Alignas(8) uint8_t game[STATE_MAX];
  uint8_t mask[ACTIONS_MAX];
  float observation[OBS_MAX];
  for (int i = 0; i < 5; i++) {
    mz_step result = {0};
    MZ_TRY(env->reset(env, game, &generator));
    while (!result.terminated && !result.truncated) {
      env->observe(env, game, 1, observation);
      MZ_TRY(env->failure(env));
      env->legal(env, game, mask);
      const int32_t action = mz_env_nth_legal(mask, env->spec.actions, 0);
      MZ_TRY(env->step(env, game, 1, &action, NULL, &result));
    }
  }
  return MZ_OK;
}

static void test_mistakes_are_named_as_without_processes(void **state) {
  (void)state;
  static const int broken[] = {1, 2, 4, 5, 7, 12, 20, 27};
  for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
    char plain[MZ_MESSAGE_MAX];
    assert_int_equal(play(open_game(broken[i], "")), MZ_E_CONFIG);
    snprintf(plain, sizeof plain, "%s", mz_message());
    assert_int_equal(play(open_game(broken[i], ":isolate=1,workers=1")), MZ_E_CONFIG);
    assert_string_equal(mz_message(), plain);
  }
}

static uint64_t no_numbers(void *context) { return (void)context, 0; }

static void test_what_is_refused(void **state) {
  (void)state;
  static const struct {
    const char *options, *says;
  } rows[] = {
      {":isolate=2", "isolate: 2 is outside of the whole numbers 0 … 1; nearest valid value: 1"},
      {":isolate=1,workers=65", "workers: 65 is outside of the whole numbers 1 … 64; nearest valid value: 64"},
      {":isolate=1,timeout=0", "timeout: 0 is outside of 0.05 … 86400; nearest valid value: 0.05"},
      {":workers=2", "workers and timeout are of processes; add isolate=1"},
      {":isolat=1", "option 'isolat=1': takes isolate=1, workers=N and timeout=SECONDS; did you mean isolate=?"},
      {":isolate", "option 'isolate': takes isolate=1"},
  };
  const mz_env *env = NULL;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    assert_int_equal(find_game(0, rows[i].options, &env), MZ_E_CONFIG);
    if (!strstr(mz_message(), rows[i].says)) fail_msg("'%s' does not say '%s'", mz_message(), rows[i].says);
  }
  env = open_game(0, ":isolate=1,workers=1");
  const mz_generator other = {.next64 = no_numbers};
  _Alignas(8) uint8_t game[STATE_MAX];
  assert_int_equal(env->reset(env, game, &other), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "isolate=1 takes Philox's random numbers or NumPy's"));
}

static void test_names(void **state) {
  (void)state;
  mz_own_name name;
  char options[MZ_OWN_OPTIONS_MAX];
  assert_true(mz_env_is_path("./mine.so:isolate=1"));
  assert_false(mz_env_is_path("./mine.so:8/run"));
  assert_false(mz_env_is_path("allocation:course=a.so:b"));
  assert_int_equal(mz_own_name_read("./a.so:b/mine.so:isolate=1,workers=3,timeout=2.5", &name), MZ_OK);
  assert_string_equal(name.path, "./a.so:b/mine.so");
  mz_own_isolation_write(&name.isolation, options);
  assert_string_equal(options, "isolate=1,workers=3,timeout=2.5");
  assert_int_equal(mz_own_name_read("a:b.so", &name), MZ_OK);
  assert_string_equal(name.path, "a:b.so");
  mz_own_isolation_write(&name.isolation, options);
  assert_string_equal(options, "");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_games_are_the_same),
      cmocka_unit_test(test_states_from_files_are_completed),
      cmocka_unit_test(test_a_crash_now_and_then_changes_no_game),
      cmocka_unit_test(test_a_step_without_an_end_is_played_again),
      cmocka_unit_test(test_a_state_that_always_crashes_is_given_up),
      cmocka_unit_test(test_files_that_cannot_be_described),
      cmocka_unit_test(test_mistakes_are_named_as_without_processes),
      cmocka_unit_test(test_what_is_refused),
      cmocka_unit_test(test_names),
  };
  char counter[] = "/tmp/muzero-steps-XXXXXX";
  const int fd = mkstemp(counter);
  if (fd < 0) return 1;
  close(fd);
  setenv("OWN_GAME_COUNTER", counter, 1);
  mz_log_set_sink(hear, NULL);
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  unlink(counter);
  return failed;
}
