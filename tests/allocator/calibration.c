/* Nine in ten calibrated intervals hold, however wrong the model's own are. */
#include "allocator/model/calibration.h"
#include "base/maths/rng.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

enum { WINDOWS = 2000, SETTLED = 100 };

/* Share of the intervals that hold, of outcomes that spread `wrong` times as much as the model says; in the second half half as much. */
static double coverage(double wrong) {
  const double sigma = 0.05;
  mz_calibration c = {0};
  int held = 0;
  for (int i = 0; i < WINDOWS; i++) {
    mz_rng rng = mz_rng_at(5, MZ_RNG_TEST, (uint32_t)i, (uint64_t)(wrong * 16));
    const double spread = wrong * sigma * (i < WINDOWS / 2 ? 1 : 0.5), observed_s = exp(spread * mz_rng_normal(&rng));
    const mz_prediction model = {1, exp(-1.6449 * sigma), exp(1.6449 * sigma), 0.5}, p = mz_calibrated(&c, &model);
    assert_true(p.unit_s == 1 && p.apart_s == 0.5 && p.low < 1 && p.high > 1);
    if (i >= SETTLED) held += p.low <= observed_s && observed_s <= p.high;
    mz_calibration_add(&c, &p, observed_s);
  }
  assert_int_equal(c.judged, WINDOWS);
  return (double)held / (WINDOWS - SETTLED);
}

static void test_nine_in_ten_hold(void **state) {
  (void)state;
  for (double wrong = 0.25; wrong <= 8; wrong *= 2) {
    const double share = coverage(wrong);
    print_message("outcomes spread %g times as much as was said: %.1f %% of the intervals hold\n", wrong, 100 * share);
    assert_true(share > 0.88 && share < 0.92);
  }
}

static void test_what_cannot_be_judged(void **state) {
  (void)state;
  mz_calibration c = {0};
  const mz_prediction nothing = MZ_UNPREDICTED, known = {1, 0.9, 1.1, 0}, exact = {1, 1, 1, 0};
  mz_calibration_add(&c, &nothing, 1);
  mz_calibration_add(&c, &known, NAN);
  assert_int_equal(c.judged, 0);
  assert_true(isnan(mz_calibrated(&c, &nothing).unit_s));
  for (int i = 0; i < 100; i++) mz_calibration_add(&c, &known, 2);
  assert_int_equal(c.held, 0);
  const mz_prediction p = mz_calibrated(&c, &known), e = mz_calibrated(&c, &exact);
  assert_true(p.high > 2 && p.low < 0.5); /* it becomes wide enough, */
  assert_true(p.high < 10);               /* and not without end */
  assert_true(e.low < 1 && e.high > 1);
  assert_true(isnan(mz_calibrated(&c, &nothing).unit_s));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_nine_in_ten_hold), cmocka_unit_test(test_what_cannot_be_judged)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
