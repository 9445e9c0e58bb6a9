#include "allocator/strategies/hysteresis.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <string.h>

enum { A, B, KNOBS };

static const mz_pipeline pipeline = {.knob_count = KNOBS};

static mz_plan plan_of(int64_t a, int64_t b) { return (mz_plan){.values = {a, b}}; }

static bool follow(mz_hysteresis *h, int64_t phase, int64_t a, int64_t b) {
  const mz_plan plan = plan_of(a, b);
  return mz_hysteresis_follow(h, &pipeline, &plan, phase);
}

static bool rested(const mz_hysteresis *h, int knob, int direction, bool clear, const char *why) {
  char why_not[64] = "";
  const bool may = mz_hysteresis_rested(h, knob, direction, clear, why_not, sizeof why_not);
  assert_string_equal(why_not, why);
  return may;
}

static void a_new_one_has_always_rested(void **state) {
  (void)state;
  mz_hysteresis h = {0};
  assert_false(follow(&h, 40, 1, 1));
  assert_true(rested(&h, A, 1, false, "") && rested(&h, B, -1, false, ""));
  assert_true(mz_hysteresis_settled(&h, &pipeline) == INT64_MAX);
}

static void a_change_rests_from_when_it_was_proposed(void **state) {
  (void)state;
  mz_hysteresis h = {0};
  follow(&h, 5, 1, 1);
  h.proposal = plan_of(2, 1);
  h.knobs[B].up = 3;
  assert_true(follow(&h, 6, 2, 1)); /* carried out at once */
  assert_int_equal(h.knobs[B].up, 0);
  assert_int_equal(mz_hysteresis_settled(&h, &pipeline), 1);
  assert_false(rested(&h, A, 1, true, "changed 1 window ago"));
  assert_true(rested(&h, B, 1, false, ""));
  assert_false(follow(&h, 7, 2, 1));
  assert_true(rested(&h, A, 1, false, ""));
  assert_false(rested(&h, A, -1, false, "went up 2 windows ago"));
  assert_true(rested(&h, A, -1, true, "")); /* a clear case */
  follow(&h, 8, 2, 1);
  assert_false(rested(&h, A, -1, false, "went up 3 windows ago"));
  follow(&h, 9, 2, 1);
  assert_true(rested(&h, A, -1, false, ""));
  assert_int_equal(mz_hysteresis_settled(&h, &pipeline), 4);
}

/* The windows of a trial are not seen: the plan has been in force in them. */
static void a_trial_that_passed_counts(void **state) {
  (void)state;
  mz_hysteresis h = {0};
  follow(&h, 5, 4, 1);
  h.proposal = plan_of(2, 1);
  assert_true(follow(&h, 9, 2, 1));
  assert_int_equal(mz_hysteresis_settled(&h, &pipeline), 4);
  assert_int_equal(h.knobs[A].direction, -1);
}

static void a_trial_that_was_undone_is_a_change_back(void **state) {
  (void)state;
  mz_hysteresis h = {0};
  follow(&h, 5, 1, 4);
  h.proposal = plan_of(2, 2);
  assert_true(follow(&h, 8, 1, 4));
  assert_int_equal(h.knobs[A].direction, -1);
  assert_int_equal(h.knobs[B].direction, 1);
  assert_false(rested(&h, A, 1, false, "changed 1 window ago"));
  assert_false(follow(&h, 9, 1, 4)); /* and is not undone twice */
  assert_false(rested(&h, A, 1, false, "went down 2 windows ago"));
  assert_true(rested(&h, A, -1, false, ""));
}

static void changes_by_others_are_noticed(void **state) {
  (void)state;
  mz_hysteresis h = {0};
  follow(&h, 5, 1, 1);
  assert_true(follow(&h, 6, 1, 8));
  assert_int_equal(h.knobs[B].changed, 5);
  assert_int_equal(h.knobs[B].direction, 1);
  assert_int_equal(h.knobs[A].direction, 0);
}

static void missing_windows_break_a_row(void **state) {
  (void)state;
  mz_hysteresis h = {0};
  follow(&h, 5, 1, 1);
  h.knobs[A].up = h.knobs[A].down = 1;
  assert_false(follow(&h, 6, 1, 1));
  assert_int_equal(h.knobs[A].up, 1);
  assert_true(follow(&h, 8, 1, 1));
  assert_int_equal(h.knobs[A].up, 0);
  assert_int_equal(h.knobs[A].down, 0);
  assert_true(mz_hysteresis_settled(&h, &pipeline) == INT64_MAX);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_new_one_has_always_rested),   cmocka_unit_test(a_change_rests_from_when_it_was_proposed),
      cmocka_unit_test(a_trial_that_passed_counts),    cmocka_unit_test(a_trial_that_was_undone_is_a_change_back),
      cmocka_unit_test(changes_by_others_are_noticed), cmocka_unit_test(missing_windows_break_a_row),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
