/* GPUs of which another process has the first for itself, as a CUDA runtime's stand-in makes them up (tests/cuda_twin). */
#include "muzero/training/gpus.h"
#include "testing.h"

static void the_others_are_found(void **unused) {
  (void)unused;
  mz_gpus gpus;
  mz_lane lane, where;
  void *block;
  expect_ok(mz_gpus_find(&gpus));
  assert_int_equal(gpus.count, 2);
  assert_null(mz_gpus_at(&gpus, 0));
  for (int number = 1; number <= 2; number++) {
    assert_non_null(mz_gpus_at(&gpus, number));
    assert_true(mz_gpus_at(&gpus, number)->device.free_bytes > 0);
    where = mz_gpus_lane(number);
    expect_ok(mz_lane_open(&lane, &where));
    expect_ok(mz_lane_alloc(&lane, &block, 64));
    mz_lane_free(&lane, block);
    mz_lane_close(&lane);
  }
  where = mz_gpus_lane(0);
  assert_int_equal(mz_lane_open(&lane, &where), MZ_E_DEVICE);
  assert_non_null(strstr(mz_message(), "busy"));
}

int main(void) {
#ifdef TWIN_MODULE
  setenv("MUZERO_CUDA_MODULE", TWIN_MODULE, 1);
  setenv("MUZERO_TWIN_DEVICES", "3", 1);
  setenv("MUZERO_TWIN_BUSY", "0", 1);
#else
  return 77; /* there was nothing to build it with */
#endif
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_others_are_found)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
