/* Bytes that are foretold of the device's memory against those that the twin gives out. Device 0 has the libraries, on device 1 kernels of
 * ours do everything, so that every convolution goes through scratch: what is foretold is at least enough there, and exact here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "networks/infer_state.h"
#include "networks/tape/tape_state.h"
#include "tests/cuda/device/update_subject.h"
#include "tests/cuda_twin/twin.h"

extern const mz_backend mz_backend_cuda;

enum { DEVICES = 2, SHARD_ROWS = 256, LATENTS = 300, ROUNDING = 512 /* of each allocation */, SMALL = 4096 };

static const struct {
  bool conv;
  int32_t precision;
} models[] = {{false, MZ_PRECISION_F32}, {true, MZ_PRECISION_F32}, {true, MZ_PRECISION_BF16}};

/* A device that is used, with the lane that it then keeps. */
static mz_lane begin(int device, size_t *used) {
  const mz_lane where = {.backend = &mz_backend_cuda, .device = device};
  mz_lane lane;
  if (device == 1) setenv("MUZERO_CUDA_DIRECT", "1", 1);
  check(mz_lane_open(&lane, &where));
  mz_lane_close(&lane);
  *used = twin_bytes_of_device(device);
  twin_counters_reset();
  return where;
}

static void end(void) { unsetenv("MUZERO_CUDA_DIRECT"); }

static void expect_taken(int device, size_t before, double foretold, const char *what) {
  const double taken = (double)(twin_bytes_of_device(device) - before);
  const double rounding = ROUNDING * (double)twin_counters_get().device_allocations;
  if (taken > foretold + rounding) fail_msg("%s, device %d: %.0f bytes were foretold, %.0f taken", what, device, foretold, taken);
  if (device == 1 && foretold > taken + SMALL)
    fail_msg("%s, device %d: %.0f bytes were foretold, only %.0f taken", what, device, foretold, taken);
}

/* Compares the scratch of a tape that is measured with that of one that is planned. Returns what the tape has of the host. */
static double compare_scratch(int device, const mz_lane *where, const mz_update_settings *settings) {
  mz_tape *measured, *planned;
  mz_loss loss;
  mz_lane lane;
  size_t bytes;
  check(mz_update_record(&measured, where, &model, settings, &loss));
  check(mz_tape_measure(measured, &bytes));
  check(mz_lane_open(&lane, where));
  check(mz_update_record(&planned, &lane, &model, settings, &loss));
  check(mz_tape_plan(planned));
  assert_true(planned->scratch_bytes > 0 && measured->scratch_bytes >= planned->scratch_bytes);
  if (device == 1) assert_int_equal(measured->scratch_bytes, planned->scratch_bytes);
  const double host = (double)mz_tape_host_bytes(planned);
  mz_tape_free(planned);
  mz_tape_free(measured);
  mz_lane_close(&lane);
  return host;
}

static void inference(void **state) {
  (void)state;
  for (int device = 0; device < DEVICES; device++) {
    for (size_t k = 0; k < sizeof models / sizeof *models; k++) {
      size_t before;
      const mz_lane where = begin(device, &before);
      mz_lane lane;
      mz_infer *infer;
      mz_prepared *weights;
      float *values;
      double foretold;
      open_model(models[k].conv, MZ_PRECISION_F32);
      model.infer_bf16 = models[k].precision == MZ_PRECISION_BF16;
      check(mz_infer_bytes(&model, &where, SHARD_ROWS, LATENTS, &foretold));
      check(mz_alloc(&values, (size_t)model.params.size, sizeof *values));
      check(mz_prepared_create(&weights, &model, &where, values));
      before = twin_bytes_of_device(device);
      check(mz_lane_open(&lane, &where));
      check(mz_infer_create(&infer, &model, &lane, SHARD_ROWS, LATENTS));
      check(mz_infer_set_weights(infer, weights));
      expect_taken(device, before,
                   foretold - (double)mz_tape_host_bytes(infer->initial.tape) - (double)mz_tape_host_bytes(infer->recurrent.tape),
                   "inference");
      mz_infer_free(infer);
      mz_lane_close(&lane);
      mz_prepared_release(weights);
      free(values);
      end();
    }
  }
}

static void updates(void **state) {
  (void)state;
  for (int device = 0; device < DEVICES; device++) {
    for (size_t k = 0; k < sizeof models / sizeof *models; k++) {
      size_t before;
      const mz_lane where = begin(device, &before);
      mz_update_settings settings = settings_of(0.5, MZ_ADAM);
      subject s = {0};
      double foretold;
      settings.batch_size = SHARDS * SHARD_ROWS;
      open_model_of(models[k].conv, models[k].precision, MZ_TURNS_TOLD);
      const double host = compare_scratch(device, &where, &settings);
      twin_counters_reset();
      check(mz_update_thread_bytes(&where, &model, &settings, &foretold));
      const mz_lane_bytes update = mz_update_bytes(&where, &model, &settings);
      subject_open_at(&s, &where, &settings);
      expect_taken(device, before, foretold - host + update.device, "an update");
      check(mz_update_fetch(s.update, true));
      assert_true((double)twin_bytes_pinned() <= DEVICES * mz_lane_pinned(&where, update.moved) + DEVICES * ROUNDING);
      subject_close(&s);
      end();
    }
  }
}

int main(void) {
  setenv("MUZERO_TWIN_DEVICES", "2", 1);
  const struct CMUnitTest tests[] = {cmocka_unit_test(inference), cmocka_unit_test(updates)};
  return cmocka_run_group_tests(tests, open_pool, close_pool);
}
