/* Something is due once when its time has passed, and then anew. */
#include "base/machine/pacer.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void is_due_once_and_then_anew(void **state) {
  (void)state;
  mz_pacer pacer = {.every_s = 10, .last_s = 5};
  assert_false(mz_pacer_due(&pacer, 5));
  assert_false(mz_pacer_due(&pacer, 14.9));
  assert_true(mz_pacer_due(&pacer, 15));
  assert_false(mz_pacer_due(&pacer, 24));
  assert_true(mz_pacer_due(&pacer, 61)); /* late: it is not made up for */
  assert_false(mz_pacer_due(&pacer, 70));
  assert_true(mz_pacer_due(&pacer, 71));
}

static void something_else_may_put_it_off(void **state) {
  (void)state;
  mz_pacer pacer = {.every_s = 10};
  pacer.last_s = 8;
  assert_false(mz_pacer_due(&pacer, 12));
  assert_true(mz_pacer_due(&pacer, 18));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(is_due_once_and_then_anew),
                                     cmocka_unit_test(something_else_may_put_it_off)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
