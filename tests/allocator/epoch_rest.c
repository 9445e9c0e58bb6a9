/* Seconds of an epoch besides its rounds, from curves that are made up: medians of like runs, and places that were not measured. */
#include "allocator/runs/epoch_rest.h"
#include "tests/allocator/runs_made.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { EPOCHS = 4 };

/* Epoch e: evaluation e · scale, rounds 5, other 1, of the first one 3. */
static mz_curve curve_of(double cores, double batch, double scale, int epochs) {
  mz_curve curve = {.timed = true, .learned = true, .count = epochs};
  curve.epochs = calloc((size_t)epochs, sizeof *curve.epochs);
  double wall_s = 0;
  for (int e = 0; e < epochs; e++) {
    wall_s += 5 + (e + 1) * scale + (e == 0 ? 3 : 1);
    curve.epochs[e] = (mz_epoch){.number = e + 1,
                                 .wall_s = wall_s,
                                 .rounds_s = 5,
                                 .evaluation_s = (e + 1) * scale,
                                 .batch_size = batch,
                                 .amounts = {cores, 0, 1}};
  }
  return curve;
}

static bool near(double a, double b) { return fabs(a - b) < 1e-9; }

static void test_medians_and_what_stands_for_them(void **state) {
  (void)state;
  mz_curve curves[] = {curve_of(1, 64, 1, EPOCHS),   curve_of(1, 64, 3, EPOCHS),   curve_of(1, 64, 2, EPOCHS - 1),
                       curve_of(1, 256, 7, EPOCHS),  curve_of(4, 64, 0.5, EPOCHS), curve_of(8, 64, 100, EPOCHS),
                       curve_of(16, 64, 100, EPOCHS)};
  enum { CURVES = sizeof curves / sizeof *curves };
  mz_epoch_rest rest;
  curves[CURVES - 2].timed = false; /* of another machine */
  curves[CURVES - 1].learned = false;
  assert_int_equal(mz_epoch_rest_init(&rest, curves, CURVES), MZ_OK);
  assert_int_equal(rest.count, 3);
  assert_true(near(mz_epoch_rest_cores(&rest), 4));
  assert_true(near(mz_epoch_rest_evaluation_s(&rest, 1, 64, 2), 2 * 2)); /* the median run's */
  assert_true(near(mz_epoch_rest_evaluation_s(&rest, 1, 64, 4), 4 * 2)); /* of two runs that came so far */
  assert_true(near(mz_epoch_rest_evaluation_s(&rest, 1, 64, 99), 4 * 2));
  assert_true(near(mz_epoch_rest_evaluation_s(&rest, 1, 64, 0.2), 2));
  assert_true(near(mz_epoch_rest_other_s(&rest, 1, 64, 1), 3) && near(mz_epoch_rest_other_s(&rest, 1, 64, 3), 1));
  assert_true(near(mz_epoch_rest_evaluation_s(&rest, 1, 200, 1), 7));    /* the nearest batch size */
  assert_true(near(mz_epoch_rest_evaluation_s(&rest, 3, 64, 1), 2));     /* no more cores than there are */
  assert_true(near(mz_epoch_rest_evaluation_s(&rest, 64, 256, 1), 0.5)); /* more cores do not shorten it */
  mz_epoch_rest_deinit(&rest);
  assert_int_equal(mz_epoch_rest_init(&rest, curves + CURVES - 2, 2), MZ_OK);
  assert_true(rest.count == 0 && isnan(mz_epoch_rest_other_s(&rest, 1, 64, 1)) && mz_epoch_rest_cores(&rest) == 0);
  mz_epoch_rest_deinit(&rest);
  made_free(curves, CURVES);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_medians_and_what_stands_for_them)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
