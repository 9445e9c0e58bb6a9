/* Calls that an update makes of the device and its libraries, and every one of them failing once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/cuda/device/update_subject.h"
#include "tests/cuda_twin/twin.h"

extern const mz_backend mz_backend_cuda;

static void an_update_waits_once_and_allocates_nothing(void **state) {
  (void)state;
  open_model(true, MZ_PRECISION_F32);
  const mz_update_settings settings = settings_of(0, MZ_ADAM);
  const mz_update_step step = {.rate = 0.01, .average_decay = 0.5, .shard_squares = true};
  mz_update_report report;
  subject s;
  lesson l;
  subject_open(&s, &mz_backend_cuda, &settings);
  lesson_open(&l, 1);
  const mz_update_rows rows = rows_of(&l);
  for (int i = 0; i < 4; i++) {
    twin_counters_reset();
    check(mz_update_run(s.update, &rows, &step, &report));
    const twin_counters c = twin_counters_get();
    if (i < 2) continue; /* graphs are captured, staging grows */
    assert_int_equal(c.synchronizations, 1);
    assert_int_equal(c.implicit_synchronizations, 0);
    assert_int_equal(c.device_allocations + c.host_allocations + c.frees, 0);
    assert_int_equal(c.graph_launches, 2 * SHARDS); /* forward and backward of each */
  }
  subject_close(&s);
  free(l.obs);
}

static void every_call_may_fail(void **state) {
  (void)state;
  open_model(true, MZ_PRECISION_F32);
  const mz_update_settings settings = settings_of(0, MZ_ADAM);
  const mz_update_step step = {.rate = 0.01, .average_decay = 0.5};
  const mz_lane where = {.backend = &mz_backend_cuda};
  lesson l;
  lesson_open(&l, 1);
  const mz_update_rows rows = rows_of(&l);
  bool failed = true;
  for (long n = 1; failed; n += n < 40 ? 1 : 37) {
    subject s = {0};
    mz_update_report report;
    check(mz_optimizer_init(&s.optimizer, &settings.optimizer, &model.params));
    check(mz_alloc(&s.weights, (size_t)model.params.size, sizeof *s.weights));
    check(mz_alloc(&s.average, (size_t)model.params.size, sizeof *s.average));
    const mz_update_vectors vectors = {.weights = s.weights, .average = s.average, .optimizer = &s.optimizer};
    twin_fail_after(n);
    mz_status status = mz_update_create(&s.update, &where, &model, &settings, &vectors, pool);
    if (status == MZ_OK) status = mz_update_changed(s.update);
    for (int i = 0; i < 3 && status == MZ_OK; i++) status = mz_update_run(s.update, &rows, &step, &report);
    failed = !twin_fail_pending();
    twin_fail_after(0);
    if (failed) assert_true(status == MZ_E_DEVICE || status == MZ_E_MEMORY);
    subject_close(&s);
    assert_true(n < 100000);
  }
  free(l.obs);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_update_waits_once_and_allocates_nothing),
      cmocka_unit_test(every_call_may_fail),
  };
  return cmocka_run_group_tests(tests, open_pool, close_pool);
}
