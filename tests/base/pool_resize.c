/* Pools of another size while tasks run, and the times of stages. */
#include "tests/base/pool_cases.h"

/* Tasks that can end only together: the pool must really have grown, at once, while they run. */
static mz_status meet(void *context, int task, int worker) {
  (void)task;
  (void)worker;
  atomic_int *present = context;
  atomic_fetch_add(present, 1);
  while (atomic_load(present) < 6) nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
  return MZ_OK;
}

static void *grow_later(void *pool) {
  nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
  return mz_pool_resize(pool, 6) == MZ_OK ? NULL : pool;
}

static void test_growing_takes_effect_while_tasks_run(void **state) {
  (void)state;
  mz_pool *pool = NULL;
  atomic_int present = 0;
  assert_int_equal(mz_pool_create(&pool, "test", 2, NULL), MZ_OK);
  mz_pool_start(pool, meet, &present, 6);
  assert_int_equal(mz_pool_resize(pool, 6), MZ_OK);
  assert_int_equal(mz_pool_wait(pool), MZ_OK);

  assert_int_equal(mz_pool_resize(pool, 2), MZ_OK);
  present = 0;
  pthread_t thread;
  void *failed = NULL;
  assert_int_equal(pthread_create(&thread, NULL, grow_later, pool), 0);
  assert_int_equal(mz_pool_run(pool, meet, &present, 6), MZ_OK); /* from within run, too */
  assert_int_equal(pthread_join(thread, &failed), 0);
  assert_null(failed);
  mz_pool_free(pool);
}

static void test_shrunk_pool_uses_the_low_numbers(void **state) {
  (void)state;
  mz_pool *pool = NULL;
  assert_int_equal(mz_pool_create(&pool, "test", 8, NULL), MZ_OK);
  assert_int_equal(mz_pool_resize(pool, 2), MZ_OK);
  assert_int_equal(mz_pool_threads(pool), 2);
  batch b = {.spin = 1000};
  mz_pool_start(pool, count_task, &b, TASKS);
  assert_int_equal(mz_pool_wait(pool), MZ_OK);
  expect_each_once(&b, TASKS);
  assert_true(b.highest_worker < 2);
  mz_pool_free(pool);
}

static void test_impossible_sizes_keep_the_old_one(void **state) {
  (void)state;
  mz_pool *pool = NULL;
  assert_int_equal(mz_pool_create(&pool, "test", 2, NULL), MZ_OK);
  assert_int_equal(mz_pool_resize(pool, 0), MZ_E_CONFIG);
  assert_int_equal(mz_pool_resize(pool, MZ_POOL_MAX + 1), MZ_E_CONFIG);
  mz_alloc_fail_after(3);
  assert_int_equal(mz_pool_resize(pool, 8), MZ_E_MEMORY); /* two of six were made: they stay parked */
  mz_alloc_fail_after(0);
  assert_int_equal(mz_pool_threads(pool), 2);
  batch b = {0};
  mz_pool_start(pool, count_task, &b, TASKS);
  assert_int_equal(mz_pool_wait(pool), MZ_OK);
  assert_true(b.highest_worker < 2);
  assert_int_equal(mz_pool_resize(pool, 8), MZ_OK);
  assert_int_equal(mz_pool_threads(pool), 8);
  mz_pool_free(pool);
  mz_alloc_fail_after(2);
  assert_int_equal(mz_pool_create(&pool, "test", 2, NULL), MZ_E_MEMORY);
  assert_null(pool);
  mz_alloc_fail_after(0);
}

/* In a process with room for a few stacks only. */
static int resize_without_room(void) {
  mz_pool *pool = NULL;
  if (mz_pool_create(&pool, "test", 2, NULL) != MZ_OK) return 1;
  const struct rlimit tight = {.rlim_cur = 200 << 20, .rlim_max = 200 << 20};
  if (setrlimit(RLIMIT_AS, &tight) != 0) return 2;
  if (mz_pool_resize(pool, MZ_POOL_MAX) != MZ_E_INTERNAL) return 3;
  if (strstr(mz_message(), "threads: no more than") == NULL || mz_pool_threads(pool) != 2) return 4;
  batch b = {.spin = 100};
  mz_pool_start(pool, count_task, &b, TASKS);
  if (mz_pool_wait(pool) != MZ_OK || b.highest_worker >= 2) return 5;
  mz_pool_free(pool);
  return 0;
}

static void test_too_few_threads_keep_the_old_size(void **state) {
  (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  print_message("skipped: sanitizers need the address space that this test takes away\n");
  (void)resize_without_room;
#else
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) _exit(resize_without_room());
  int status = -1;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
#endif
}

typedef struct resizer {
  mz_pool *pool;
  atomic_bool stop;
  uint32_t seed;
} resizer;

static void *resize_at_random(void *argument) {
  resizer *r = argument;
  mz_rng rng = mz_rng_at(r->seed, MZ_RNG_TEST, 0, 0);
  while (!atomic_load(&r->stop)) {
    if (mz_pool_resize(r->pool, 1 + (int)mz_rng_below(&rng, 8)) != MZ_OK) return argument;
    nanosleep(&(struct timespec){.tv_nsec = mz_rng_below(&rng, 100000)}, NULL);
  }
  return NULL;
}

static void test_random_resizes_lose_nothing(void **state) {
  (void)state;
  mz_pool *pool = NULL;
  pthread_t threads[2];
  assert_int_equal(mz_pool_create(&pool, "test", 1, NULL), MZ_OK);
  resizer resizers[2] = {{.pool = pool, .seed = 1}, {.pool = pool, .seed = 2}};
  for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&threads[i], NULL, resize_at_random, &resizers[i]), 0);
  for (int round = 0; round < 300; round++) {
    batch b = {.spin = 20 * (round % 50)};
    const int tasks = 1 + round % TASKS;
    if (round % 2 != 0) {
      mz_pool_start(pool, count_task, &b, tasks);
      assert_int_equal(mz_pool_wait(pool), MZ_OK);
    } else {
      assert_int_equal(mz_pool_run(pool, count_task, &b, tasks), MZ_OK);
    }
    expect_each_once(&b, tasks);
    assert_true(b.highest_worker < 8);
  }
  for (int i = 0; i < 2; i++) {
    void *failed = NULL;
    atomic_store(&resizers[i].stop, true);
    assert_int_equal(pthread_join(threads[i], &failed), 0);
    assert_null(failed);
  }
  mz_pool_free(pool);
}

/* Waits a while in a closed-later queue: not busy time. */
typedef struct waiting {
  mz_queue *queue;
  uint64_t waited;
} waiting;

static mz_status wait_in_queue(void *context, int task, int worker) {
  (void)task;
  (void)worker;
  waiting *w = context;
  int slot;
  return mz_queue_take(w->queue, &slot, &w->waited) ? mz_fail(MZ_E_INTERNAL, "nothing was published") : MZ_OK;
}

static void test_stage_counts_work_but_not_waits(void **state) {
  (void)state;
  mz_stage stage = {.name = "test"};
  mz_pool *pool = NULL;
  waiting w = {0};
  assert_int_equal(mz_queue_create(&w.queue, 1), MZ_OK);
  assert_int_equal(mz_pool_create(&pool, "test", 1, &stage), MZ_OK);
  const uint64_t start = mz_clock_ns();
  mz_pool_start(pool, wait_in_queue, &w, 1);
  nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
  mz_queue_close(w.queue);
  assert_int_equal(mz_pool_wait(pool), MZ_OK);
  const uint64_t wall = mz_clock_ns() - start;
  assert_true(w.waited > 0 && stage.busy_ns > 0);
  assert_true(stage.busy_ns + w.waited <= wall);

  const uint64_t busy = stage.busy_ns, cpu = stage.cpu_ns;
  batch b = {.spin = 100000};
  assert_int_equal(mz_pool_run(pool, count_task, &b, 10), MZ_OK);
  assert_true(stage.busy_ns > busy && stage.cpu_ns > cpu);
  mz_pool_free(pool);
  mz_queue_free(w.queue);
}

static mz_status nap(void *context, int task, int worker) {
  (void)context;
  (void)worker;
  nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
  return task == 1 ? mz_fail(MZ_E_IO, "task %d", task) : MZ_OK;
}

/* However many threads nap at once, the batch's time counts once; between batches none passes. */
static void test_stage_counts_time_at_work(void **state) {
  (void)state;
  mz_stage stage = {.name = "test"};
  mz_pool *pool = NULL;
  assert_int_equal(mz_pool_create(&pool, "test", 3, &stage), MZ_OK);
  mz_pool_start(pool, nap, NULL, 0);
  assert_int_equal(mz_pool_wait(pool), MZ_OK);
  assert_int_equal(stage.elapsed_ns, 0);

  uint64_t start = mz_clock_ns();
  mz_pool_start(pool, nap, NULL, 9);
  assert_int_equal(mz_pool_wait(pool), MZ_E_IO);
  uint64_t wall = mz_clock_ns() - start, before = stage.elapsed_ns;
  assert_true(before >= 5000000 && before <= wall);

  nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
  assert_int_equal(stage.elapsed_ns, before);
  start = mz_clock_ns();
  assert_int_equal(mz_pool_run(pool, nap, NULL, 9), MZ_E_IO);
  wall = mz_clock_ns() - start;
  assert_true(stage.elapsed_ns - before >= 5000000 && stage.elapsed_ns - before <= wall);

  assert_int_equal(mz_pool_resize(pool, 1), MZ_OK);
  before = stage.elapsed_ns;
  start = mz_clock_ns();
  assert_int_equal(mz_pool_run(pool, nap, NULL, 1), MZ_OK); /* on the caller alone */
  wall = mz_clock_ns() - start;
  assert_true(stage.elapsed_ns - before >= 5000000 && stage.elapsed_ns - before <= wall);
  mz_pool_free(pool);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_growing_takes_effect_while_tasks_run),
                                     cmocka_unit_test(test_shrunk_pool_uses_the_low_numbers),
                                     cmocka_unit_test(test_impossible_sizes_keep_the_old_one),
                                     cmocka_unit_test(test_too_few_threads_keep_the_old_size),
                                     cmocka_unit_test(test_random_resizes_lose_nothing),
                                     cmocka_unit_test(test_stage_counts_work_but_not_waits),
                                     cmocka_unit_test(test_stage_counts_time_at_work)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
