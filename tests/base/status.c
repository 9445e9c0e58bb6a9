#include "base/status.h"
#include <pthread.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static mz_status inner(int fails) { return fails ? mz_fail(MZ_E_IO, "disk: %d bytes short", 7) : MZ_OK; }

static mz_status outer(int fails, int *reached) {
  MZ_TRY(inner(fails));
  *reached = 1;
  return MZ_OK;
}

static void test_try_forwards(void **state) {
  (void)state;
  int reached = 0;
  assert_int_equal(outer(1, &reached), MZ_E_IO);
  assert_int_equal(reached, 0);
  assert_string_equal(mz_message(), "disk: 7 bytes short");
  assert_int_equal(outer(0, &reached), MZ_OK);
  assert_int_equal(reached, 1);
}

static void test_message_may_quote_the_last_one(void **state) {
  (void)state;
  (void)mz_fail(MZ_E_IO, "inner");
  assert_int_equal(mz_fail(MZ_E_CONFIG, "outer (%s)", mz_message()), MZ_E_CONFIG);
  assert_string_equal(mz_message(), "outer (inner)");
}

static void test_long_message_is_cut(void **state) {
  (void)state;
  (void)mz_fail(MZ_E_IO, "%5000s", "x");
  assert_int_equal(strlen(mz_message()), MZ_MESSAGE_MAX - 1);
}

static void *fail_elsewhere(void *before) {
  *(int *)before = mz_message()[0] == '\0';
  (void)mz_fail(MZ_E_IO, "other thread");
  return NULL;
}

static void test_messages_are_per_thread(void **state) {
  (void)state;
  pthread_t thread;
  int empty = 0;
  (void)mz_fail(MZ_E_IO, "mine");
  assert_int_equal(pthread_create(&thread, NULL, fail_elsewhere, &empty), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_int_equal(empty, 1);
  assert_string_equal(mz_message(), "mine");
}

static void test_alloc_is_aligned_and_zeroed(void **state) {
  (void)state;
  for (size_t count = 0; count < 300; count += 7) {
    unsigned char *p = NULL;
    assert_int_equal(mz_alloc(&p, count, 3), MZ_OK);
    assert_non_null(p);
    assert_int_equal((uintptr_t)p % 64, 0);
    for (size_t i = 0; i < count * 3; i++) assert_int_equal(p[i], 0);
    memset(p, 0xAB, count * 3); /* dirties what the next round may get */
    free(p);
  }
}

static void test_alloc_says_what_could_not_be_had(void **state) {
  (void)state;
  int dummy, *p = &dummy;
  assert_int_equal(mz_alloc(&p, SIZE_MAX / 2, 4), MZ_E_MEMORY); /* the product overflows */
  assert_null(p);
  p = &dummy;
  assert_int_equal(mz_alloc(&p, SIZE_MAX - 3, 1), MZ_E_MEMORY);
  assert_null(p);
  mz_alloc_fail_after(1);
  assert_int_equal(mz_alloc(&p, 12, 34), MZ_E_MEMORY);
  assert_non_null(strstr(mz_message(), "12 × 34"));
}

static void test_hook_fails_exactly_one_allocation(void **state) {
  (void)state;
  for (int n = 1; n <= 4; n++) {
    mz_alloc_fail_after(n);
    for (int i = 1; i <= 6; i++) {
      char *p = NULL;
      assert_int_equal(mz_alloc(&p, 1, 1), i == n ? MZ_E_MEMORY : MZ_OK);
      free(p);
    }
  }
  mz_alloc_fail_after(0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_try_forwards),
      cmocka_unit_test(test_message_may_quote_the_last_one),
      cmocka_unit_test(test_long_message_is_cut),
      cmocka_unit_test(test_messages_are_per_thread),
      cmocka_unit_test(test_alloc_is_aligned_and_zeroed),
      cmocka_unit_test(test_alloc_says_what_could_not_be_had),
      cmocka_unit_test(test_hook_fails_exactly_one_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
