/* The gradient noise scale: its formula, and the learner's squares against gradients of the shards alone. */
#include "networks/lane.h"
#include "testing.h"
#include <math.h>

enum { ROWS = 48, SHARDS = 8, SHARD_ROWS = ROWS / SHARDS, UNROLL = 3 };

static void made_up_squares(void **unused) {
  (void)unused;
  /* |G|² = 4 and tr Σ = 96: E|g_b|² = 4 + 96 / b. Sums over two updates, between which the squares vary. */
  const mz_gradient_noise noise = {.updates = 2, .shard_square = 2 * (4 + 96.0 / 6), .batch_square = 2 * (4 + 96.0 / 48)};
  assert_true(fabs(mz_noise_scale(&noise, 6, 48) - 24) < 1e-9);
  const mz_gradient_noise none = {0}, lost = {.updates = 1, .shard_square = 80, .batch_square = 9};
  assert_true(isnan(mz_noise_scale(&none, 6, 48)));
  assert_true(isnan(mz_noise_scale(&lost, 6, 48))); /* 48 · 9 < 6 · 80 */
  assert_true(isnan(mz_noise_scale(&noise, 48, 48)));
}

static void fill(mz_batch *b, const mz_model *m) {
  mz_rng rng = mz_rng_at(3, MZ_RNG_TEST, 0, 0);
  for (int i = 0; i < b->rows * m->obs_size; i++) b->obs[i] = mz_rng_normal(&rng);
  for (int i = 0; i < (UNROLL + 1) * b->rows; i++) {
    b->action[i] = (int32_t)mz_rng_below(&rng, (uint32_t)m->actions);
    mz_rng_dirichlet(&rng, 0.5f, m->actions, b->policy + i * m->actions);
    b->value[i] = mz_rng_normal(&rng) * 5;
    b->reward[i] = mz_rng_f32(&rng);
    b->policy_weight[i] = b->value_weight[i] = 1.0f / (float)b->rows;
    b->reward_weight[i] = i < b->rows ? 0 : 1.0f / (float)b->rows;
  }
}

/* `count` rows from `first` on, as a batch of their own. */
static void take(mz_batch *out, const mz_batch *from, const mz_model *m, int first) {
  const float share = (float)from->rows / (float)out->rows;
  memcpy(out->obs, from->obs + first * m->obs_size, (size_t)(out->rows * m->obs_size) * sizeof(float));
  for (int k = 0; k <= UNROLL; k++)
    for (int r = 0; r < out->rows; r++) {
      const int to = k * out->rows + r, at = k * from->rows + first + r;
      out->action[to] = from->action[at];
      memcpy(out->policy + to * m->actions, from->policy + at * m->actions, (size_t)m->actions * sizeof(float));
      out->value[to] = from->value[at];
      out->reward[to] = from->reward[at];
      out->policy_weight[to] = from->policy_weight[at] * share;
      out->value_weight[to] = from->value_weight[at] * share;
      out->reward_weight[to] = from->reward_weight[at] * share;
    }
}

typedef struct subject {
  mz_model model;
  mz_settings settings;
  mz_pool *pool;
} subject;

/* One update from the initial weights on `batch`; losses by row where they are asked for. */
static mz_learning_stats update(const subject *s, const mz_batch *batch, int shards, int updates, float *losses) {
  mz_learner *learner;
  const mz_learner_settings settings = {
      .update = {.loss = s->settings.loss, .optimizer = s->settings.optimizer, .batch_size = batch->rows, .shards = shards}};
  expect_ok(mz_learner_create(&learner, &s->model, &mz_lane_cpu, &settings, s->pool));
  mz_params_init(&s->model.params, 1, mz_learner_weights(learner));
  expect_ok(mz_learner_weights_changed(learner));
  float errors[ROWS];
  mz_learning_stats stats = {0};
  for (int i = 0; i < updates; i++) expect_ok(mz_learner_update(learner, batch, errors, &stats));
  if (losses) memcpy(losses, mz_learner_row_losses(learner), (size_t)batch->rows * sizeof *losses);
  mz_learner_free(learner);
  return stats;
}

static void make(subject *s, mz_batch *whole, mz_batch *part, int part_rows) {
  const mz_env *env = env_named("cartpole");
  s->settings =
      settings_with((const char *[]){"batch_size=48", "shards=8", "unroll_steps=3", "network.width=48", "optimizer=sgd"}, 5);
  expect_ok(mz_model_init(&s->model, &s->settings.network, &env->spec));
  expect_ok(mz_pool_create(&s->pool, "learner", 2, NULL));
  expect_ok(mz_batch_init(whole, &env->spec, ROWS, UNROLL, 1));
  expect_ok(mz_batch_init(part, &env->spec, part_rows, UNROLL, 1));
  fill(whole, &s->model);
}

static void drop(subject *s, mz_batch *whole, mz_batch *part) {
  mz_batch_deinit(whole);
  mz_batch_deinit(part);
  mz_pool_free(s->pool);
}

/* The norm of a batch of one shard is that shard's: known without the squares that are tested. */
static void squares_are_those_of_the_shards_alone(void **unused) {
  (void)unused;
  subject s;
  mz_batch whole, part;
  make(&s, &whole, &part, SHARD_ROWS);
  const mz_learning_stats stats = update(&s, &whole, SHARDS, 1, NULL);
  double square = 0;
  for (int i = 0; i < SHARDS; i++) {
    take(&part, &whole, &s.model, i * SHARD_ROWS);
    const double norm = update(&s, &part, 1, 1, NULL).gradient_norm;
    square += norm * norm / SHARDS;
  }
  assert_int_equal(stats.noise.updates, 1);
  assert_true(fabs(stats.noise.shard_square / square - 1) < 1e-4);
  assert_true(fabs(stats.noise.batch_square / (stats.gradient_norm * stats.gradient_norm) - 1) < 1e-9);
  const double scale = mz_noise_scale(&stats.noise, SHARD_ROWS, ROWS);
  assert_true(isnan(scale) || scale > 0);
  assert_int_equal(update(&s, &whole, SHARDS, 33, NULL).noise.updates, 3); /* the first, the 17th, the 33rd */
  assert_int_equal(update(&s, &whole, 1, 33, NULL).noise.updates, 0);
  drop(&s, &whole, &part);
}

static void a_row_has_the_loss_of_a_batch_of_itself(void **unused) {
  (void)unused;
  subject s;
  mz_batch whole, part;
  float losses[ROWS];
  make(&s, &whole, &part, 1);
  update(&s, &whole, SHARDS, 1, losses);
  for (int r = 0; r < ROWS; r += 7) {
    take(&part, &whole, &s.model, r);
    const mz_learning_stats alone = update(&s, &part, 1, 1, NULL);
    const double loss = alone.policy_loss + alone.value_loss + alone.reward_loss;
    assert_true(loss > 0.1);
    assert_true(fabs(losses[r] / loss - 1) < 1e-4);
  }
  drop(&s, &whole, &part);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(made_up_squares), cmocka_unit_test(squares_are_those_of_the_shards_alone),
                                     cmocka_unit_test(a_row_has_the_loss_of_a_batch_of_itself)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
