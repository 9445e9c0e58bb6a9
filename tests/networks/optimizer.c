/* Update rules against hand-computed values and PyTorch's trajectories; the parallel sum against the literal tree. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "networks/parameters/optimizer.h"
#include "networks/parameters/shard_sum.h"
#include "tests/networks/fixture.h"

static const mz_optimizer_settings adam = {
    .kind = MZ_ADAM,
    .learning_rate = 0.1,
    .beta1 = 0.9,
    .beta2 = 0.99,
    .epsilon = 1e-3,
    .weight_decay = 0.05,
};
static const mz_optimizer_settings sgd = {.kind = MZ_SGD, .learning_rate = 0.1, .momentum = 0.9, .weight_decay = 0.05};

static float *allocate(int64_t size) {
  float *values;
  assert_int_equal(mz_alloc(&values, (size_t)size, sizeof *values), MZ_OK);
  return values;
}

static mz_params example(void) {
  mz_params params = {0};
  mz_params_add(&params, "weight", 5, 7, true, MZ_INIT_HE, 5);
  mz_params_add(&params, "bias", 1, 7, false, MZ_INIT_HE, 5);
  return params;
}

/* Several chunks, with parameter boundaries inside of chunks and a last chunk that is neither full nor a multiple of 64. */
static mz_params large_example(void) {
  mz_params params = {0};
  mz_params_add(&params, "a", 37, 50, true, MZ_INIT_HE, 37);
  mz_params_add(&params, "b", 1, 50, false, MZ_INIT_HE, 37);
  mz_params_add(&params, "c", 50, 21, true, MZ_INIT_HE, 50);
  mz_params_add(&params, "d", 1, 5, false, MZ_INIT_HE, 50);
  assert_true(params.size % MZ_CHUNK % 64 == 16);
  return params;
}

static void step_all(mz_optimizer *optimizer, const float *gradient, float scale, double learning_rate, float *values) {
  optimizer->steps++;
  for (int chunk = 0; chunk < mz_chunk_count(optimizer->params); chunk++)
    mz_optimizer_step_chunk(optimizer, chunk, gradient, scale, learning_rate, values);
}

static void near(double value, double wanted, double tolerance) {
  if (!(fabs(value - wanted) <= tolerance * fabs(wanted))) fail_msg("%.17g instead of %.17g", value, wanted);
}

/* One weight and one bias, two steps of each rule, worked out with exact arithmetic. */
static void two_steps_by_hand(void **state) {
  (void)state;
  mz_params params = {0};
  mz_params_add(&params, "weight", 1, 1, true, MZ_INIT_ZERO, 1);
  mz_params_add(&params, "bias", 1, 1, false, MZ_INIT_ZERO, 1);
  float values[32] = {[0] = 2.0f, [16] = 2.0f};
  const float first[32] = {[0] = 1.0f, [16] = 1.0f}, second[32] = {[0] = -3.0f, [16] = -3.0f};
  mz_optimizer optimizer;

  /* v: 0.5, then 0.9·0.5 − 1.5 = −1.05; decay 0.1·0.05 = 0.005 of the weight */
  assert_int_equal(mz_optimizer_init(&optimizer, &sgd, &params), MZ_OK);
  assert_null(optimizer.moment2);
  step_all(&optimizer, first, 0.5f, 0.1, values);
  near(values[0], 2 - 0.05 - 0.01, 1e-6);
  near(values[16], 2 - 0.05, 1e-6);
  step_all(&optimizer, second, 0.5f, 0.1, values);
  near(values[0], 1.94 + 0.105 - 0.005 * 1.94, 1e-6);
  near(values[16], 1.95 + 0.105, 1e-6);
  mz_optimizer_deinit(&optimizer);

  /* g = 0.5: m̂ = 0.5, v̂ = 0.25, step 0.1·0.5/(0.5 + 0.001).
   * g = −1.5: m = 0.9·0.05 − 0.15 = −0.105, m̂ = m/0.19; v = 0.99·0.0025 + 0.0225 = 0.024975, v̂ = v/0.0199 */
  const double step1 = 0.1 * 0.5 / 0.501, step2 = 0.1 * (-0.105 / 0.19) / (sqrt(0.024975 / 0.0199) + 0.001);
  values[0] = values[16] = 2.0f;
  assert_int_equal(mz_optimizer_init(&optimizer, &adam, &params), MZ_OK);
  step_all(&optimizer, first, 0.5f, 0.1, values);
  near(values[0], 2 - step1 - 0.01, 1e-6);
  near(values[16], 2 - step1, 1e-6);
  step_all(&optimizer, second, 0.5f, 0.1, values);
  near(values[0], (1.99 - step1) * 0.995 - step2, 1e-6);
  near(values[16], 2 - step1 - step2, 1e-6);
  for (int i = 0; i < 32; i++)
    if (i % 16 != 0) assert_true(values[i] == 0.0f && optimizer.moment1[i] == 0.0f && optimizer.moment2[i] == 0.0f);
  mz_optimizer_deinit(&optimizer);
}

enum { STEPS = 20, COLUMNS = 7 };

static void scatter(const mz_param *param, const float *dense, float *values) {
  for (int r = 0; r < param->rows; r++)
    memcpy(values + param->offset + r * param->stride, dense + r * COLUMNS, COLUMNS * sizeof *dense);
}

/* Largest ‖ours − theirs‖ / ‖theirs‖ over 20 steps; the path of the values, not only their end. */
static void follow_torch(const mz_fixture *torch, const char *kind, const mz_optimizer_settings *settings) {
  const mz_params params = example();
  float *values = allocate(params.size), *gradient = allocate(params.size);
  double rates[STEPS], error = 0;
  static float gradients[2][STEPS * 35];
  static double wanted[2][STEPS * 35];
  fixture_f64(torch, "learning_rate", STEPS, rates);
  for (int p = 0; p < 2; p++) {
    char name[64];
    float start[35];
    const size_t size = (size_t)params.items[p].rows * COLUMNS;
    snprintf(name, sizeof name, "start.%.20s", params.items[p].name);
    fixture_f32(torch, name, size, start);
    scatter(&params.items[p], start, values);
    snprintf(name, sizeof name, "gradient.%.20s", params.items[p].name);
    fixture_f32(torch, name, STEPS * size, gradients[p]);
    snprintf(name, sizeof name, "%s.%.20s", kind, params.items[p].name);
    fixture_f64(torch, name, STEPS * size, wanted[p]);
  }
  mz_optimizer optimizer;
  assert_int_equal(mz_optimizer_init(&optimizer, settings, &params), MZ_OK);
  for (int step = 0; step < STEPS; step++) {
    for (int p = 0; p < 2; p++) scatter(&params.items[p], gradients[p] + step * params.items[p].rows * COLUMNS, gradient);
    step_all(&optimizer, gradient, 1.0f, rates[step], values);
    for (int p = 0; p < 2; p++) {
      const mz_param *param = &params.items[p];
      const double *theirs = wanted[p] + step * param->rows * COLUMNS;
      double difference = 0, norm = 0;
      for (int r = 0; r < param->rows; r++)
        for (int c = 0; c < COLUMNS; c++, theirs++) {
          difference += pow(values[param->offset + r * param->stride + c] - *theirs, 2);
          norm += *theirs * *theirs;
        }
      error = fmax(error, sqrt(difference / norm));
    }
  }
  print_message("%s: largest relative difference from torch over %d steps: %.1e\n", kind, STEPS, error);
  assert_true(error <= 1e-6);
  mz_optimizer_deinit(&optimizer);
  free(values);
  free(gradient);
}

static void trajectories_are_those_of_torch(void **state) {
  (void)state;
  mz_fixture torch;
  fixture_open(&torch, TEST_DATA "/networks/torch_optimizer.safetensors");
  follow_torch(&torch, "adam", &adam);
  follow_torch(&torch, "sgd", &sgd);
  fixture_close(&torch);
}

/* The tree as its definition reads: neighbours are added, then neighbours of the sums, until one is left. */
static float literal_tree(float *terms, int count) {
  while (count > 1) {
    int sums = 0;
    for (int i = 0; i < count; i += 2) terms[sums++] = i + 1 < count ? terms[i] + terms[i + 1] : terms[i];
    count = sums;
  }
  return terms[0];
}

/* Whatever the order in which shards arrive. */
static void the_sum_is_the_literal_tree(void **state) {
  (void)state;
  enum { SHARDS_MAX = 67 };
  const mz_params params = large_example();
  float *shards[SHARDS_MAX], terms[SHARDS_MAX];
  for (int s = 0; s < SHARDS_MAX; s++) {
    shards[s] = allocate(params.size);
    mz_params_init(&params, (uint64_t)s, shards[s]);
  }
  for (int count = 1; count <= SHARDS_MAX; count++) {
    mz_shard_sum sum;
    assert_int_equal(mz_shard_sum_init(&sum, count, params.size), MZ_OK);
    for (int update = 0; update < 2; update++) { /* the second finds nothing left over from the first */
      for (int s = 0; s < count; s++) memcpy(sum.gradients[s], shards[s], (size_t)params.size * sizeof(float));
      const int step = count % 7 == 0 ? 5 : 7; /* coprime to count up to 67 but for multiples of 35: a permutation */
      for (int i = 0; i < count; i++) mz_shard_sum_arrive(&sum, count % 35 == 0 ? count - 1 - i : (i * step + update) % count);
      double squares = 0, wanted = 0;
      for (int chunk = mz_chunk_count(&params) - 1; chunk >= 0; chunk--)
        squares += mz_gradient_squares_chunk(sum.gradients[0], params.size, chunk);
      for (int64_t i = 0; i < params.size; i++) {
        for (int s = 0; s < count; s++) terms[s] = shards[s][i];
        const float tree = literal_tree(terms, count);
        assert_memory_equal(&sum.gradients[0][i], &tree, sizeof tree);
        wanted += (double)tree * tree;
      }
      near(squares, wanted, 1e-12);
    }
    mz_shard_sum_deinit(&sum);
  }
  for (int s = 0; s < SHARDS_MAX; s++) free(shards[s]);
}

static void the_order_of_chunks_changes_no_bit(void **state) {
  (void)state;
  const mz_params params = large_example();
  const int chunks = mz_chunk_count(&params);
  const size_t bytes = (size_t)params.size * sizeof(float);
  const mz_optimizer_settings *rules[] = {&adam, &sgd};
  for (int rule = 0; rule < 2; rule++) {
    mz_optimizer forward, backward;
    float *a = allocate(params.size), *b = allocate(params.size), *gradient = allocate(params.size);
    assert_int_equal(mz_optimizer_init(&forward, rules[rule], &params), MZ_OK);
    assert_int_equal(mz_optimizer_init(&backward, rules[rule], &params), MZ_OK);
    mz_params_init(&params, 1, a);
    mz_params_init(&params, 1, b);
    for (int step = 0; step < 3; step++) {
      mz_params_init(&params, (uint64_t)(10 + step), gradient);
      step_all(&forward, gradient, 0.7f, 0.01, a);
      backward.steps++;
      for (int chunk = chunks - 1; chunk >= 0; chunk--) mz_optimizer_step_chunk(&backward, chunk, gradient, 0.7f, 0.01, b);
    }
    assert_memory_equal(a, b, bytes);
    assert_memory_equal(forward.moment1, backward.moment1, bytes);
    if (rules[rule]->kind == MZ_ADAM) assert_memory_equal(forward.moment2, backward.moment2, bytes);
    for (int p = 0; p < params.count; p++)
      for (int r = 0; r < params.items[p].rows; r++)
        for (int c = params.items[p].columns; c < params.items[p].stride; c++)
          assert_true(a[params.items[p].offset + r * params.items[p].stride + c] == 0.0f);
    mz_optimizer_deinit(&forward);
    mz_optimizer_deinit(&backward);
    free(a);
    free(b);
    free(gradient);
  }
}

static void only_weights_decay(void **state) {
  (void)state;
  const mz_params params = large_example();
  float *values = allocate(params.size), *start = allocate(params.size), *gradient = allocate(params.size);
  mz_params_init(&params, 1, values);
  mz_params_init(&params, 1, start);
  mz_optimizer optimizer;
  assert_int_equal(mz_optimizer_init(&optimizer, &adam, &params), MZ_OK);
  step_all(&optimizer, gradient, 1.0f, 0.1, values);
  const float kept = (float)(0.1 * 0.05);
  for (int p = 0; p < params.count; p++)
    for (int64_t i = params.items[p].offset; i < params.items[p].offset + params.items[p].rows * params.items[p].stride; i++)
      assert_true(values[i] == (params.items[p].decay ? start[i] - kept * start[i] : start[i]));
  mz_optimizer_deinit(&optimizer);
  free(values);
  free(start);
  free(gradient);
}

static void moments_of_a_dead_unit_become_zero(void **state) {
  (void)state;
  const mz_params params = example();
  float *values = allocate(params.size), *gradient = allocate(params.size);
  const mz_optimizer_settings *rules[] = {&adam, &sgd};
  for (int rule = 0; rule < 2; rule++) {
    mz_optimizer optimizer;
    assert_int_equal(mz_optimizer_init(&optimizer, rules[rule], &params), MZ_OK);
    gradient[0] = 1.0f;
    step_all(&optimizer, gradient, 1.0f, 0.1, values);
    gradient[0] = 0.0f;
    for (int step = 0; step < 7000; step++) step_all(&optimizer, gradient, 1.0f, 0.1, values);
    assert_true(optimizer.moment1[0] == 0.0f);
    if (rules[rule]->kind == MZ_ADAM) assert_true(optimizer.moment2[0] == 0.0f);
    mz_optimizer_deinit(&optimizer);
  }
  free(values);
  free(gradient);
}

static void gradients_are_clipped_by_their_norm(void **state) {
  (void)state;
  mz_optimizer_settings settings = adam;
  settings.gradient_clip = 5;
  assert_true(mz_clip_scale(&settings, 0.0) == 1.0f);
  assert_true(mz_clip_scale(&settings, 5.0) == 1.0f);
  assert_true(mz_clip_scale(&settings, 20.0) == 0.25f);
  settings.gradient_clip = 0;
  assert_true(mz_clip_scale(&settings, 1e30) == 1.0f);
}

static void learning_rates_follow_their_schedule(void **state) {
  (void)state;
  mz_optimizer_settings settings = {.learning_rate = 0.2, .final_fraction = 0.25, .warmup_updates = 10};
  static const struct {
    mz_schedule schedule;
    double quarter, middle;
  } schedules[] = {
      {MZ_SCHEDULE_CONSTANT, 1, 1},
      {MZ_SCHEDULE_COSINE, 0.25 + 0.75 * (0.5 + 0.25 * M_SQRT2), 0.625},
      {MZ_SCHEDULE_LINEAR, 0.8125, 0.625},
      {MZ_SCHEDULE_EXPONENTIAL, M_SQRT1_2, 0.5},
  };
  for (int i = 0; i < 4; i++) {
    settings.schedule = (int32_t)schedules[i].schedule;
    const double last = i == 0 ? 0.2 : 0.05;
    near(mz_learning_rate(&settings, 0, 110), 0.02, 1e-14);
    near(mz_learning_rate(&settings, 9, 110), 0.2, 1e-14);
    near(mz_learning_rate(&settings, 10, 110), 0.2, 1e-14);
    near(mz_learning_rate(&settings, 35, 110), 0.2 * schedules[i].quarter, 1e-14);
    near(mz_learning_rate(&settings, 60, 110), 0.2 * schedules[i].middle, 1e-14);
    near(mz_learning_rate(&settings, 110, 110), last, 1e-14);
    near(mz_learning_rate(&settings, 1000000, 110), last, 1e-14);
    near(mz_learning_rate(&settings, 4, 0), 0.1, 1e-14);
    near(mz_learning_rate(&settings, 1000000, 0), 0.2, 1e-14);
    near(mz_learning_rate(&settings, 7, 5), 0.16, 1e-14); /* a warmup longer than the horizon is finished first */
    near(mz_learning_rate(&settings, 10, 5), last, 1e-14);
    for (int k = 2; k <= 16; k *= 2) { /* updates of k times as many rows: as far in the schedule */
      const mz_rate_position middle = {60.0 / k, 10.0 / k, 110.0 / k}, warm = {5.0 / k, 10.0 / k, 110.0 / k};
      near(mz_learning_rate_at(&settings, &middle), 0.2 * schedules[i].middle, 1e-14);
      near(mz_learning_rate_at(&settings, &warm), k < 5 ? 0.2 * (5.0 + k) / 10 : 0.2, 1e-14);
    }
  }
  settings.schedule = MZ_SCHEDULE_COSINE;
  settings.final_fraction = 0;
  assert_true(fabs(mz_learning_rate(&settings, 110, 110)) < 1e-15);
}

static void settings_have_defaults_and_ranges(void **state) {
  (void)state;
  mz_optimizer_settings settings;
  mz_config config = {.tables = &mz_optimizer_table, .table_count = 1, .values = &settings};
  mz_config_defaults(&config);
  assert_int_equal(settings.kind, MZ_ADAM);
  assert_int_equal(settings.schedule, MZ_SCHEDULE_CONSTANT);
  assert_true(settings.learning_rate == 0.002 && settings.weight_decay == 1e-4 && settings.gradient_clip == 5);
  assert_true(settings.beta1 == 0.9 && settings.beta2 == 0.999 && settings.epsilon == 1e-8 && settings.momentum == 0.9);
  for (int i = 0; i < mz_config_row_count(&config); i++) assert_int_equal(mz_config_row(&config, i)->class_, MZ_ALGORITHMIC);

  assert_int_equal(mz_config_set_pair(&config, "optimizer=sgd", "test"), MZ_OK);
  assert_int_equal(settings.kind, MZ_SGD);
  assert_int_equal(mz_config_set_pair(&config, "learning_rate_schedule=exponential", "test"), MZ_OK);
  assert_int_equal(settings.schedule, MZ_SCHEDULE_EXPONENTIAL);
  assert_int_equal(mz_config_set_pair(&config, "warmup_updates=100", "test"), MZ_OK);
  assert_int_equal(settings.warmup_updates, 100);
  static const char *const refused[] = {"optimizer=lamb", "learning_rate=-1",      "adam.beta1=1",       "adam.beta2=1",
                                        "adam.epsilon=0", "learning_rate_final=2", "warmup_updates=0.5", "momentum=1"};
  for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
    assert_int_equal(mz_config_set_pair(&config, refused[i], "test"), MZ_E_CONFIG);

  const mz_params params = example();
  mz_optimizer optimizer;
  settings.final_fraction = 0;
  assert_int_equal(mz_optimizer_init(&optimizer, &settings, &params), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "learning_rate_final"));
  settings.schedule = MZ_SCHEDULE_LINEAR;
  assert_int_equal(mz_optimizer_init(&optimizer, &settings, &params), MZ_OK);
  mz_optimizer_deinit(&optimizer);

  mz_alloc_fail_after(1);
  assert_int_equal(mz_optimizer_init(&optimizer, &settings, &params), MZ_E_MEMORY);
  mz_alloc_fail_after(0);
  mz_optimizer_deinit(&optimizer);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(two_steps_by_hand),
      cmocka_unit_test(trajectories_are_those_of_torch),
      cmocka_unit_test(the_sum_is_the_literal_tree),
      cmocka_unit_test(the_order_of_chunks_changes_no_bit),
      cmocka_unit_test(only_weights_decay),
      cmocka_unit_test(moments_of_a_dead_unit_become_zero),
      cmocka_unit_test(gradients_are_clipped_by_their_norm),
      cmocka_unit_test(learning_rates_follow_their_schedule),
      cmocka_unit_test(settings_have_defaults_and_ranges),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
