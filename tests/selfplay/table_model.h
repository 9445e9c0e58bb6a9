/* Models without a network, for the tests of the search: a latent is a 32-bit key. Compiles as C and C++. */
#pragma once
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "selfplay/search/search.h"
#include "tests/base/defaults.h"

/* A made-up model: the answers of (key, action) are drawn from a hash. An observation is a key. */
typedef struct hash_model {
  int actions;
  int calls, rows; /* of recurrent */
  uint32_t latents[1 << 14];
} hash_model;

static inline uint32_t hash_mix(uint32_t x) {
  x = (x ^ (x >> 16)) * 0x85EBCA6Bu;
  x = (x ^ (x >> 13)) * 0xC2B2AE35u;
  return x ^ (x >> 16);
}

/* [−1, 1) */
static inline float hash_unit(uint32_t key, uint32_t i) {
  return (float)(hash_mix(key + 0x9E3779B9u * (i + 1)) >> 8) * 0x1p-23f - 1.0f;
}

static inline void hash_answer(const hash_model *model, uint32_t key, int row, float *policy, float *value) {
  for (int a = 0; a < model->actions; a++) policy[row * model->actions + a] = 2 * hash_unit(key, 10 + (uint32_t)a);
  value[row] = hash_unit(key, 0);
}

static inline mz_status hash_initial(void *context, int n, const void *observations, const int32_t *out, float *policy,
                                     float *value) {
  hash_model *model = (hash_model *)context;
  for (int i = 0; i < n; i++) {
    uint32_t key;
    memcpy(&key, (const char *)observations + 4 * (size_t)i, sizeof key);
    model->latents[out[i]] = key;
    hash_answer(model, key, i, policy, value);
  }
  return MZ_OK;
}

static inline mz_status hash_recurrent(void *context, int n, const int32_t *in, const int32_t *action, const int32_t *out,
                                       float *policy, float *value, float *reward) {
  hash_model *model = (hash_model *)context;
  model->calls++;
  model->rows += n;
  for (int i = 0; i < n; i++) {
    const uint32_t key = hash_mix(model->latents[in[i]] ^ hash_mix((uint32_t)action[i] + 77));
    model->latents[out[i]] = key;
    hash_answer(model, key, i, policy, value);
    reward[i] = hash_unit(key, 1);
  }
  return MZ_OK;
}

/* 0.97, −0.97 or sometimes 0, of the edge to a key. */
static inline float hash_discount(uint32_t key) {
  const float drawn = hash_unit(key, 2);
  return drawn > 0 ? 0.97f : drawn > -0.875f ? -0.97f : 0.0f;
}

static inline mz_status hash_recurrent_discounted(void *context, int n, const int32_t *in, const int32_t *action,
                                                  const int32_t *out, float *policy, float *value, float *reward,
                                                  float *discount) {
  hash_model *model = (hash_model *)context;
  const mz_status status = hash_recurrent(context, n, in, action, out, policy, value, reward);
  for (int i = 0; i < n; i++) discount[i] = hash_discount(model->latents[out[i]]);
  return status;
}

static inline mz_search_model hash_search_model(hash_model *model) {
  return (mz_search_model){.context = model,
                           .actions = model->actions,
                           .latent_stride = 1,
                           .obs_bytes = sizeof(uint32_t),
                           .initial = hash_initial,
                           .recurrent = hash_recurrent,
                           .recurrent_discounted = hash_recurrent_discounted};
}

static inline mz_search_settings table_defaults(mz_algorithm algorithm, int simulations) {
  mz_search_settings settings;
  test_defaults(mz_search_table, &settings);
  settings.algorithm = algorithm;
  settings.simulations = simulations;
  return settings;
}

/* Runs a search of a model that cannot fail. */
static inline void table_run(mz_search *search, const mz_search_model *model, int n, const mz_root *roots, int simulations,
                             mz_root_result *results) {
  assert_int_equal(mz_search_run(search, model, n, roots, simulations, results), MZ_OK);
}

static inline mz_search *table_search(const mz_search_settings *settings, int actions, double discount, mz_turns turns,
                                      int slots) {
  mz_search *search = NULL;
  assert_int_equal(mz_search_create(&search, settings, actions, 1, discount, turns, slots), MZ_OK);
  return search;
}
