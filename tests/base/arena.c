#include "base/arena.h"
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_buffers_are_apart_aligned_and_zeroed(void **state) {
  (void)state;
  static const size_t counts[] = {1, 0, 17, 64, 1000, 3};
  enum { N = sizeof counts / sizeof *counts };
  double *buffers[N];
  mz_carver carver = {0};
  for (int i = 0; i < N; i++) mz_carve(&carver, &buffers[i], counts[i], sizeof(double));
  void *block = NULL;
  assert_int_equal(mz_carve_commit(&carver, &block), MZ_OK);
  for (int i = 0; i < N; i++) {
    assert_int_equal((uintptr_t)buffers[i] % 64, 0);
    for (size_t k = 0; k < counts[i]; k++) assert_true(buffers[i][k] == 0.0);
  }
  for (int i = 0; i < N; i++) {
    for (size_t k = 0; k < counts[i]; k++) buffers[i][k] = i + 1;
  }
  for (int i = 0; i < N; i++) { /* nobody wrote into a neighbour */
    for (size_t k = 0; k < counts[i]; k++) assert_true(buffers[i][k] == i + 1);
  }
  assert_true((char *)(buffers[N - 1] + counts[N - 1]) <= (char *)block + carver.bytes);
  free(block);
}

static void test_absurd_sizes_fail_at_commit(void **state) {
  (void)state;
  mz_carver carver = {0};
  char *small = NULL, *huge = NULL, *after = NULL;
  mz_carve(&carver, &small, 10, 1);
  mz_carve(&carver, &huge, SIZE_MAX / 4, 8);
  mz_carve(&carver, &after, 10, 1); /* must not wrap around to a small sum */
  void *block = &carver;
  assert_int_equal(mz_carve_commit(&carver, &block), MZ_E_MEMORY);
  assert_null(block);
  assert_null(small);
}

static void test_failed_allocation_leaves_the_slots(void **state) {
  (void)state;
  char old = 'x', *slot = &old;
  mz_carver carver = {0};
  mz_carve(&carver, &slot, 100, 1);
  void *block = NULL;
  mz_alloc_fail_after(1);
  assert_int_equal(mz_carve_commit(&carver, &block), MZ_E_MEMORY);
  assert_ptr_equal(slot, &old);
  assert_int_equal(mz_carve_commit(&carver, &block), MZ_OK); /* and can be tried again */
  assert_ptr_equal(slot, block);
  free(block);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_buffers_are_apart_aligned_and_zeroed),
      cmocka_unit_test(test_absurd_sizes_fail_at_commit),
      cmocka_unit_test(test_failed_allocation_leaves_the_slots),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
