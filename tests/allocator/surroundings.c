/* What else happened on the machine: a window that is unlike the others judges no plan. */
#include "tests/allocator/planted.h"
#include "allocator/strategies/surroundings.h"
#include "allocator/strategies/trial.h"

static mz_usage usage_of(double wall_s, double others, double waiting) {
  return (mz_usage){.wall_s = wall_s, .others_cpu_s = others * wall_s, .pressure_cpu = waiting};
}

static bool changed(mz_usage before, mz_usage now) {
  const mz_surroundings a = mz_surroundings_of(&before), b = mz_surroundings_of(&now);
  assert_int_equal(mz_surroundings_changed(&a, &b, 2), mz_surroundings_changed(&b, &a, 2));
  return mz_surroundings_changed(&a, &b, 2);
}

static void test_others_count_where_cores_are_short(void **state) {
  (void)state;
  assert_true(changed(usage_of(1, 0, 0.5), usage_of(1, 1, 0.9)));
  assert_false(changed(usage_of(1, 0, 0.5), usage_of(1, 0.25, 0.9)));    /* a tenth of two cores, and ticks */
  assert_false(changed(usage_of(1, 0, 0.01), usage_of(1, 8, 0.02)));     /* there were cores for all */
  assert_false(changed(usage_of(0.1, 0, 0.5), usage_of(0.1, 0.7, 0.9))); /* ticks of a short window */
  assert_true(changed(usage_of(0.1, 0, 0.5), usage_of(0.1, 1.1, 0.9)));
  mz_usage blind = usage_of(1, 1, 0.9), held = usage_of(1, 0, 0);
  blind.missing = 1u << MZ_SENSOR_LOAD | 1u << MZ_SENSOR_PRESSURE | 1u << MZ_SENSOR_THROTTLED;
  assert_false(changed(usage_of(1, 0, 0.5), blind));
  blind.missing = 1u << MZ_SENSOR_PRESSURE; /* perhaps there were cores for all, perhaps not */
  assert_true(changed(usage_of(1, 0, 0.5), blind));
  held.throttled_s = 0.2;
  assert_true(changed(usage_of(1, 0, 0), held));
  assert_false(changed((mz_usage){0}, usage_of(1, 1, 0.9)));
}

/* ---- trials ---- */

static double neighbour; /* by how much it slows rounds down in the window to come: by a tenth with each core that it uses */
static int64_t numbered; /* windows so far */
static double slowed(const mz_plan *plan) { return slow_where_planted(plan) * (1 + neighbour); }

static mz_decision window_with(shop *s, mz_allocator *allocator, double slowness, double others) {
  shop_phase work;
  mz_decision decision;
  neighbour = slowness;
  shop_work(s, allocator, slowed, &work);
  mz_usage *u = &work.window.usage;
  u->wall_s = fmax(u->wall_s, 1); /* also where a trial was given up */
  u->others_cpu_s = others * u->wall_s;
  u->pressure_cpu = 0.5;
  u->missing &= ~(1u << MZ_SENSOR_PRESSURE);
  work.window.number = ++numbered;
  mz_allocator_decide(allocator, &work.window, &decision);
  return decision;
}

static mz_decision window_beside(shop *s, mz_allocator *allocator, double slowness) {
  return window_with(s, allocator, slowness, 10 * slowness);
}

/* Puts a plan 1.2 times as fast as the base, promised to be twice as fast, on trial. */
static mz_allocator *begin_trial(shop *s, const mz_plan *plan) {
  plant(plan, 0.5);
  planted_slowness = shop_round_s(&base, NULL) / shop_round_s(plan, NULL) / 1.2;
  numbered = 0;
  mz_allocator *a = shop_allocator(s, &base, &strategy_planted);
  mz_decision d;
  do d = window_beside(s, a, 0);
  while (d.action != MZ_DECISION_TRY);
  return a;
}

static void test_a_neighbour_for_a_window_is_passed_over(void **state) {
  (void)state;
  shop s = shop_open("fixed", 0.02, 5);
  const mz_plan other = with(&base, SHEETS, 16);
  mz_allocator *a = begin_trial(&s, &other);
  window_beside(&s, a, 0);
  mz_decision d = window_beside(&s, a, 0.3);
  expect(&d, MZ_DECISION_WAIT, "other processes used 3 cores instead of 0: this block judges nothing");
  assert_true(isnan(d.observed) && isnan(d.ratio));
  while (d.action == MZ_DECISION_WAIT) d = window_beside(&s, a, 0);
  expect(&d, MZ_DECISION_CONFIRM, "it stays"); /* by what was seen before and after */
  assert_true(d.ratio > 1.15 && d.ratio < 1.25);
  assert_plan(d.next, other);
  mz_allocator_free(a);
}

/* It slows both plans down: each is compared with the other beside it. */
static void test_a_neighbour_that_stays_meets_both(void **state) {
  (void)state;
  shop s = shop_open("fixed", 0.02, 6);
  const mz_plan other = with(&base, SHEETS, 16);
  mz_allocator *a = begin_trial(&s, &other);
  mz_decision d = window_beside(&s, a, 0.3);
  int passed_over = 0;
  for (; d.action == MZ_DECISION_WAIT; d = window_beside(&s, a, 0.3)) passed_over += strstr(d.reason, "judges nothing") != NULL;
  assert_int_equal(passed_over, 2); /* the first of each plan */
  expect(&d, MZ_DECISION_CONFIRM, "it stays");
  assert_true(d.ratio > 1.15 && d.ratio < 1.25);
  mz_allocator_free(a);
}

/* Two rounds that are plainly bad end a trial at once; whose fault they were shows at the window's end. */
static void test_a_trial_that_a_neighbour_ended_may_be_repeated(void **state) {
  (void)state;
  shop s = shop_open("fixed", 0.02, 7);
  const mz_plan other = with(&base, SHEETS, 16);
  mz_allocator *a = begin_trial(&s, &other);
  mz_decision d = window_beside(&s, a, 1);
  expect(&d, MZ_DECISION_REVERT, "back, not judged: other processes used 10 cores instead of 0");
  assert_plan(*mz_allocator_plan(a), base);
  assert_int_equal(d.reverts, 0);
  for (int i = 0; i < 5 && d.action != MZ_DECISION_TRY; i++) d = window_beside(&s, a, 0);
  expect(&d, MZ_DECISION_TRY, "planted");
  mz_allocator_free(a);
}

/* What a plan's rounds took beside a neighbour is no measure for another plan's without. */
static void test_rounds_of_other_surroundings_are_forgotten(void **state) {
  (void)state;
  shop s = shop_open("fixed", 0.02, 8);
  const mz_plan slower = with(&base, SHEETS, 16);
  plant(&slower, 0.5);
  planted_slowness = 1.2 * shop_round_s(&base, NULL) / shop_round_s(&slower, NULL);
  numbered = 0;
  mz_allocator *a = shop_allocator(&s, &base, &strategy_planted);
  planted.promise = 2; /* nothing is tried */
  for (int i = 0; i < 4; i++) window_beside(&s, a, 1);
  planted.promise = 0.5;
  mz_decision d;
  do d = window_beside(&s, a, 0);
  while (d.action != MZ_DECISION_TRY);
  for (int i = 0; i < 40 && d.action != MZ_DECISION_REVERT; i++) d = window_beside(&s, a, 0);
  expect(&d, MZ_DECISION_REVERT, "times as fast"); /* beside rounds with the neighbour it would be 1.7 times as fast */
  assert_true(d.ratio < 0.9);
  mz_allocator_free(a);
}

/* Others use one more core in every window: no block is like the last one under its plan. */
static void test_a_trial_without_blocks_that_count_says_so(void **state) {
  (void)state;
  shop s = shop_open("fixed", 0.02, 9);
  const mz_plan other = with(&base, SHEETS, 16);
  mz_allocator *a = begin_trial(&s, &other);
  mz_decision d;
  int blocks = 0;
  do d = window_with(&s, a, 0, ++blocks);
  while (d.action == MZ_DECISION_WAIT);
  assert_int_equal(blocks, 4 * MZ_TRIAL_PAIRS_MAX);
  expect(&d, MZ_DECISION_REVERT, "sheets 16: too few of 64 blocks counted: ");
  expect(&d, MZ_DECISION_REVERT, ": back; not tried again for 8 windows");
  assert_null(strstr(d.reason, "nan"));
  assert_true(isnan(d.ratio));
  mz_allocator_free(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_others_count_where_cores_are_short),
                                     cmocka_unit_test(test_a_neighbour_for_a_window_is_passed_over),
                                     cmocka_unit_test(test_a_neighbour_that_stays_meets_both),
                                     cmocka_unit_test(test_a_trial_that_a_neighbour_ended_may_be_repeated),
                                     cmocka_unit_test(test_rounds_of_other_surroundings_are_forgotten),
                                     cmocka_unit_test(test_a_trial_without_blocks_that_count_says_so)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
