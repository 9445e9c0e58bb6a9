/* What changing plans may cost: a credit for undone changes that refills, and a share of the time for exploring. */
#include "allocator/strategies/budget.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void a_credit_of_three_refills_by_one_in_sixteen_windows(void **state) {
  (void)state;
  mz_budget b = {0};
  for (int i = 0; i < 100; i++) mz_budget_window(&b); /* no more than three are saved up */
  for (int i = 0; i < MZ_REVERTS_MAX; i++) {
    assert_int_equal(mz_budget_wait(&b), 0);
    mz_budget_revert(&b);
  }
  for (int wait = MZ_REFILL_WINDOWS; wait > 0; wait--) {
    assert_int_equal(mz_budget_wait(&b), wait);
    mz_budget_window(&b);
  }
  assert_int_equal(mz_budget_wait(&b), 0);
  mz_budget_revert(&b);
  assert_int_equal(mz_budget_wait(&b), MZ_REFILL_WINDOWS);
}

static void windows_count_from_the_first_that_is_spent(void **state) {
  (void)state;
  mz_budget b = {0};
  mz_budget_revert(&b);
  for (int i = 0; i < 10; i++) mz_budget_window(&b);
  mz_budget_revert(&b);
  mz_budget_revert(&b);
  assert_int_equal(mz_budget_wait(&b), MZ_REFILL_WINDOWS - 10);
}

static void exploring_has_a_share_of_the_time(void **state) {
  (void)state;
  mz_budget b = {0};
  assert_false(mz_budget_explores(&b)); /* nothing has run yet */
  for (int i = 0; i < 100; i++) mz_budget_round(&b, 1, 0);
  assert_true(mz_budget_explores(&b));
  mz_budget_round(&b, 1.5, 1); /* 0.5 s of 1.015 s */
  assert_true(mz_budget_explores(&b));
  mz_budget_round(&b, 1.6, 1);
  assert_false(mz_budget_explores(&b));
  mz_budget_round(&b, 0.5, 1); /* what is saved by exploring counts, too */
  assert_true(mz_budget_explores(&b));
  for (int i = 0; i < 100; i++) mz_budget_round(&b, 0.5, 1);
  mz_budget_round(&b, 5, 1); /* but is not saved up */
  assert_false(mz_budget_explores(&b));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_credit_of_three_refills_by_one_in_sixteen_windows),
                                     cmocka_unit_test(windows_count_from_the_first_that_is_spent),
                                     cmocka_unit_test(exploring_has_a_share_of_the_time)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
