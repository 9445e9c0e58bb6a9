/* A small convolutional model with made-up weights, and what it answers to N requests. Include after cmocka.h. */
#pragma once
#include "networks/infer.h"
#include "tests/networks/cases.h"

enum { PLANES = 3, N = 70 };

static mz_model model; /* large */
static float *weights;

static inline mz_spec spec_of(mz_board board, mz_action_kind kind, int actions) {
  return (mz_spec){.obs_kind = MZ_OBS_U8,
                   .obs_shape = {board.height, board.width, PLANES},
                   .obs_size = board.height * board.width * PLANES,
                   .actions = actions,
                   .action_kind = kind,
                   .players = 2,
                   .return_max = 1,
                   .reward_max = 1};
}

static const mz_network_settings small = {.kind = MZ_MODEL_CONV,
                                          .channels = 16,
                                          .blocks = 2,
                                          .pooled_blocks = 1,
                                          .prediction_blocks = 1,
                                          .scaling = MZ_SCALING_RMS,
                                          .head_channels = 16,
                                          .head_width = 32,
                                          .norm_rows = N,
                                          .bn_momentum = 0.02,
                                          .inference = MZ_PRECISION_F32,
                                          .training = MZ_PRECISION_F32,
                                          .value_bins = 21,
                                          .reward_bins = 5};

/* Made-up weights everywhere: no near-uniform heads, norms that do something. */
static inline void open_halving_model(mz_board board, int channels, int32_t precision, int halvings) {
  mz_network_settings settings = small;
  settings.downsample = halvings + 1;
  settings.downsample_blocks = 1;
  settings.channels = channels;
  settings.inference = precision;
  const mz_spec spec = spec_of(board, halvings > 0 ? MZ_ACTIONS_PLAIN : MZ_ACTIONS_CELLS_PASS, board.height * board.width + 1);
  check(mz_model_init(&model, &settings, &spec));
  check(mz_alloc(&weights, (size_t)model.params.size, sizeof *weights));
  mz_params_init(&model.params, 4, weights);
  mz_rng rng = mz_rng_at(4, MZ_RNG_TEST, 0, 0);
  for (int p = 0; p < model.params.count; p++) {
    const mz_param *param = &model.params.items[p];
    if (param->decay && param->init != MZ_INIT_SMALL) continue;
    const float middle = param->init == MZ_INIT_ONE ? 1.0f : 0.0f;
    for (int i = 0; i < param->rows * param->columns; i++) {
      weights[param->offset + i / param->columns * param->stride + i % param->columns] = middle + 0.5f * mz_rng_f32(&rng) - 0.25f;
    }
  }
}

static inline void open_model(mz_board board, int channels, int32_t precision) {
  open_halving_model(board, channels, precision, 0);
}

static inline void close_model(void) {
  free(weights);
  weights = NULL;
}

static const mz_board boards[] = {{2, 2}, {3, 3}, {6, 7}, {9, 9}};
enum { BOARDS = sizeof boards / sizeof *boards };

typedef struct answers { /* of initial inference, [0], and of a recurrent step from there, [1] */
  float *latent[2], *policy[2], *value[2], *reward;
  size_t latents, policies;
} answers;

static inline answers answers_alloc(void) {
  answers a = {.latents = (size_t)(N * model.latent), .policies = (size_t)(N * model.actions)};
  for (int k = 0; k < 2; k++) {
    check(mz_alloc(&a.latent[k], a.latents, sizeof(float)));
    check(mz_alloc(&a.policy[k], a.policies, sizeof(float)));
    check(mz_alloc(&a.value[k], N, sizeof(float)));
  }
  check(mz_alloc(&a.reward, N, sizeof(float)));
  return a;
}

static inline void answers_free(answers *a) {
  for (int k = 0; k < 2; k++) {
    free(a->latent[k]);
    free(a->policy[k]);
    free(a->value[k]);
  }
  free(a->reward);
}

static inline uint8_t *observations(void) {
  uint8_t *bytes = NULL;
  mz_rng rng = mz_rng_at(5, MZ_RNG_TEST, 0, 0);
  check(mz_alloc(&bytes, (size_t)(N * model.obs_size), 1));
  for (int i = 0; i < N * model.obs_size; i++) bytes[i] = (uint8_t)mz_rng_below(&rng, 2);
  return bytes;
}

static inline int action_of(int i) { return (i * 5 + 3) % model.actions; }

/* What `backend` answers to N requests, `at_once` of them together, on passes of rows_max. */
static inline answers ask(const mz_backend *backend, int rows_max, int at_once) {
  answers a = answers_alloc();
  float *pool = NULL;
  uint8_t *bytes = observations();
  mz_lane lane;
  mz_infer *infer = NULL;
  mz_prepared *prepared = NULL;
  check(mz_lane_open(&lane, &(mz_lane){.backend = backend}));
  check(mz_infer_create(&infer, &model, &lane, rows_max, 2 * N));
  check(mz_prepared_create(&prepared, &model, &lane, weights));
  check(mz_infer_set_weights(infer, prepared));
  const int stride = mz_infer_latent_stride(&model);
  check(mz_alloc(&pool, (size_t)(2 * N * stride), sizeof *pool));
  int32_t first[N], second[N], action[N];
  for (int i = 0; i < N; i++) {
    first[i] = N - 1 - i;
    second[i] = N + i;
    action[i] = action_of(i);
  }
  for (int at = 0; at < N; at += at_once) {
    const int n = N - at < at_once ? N - at : at_once;
    check(mz_infer_initial(infer, n, bytes + at * model.obs_size, MZ_OBS_U8, first + at, a.policy[0] + at * model.actions,
                           a.value[0] + at));
  }
  for (int at = 0; at < N; at += at_once) {
    const int n = N - at < at_once ? N - at : at_once;
    check(mz_infer_recurrent(infer, n, first + at, action + at, second + at, a.policy[1] + at * model.actions, a.value[1] + at,
                             a.reward + at));
  }
  check(mz_infer_read_latents(infer, 0, 2 * N, pool));
  for (int i = 0; i < N; i++) {
    const size_t bytes_of_latent = (size_t)model.latent * sizeof *pool;
    memcpy(a.latent[0] + i * model.latent, pool + first[i] * stride, bytes_of_latent);
    memcpy(a.latent[1] + i * model.latent, pool + second[i] * stride, bytes_of_latent);
  }
  mz_infer_free(infer);
  mz_prepared_release(prepared);
  mz_lane_close(&lane);
  free(pool);
  free(bytes);
  return a;
}

/* ‖a − b‖ / ‖b‖ */
static inline double distance(const float *a, const float *b, size_t n) {
  double square = 0.0, square_error = 0.0;
  for (size_t i = 0; i < n; i++) {
    square += (double)b[i] * b[i];
    square_error += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
  }
  return sqrt(square_error / square);
}
