/* What changing plans may cost: a credit for undone changes that refills, and a share of the time for exploring. */
#include "allocator/strategies/budget.h"
#include <math.h>

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
  mz_budget_keep(&b);
  mz_budget_revert(&b);
  assert_int_equal(mz_budget_wait(&b), MZ_REFILL_WINDOWS);
}

static int wait_after(mz_budget *b) {
  const int wait = mz_budget_wait(b);
  for (int i = 0; i < wait; i++) mz_budget_window(b);
  return wait;
}

/* A change that is undone as soon as one is allowed, again and again. */
static void each_further_one_in_a_row_doubles_the_wait(void **state) {
  (void)state;
  static const int waits[] = {16, 32, 64, 128, 128};
  mz_budget b = {0};
  for (int kept = 0; kept < 2; kept++) {
    while (mz_budget_wait(&b) == 0) mz_budget_revert(&b);
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
      assert_int_equal(wait_after(&b), waits[i]);
      assert_int_equal(mz_budget_wait(&b), 0);
      mz_budget_revert(&b);
    }
    wait_after(&b);
    mz_budget_keep(&b); /* it is as at first, but for the two that are still spent */
    assert_int_equal(mz_budget_refill(&b), MZ_REFILL_WINDOWS);
    for (int i = 0; i < 2 * MZ_REFILL_WINDOWS; i++) mz_budget_window(&b);
  }
}

/* A change that was wrong may be right now: one more is allowed for every five per cent that the plan in force costs more or less. */
static void changed_costs_refill_it(void **state) {
  (void)state;
  mz_budget b = {0};
  for (int i = 0; i < 50; i++) mz_budget_cost(&b, i % 2 ? 1.03 : 1, 0.01); /* noise */
  for (int i = 0; i < MZ_REVERTS_MAX; i++) mz_budget_revert(&b);
  for (int i = 0; i < 50; i++) mz_budget_cost(&b, i % 2 ? 1.03 : 1, 0.01);
  assert_int_equal(mz_budget_wait(&b), MZ_REFILL_WINDOWS);
  mz_budget_cost(&b, NAN, 0.01);
  int refills = 0;
  for (int i = 0; i < 200; i++) {
    mz_budget_cost(&b, 1.015 * (1 + 0.001 * i), 0.01); /* 20 % in all */
    if (mz_budget_wait(&b) > 0) continue;
    refills++;
    mz_budget_revert(&b);
  }
  assert_int_equal(refills, 3);
  for (int i = 0; i < 200; i++) mz_budget_cost(&b, 1.218 * (1 + 0.001 * i), 0.1); /* as much again, but windows vary by more */
  assert_int_equal(mz_budget_wait(&b), mz_budget_refill(&b));
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

static void deciding_has_a_smaller_one(void **state) {
  (void)state;
  mz_budget b = {0};
  assert_true(mz_budget_decides(&b)); /* the first decision comes before any round */
  mz_budget_decided(&b, 0.01);
  assert_false(mz_budget_decides(&b));
  for (int i = 0; i < 2; i++) mz_budget_round(&b, 0.9, 0);
  assert_false(mz_budget_decides(&b));
  mz_budget_round(&b, 0.3, 0); /* 0.01 s of 2.1 s */
  assert_true(mz_budget_decides(&b));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_credit_of_three_refills_by_one_in_sixteen_windows),
                                     cmocka_unit_test(each_further_one_in_a_row_doubles_the_wait),
                                     cmocka_unit_test(changed_costs_refill_it),
                                     cmocka_unit_test(windows_count_from_the_first_that_is_spent),
                                     cmocka_unit_test(exploring_has_a_share_of_the_time),
                                     cmocka_unit_test(deciding_has_a_smaller_one)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
