/* A run that no longer moves is noticed, and it is said which stage stands; one that moves is left alone. The test is the
 * watchdog's clock. */
#include "base/log.h"
#include "muzero/knobs.h"
#include "base/threads/sched_point.h"
#include "muzero/run.h"
#include "testing.h"
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

static const char *const sets[] = {
    "num_games=8",        "moves_per_round=4",    "loop_count=6",        "batch_size=16",        "shards=4",
    "simulations=4",      "unroll_steps=2",       "td_steps=3",          "network.width=16",     "replay.min_fill=16",
    "replay.capacity=1k", "train.phase_rounds=3", "eval.games=4",        "eval.opponent=random", "allocate.strategy=fixed",
    "cpu_actor=2",        "batch_actor=1",        "mcts_storage_size=2", "batch_buffer_size=3",  "watchdog.time=0"};

/* ---- threads that are held at a place where they meet others ---- */

static _Atomic(const char *) held_name; /* threads whose names begin like this are held; NULL: none */
static _Atomic unsigned held_doings;    /* only while the run does one of these: bits, 1 << mz_doing */
static _Atomic(const mz_activity *) activity;
static atomic_int held;

static void nap(void) { nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL); }

static bool is_held(const char *own_name) {
  const char *name = atomic_load(&held_name);
  return name != NULL && strncmp(own_name, name, strlen(name)) == 0;
}

static void hold(void) {
  char name[16] = "";
  pthread_getname_np(pthread_self(), name, sizeof name);
  if (!is_held(name) || !(atomic_load(&held_doings) >> atomic_load(&atomic_load(&activity)->doing) & 1)) return;
  atomic_fetch_add(&held, 1);
  while (is_held(name)) nap();
  atomic_fetch_sub(&held, 1);
}

/* ---- what the watchdog says ---- */

static struct {
  int lines;
  char last[2048];
} said;

static void listen(void *context, mz_log_level level, const char *line) {
  (void)context, (void)level;
  if (strncmp(line, "watchdog: ", 10) != 0) return;
  said.lines++;
  snprintf(said.last, sizeof said.last, "%s", line);
}

static void expect_said(int lines, const char *words) {
  assert_int_equal(said.lines, lines);
  if (lines > 0 && strstr(said.last, words) == NULL) fail_msg("'%s' is not in: %s", words, said.last);
}

static void look(mz_watchdog *watchdog, int times) {
  for (int i = 0; i < times; i++) mz_watchdog_look(watchdog);
}

/* ---- a run that another thread drives ---- */

typedef struct fixture {
  char folder[64], dir[80];
  mz_run *run;
  mz_watchdog *watchdog;
  pthread_t driver;
  int64_t rounds;
} fixture;

static const mz_watchdog_settings a_minute = {.time = 60};

static void open_run(fixture *f, void (*hook)(void)) {
  memset(&said, 0, sizeof said);
  mz_sched_hook = hook;
  mz_log_set_sink(listen, NULL);
  make_folder(f->folder);
  snprintf(f->dir, sizeof f->dir, "%s/run", f->folder);
  const mz_run_options options = {.env = "tictactoe",
                                  .dir = f->dir,
                                  .sets = sets,
                                  .set_count = sizeof sets / sizeof *sets,
                                  .threads = 2,
                                  .allocate = "fixed"};
  expect_ok(mz_run_open(&f->run, &options)); /* two actors all the time */
  assert_null(f->run->watchdog);
  expect_ok(mz_watchdog_create(&f->watchdog, &a_minute, &f->run->workers));
  atomic_store(&activity, &f->run->workers.activity);
}

static void close_run(fixture *f) {
  mz_watchdog_stop(f->watchdog);
  mz_run_close(f->run);
  mz_sched_hook = NULL;
  mz_log_set_sink(NULL, NULL);
  drop_folder(f->folder);
}

static void *drive(void *context) {
  fixture *f = context;
  const mz_limits limits = {.rounds = f->rounds};
  mz_phase phase;
  mz_reason reason = MZ_GOES_ON;
  mz_status status = MZ_OK;
  while (status == MZ_OK && reason == MZ_GOES_ON) status = mz_run_phase(f->run, &limits, NULL, NULL, &phase, &reason);
  return status == MZ_OK ? NULL : f;
}

/* Drives the run with some threads held while it does one of `doings`; returns when nothing moves any more. */
static void drive_until_stuck(fixture *f, const char *threads, unsigned doings, bool (*is_stuck)(const mz_workers *)) {
  atomic_store(&held_doings, doings);
  atomic_store(&held_name, threads);
  f->rounds = 6;
  assert_int_equal(pthread_create(&f->driver, NULL, drive, f), 0);
  for (int i = 0; i < 60000 && !(atomic_load(&held) > 0 && is_stuck(&f->run->workers)); i++) nap();
  assert_true(is_stuck(&f->run->workers));
}

static void release(fixture *f) {
  void *failed;
  atomic_store(&held_name, NULL);
  assert_int_equal(pthread_join(f->driver, &failed), 0);
  assert_null(failed);
}

static bool is_idle(mz_pool *pool) {
  mz_pool_view view;
  assert_true(mz_pool_look(pool, &view));
  return view.left == 0 && view.running == 0;
}

static bool learner_waits(const mz_workers *w) {
  mz_queue_view view;
  assert_true(mz_queue_look(w->queue, &view));
  return view.consumer_waits && is_idle(w->actor_pool);
}

/* Both threads of the pool are held, and the driving one waits for them alone. */
static bool selfplay_stands(const mz_workers *w) {
  return atomic_load(&held) == 2 && atomic_load(&w->activity.doing) == MZ_DOING_WAIT_SELFPLAY && is_idle(w->batch_pool) &&
         is_idle(w->state->learner_pool);
}

/* The driving thread is worker 0 of the pool and stands in its task; the other one before its own, or in it where it had not yet
 * parked after self-play. */
static bool evaluation_stands(const mz_workers *w) {
  mz_pool_view view;
  assert_true(mz_pool_look(w->actor_pool, &view));
  return atomic_load(&held) == 2 && view.left + view.running == 2;
}

/* Warns after 60 looks without progress, then after 120; and says when it is over. */
static void expect_warnings(fixture *f, const char *doing, const char *why) {
  look(f->watchdog, 60); /* the first one sees how the run came here */
  expect_said(0, "");
  look(f->watchdog, 1);
  expect_said(1, doing);
  expect_said(1, why);
  look(f->watchdog, 59);
  expect_said(1, "no progress for 60 s");
  look(f->watchdog, 1);
  expect_said(2, "no progress for 120 s");
  release(f);
  look(f->watchdog, 1);
  expect_said(3, "moves again, after 120 s");
  look(f->watchdog, 1000); /* the caller's time */
  expect_said(3, "");
}

static void a_queue_that_nobody_fills(void **unused) {
  (void)unused;
  fixture f;
  open_run(&f, hold);
  drive_until_stuck(&f, "batch-", 1U << MZ_DOING_UPDATES, learner_waits);
  expect_warnings(&f, "learning; queue of batches: capacity 3, 0 ready, 0 taken, the learner waits for a batch",
                  " of 6 tasks not begun, ");
  close_run(&f);
}

static void self_play_that_does_not_end(void **unused) {
  (void)unused;
  fixture f;
  open_run(&f, hold);
  /* from the round's start: where self-play is the faster stage, nobody would be left to hold once the learner is done */
  drive_until_stuck(&f, "actor-", 1U << MZ_DOING_UPDATES | 1U << MZ_DOING_WAIT_BATCHES | 1U << MZ_DOING_WAIT_SELFPLAY,
                    selfplay_stands);
  expect_warnings(&f, ", waiting for self-play; ", " at work, 2 threads; batches: idle; learner: idle");
  close_run(&f);
}

static void an_evaluation_that_does_not_end(void **unused) {
  (void)unused;
  fixture f;
  open_run(&f, hold);
  drive_until_stuck(&f, "", 1U << MZ_DOING_EVALUATION, evaluation_stands);
  expect_warnings(&f, "round 3, evaluation; ", " of 2 tasks not begun, ");
  close_run(&f);
}

/* ---- a run that moves ---- */

static pthread_t looker;
static mz_watchdog *looked_by; /* the looker's */
static int looks;

static void look_now(void) {
  if (!pthread_equal(pthread_self(), looker) || looked_by == NULL) return;
  looks++;
  mz_watchdog_look(looked_by);
}

static void a_run_that_moves_is_left_alone(void **unused) {
  (void)unused;
  fixture f;
  looker = pthread_self();
  open_run(&f, look_now);
  f.rounds = 9;
  looked_by = f.watchdog;
  assert_null(drive(&f));
  looked_by = NULL;
  assert_true(looks > 5 * MZ_WATCHDOG_LOOKS);
  look(f.watchdog, 1000);
  expect_said(0, "");
  close_run(&f);
}

/* ---- disks, and the end ---- */

static void a_disk_is_named_and_waited_for(void **unused) {
  (void)unused;
  fixture f;
  open_run(&f, NULL);
  mz_watchdog *aborting;
  expect_ok(mz_watchdog_create(&aborting, &(mz_watchdog_settings){.time = 60, .action = MZ_WATCHDOG_ABORT}, &f.run->workers));
  mz_activity_begin(&f.run->workers.activity, MZ_DOING_WAIT_CHECKPOINT, 27);
  look(aborting, MZ_WATCHDOG_LOOKS + 1);
  expect_said(1, "waiting for checkpoint round-000000027.mzc to be written");
  mz_watchdog_stop(aborting);
  close_run(&f);
}

static void abort_in_child(const char *path) {
  setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
  const int file = open(path, O_WRONLY | O_CREAT, 0600);
  if (file < 0 || dup2(file, STDERR_FILENO) < 0) _exit(1);
  const mz_settings settings = settings_with(sets, sizeof sets / sizeof *sets);
  mz_knobs knobs = settings.knobs;
  mz_knobs_resolve(&knobs, &settings, 2);
  mz_state state;
  mz_workers workers;
  mz_watchdog *watchdog;
  if (mz_state_init(&state, env_named("tictactoe"), &settings, 1, 1, NULL) != MZ_OK) _exit(1);
  if (mz_workers_init(&workers, &state, &knobs, NULL) != MZ_OK) _exit(1);
  if (mz_watchdog_start(&watchdog, &(mz_watchdog_settings){.time = 0.1, .action = MZ_WATCHDOG_ABORT}, &workers) != MZ_OK)
    _exit(1);
  mz_activity_begin(&workers.activity, MZ_DOING_FOLD, 5);
  for (int i = 0; i < 60000; i++) nap();
  _exit(0);
}

/* The watchdog has a thread of its own here. */
static void it_can_end_the_program(void **unused) {
  (void)unused;
  char folder[64], path[80];
  make_folder(folder);
  snprintf(path, sizeof path, "%s/said", folder);
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) abort_in_child(path);
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
  uint8_t *text;
  size_t size;
  expect_ok(mz_file_read(path, 0, &text, &size));
  char *end = (char *)text + size - 1;
  *end = 0;
  assert_non_null(strstr((char *)text, "error: watchdog: no progress for 0.1 s: round 5, folding the round into the state; "));
  assert_non_null(strstr((char *)text, " batch-0: state S, CPU time "));
  assert_non_null(strstr((char *)text, " watchdog: state R, CPU time "));
  free(text);
  drop_folder(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(it_can_end_the_program), /* first: it forks */
      cmocka_unit_test(a_queue_that_nobody_fills),       cmocka_unit_test(self_play_that_does_not_end),
      cmocka_unit_test(an_evaluation_that_does_not_end), cmocka_unit_test(a_run_that_moves_is_left_alone),
      cmocka_unit_test(a_disk_is_named_and_waited_for)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
