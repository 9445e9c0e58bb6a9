#include "base/threads/core.h"
#include <pthread.h>
#include <sched.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static int allowed_cores(void) {
  cpu_set_t set;
  assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
  return CPU_COUNT(&set);
}

static void test_second_thread_counts_on_another_core(void **state) {
  (void)state;
  const int first = mz_core_enter(-1);
  const int second = mz_core_enter(-1); /* as another thread would that woke up here */
  assert_true(first >= 0 && second >= 0);
  if (allowed_cores() > 1) assert_int_not_equal(first, second);
  mz_core_leave(second);
  mz_core_leave(first);
}

static void test_avoided_core_is_left(void **state) {
  (void)state;
  if (allowed_cores() < 2) {
    print_message("skipped: one core only\n");
    return;
  }
  for (int i = 0; i < 10; i++) {
    const int here = mz_core_current(), core = mz_core_enter(here);
    assert_int_not_equal(core, here);
    mz_core_leave(core);
  }
}

static void test_more_threads_than_cores_stay_and_masks_are_kept(void **state) {
  (void)state;
  cpu_set_t before, after;
  int cores[64];
  const int count = allowed_cores() < 60 ? allowed_cores() + 4 : 64;
  assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
  for (int i = 0; i < count; i++) {
    cores[i] = mz_core_enter(-1);
    assert_true(cores[i] >= 0 && CPU_ISSET(cores[i], &before));
  }
  for (int i = 0; i < count; i++) mz_core_leave(cores[i]);
  assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
  assert_true(CPU_EQUAL(&before, &after));
  const int again = mz_core_enter(-1), other = mz_core_enter(-1); /* all counts are back at zero */
  if (allowed_cores() > 1) assert_int_not_equal(again, other);
  mz_core_leave(other);
  mz_core_leave(again);
}

static void *enter_pinned(void *result) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  if (sched_setaffinity(0, sizeof one, &one) != 0) return NULL;
  const int here = mz_core_current(), core = mz_core_enter(here);
  *(int *)result = core == here; /* no other core is allowed */
  mz_core_leave(core);
  return NULL;
}

static void test_users_masks_are_heeded(void **state) {
  (void)state;
  pthread_t thread;
  int stayed = 0;
  assert_int_equal(pthread_create(&thread, NULL, enter_pinned, &stayed), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_int_equal(stayed, 1);
}

static void *confine_and_settle(void *result) {
  cpu_set_t whole, one, now;
  bool *ok = result;
  if (!mz_core_allowed(&whole)) return NULL;
  for (int core = 0; core < CPU_SETSIZE; core++) {
    if (!CPU_ISSET(core, &whole)) continue;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    if (!mz_core_confine(&one) || mz_core_current() != core) return NULL;
    if (mz_core_enter(core) != core) return NULL; /* its own core is to be avoided, but no other is its */
    mz_core_leave(core);
    mz_core_settle(core + 1);
    if (!mz_core_allowed(&now) || !CPU_EQUAL(&now, &one)) return NULL;
  }
  CPU_ZERO(&one);
  if (mz_core_confine(&one)) return NULL; /* nowhere: refused, and where it was */
  if (!mz_core_allowed(&now) || CPU_COUNT(&now) != 1) return NULL;
  *ok = mz_core_confine(&whole) && mz_core_allowed(&now) && CPU_EQUAL(&now, &whole);
  return NULL;
}

static void test_confined_threads_stay_where_they_are_put(void **state) {
  (void)state;
  pthread_t thread;
  bool ok = false;
  assert_int_equal(pthread_create(&thread, NULL, confine_and_settle, &ok), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_true(ok);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_second_thread_counts_on_another_core),
      cmocka_unit_test(test_avoided_core_is_left),
      cmocka_unit_test(test_more_threads_than_cores_stay_and_masks_are_kept),
      cmocka_unit_test(test_users_masks_are_heeded),
      cmocka_unit_test(test_confined_threads_stay_where_they_are_put),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
