#include "tests/base/pool_cases.h"

static void test_every_task_runs_once(void **state) {
  (void)state;
  for (int threads = 1; threads <= 5; threads++) {
    mz_pool *pool = NULL;
    assert_int_equal(mz_pool_create(&pool, "test", threads, NULL), MZ_OK);
    assert_int_equal(mz_pool_threads(pool), threads);
    for (int tasks = 0; tasks <= TASKS; tasks += 1 + tasks * 2) {
      batch started = {.spin = 50}, run = {.spin = 50};
      mz_pool_start(pool, count_task, &started, tasks);
      assert_int_equal(mz_pool_wait(pool), MZ_OK);
      expect_each_once(&started, tasks);
      assert_int_equal(mz_pool_run(pool, count_task, &run, tasks), MZ_OK);
      expect_each_once(&run, tasks);
      assert_true(started.highest_worker < threads && run.highest_worker < threads);
    }
    mz_pool_free(pool);
  }
}

typedef struct callers {
  pthread_t self;
  int elsewhere;
} callers;

static mz_status note_thread(void *context, int task, int worker) {
  (void)task;
  callers *c = context;
  if (!pthread_equal(c->self, pthread_self()) || worker != 0) c->elsewhere++;
  return MZ_OK;
}

static void test_run_with_one_thread_stays_on_the_caller(void **state) {
  (void)state;
  mz_pool *pool = NULL;
  callers c = {.self = pthread_self()};
  assert_int_equal(mz_pool_create(&pool, "test", 1, NULL), MZ_OK);
  assert_int_equal(mz_pool_run(pool, note_thread, &c, 100), MZ_OK);
  assert_int_equal(c.elsewhere, 0);
  mz_pool_free(pool);
}

static mz_status record_order(void *context, int task, int worker) {
  (void)worker;
  int *next = context;
  return task == (*next)++ ? MZ_OK : mz_fail(MZ_E_INTERNAL, "task %d out of order", task);
}

static void test_tasks_start_in_index_order(void **state) {
  (void)state;
  mz_pool *pool = NULL;
  int next = 0;
  assert_int_equal(mz_pool_create(&pool, "test", 1, NULL), MZ_OK);
  mz_pool_start(pool, record_order, &next, 100);
  assert_int_equal(mz_pool_wait(pool), MZ_OK);
  mz_pool_free(pool);
}

/* Several tasks fail, the lowest last: its message must win. */
static mz_status fail_some(void *context, int task, int worker) {
  (void)worker;
  atomic_int *late = context;
  if (task == 3) {
    while (atomic_load(late) == 0) nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    return mz_fail(MZ_E_IO, "task %d", task);
  }
  if (task == 4) {
    atomic_store(late, 1);
    return mz_fail(MZ_E_CONFIG, "task %d", task);
  }
  return task > 4 ? mz_fail(MZ_E_USAGE, "task %d", task) : MZ_OK;
}

static void test_lowest_failure_is_reported_and_the_pool_goes_on(void **state) {
  (void)state;
  mz_pool *pool = NULL;
  assert_int_equal(mz_pool_create(&pool, "test", 3, NULL), MZ_OK);
  for (int i = 0; i < 20; i++) {
    atomic_int late = 0;
    mz_pool_start(pool, fail_some, &late, 50);
    assert_int_equal(mz_pool_wait(pool), MZ_E_IO);
    assert_string_equal(mz_message(), "task 3");
    late = 0;
    assert_int_equal(mz_pool_run(pool, fail_some, &late, 50), MZ_E_IO);
    assert_string_equal(mz_message(), "task 3");
    batch b = {0};
    assert_int_equal(mz_pool_run(pool, count_task, &b, 20), MZ_OK);
    expect_each_once(&b, 20);
  }
  mz_pool_free(pool);
}

static mz_status fail_at_ten(void *context, int task, int worker) {
  (void)worker;
  atomic_fetch_add((atomic_int *)context, 1);
  return task == 10 ? mz_fail(MZ_E_IO, "ten") : MZ_OK;
}

static void test_after_a_failure_no_further_task_starts(void **state) {
  (void)state;
  for (int threads = 1; threads <= 2; threads++) {
    mz_pool *pool = NULL;
    atomic_int started = 0;
    assert_int_equal(mz_pool_create(&pool, "test", threads, NULL), MZ_OK);
    assert_int_equal(mz_pool_run(pool, fail_at_ten, &started, TASKS), MZ_E_IO);
    assert_true(started >= 11);
    if (threads == 1) assert_int_equal(started, 11);
    started = 0; /* without the caller's thread */
    mz_pool_start(pool, fail_at_ten, &started, TASKS);
    assert_int_equal(mz_pool_wait(pool), MZ_E_IO);
    if (threads == 1) assert_int_equal(started, 11);
    mz_pool_free(pool);
  }
}

static void test_free_waits_for_running_tasks(void **state) {
  (void)state;
  mz_pool *pool = NULL;
  batch b = {.spin = 20000};
  assert_int_equal(mz_pool_create(&pool, "test", 2, NULL), MZ_OK);
  mz_pool_start(pool, count_task, &b, 20);
  mz_pool_free(pool);
  expect_each_once(&b, 20);
  mz_pool_free(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_task_runs_once),
                                     cmocka_unit_test(test_run_with_one_thread_stays_on_the_caller),
                                     cmocka_unit_test(test_tasks_start_in_index_order),
                                     cmocka_unit_test(test_lowest_failure_is_reported_and_the_pool_goes_on),
                                     cmocka_unit_test(test_after_a_failure_no_further_task_starts),
                                     cmocka_unit_test(test_free_waits_for_running_tasks)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
