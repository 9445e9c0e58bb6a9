/* A small network that is trained, and batches for it. Include after cmocka.h. */
#pragma once
#include "base/maths/rng.h"
#include "base/threads/pool.h"
#include "networks/update.h"
#include "tests/networks/check.h"
#include <string.h>

enum { ROWS = 12, SHARDS = 3, UNROLL = 2, ACTIONS = 7, UPDATES = 4 };

typedef struct subject { /* one backend's */
  mz_optimizer optimizer;
  float *weights, *average;
  mz_update *update;
} subject;

typedef struct lesson { /* a batch */
  float *obs, obs_weight[(UNROLL + 1) * ROWS], policy[(UNROLL + 1) * ROWS * ACTIONS], value[(UNROLL + 1) * ROWS],
      reward[(UNROLL + 1) * ROWS], turn[(UNROLL + 1) * ROWS], weights[4][(UNROLL + 1) * ROWS];
  int32_t action[(UNROLL + 1) * ROWS];
} lesson;

static mz_model model; /* large */
static mz_pool *pool;

static inline mz_update_settings settings_of(double consistency, int32_t optimizer) {
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

static inline void open_model_of(bool conv, int32_t precision, mz_turns turns) {
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
                        .turns = turns,
                        .return_max = 10,
                        .reward_max = 1};
  check(mz_model_init(&model, &network, &spec));
}

static inline void open_model(bool conv, int32_t precision) { open_model_of(conv, precision, MZ_TURNS_ALONE); }

static inline void subject_open_at(subject *s, const mz_lane *where, const mz_update_settings *settings) {
  const size_t size = (size_t)model.params.size;
  check(mz_optimizer_init(&s->optimizer, &settings->optimizer, &model.params));
  check(mz_alloc(&s->weights, size, sizeof *s->weights));
  check(mz_alloc(&s->average, size, sizeof *s->average));
  const mz_update_vectors vectors = {.weights = s->weights, .average = s->average, .optimizer = &s->optimizer};
  check(mz_update_create(&s->update, where, &model, settings, &vectors, pool));
  mz_params_init(&model.params, 3, s->weights);
  memcpy(s->average, s->weights, size * sizeof *s->weights);
  check(mz_update_changed(s->update));
}

static inline void subject_open(subject *s, const mz_backend *backend, const mz_update_settings *settings) {
  subject_open_at(s, &(mz_lane){.backend = backend}, settings);
}

static inline void subject_close(subject *s) {
  mz_update_free(s->update);
  mz_optimizer_deinit(&s->optimizer);
  free(s->weights);
  free(s->average);
}

static inline void fill(float *out, int count, mz_rng *rng) {
  for (int i = 0; i < count; i++) out[i] = mz_rng_f32(rng);
}

static inline void lesson_open(lesson *l, uint32_t number) {
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
    for (int k = 0; k < 4; k++) l->weights[k][i] = mz_rng_below(&rng, 4) == 0 ? 0.0f : mz_rng_f32(&rng) / ROWS;
    l->turn[i] = (float)mz_rng_below(&rng, 2);
  }
}

static inline mz_update_rows rows_of(const lesson *l) {
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
                          .reward_weight = l->weights[2],
                          .turn = model.tells_turns ? l->turn : NULL,
                          .turn_weight = model.tells_turns ? l->weights[3] : NULL};
}

static inline int open_pool(void **state) {
  (void)state;
  check(mz_pool_create(&pool, "learner", 2, NULL));
  return 0;
}

static inline int close_pool(void **state) {
  (void)state;
  mz_pool_free(pool);
  return 0;
}
