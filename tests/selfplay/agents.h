/* Small agents with random weights, and a game of chance, for the tests of this room. */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <string.h>
#include <cmocka.h>
#include "envs/bundled.h"
#include "selfplay/evaluation/evaluate.h"
#include "tests/base/defaults.h"

typedef struct test_agent {
  mz_search_settings search;
  mz_model model;
  mz_prepared *weights;
  mz_agent agent;
} test_agent;

static inline mz_player test_player(const char *text, const mz_env *env) {
  mz_player player;
  assert_int_equal(mz_player_parse(text, env, &player), MZ_OK);
  return player;
}

/* `agent` points into `out`, which must stay where it is. */
static inline void test_agent_init(test_agent *out, const mz_env *env, mz_algorithm algorithm, uint64_t seed) {
  memset(out, 0, sizeof *out);
  test_defaults(mz_search_table, &out->search);
  out->search.algorithm = algorithm;
  out->search.simulations = 8;
  mz_network_settings network;
  test_defaults(mz_network_table, &network);
  network.width = 16;
  network.latent = 16;
  assert_int_equal(mz_model_init(&out->model, &network, &env->spec), MZ_OK);
  float *values;
  assert_int_equal(mz_alloc(&values, (size_t)out->model.params.size, sizeof *values), MZ_OK);
  mz_params_init(&out->model.params, seed, values);
  /* Heads begin near zero; large ones have opinions. */
  for (int p = 0; p < out->model.params.count; p++) {
    const mz_param *param = &out->model.params.items[p];
    const int64_t size = (int64_t)param->rows * param->stride;
    for (int64_t i = 0; param->init == MZ_INIT_SMALL && i < size; i++) values[param->offset + i] *= 200;
  }
  assert_int_equal(mz_prepared_create(&out->weights, &out->model, &mz_lane_cpu, values), MZ_OK);
  free(values);
  out->agent = (mz_agent){
      .env = env, .search = &out->search, .model = &out->model, .where = &mz_lane_cpu, .discount = 0.97, .weights = out->weights};
}

/* Its weights become NaN: it has diverged. */
static inline void test_agent_spoil(test_agent *agent) {
  float *values;
  const int64_t size = agent->model.params.size;
  assert_int_equal(mz_alloc(&values, (size_t)size, sizeof *values), MZ_OK);
  for (int64_t i = 0; i < size; i++) values[i] = NAN;
  mz_prepared_release(agent->weights);
  assert_int_equal(mz_prepared_create(&agent->weights, &agent->model, &mz_lane_cpu, values), MZ_OK);
  agent->agent.weights = agent->weights;
  free(values);
}

static inline void test_agent_deinit(test_agent *agent) { mz_prepared_release(agent->weights); }

/* Six throws of a die, each kept or doubled by the second action; a throw is paid at once. Chance in every step. */
typedef struct dice_state {
  uint32_t throws, last;
} dice_state;

static inline mz_status dice_reset(const mz_env *env, void *state, const mz_generator *generator) {
  (void)env;
  *(dice_state *)state = (dice_state){.last = mz_generator_below(generator, 6)};
  return MZ_OK;
}
static inline mz_status dice_step(const mz_env *env, void *states, int n, const int32_t *actions, const mz_generator *generators,
                                  mz_step *results) {
  (void)env;
  dice_state *s = states;
  for (int i = 0; i < n; i++) {
    s[i].last = mz_generator_below(&generators[i], 6);
    s[i].throws++;
    results[i] = (mz_step){.reward = (float)(s[i].last << actions[i]), .terminated = s[i].throws == 6};
  }
  return MZ_OK;
}
static inline void dice_observe(const mz_env *env, const void *states, int n, void *observations) {
  (void)env;
  const dice_state *s = states;
  float *out = observations;
  for (int i = 0; i < n; i++) {
    *out++ = (float)s[i].throws / 6;
    *out++ = (float)s[i].last / 6;
  }
}
static inline bool dice_valid(const mz_env *env, const void *state) {
  (void)env;
  const dice_state *s = state;
  return s->throws < 6 && s->last < 6;
}
static const mz_env test_dice = {
    .name = "dice",
    .spec = {.obs_kind = MZ_OBS_F32,
             .obs_shape = {1, 1, 2},
             .obs_size = 2,
             .actions = 2,
             .players = 1,
             .symmetries = 1,
             .reward_min = 0,
             .reward_max = 10,
             .return_min = 0,
             .return_max = 60},
    .state_size = sizeof(dice_state),
    .copies = true,
    .reset = dice_reset,
    .step = dice_step,
    .draws = true,
    .valid = dice_valid,
    .observe = dice_observe,
};
