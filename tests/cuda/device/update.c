/* Updates on a device against those on CPUs: the same batch, the same steps. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/cuda/device/backend.h"
#include "tests/cuda/device/update_subject.h"

/* ‖a − b‖ / ‖b‖ */
static double off(const float *a, const float *b, size_t count) {
  double square = 0, error = 0;
  for (size_t i = 0; i < count; i++) {
    square += (double)b[i] * b[i];
    error += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
  }
  return error == 0 ? 0 : sqrt(error / square);
}

static bool near(double a, double b, double tolerance) { return fabs(a - b) <= tolerance * fabs(b); }

static void reports_agree(const mz_update_report *cuda, const mz_update_report *cpu, double tolerance) {
  const size_t losses = (UNROLL + 1) * ROWS;
  assert_true(near(cuda->loss, cpu->loss, tolerance));
  assert_true(near(cuda->norm, cpu->norm, 10 * tolerance));
  assert_true(near(cuda->shard_square, cpu->shard_square, 10 * tolerance));
  assert_true(near(cuda->latent_spread, cpu->latent_spread, 10 * tolerance));
  assert_true(off(cuda->value, cpu->value, ROWS) <= 100 * tolerance);
  assert_true(off(cuda->policy_loss, cpu->policy_loss, losses) <= tolerance);
  assert_true(off(cuda->value_loss, cpu->value_loss, losses) <= tolerance);
  assert_true(off(cuda->reward_loss + ROWS, cpu->reward_loss + ROWS, losses - ROWS) <= tolerance);
  for (int r = 0; r < ROWS; r++) assert_true(cuda->reward_loss[r] == 0);
}

static void updates_agree(const mz_update_settings *settings, double tolerance) {
  subject cuda, cpu;
  subject_open(&cuda, cuda_backend(), settings);
  subject_open(&cpu, &mz_backend_cpu, settings);
  for (uint32_t i = 0; i < UPDATES; i++) {
    const mz_update_step step = {.rate = 0.01 / (i + 1), .average_decay = 0.5, .shard_squares = i % 2 == 0};
    mz_update_report of_cuda, of_cpu;
    double loss[2];
    lesson l;
    lesson_open(&l, i);
    const mz_update_rows rows = rows_of(&l);
    check(mz_update_probe(cuda.update, &rows, &loss[0]));
    check(mz_update_probe(cpu.update, &rows, &loss[1]));
    assert_true(near(loss[0], loss[1], tolerance));
    check(mz_update_run(cuda.update, &rows, &step, &of_cuda));
    check(mz_update_run(cpu.update, &rows, &step, &of_cpu));
    reports_agree(&of_cuda, &of_cpu, tolerance);
    assert_int_equal(cuda.optimizer.steps, i + 1);
    free(l.obs);
  }
  check(mz_update_fetch(cuda.update, true));
  const size_t size = (size_t)model.params.size;
  assert_true(off(cuda.weights, cpu.weights, size) <= 2 * tolerance);
  assert_true(off(cuda.average, cpu.average, size) <= 2 * tolerance);
  assert_true(off(cuda.optimizer.moment1, cpu.optimizer.moment1, size) <= 10 * tolerance);
  if (settings->optimizer.kind == MZ_ADAM)
    assert_true(off(cuda.optimizer.moment2, cpu.optimizer.moment2, size) <= 10 * tolerance);
  subject_close(&cuda);
  subject_close(&cpu);
}

static void of_vectors(void **state) {
  (void)state;
  open_model(false, MZ_PRECISION_F32);
  const mz_update_settings adam = settings_of(0, MZ_ADAM), sgd = settings_of(0.5, MZ_SGD);
  updates_agree(&adam, 1e-5);
  updates_agree(&sgd, 1e-5);
}

static void of_boards(void **state) {
  (void)state;
  const mz_update_settings sgd = settings_of(0.5, MZ_SGD);
  open_model(true, MZ_PRECISION_F32);
  updates_agree(&sgd, 1e-5);
}

static void of_games_whose_turns_are_told(void **state) {
  (void)state;
  const mz_update_settings adam = settings_of(0, MZ_ADAM), sgd = settings_of(0.5, MZ_SGD);
  open_model_of(false, MZ_PRECISION_F32, MZ_TURNS_TOLD);
  updates_agree(&adam, 1e-5);
  open_model_of(true, MZ_PRECISION_F32, MZ_TURNS_TOLD);
  updates_agree(&sgd, 1e-5);
}

/* Training is a function of its state: saved vectors go on as the device would have. */
static void fetched_vectors_go_on_exactly(void **state) {
  (void)state;
  open_model(true, MZ_PRECISION_BF16);
  const mz_update_settings settings = settings_of(0, MZ_ADAM);
  const size_t bytes = (size_t)model.params.size * sizeof(float);
  const mz_update_step step = {.rate = 0.01, .average_decay = 0.5};
  mz_update_report report;
  subject a, b;
  lesson l;
  lesson_open(&l, 1);
  const mz_update_rows rows = rows_of(&l);
  subject_open(&a, cuda_backend(), &settings);
  subject_open(&b, cuda_backend(), &settings);
  for (int i = 0; i < 3; i++) check(mz_update_run(a.update, &rows, &step, &report));
  check(mz_update_fetch(a.update, true));
  memcpy(b.weights, a.weights, bytes);
  memcpy(b.average, a.average, bytes);
  memcpy(b.optimizer.moment1, a.optimizer.moment1, bytes);
  memcpy(b.optimizer.moment2, a.optimizer.moment2, bytes);
  b.optimizer.steps = a.optimizer.steps;
  check(mz_update_changed(b.update));
  for (int i = 0; i < 3; i++) {
    check(mz_update_run(a.update, &rows, &step, &report));
    check(mz_update_run(b.update, &rows, &step, &report));
  }
  check(mz_update_fetch(a.update, true));
  check(mz_update_fetch(b.update, true));
  assert_memory_equal(a.weights, b.weights, bytes);
  assert_memory_equal(a.average, b.average, bytes);
  assert_memory_equal(a.optimizer.moment2, b.optimizer.moment2, bytes);
  subject_close(&a);
  subject_close(&b);
  free(l.obs);
}

static void what_is_not_finite_changes_nothing(void **state) {
  (void)state;
  open_model(false, MZ_PRECISION_F32);
  const mz_update_settings settings = settings_of(0, MZ_ADAM);
  const size_t bytes = (size_t)model.params.size * sizeof(float);
  const mz_update_step step = {.rate = 0.01, .average_decay = 0.5};
  mz_update_report report;
  subject s;
  lesson l;
  float *before = NULL;
  check(mz_alloc(&before, bytes, 1));
  subject_open(&s, cuda_backend(), &settings);
  lesson_open(&l, 1);
  mz_update_rows rows = rows_of(&l);
  check(mz_update_run(s.update, &rows, &step, &report));
  check(mz_update_fetch(s.update, true));
  memcpy(before, s.weights, bytes);
  l.obs[5] = NAN;
  check(mz_update_run(s.update, &rows, &step, &report));
  assert_false(isfinite(report.loss) && isfinite(report.norm));
  assert_int_equal(s.optimizer.steps, 1);
  check(mz_update_fetch(s.update, true));
  assert_memory_equal(before, s.weights, bytes);
  free(before);
  free(l.obs);
  subject_close(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(of_vectors),
      cmocka_unit_test(of_boards),
      cmocka_unit_test(of_games_whose_turns_are_told),
      cmocka_unit_test(fetched_vectors_go_on_exactly),
      cmocka_unit_test(what_is_not_finite_changes_nothing),
  };
  return cmocka_run_group_tests(tests, open_pool, close_pool);
}
