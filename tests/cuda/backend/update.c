/* Updates on a device against those on CPUs: the same batch, the same steps. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/maths/rng.h"
#include "base/threads/pool.h"
#include "networks/update.h"
#include "tests/cuda_twin/twin.h"
#include "tests/networks/check.h"

extern const mz_backend mz_backend_cuda;

enum { ROWS = 12, SHARDS = 3, UNROLL = 2, ACTIONS = 7, UPDATES = 4 };

typedef struct subject { /* one backend's */
  mz_optimizer optimizer;
  float *weights, *average;
  mz_update *update;
} subject;

typedef struct lesson { /* a batch */
  float *obs, obs_weight[(UNROLL + 1) * ROWS], policy[(UNROLL + 1) * ROWS * ACTIONS], value[(UNROLL + 1) * ROWS],
      reward[(UNROLL + 1) * ROWS], weights[3][(UNROLL + 1) * ROWS];
  int32_t action[(UNROLL + 1) * ROWS];
} lesson;

static mz_model model; /* large */
static mz_pool *pool;

static mz_update_settings settings_of(double consistency, int32_t optimizer) {
  return (mz_update_settings){
      .loss = {.unroll = UNROLL, .value_weight = 0.25, .reward_weight = 1, .policy_weight = 1, .consistency_weight = consistency},
      .optimizer = {.kind = optimizer,
                    .learning_rate = 0.01,
                    .momentum = 0.9,
                    .beta1 = 0.9,
                    .beta2 = 0.999,
                    .epsilon = 1e-8,
                    .weight_decay = 1e-3,
                    .gradient_clip = 0.5},
      .batch_size = ROWS,
      .shards = SHARDS,
      .average = 0.99};
}

static void open_model(bool conv, int32_t precision) {
  const mz_network_settings network = {.kind = conv ? MZ_MODEL_CONV : MZ_MODEL_MLP,
                                       .width = 24,
                                       .depth = 1,
                                       .channels = 16,
                                       .blocks = 1,
                                       .pooled_blocks = 1,
                                       .head_channels = 16,
                                       .norm_rows = 2,
                                       .bn_momentum = 0.1,
                                       .training = precision,
                                       .value_bins = 11,
                                       .reward_bins = 5};
  const mz_spec spec = {.obs_kind = MZ_OBS_F32,
                        .obs_shape = {4, 3, 3},
                        .obs_size = 36,
                        .actions = ACTIONS,
                        .action_kind = MZ_ACTIONS_PLAIN,
                        .return_max = 10,
                        .reward_max = 1};
  check(mz_model_init(&model, &network, &spec));
}

static void subject_open(subject *s, const mz_backend *backend, const mz_update_settings *settings) {
  const mz_lane where = {.backend = backend};
  const size_t size = (size_t)model.params.size;
  check(mz_optimizer_init(&s->optimizer, &settings->optimizer, &model.params));
  check(mz_alloc(&s->weights, size, sizeof *s->weights));
  check(mz_alloc(&s->average, size, sizeof *s->average));
  const mz_update_vectors vectors = {.weights = s->weights, .average = s->average, .optimizer = &s->optimizer};
  check(mz_update_create(&s->update, &where, &model, settings, &vectors, pool));
  mz_params_init(&model.params, 3, s->weights);
  memcpy(s->average, s->weights, size * sizeof *s->weights);
  check(mz_update_changed(s->update));
}

static void subject_close(subject *s) {
  mz_update_free(s->update);
  mz_optimizer_deinit(&s->optimizer);
  free(s->weights);
  free(s->average);
}

static void fill(float *out, int count, mz_rng *rng) {
  for (int i = 0; i < count; i++) out[i] = mz_rng_f32(rng);
}

static void lesson_open(lesson *l, uint32_t number) {
  enum { SCALARS = (UNROLL + 1) * ROWS };
  mz_rng rng = mz_rng_at(8, MZ_RNG_TEST, number, 0);
  check(mz_alloc(&l->obs, (size_t)(SCALARS * model.obs_size), sizeof *l->obs));
  fill(l->obs, SCALARS * model.obs_size, &rng);
  fill(l->value, SCALARS, &rng);
  fill(l->reward, SCALARS, &rng);
  for (int i = 0; i < SCALARS; i++) {
    float sum = 0, *policy = l->policy + i * ACTIONS;
    fill(policy, ACTIONS, &rng);
    for (int a = 0; a < ACTIONS; a++) sum += policy[a];
    for (int a = 0; a < ACTIONS; a++) policy[a] /= sum;
    l->action[i] = (int32_t)mz_rng_below(&rng, ACTIONS);
    l->obs_weight[i] = 1.0f / ROWS;
    for (int k = 0; k < 3; k++) l->weights[k][i] = mz_rng_below(&rng, 4) == 0 ? 0.0f : mz_rng_f32(&rng) / ROWS;
  }
}

static mz_update_rows rows_of(const lesson *l) {
  return (mz_update_rows){.rows = ROWS,
                          .unroll = UNROLL,
                          .obs = l->obs,
                          .obs_weight = l->obs_weight,
                          .action = l->action,
                          .policy = l->policy,
                          .value = l->value,
                          .reward = l->reward,
                          .policy_weight = l->weights[0],
                          .value_weight = l->weights[1],
                          .reward_weight = l->weights[2]};
}

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
  subject_open(&cuda, &mz_backend_cuda, settings);
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
  assert_true(off(cuda.weights, cpu.weights, size) <= 100 * tolerance);
  assert_true(off(cuda.average, cpu.average, size) <= 100 * tolerance);
  assert_true(off(cuda.optimizer.moment1, cpu.optimizer.moment1, size) <= 1000 * tolerance);
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
  subject_open(&a, &mz_backend_cuda, &settings);
  subject_open(&b, &mz_backend_cuda, &settings);
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
  subject_open(&s, &mz_backend_cuda, &settings);
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

static int open_pool(void **state) {
  (void)state;
  check(mz_pool_create(&pool, "learner", 2, NULL));
  return 0;
}

static int close_pool(void **state) {
  (void)state;
  mz_pool_free(pool);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(of_vectors),
      cmocka_unit_test(of_boards),
      cmocka_unit_test(fetched_vectors_go_on_exactly),
      cmocka_unit_test(what_is_not_finite_changes_nothing),
      cmocka_unit_test(an_update_waits_once_and_allocates_nothing),
      cmocka_unit_test(every_call_may_fail),
  };
  return cmocka_run_group_tests(tests, open_pool, close_pool);
}
