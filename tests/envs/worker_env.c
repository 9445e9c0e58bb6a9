/* Environments that workers play: what a run keeps beside their names, and how they begin; by the stand-ins of stand_in/. */
#include "envs/worker/worker_env.h"
#include "base/log.h"
#include "envs/own/shared_object.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>

#include <cmocka.h>

#define STAND_IN_FOLDER TEST_DATA "/../envs/stand_in"
#define RANGES ",reward_min=0,reward_max=1,return_min=0,return_max=10"

static void be_silent(void *context, mz_log_level level, const char *line) { (void)context, (void)level, (void)line; }

static const mz_env *find(const char *name, const float *ranges, double timeout_s) {
  const mz_env *env = NULL;
  if (mz_worker_env_find(name, ranges, timeout_s, &env) != MZ_OK) fail_msg("%s: %s", name, mz_message());
  return env;
}

static void expect_refused(const char *name, double timeout_s, const char *says) {
  const mz_env *env;
  assert_int_equal(mz_worker_env_find(name, NULL, timeout_s, &env), MZ_E_CONFIG);
  if (!strstr(mz_message(), says)) fail_msg("%s: '%s' does not say '%s'", name, mz_message(), says);
}

/* A resumed run writes its config anew, and the next resume reads that one. */
static void test_ranges_of_the_store_are_stored_again(void **state) {
  (void)state;
  static const float stored[MZ_WORKER_RANGES] = {0, 2, 0, 50};
  static const char *const names[] = {"gym:Doors-v0", "gym:Doors-v0,reward_max=2"};
  float kept[MZ_WORKER_RANGES];
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const mz_env *env = find(names[i], stored, 0);
    assert_true(env->spec.reward_max == 2 && env->spec.return_max == 50);
    assert_true(mz_worker_env_measured(env, kept));
    assert_memory_equal(kept, stored, sizeof kept);
    assert_ptr_equal(find(env->name, kept, 0), env);
  }
  assert_false(mz_worker_env_measured(find("gym:Doors-v0" RANGES, stored, 0), kept)); /* the name says all */
}

static void test_the_timeout_of_a_run_is_taken(void **state) {
  (void)state;
  const mz_env *hasty = find("gym:Doors-v0,workers=1,timeout=7", NULL, 0), *patient = find("gym:Doors-v0,workers=1", NULL, 0);
  assert_string_equal(hasty->name, "gym:Doors-v0");
  assert_true(mz_worker_env_timeout_s(hasty) == 7);
  assert_true(mz_worker_env_timeout_s(patient) == MZ_WORKER_TIMEOUT_S);
  assert_true(mz_worker_env_timeout_s(mz_env_at(0)) == 0);
  assert_ptr_equal(find("gym:Doors-v0,workers=1", NULL, 7), hasty);
  assert_ptr_not_equal(patient, hasty);
  assert_true(mz_env_is_same_game(patient, hasty));
  assert_false(mz_env_is_same_game(patient, find("gym:Doors-v2,workers=1", NULL, 0)));
  assert_false(mz_env_is_same_game(patient, mz_env_at(0)));
  expect_refused("gym:Odd-v0,workers=1" RANGES ",fault=make_sleeps", 0.5, "no answer in 0.5 s (timeout=0.5; a larger one waits");
}

enum { SIGNALS_MAX = 500 };
static volatile sig_atomic_t signals;
static void count_signal(int number) {
  (void)number;
  signals++;
  if (signals == SIGNALS_MAX)
    setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL); /* a wait that they lengthen has an end, too */
}

static void test_signals_do_not_lengthen_a_wait(void **state) {
  (void)state;
  const struct timeval often = {.tv_usec = 20000};
  struct sigaction before, action = {.sa_handler = count_signal};
  assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
  assert_int_equal(setitimer(ITIMER_REAL, &(struct itimerval){.it_interval = often, .it_value = often}, NULL), 0);
  expect_refused("gym:Odd-v0,workers=1" RANGES ",fault=make_sleeps", 0.4, "no answer in 0.4 s");
  assert_int_equal(setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL), 0);
  assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
  assert_in_range(signals, 1, SIGNALS_MAX - 1);
}

/* An end that is given, and one that is measured or told. */
static void test_ranges_that_cross_are_refused(void **state) {
  (void)state;
  expect_refused("gym:Doors-v0,reward_min=2", 0, "'gym:Doors-v0,reward_min=2': reward_min 2 is above reward_max 1 (measured in");
  expect_refused("gym:Doors-v0,return_max=-1", 0, "return_min 0 (measured in random games) is above return_max -1");
  expect_refused("spiel:walk,reward_min=2", 0, "reward_min 2 is above reward_max 1 (of the game)");
  expect_refused("spiel:walk,return_max=-2", 0, "return_min -1 (of the game) is above return_max -2");
}

/* A reset that has no memory for its instance leaves none to release. */
static void test_memory_that_is_out_is_survived(void **state) {
  (void)state;
  const mz_env *env = find("gym:Doors-v1,workers=1", NULL, 0);
  uint8_t *game;
  assert_int_equal(mz_alloc(&game, 1, env->state_size), MZ_OK);
  mz_alloc_fail_after(1);
  assert_int_equal(env->reset(env, game, NULL), MZ_E_MEMORY);
  mz_alloc_fail_after(0);
  mz_env_release(env, game, 1);
  assert_int_equal(env->reset(env, game, NULL), MZ_OK);
  mz_env_release(env, game, 1);
  free(game);
}

/* One of so many numbers is an observation of as many floats. A table of all of them would be 14 GB. */
static void test_observations_may_be_many_numbers(void **state) {
  (void)state;
  enum { CELLS = 60000, MOVES = 3 };
  static float seen[CELLS];
  const mz_env *env = find("gym:Cells-v0,workers=1" RANGES, NULL, 0);
  uint8_t *game;
  assert_int_equal(env->spec.obs_size, CELLS);
  assert_int_equal(mz_alloc(&game, 1, env->state_size), MZ_OK);
  if (env->reset(env, game, NULL) != MZ_OK) fail_msg("%s", mz_message());
  for (int move = 0; move < MOVES; move++) {
    const int32_t action = 0;
    mz_step result;
    env->observe(env, game, 1, seen);
    for (int i = 0; i < CELLS; i++) assert_true(seen[i] == (i == 1 + move));
    if (env->step(env, game, 1, &action, NULL, &result) != MZ_OK) fail_msg("%s", mz_message());
  }
  mz_env_release(env, game, 1);
  free(game);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_ranges_of_the_store_are_stored_again), cmocka_unit_test(test_the_timeout_of_a_run_is_taken),
      cmocka_unit_test(test_signals_do_not_lengthen_a_wait),       cmocka_unit_test(test_ranges_that_cross_are_refused),
      cmocka_unit_test(test_memory_that_is_out_is_survived),       cmocka_unit_test(test_observations_may_be_many_numbers),
  };
  if (system("python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null") != 0) {
    print_message("skipped: there is no python3 of version 3.9 or later\n");
    return 77;
  }
  setenv("MUZERO_PYTHON", "python3", 1);
  setenv("PYTHONPATH", STAND_IN_FOLDER, 1);
  setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
  mz_log_set_sink(be_silent, NULL);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
