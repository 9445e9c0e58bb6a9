/* Stages of runs taken together: the quickest and the cheapest of many plans stay. */
#include "course_world.h"

/* ---- many plans ---- */

/* More cores are quicker and dearer, and all plans teach the same: none beats another. */
static void the_quickest_and_the_cheapest_of_many_plans_stay(void **unused) {
  (void)unused;
  enum { MANY = 48 };
  const mz_course_fit_options options = asked();
  time_noise = score_noise = 0;
  forget_runs();
  for (int on = 1; on <= MANY; on++) run(1, 64, on, EPOCHS);
  assert_int_equal(mz_course_fit(&fitted, curves, count, &options), MZ_OK);
  assert_int_equal(fitted.course.plans, MZ_COURSE_PLANS_MAX);
  assert_true(plan_of(&fitted.course, 64, 1) >= 0 && plan_of(&fitted.course, 64, MANY) >= 0);
}

static int teardown(void **unused) {
  (void)unused;
  forget_runs();
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_quickest_and_the_cheapest_of_many_plans_stay),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
