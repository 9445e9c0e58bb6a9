/* A run while the machine grants it fewer cores, and more again: its plan follows, its results do not notice. */
#include "muzero/steering/granted.h"
#include "allocator/records/ledger.h"
#include "base/log.h"
#include "muzero/run.h"
#include "muzero/steering/steer_state.h"
#include "muzero/trainer.h"
#include "tests/muzero/testing.h"
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const sets[] = {"num_games=16",       "moves_per_round=4", "loop_count=3",          "batch_size=16",
                                   "simulations=3",      "network.width=16",  "train.phase_rounds=10", "eval.games=1",
                                   "replay.min_fill=16", "allocate.window=2", "eval.opponent=random"};
enum { ROUNDS = 60, FEWER = 21, MORE = 41 };

/* Of every thread of this process, as `taskset -a -p` does it. */
static void grant(const cpu_set_t *cores) {
  DIR *tasks = opendir("/proc/self/task");
  assert_non_null(tasks);
  for (const struct dirent *task = readdir(tasks); task; task = readdir(tasks))
    if (atoi(task->d_name) > 0) sched_setaffinity(atoi(task->d_name), sizeof *cores, cores);
  closedir(tasks);
}

/* Nanoseconds that the thread has run. */
static uint64_t ran_ns(const char *thread) {
  char path[320];
  uint64_t ns = 0;
  snprintf(path, sizeof path, "/proc/self/task/%s/schedstat", thread);
  FILE *in = fopen(path, "r");
  if (!in) return 0;
  if (fscanf(in, "%" SCNu64, &ns) != 1) ns = 0;
  fclose(in);
  return ns;
}

typedef struct ran {
  int count;
  int ids[256];
  uint64_t ns[256];
} ran;

static ran all_ran(void) {
  ran r = {0};
  DIR *tasks = opendir("/proc/self/task");
  assert_non_null(tasks);
  for (const struct dirent *task = readdir(tasks); task && r.count < 256; task = readdir(tasks)) {
    if (atoi(task->d_name) == 0) continue;
    r.ids[r.count] = atoi(task->d_name);
    r.ns[r.count++] = ran_ns(task->d_name);
  }
  closedir(tasks);
  return r;
}

static bool has_run_since(const ran *before, const char *thread) {
  for (int i = 0; i < before->count; i++)
    if (before->ids[i] == atoi(thread)) return before->ns[i] != ran_ns(thread);
  return true;
}

/* Threads that may run elsewhere. before (NULL: all): those that have slept since then do not count: they take their place when
 * they wake. */
static int threads_outside(const cpu_set_t *cores, const ran *before) {
  int count = 0;
  DIR *tasks = opendir("/proc/self/task");
  assert_non_null(tasks);
  for (const struct dirent *task = readdir(tasks); task; task = readdir(tasks)) {
    cpu_set_t mask, both;
    if (atoi(task->d_name) == 0 || sched_getaffinity(atoi(task->d_name), sizeof mask, &mask) != 0) continue;
    CPU_AND(&both, &mask, cores);
    count += !CPU_EQUAL(&both, &mask) && (!before || has_run_since(before, task->d_name));
  }
  closedir(tasks);
  return count;
}

static cpu_set_t one_of(const cpu_set_t *all) {
  cpu_set_t one;
  int first = 0;
  CPU_ZERO(&one);
  while (!CPU_ISSET(first, all)) first++;
  CPU_SET(first, &one);
  return one;
}

typedef struct watched {
  mz_run *run;
  cpu_set_t all, one;
  bool changes;
  int outside, cores; /* threads that leave the one core; cores of the plan: before there are more again */
  ran ran;            /* until some rounds before that */
} watched;

static void tick(void *context, const mz_progress *progress) {
  watched *w = context;
  (void)progress;
  const int64_t rounds = mz_run_counters(w->run)->rounds;
  if (!w->changes) return;
  if (rounds == FEWER) grant(&w->one);
  if (rounds == MORE - 6) w->ran = all_ran();
  if (rounds == MORE - 1) {
    w->outside = threads_outside(&w->one, &w->ran);
    w->cores = mz_steer_cores(w->run->steer);
  }
  if (rounds == MORE) grant(&w->all);
}

static mz_run_options options_of(const char *dir, const char *strategy) {
  return (mz_run_options){.env = "tictactoe",
                          .dir = dir,
                          .sets = (const char **)(uintptr_t)sets,
                          .set_count = sizeof sets / sizeof *sets,
                          .allocate = strategy};
}

static uint64_t train(const char *folder, const char *strategy, bool changes, const cpu_set_t *all, watched *w) {
  char dir[96], ledger[128];
  mz_phase phase = {0};
  mz_reason reason = MZ_GOES_ON;
  mz_replayed replayed;
  snprintf(dir, sizeof dir, "%s/%s-%d", folder, strategy, changes);
  mz_run_options options = options_of(dir, strategy);
  options.seed = 3;
  options.seed_given = true;
  const mz_limits limits = {.rounds = ROUNDS};
  *w = (watched){.all = *all, .one = one_of(all), .changes = changes};
  expect_ok(mz_run_open(&w->run, &options));
  while (reason == MZ_GOES_ON) expect_ok(mz_run_phase(w->run, &limits, tick, w, &phase, &reason));
  mz_run_close(w->run);
  grant(all);
  snprintf(ledger, sizeof ledger, "%s/ledger.jsonl", dir);
  expect_ok(mz_ledger_replay(ledger, INT64_MAX, &replayed));
  assert_int_equal(replayed.differences, 0);
  assert_int_equal((int)replayed.options.bounds.cpu_max, CPU_COUNT(all));
  mz_replayed_free(&replayed);
  return digest_of_run(dir);
}

/* A run that began on one core uses more when it may. */
static void what_began_on_one_core_spreads(void **state) {
  (void)state;
  char folder[64], dir[96];
  cpu_set_t all;
  assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
  if (CPU_COUNT(&all) < 2) {
    print_message("skipped: one core only\n");
    skip();
  }
  make_folder(folder);
  snprintf(dir, sizeof dir, "%s/run", folder);
  watched w = {.all = all, .one = one_of(&all)};
  const mz_run_options options = options_of(dir, "fixed");
  const mz_limits limits = {.rounds = 30};
  mz_phase phase;
  mz_reason reason;
  grant(&w.one);
  expect_ok(mz_run_open(&w.run, &options));
  expect_ok(mz_run_phase(w.run, &limits, NULL, NULL, &phase, &reason));
  assert_int_equal(threads_outside(&w.one, NULL), 0);
  assert_int_equal(mz_steer_devices(w.run->steer)->items[0].core_count, 1);
  grant(&all);
  expect_ok(mz_run_phase(w.run, &limits, NULL, NULL, &phase, &reason));
  assert_int_equal(mz_steer_devices(w.run->steer)->items[0].core_count, CPU_COUNT(&all));
  expect_ok(mz_run_phase(w.run, &limits, NULL, NULL, &phase, &reason));
  assert_true(threads_outside(&w.one, NULL) >= 4); /* not only those that the grant itself let go: pools confine theirs */
  mz_run_close(w.run);
  grant(&all);
  drop_folder(folder);
}

/* A limit that the plan does not fit is kept to by packing, and what was before it returns with it. */
static void a_memory_limit_comes_and_goes(void **state) {
  (void)state;
  char folder[64], dir[96];
  make_folder(folder);
  snprintf(dir, sizeof dir, "%s/run", folder);
  mz_run *run;
  const mz_run_options options = options_of(dir, "fixed");
  const mz_limits limits = {.rounds = ROUNDS};
  mz_phase phase;
  mz_reason reason;
  double before, least, now;
  expect_ok(mz_run_open(&run, &options));
  const mz_knobs first = mz_steer_knobs(run->steer);
  mz_steer_bytes(run->steer, &before, &least);
  assert_true(least < before);
  const double limit = (before + least) / 2;
  mz_steer_limit_memory(run->steer, (uint64_t)limit);
  expect_ok(mz_run_phase(run, &limits, NULL, NULL, &phase, &reason));
  mz_steer_bytes(run->steer, &now, &least);
  assert_true(now <= limit);
  mz_steer_limit_memory(run->steer, 0);
  expect_ok(mz_run_phase(run, &limits, NULL, NULL, &phase, &reason));
  const mz_knobs last = mz_steer_knobs(run->steer);
  assert_memory_equal(&first, &last, sizeof first);
  mz_run_close(run);
  drop_folder(folder);
}

/* Where there is no memory for another plan, the run goes on with what it had: devices, bounds and history are of one piece. */
static void without_memory_all_stays(void **state) {
  (void)state;
  char folder[64], dir[96], history[96];
  static mz_outset before; /* large */
  make_folder(folder);
  snprintf(dir, sizeof dir, "%s/run", folder);
  snprintf(history, sizeof history, "%s/history.db", folder);
  mz_run *run;
  mz_run_options options = options_of(dir, "greedy");
  options.history = history;
  const mz_limits limits = {.rounds = 10};
  mz_phase phase;
  mz_reason reason;
  expect_ok(mz_run_open(&run, &options));
  expect_ok(mz_run_phase(run, &limits, NULL, NULL, &phase, &reason));
  mz_steer *s = run->steer;
  if (s->bounds.cpu_max < 2) {
    print_message("skipped: one core only\n");
    mz_run_close(run);
    drop_folder(folder);
    skip();
  }
  const int cores = (int)s->bounds.cpu_max;
  int failures = 0;
  for (long n = 1, left = 0; left == 0; n++) {
    before = s->outset;
    const mz_bounds bounds = s->bounds;
    const mz_history_key key = s->key;
    const mz_allocator *const allocator = s->allocator;
    mz_alloc_fail_after(n);
    const mz_status status = mz_steer_limit_cores(s, &run->workers, 1);
    left = mz_alloc_fail_after(0);
    if (status == MZ_OK) { /* none failed, or one that can be done without */
      assert_int_equal(mz_steer_cores(s), 1);
      expect_ok(mz_steer_limit_cores(s, &run->workers, cores));
      continue;
    }
    failures++;
    assert_int_equal(status, MZ_E_MEMORY);
    if (s->allocator != allocator) continue; /* it had begun to follow */
    assert_memory_equal(&s->outset, &before, sizeof before);
    assert_memory_equal(&s->bounds, &bounds, sizeof bounds);
    assert_memory_equal(&s->key, &key, sizeof key);
  }
  assert_true(failures > 2);
  mz_run_close(run);
  drop_folder(folder);
}

static int told;
static void count_told(void *context, mz_log_level level, const char *line) {
  (void)context;
  (void)level;
  told += strstr(line, "the machine grants ") != NULL && strstr(line, "the plan follows") != NULL;
}

static void plans_follow_the_cores_and_results_do_not_notice(void **state) {
  (void)state;
  char folder[64];
  cpu_set_t all;
  watched w;
  assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
  if (CPU_COUNT(&all) < 2) {
    print_message("skipped: one core only\n");
    skip();
  }
  make_folder(folder);
  const uint64_t calm = train(folder, "greedy", false, &all, &w);
  static const char *const strategies[] = {"fixed", "greedy", "demand"};
  mz_log_set_sink(count_told, NULL);
  for (int i = 0; i < 3; i++) {
    told = 0;
    const uint64_t digest = train(folder, strategies[i], true, &all, &w);
    assert_true(digest == calm);
    assert_int_equal(told, 2);
    assert_int_equal(w.outside, 0);
    assert_int_equal(w.cores, 1);
  }
  mz_log_set_sink(NULL, NULL);
  drop_folder(folder);
}

static void what_changed_is_said(void **state) {
  (void)state;
  char text[128];
  mz_granted before = {.cores = 2, .memory = 8ULL << 30}, now = before;
  assert_true(mz_granted_same(&before, &now));
  now.cores = 1;
  assert_false(mz_granted_same(&before, &now));
  mz_granted_text(&before, &now, text, sizeof text);
  assert_string_equal(text, "1 core instead of 2");
  now.memory = 512 << 20;
  mz_granted_text(&before, &now, text, sizeof text);
  assert_string_equal(text, "1 core instead of 2, 512 MiB of memory instead of 8192 MiB");
  now = before;
  before.mask_known = now.mask_known = true;
  CPU_SET(1, &now.mask);
  CPU_SET(0, &before.mask);
  assert_false(mz_granted_same(&before, &now));
  mz_granted_text(&before, &now, text, sizeof text);
  assert_string_equal(text, "other cores");
  before.mask_known = false; /* what is not known has not changed */
  assert_true(mz_granted_same(&before, &now));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_memory_limit_comes_and_goes), cmocka_unit_test(without_memory_all_stays),
                                     cmocka_unit_test(plans_follow_the_cores_and_results_do_not_notice),
                                     cmocka_unit_test(what_began_on_one_core_spreads), cmocka_unit_test(what_changed_is_said)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
