/* Updates do not depend on threads; a poisoned batch stops the run and leaves the weights alone. */
#include "muzero/training/guard.h"
#include "muzero/training/learner.h"
#include "networks/lane.h"
#include "replay/batches/priority.h"
#include "testing.h"
#include <math.h>

static mz_settings small(void) {
  return settings_with(
      (const char *[]){"batch_size=48", "shards=8", "unroll_steps=3", "network.width=48", "weight_average=0.95", "optimizer=sgd"},
      6);
}

static void fill(mz_batch *b, const mz_model *m) {
  mz_rng rng = mz_rng_at(3, MZ_RNG_TEST, 0, 0);
  for (int i = 0; i < b->rows * m->obs_size; i++) b->obs[i] = mz_rng_normal(&rng);
  for (int i = 0; i < (b->unroll + 1) * b->rows; i++) {
    b->action[i] = (int32_t)mz_rng_below(&rng, (uint32_t)m->actions);
    mz_rng_dirichlet(&rng, 0.5f, m->actions, b->policy + i * m->actions);
    b->value[i] = mz_rng_normal(&rng) * 5;
    b->reward[i] = mz_rng_f32(&rng);
    b->policy_weight[i] = b->value_weight[i] = 1.0f / (float)b->rows;
    b->reward_weight[i] = i < b->rows ? 0 : 1.0f / (float)b->rows;
  }
}

typedef struct trained {
  float weights[20000];
  float errors[48];
  double loss;
} trained;

/* A learner of a game's model over a batch of 48 rows and 3 steps, filled. */
typedef struct learning {
  mz_model model;
  mz_pool *pool;
  mz_learner *learner;
  mz_batch batch;
} learning;

static void learning_init(learning *l, const char *game, const mz_settings *s, int threads) {
  const mz_env *env = env_named(game);
  expect_ok(mz_model_init(&l->model, &s->network, &env->spec));
  expect_ok(mz_pool_create(&l->pool, "learner", threads, NULL));
  const mz_learner_settings settings = {
      .update = {.loss = s->loss, .optimizer = s->optimizer, .batch_size = 48, .shards = 8, .average = s->learning.average}};
  expect_ok(mz_learner_create(&l->learner, &l->model, &mz_lane_cpu, &settings, l->pool));
  mz_params_init(&l->model.params, 1, mz_learner_weights(l->learner));
  expect_ok(mz_learner_weights_changed(l->learner));
  expect_ok(mz_batch_init(&l->batch, &env->spec, 48, 3, mz_loss_observed(&s->loss)));
  fill(&l->batch, &l->model);
}

static void learning_deinit(learning *l) {
  mz_batch_deinit(&l->batch);
  mz_learner_free(l->learner);
  mz_pool_free(l->pool);
}

typedef enum poison { NONE, OBSERVATION, VALUE, REWARD } poison;

static void pour(mz_batch *b, poison where) {
  float *const to[] = {[OBSERVATION] = b->obs, [VALUE] = b->value, [REWARD] = b->reward};
  to[where][49] = NAN; /* of the second row, or of step 1 */
}

static void train(int threads, poison poisoned, mz_status expected, trained *out) {
  mz_settings s = small();
  learning l;
  learning_init(&l, "cartpole", &s, threads);
  mz_learning_stats stats = {0};
  for (int i = 0; i < 5; i++) {
    if (poisoned && i == 2) {
      memcpy(out->weights, mz_learner_weights(l.learner), (size_t)l.model.params.size * sizeof(float));
      pour(&l.batch, poisoned);
    }
    mz_status status = mz_learner_update(l.learner, &l.batch, out->errors, &stats);
    if (poisoned && i == 2) {
      assert_int_equal(status, expected);
      assert_non_null(strstr(mz_message(), "update 3"));
      assert_memory_equal(out->weights, mz_learner_weights(l.learner), (size_t)l.model.params.size * sizeof(float));
      break;
    }
    expect_ok(status);
  }
  assert_true((size_t)l.model.params.size <= sizeof out->weights / sizeof(float));
  memcpy(out->weights, mz_learner_weights(l.learner), (size_t)l.model.params.size * sizeof(float));
  out->loss = stats.loss;
  learning_deinit(&l);
}

static void threads_change_no_bit(void **unused) {
  (void)unused;
  static trained one, many;
  train(1, NONE, MZ_OK, &one);
  for (int threads = 2; threads <= 9; threads += 3) {
    train(threads, NONE, MZ_OK, &many);
    assert_memory_equal(&one, &many, sizeof one);
  }
}

static void a_nan_stops_before_the_weights(void **unused) {
  (void)unused;
  static trained poisoned;
  for (poison where = OBSERVATION; where <= REWARD; where++) train(2, where, MZ_E_DIVERGED, &poisoned);
}

/* Whether an update by consistency alone moves the weights: no head has a target, and `seen` rows have observations. */
static bool consistency_learns(bool seen, const char *projection) {
  mz_settings s =
      settings_with((const char *[]){"batch_size=48", "shards=8", "unroll_steps=3", "network.width=48", projection,
                                     "network.bn_rows=6", "optimizer=sgd", "weight_decay=0", "loss.consistency_weight=2"},
                    9);
  learning l;
  learning_init(&l, "cartpole", &s, 1);
  const mz_batch *batch = &l.batch;
  const float *weights = mz_learner_weights(l.learner);
  mz_rng rng = mz_rng_at(4, MZ_RNG_TEST, 0, 0);
  for (int i = 0; i < batch->observed * batch->rows * l.model.obs_size; i++) batch->obs[i] = mz_rng_normal(&rng);
  for (int i = 0; i < (batch->unroll + 1) * batch->rows; i++) {
    batch->policy_weight[i] = batch->value_weight[i] = batch->reward_weight[i] = 0;
    batch->obs_weight[i] = seen ? 1.0f / (float)batch->rows : 0;
  }
  static float before[20000];
  const size_t bytes = (size_t)l.model.params.size * sizeof(float);
  assert_true(bytes <= sizeof before);
  memcpy(before, weights, bytes);
  float errors[48];
  mz_learning_stats stats = {0};
  expect_ok(mz_learner_update(l.learner, batch, errors, &stats));
  const bool moved = memcmp(before, weights, (size_t)l.model.params.trained * sizeof(float)) != 0;
  learning_deinit(&l);
  return moved;
}

/* Moves that were searched too little to teach a policy (selfplay.full_share) still show where the game went. */
static void consistency_needs_an_observation_and_no_policy(void **unused) {
  (void)unused;
  for (int i = 0; i < 2; i++) {
    const char *projection = i ? "network.projection=32" : "network.projection=0";
    assert_true(consistency_learns(true, projection));
    assert_false(consistency_learns(false, projection));
  }
}

/* Targets at the ends of the support are none that are clamped; those beyond are, where they are trained. */
static void clamped_targets_are_counted(void **unused) {
  (void)unused;
  for (int transform = 0; transform < 2; transform++) {
    mz_settings s = settings_with((const char *[]){"batch_size=48", "shards=8", "unroll_steps=3", "network.value_range=2",
                                                   "network.reward_range=0.5", "network.width=16"},
                                  6);
    s.network.transform = transform;
    learning l;
    learning_init(&l, "acrobot", &s, 1);
    const mz_support *value = &l.model.value;
    mz_batch *batch = &l.batch;
    const float low = transform ? mz_value_transform_inverse(value->min) : value->min;
    const float high = transform ? mz_value_transform_inverse(value->max) : value->max;
    for (int i = 0; i < 4 * 48; i++) {
      batch->value[i] = i % 2 ? low : high;
      batch->reward[i] = 0;
    }
    batch->value[7] = high + 1;
    batch->value[3 * 48 + 1] = low - 1;
    batch->value[2 * 48] = 1e30f;
    batch->value_weight[2 * 48] = 0; /* not trained */
    batch->reward[5] = -1e6f;        /* nor is a reward of step 0 */
    batch->reward[48 + 5] = -1e6f;
    float errors[48];
    mz_learning_stats stats = {0};
    expect_ok(mz_learner_update(l.learner, batch, errors, &stats));
    assert_int_equal(stats.targets, (4 + 3) * 48 - 1);
    assert_int_equal(stats.clamped, 3);
    learning_deinit(&l);
  }
}

/* A value that has no target is in no statistics, and gives no error that a draw could go by. */
static void values_without_targets_are_not_counted(void **unused) {
  (void)unused;
  mz_settings s = small();
  mz_learning_stats stats[3] = {0};
  float errors[48];
  for (int run = 0; run < 3; run++) {
    learning l;
    learning_init(&l, "cartpole", &s, 1);
    for (int r = 0; r < 48; r++) {
      if (run == 0 || (run == 1 && r > 0)) continue;
      l.batch.value[r] = 0;
      l.batch.value_weight[r] = 0;
    }
    expect_ok(mz_learner_update(l.learner, &l.batch, errors, &stats[run]));
    for (int r = 0; r < 48; r++) assert_true((errors[r] == MZ_ERROR_UNKNOWN) == (l.batch.value_weight[r] == 0));
    const mz_update_seen seen = mz_learner_seen(l.learner);
    assert_true(isfinite(seen.value_rms) && (seen.value_rms > 0) == (run < 2));
    expect_ok(mz_guard_check(&(mz_guard_settings){.mode = MZ_GUARD_STOP, .value_max = 100}, 1, &seen));
    learning_deinit(&l);
  }
  assert_int_equal(stats[0].value_rows, 48);
  assert_int_equal(stats[1].value_rows, 47);
  assert_int_equal(stats[2].value_rows, 0);
  assert_true(stats[1].target != stats[0].target && stats[1].value != stats[0].value);
  assert_true(stats[2].target == 0 && stats[2].value == 0 && stats[2].value_squared == 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(threads_change_no_bit), cmocka_unit_test(a_nan_stops_before_the_weights),
                                     cmocka_unit_test(consistency_needs_an_observation_and_no_policy),
                                     cmocka_unit_test(clamped_targets_are_counted),
                                     cmocka_unit_test(values_without_targets_are_not_counted)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
