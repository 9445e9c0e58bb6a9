/* Workers whose number changes while games are played: no game changes, their CPU time is counted, and none stays behind, also
 * where the program is killed. */
#include "base/file/file.h"
#include "base/log.h"
#include "envs/worker/worker_env.h"
#include "envs/worker/workers.h"
#include "tests/envs/game_table.h"
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { MOVES = 40, ACTIONS_MAX = 8, CHILDREN_MAX = 128 };

static void be_silent(void *context, mz_log_level level, const char *line) { (void)context, (void)level, (void)line; }

static const mz_env *find(const char *name) {
  const mz_env *env = NULL;
  if (mz_env_find(name, &env) != MZ_OK) fail_msg("%s: %s", name, mz_message());
  return env;
}

/* ---- processes ---- */

typedef struct children {
  int count;
  pid_t pids[CHILDREN_MAX];
} children;

/* Zombies, too: a worker that was ended is none. */
static mz_status add_child(void *context, const char *name) {
  children *c = context;
  char path[64];
  int parent = 0;
  const pid_t pid = atoi(name);
  snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
  FILE *file = pid > 0 ? fopen(path, "r") : NULL;
  if (!file) return MZ_OK;
  if (fscanf(file, "%*d (%*[^)]) %*c %d", &parent) == 1 && parent == getpid() && c->count < CHILDREN_MAX)
    c->pids[c->count++] = pid;
  fclose(file);
  return MZ_OK;
}

static children find_children(void) {
  children c = {0};
  assert_int_equal(mz_file_list("/proc", add_child, &c), MZ_OK);
  return c;
}

/* Those of other environments are older. */
static children newer_than(const children *before) {
  children all = find_children(), newer = {0};
  for (int i = 0; i < all.count; i++) {
    bool old = false;
    for (int k = 0; k < before->count; k++) old = old || before->pids[k] == all.pids[i];
    if (!old) newer.pids[newer.count++] = all.pids[i];
  }
  return newer;
}

/* ---- games ---- */

static void move_all(table *t, mz_rng *choice) {
  const mz_env *env = t->env;
  int32_t actions[GAMES];
  for (int i = 0; i < GAMES; i++) {
    uint8_t mask[ACTIONS_MAX];
    const int count = mz_env_legal(env, state_at(t, i), mask);
    actions[i] = mz_env_nth_legal(mask, env->spec.actions, mz_rng_below(choice, (uint32_t)count));
  }
  if (env->step(env, t->states, GAMES, actions, t->generators, t->results) != MZ_OK) fail_msg("step: %s", mz_message());
  for (int i = 0; i < GAMES; i++)
    if (t->results[i].terminated || t->results[i].truncated)
      assert_int_equal(env->reset(env, state_at(t, i), &t->generators[i]), MZ_OK);
}

/* Between two moves, with what they are of. */
typedef void change(const mz_env *env, int move);

/* Plays the same games with and without changes in between, and compares every result and observation. */
static void assert_same_games(const mz_env *still, const mz_env *changing, change *between) {
  table a, b;
  mz_rng choices[2] = {mz_rng_at(6, MZ_RNG_TEST, 0, 0), mz_rng_at(6, MZ_RNG_TEST, 0, 0)};
  sit_down(&a, still);
  sit_down(&b, changing);
  for (int move = 0; move < MOVES; move++) {
    between(changing, move);
    move_all(&a, &choices[0]);
    move_all(&b, &choices[1]);
    assert_memory_equal(a.results, b.results, sizeof a.results);
    for (int i = 0; i < GAMES; i++) {
      float seen[2][64];
      assert_true(mz_spec_obs_bytes(&still->spec) <= sizeof seen[0]);
      still->observe(still, state_at(&a, i), 1, seen[0]);
      changing->observe(changing, state_at(&b, i), 1, seen[1]);
      assert_memory_equal(seen[0], seen[1], mz_spec_obs_bytes(&still->spec));
    }
  }
  mz_env_release(still, a.states, GAMES);
  mz_env_release(changing, b.states, GAMES);
}

/* ---- the number ---- */

static int number_at(int move) { return 1 + move * 7 % 5; }

static void resize(const mz_env *env, int move) { mz_env_workers_set_count(env->workers, number_at(move)); }

static void test_any_number_plays_the_same_games(void **state) {
  (void)state;
  const children before = find_children();
  const mz_env *env = find(OWN_GAMES "/game_42.so:isolate=1,timeout=59");
  assert_false(mz_env_workers_keep_games(env->workers));
  assert_int_equal(mz_env_workers_given(env->workers), 0);
  assert_same_games(find(OWN_GAMES "/game_42.so"), env, resize);
  assert_int_equal(mz_worker_env_lost(env).workers, 0);
  assert_int_equal(newer_than(&before).count, 5); /* the most that were asked, each started once */
  mz_env_workers_set_count(env->workers, 64);     /* they start when they are asked */
  assert_int_equal(newer_than(&before).count, 5);
  assert_int_equal(mz_env_workers_count(env->workers), 64);
}

static children before_killing;

static void kill_and_resize(const mz_env *env, int move) {
  const children own = newer_than(&before_killing);
  for (int i = 0; i < own.count; i++)
    if ((move + i) % 2) assert_int_equal(kill(own.pids[i], SIGKILL), 0);
  resize(env, move);
}

static void test_workers_are_killed_while_the_number_changes(void **state) {
  (void)state;
  const mz_env *still = find(OWN_GAMES "/game_42.so");
  before_killing = find_children();
  const mz_env *env = find(OWN_GAMES "/game_42.so:isolate=1,timeout=58");
  assert_same_games(still, env, kill_and_resize);
  assert_true(mz_worker_env_lost(env).workers > 0);
  assert_int_equal(mz_worker_env_lost(env).games, 0);
  assert_true(newer_than(&before_killing).count <= 5);
}

/* Another thread changes the number as fast as it can. */
typedef struct resizing {
  const mz_env *env;
  atomic_bool over;
  int times;
} resizing;

static void *resize_always(void *context) {
  resizing *r = context;
  for (; !atomic_load(&r->over); r->times++) {
    mz_env_workers_set_count(r->env->workers, number_at(r->times));
    mz_env_workers_used(r->env->workers);
  }
  return NULL;
}

static void nothing(const mz_env *env, int move) { (void)env, (void)move; }

static void test_the_number_changes_within_moves(void **state) {
  (void)state;
  resizing r = {.env = find(OWN_GAMES "/game_42.so:isolate=1,timeout=57")};
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, resize_always, &r), 0);
  assert_same_games(find(OWN_GAMES "/game_42.so"), r.env, nothing);
  atomic_store(&r.over, true);
  pthread_join(thread, NULL);
  assert_int_equal(mz_worker_env_lost(r.env).workers, 0);
}

static void skip_without_python(void) {
  if (system("python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null") != 0) skip();
}

static void test_games_stay_with_their_worker(void **state) {
  (void)state;
  skip_without_python();
  const mz_env *env = find("gym:Pole-v0,timeout=56");
  assert_true(mz_env_workers_keep_games(env->workers));
  mz_env_workers_set_count(env->workers, 3);
  assert_same_games(find("gym:Pole-v0,workers=1"), env, resize);
  assert_int_equal(mz_worker_env_lost(env).workers, 0);
  assert_int_equal(mz_worker_env_lost(env).games, 0);
  assert_same_games(find("spiel:walk(players=2),workers=1"), find("spiel:walk(players=2)"), resize);
}

/* ---- their use ---- */

static void kill_newer(const children *before) {
  const children own = newer_than(before);
  for (int i = 0; i < own.count; i++) assert_int_equal(kill(own.pids[i], SIGKILL), 0);
}

static void assert_grows(const mz_env_workers_use *a, const mz_env_workers_use *b) {
  assert_true(b->rows >= a->rows && b->busy_s >= a->busy_s && b->cpu_s >= a->cpu_s && b->waited_for_s >= a->waited_for_s);
}

static void test_time_is_counted_and_never_falls(void **state) {
  (void)state;
  const children before = find_children();
  const mz_env *env = find(OWN_GAMES "/game_42.so:isolate=1,timeout=55");
  mz_env_workers *workers = env->workers;
  table t;
  mz_rng choice = mz_rng_at(6, MZ_RNG_TEST, 0, 0);
  sit_down(&t, env);
  mz_env_workers_use last = mz_env_workers_used(workers);
  assert_true(last.rows == GAMES);
  for (int move = 0; move < MOVES; move++) {
    resize(env, move);
    if (move % 8 == 7) kill_newer(&before); /* what ended counts on */
    mz_env_workers_use now = mz_env_workers_used(workers);
    assert_grows(&last, &now);
    last = now;
    move_all(&t, &choice);
    now = mz_env_workers_used(workers);
    assert_grows(&last, &now);
    assert_true(now.rows >= last.rows + GAMES && now.busy_s > last.busy_s && now.waited_for_s > last.waited_for_s);
    last = now;
  }
  assert_true(last.cpu_s > 0);
}

static void test_memory_is_counted(void **state) {
  (void)state;
  const children before = find_children();
  const mz_env *env = find(OWN_GAMES "/game_42.so:isolate=1,timeout=53");
  table t;
  mz_rng choice = mz_rng_at(6, MZ_RNG_TEST, 0, 0);
  const mz_env_workers_memory one = mz_env_workers_memory_now(env->workers);
  assert_true(one.largest > 1 << 12 && one.largest < 1 << 30);
  assert_true(one.bytes == one.largest); /* one has started */
  mz_env_workers_set_count(env->workers, 4);
  sit_down(&t, env);
  move_all(&t, &choice);
  const mz_env_workers_memory four = mz_env_workers_memory_now(env->workers);
  assert_true(four.bytes > 2 * one.bytes && four.bytes <= 4 * four.largest);
  kill_newer(&before);
  move_all(&t, &choice); /* others start in their place, and those that ended hold nothing */
  assert_true(mz_env_workers_memory_now(env->workers).bytes < 2 * four.bytes);
  mz_env_release(env, t.states, GAMES);
}

/* ---- their cores ---- */

static void assert_runs_on(pid_t pid, const cpu_set_t *cores) {
  cpu_set_t is;
  assert_int_equal(sched_getaffinity(pid, sizeof is, &is), 0);
  assert_true(CPU_EQUAL(&is, cores));
}

static void test_all_run_where_they_are_told(void **state) {
  (void)state;
  cpu_set_t all, one;
  assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
  int last = CPU_SETSIZE - 1;
  while (!CPU_ISSET((size_t)last, &all)) last--;
  CPU_ZERO(&one);
  CPU_SET((size_t)last, &one);
  const children before = find_children();
  const mz_env *env = find(OWN_GAMES "/game_42.so:isolate=1,timeout=54");
  table t;
  mz_rng choice = mz_rng_at(6, MZ_RNG_TEST, 0, 0);
  mz_env_workers_set_count(env->workers, 2);
  sit_down(&t, env);
  move_all(&t, &choice);
  mz_env_workers_place(env->workers, &one);
  mz_env_workers_set_count(env->workers, 4);
  move_all(&t, &choice); /* two more start */
  const children own = newer_than(&before);
  assert_int_equal(own.count, 4);
  for (int i = 0; i < own.count; i++) assert_runs_on(own.pids[i], &one);
  mz_env_workers_place(env->workers, &all);
  for (int i = 0; i < own.count; i++) assert_runs_on(own.pids[i], &all);
}

static void *move_once(void *games) {
  mz_rng choice = mz_rng_at(6, MZ_RNG_TEST, 0, 0);
  move_all(games, &choice);
  return NULL;
}

/* A script takes its time to read of the cores, which change meanwhile. */
static void test_one_that_begins_runs_where_it_is_told(void **state) {
  (void)state;
  skip_without_python();
  cpu_set_t all, one;
  assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
  const children before = find_children();
  const mz_env *env = find("spiel:walk(players=2),timeout=52");
  table t;
  pthread_t mover;
  mz_env_workers_set_count(env->workers, 1);
  sit_down(&t, env);
  for (int core = 0, count = 2; core < CPU_SETSIZE; core++) {
    if (!CPU_ISSET((size_t)core, &all)) continue;
    CPU_ZERO(&one);
    CPU_SET((size_t)core, &one);
    mz_env_workers_set_count(env->workers, count);
    assert_int_equal(pthread_create(&mover, NULL, move_once, &t), 0);
    while (newer_than(&before).count < count) sched_yield();
    mz_env_workers_place(env->workers, &one);
    assert_int_equal(pthread_join(mover, NULL), 0);
    const children own = newer_than(&before);
    for (int i = 0; i < own.count; i++) assert_runs_on(own.pids[i], &one);
    if (++count > 4) break;
  }
}

/* ---- the program ends ---- */

/* In a process of its own: begins a game, makes a move if `moves`, and ends. */
static void play_and_end(const char *name, bool moves) {
  const mz_env *env;
  const int32_t action = 0;
  uint8_t game[STATE_MAX] = {0};
  mz_step result;
  const bool is_reset = mz_env_find(name, &env) == MZ_OK && env->state_size <= STATE_MAX && env->reset(env, game, NULL) == MZ_OK;
  _exit(is_reset && (!moves || env->step(env, game, 1, &action, NULL, &result) == MZ_OK) ? 0 : 1);
}

/* Waits for `count` sleepers, which hold an end of a pipe, as the worker does; it is at its end when all are gone after the program,
 * which is killed if it makes a move. */
static void expect_none_outlives(const char *fault, int count, bool moves) {
  enum { SLEEPERS_MAX = 2, WAIT_MS = 60000 };
  int ends[2], sleepers[SLEEPERS_MAX];
  char descriptor[16], name[128], none;
  assert_int_equal(pipe(ends), 0);
  snprintf(descriptor, sizeof descriptor, "%d", ends[1]);
  snprintf(name, sizeof name, "gym:Odd-v0,workers=1,reward_min=0,reward_max=1,return_min=0,return_max=9,late=1,fault=%s", fault);
  setenv("SLEEPERS", descriptor, 1);
  const pid_t program = fork();
  assert_true(program >= 0);
  if (program == 0) play_and_end(name, moves);
  close(ends[1]);
  for (int i = 0; i < count; i++) assert_int_equal(read(ends[0], &sleepers[i], sizeof sleepers[i]), sizeof sleepers[i]);
  if (moves) assert_int_equal(kill(program, SIGKILL), 0);
  assert_int_equal(waitpid(program, NULL, 0), program);
  const bool are_gone = poll(&(struct pollfd){.fd = ends[0], .events = POLLIN}, 1, WAIT_MS) == 1;
  for (int i = 0; i < count && !are_gone; i++) kill(sleepers[i], SIGKILL);
  assert_true(are_gone);
  assert_int_equal(read(ends[0], &none, 1), 0);
  close(ends[0]);
}

static void test_none_outlives_the_program(void **state) {
  (void)state;
#ifdef __SANITIZE_THREAD__
  skip(); /* the program is a fork of this process, whose threads TSan keeps no account of */
#endif
  skip_without_python();
  expect_none_outlives("step_sleeps_with_a_child", 2, true);
  for (int i = 0; i < 6; i++)
    expect_none_outlives("make_starts_a_child", 1, false); /* which thread of it sees the end is chance */
}

/* An environment is closed when the program ends, and has some time for it. */
static void test_environments_are_closed(void **state) {
  (void)state;
#ifdef __SANITIZE_THREAD__
  skip(); /* as above */
#endif
  skip_without_python();
  expect_none_outlives("close_tells", 1, false);
  expect_none_outlives("close_tells", 1, true);
  expect_none_outlives("close_sleeps", 1, false);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_any_number_plays_the_same_games), cmocka_unit_test(test_workers_are_killed_while_the_number_changes),
      cmocka_unit_test(test_the_number_changes_within_moves), cmocka_unit_test(test_games_stay_with_their_worker),
      cmocka_unit_test(test_time_is_counted_and_never_falls), cmocka_unit_test(test_memory_is_counted),
      cmocka_unit_test(test_all_run_where_they_are_told),     cmocka_unit_test(test_one_that_begins_runs_where_it_is_told),
      cmocka_unit_test(test_none_outlives_the_program),       cmocka_unit_test(test_environments_are_closed),
  };
  setenv("MUZERO_PYTHON", "python3", 1);
  setenv("PYTHONPATH", STAND_INS, 1);
  setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
  mz_log_set_sink(be_silent, NULL);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
