/* Updates computed by PyTorch (tests/data/networks/make_torch_*.py), done again on a tape. Include after cmocka.h. */
#pragma once
#include "networks/loss.h"
#include "networks/parameters/optimizer.h"
#include "networks/parameters/shard_sum.h"
#include "tests/networks/check.h"
#include "tests/networks/fixture.h"
#include <math.h>

enum { TORCH_ROWS = 8, TORCH_SHARDS = 4, TORCH_BINS = 21, TORCH_OBS_MAX = 256 };

/* The fixture, the model with its weights, and the loss recorded on a tape of one backend. */
typedef struct update {
  mz_fixture torch;
  mz_model model;
  float *weights;
  const mz_backend *backend;
  mz_tape *tape;
  mz_loss loss;
  bool bf16;                          /* convolutions multiply bfloat16 */
  void *values, *packed, *transposed; /* of the weights, in the backend's elements: plain, as forward and as backward read them */
} update;

/* The weights stay 0. */
static inline void open_model(update *u, const char *path, const mz_network_settings *network, const mz_spec *spec) {
  *u = (update){0};
  fixture_open(&u->torch, path);
  check(mz_model_init(&u->model, network, spec));
  check(mz_alloc(&u->weights, (size_t)u->model.params.size, sizeof *u->weights));
}

static inline double element(const mz_backend *backend, const void *values, int64_t i) {
  return backend->element_size == sizeof(double) ? ((const double *)values)[i] : ((const float *)values)[i];
}

/* The weights have changed. */
static inline void pack(update *u) {
  const mz_params *params = &u->model.params;
  for (int64_t i = 0; i < params->size; i++) {
    if (u->backend->element_size == sizeof(double))
      ((double *)u->values)[i] = u->weights[i];
    else
      ((float *)u->values)[i] = u->weights[i];
  }
  const mz_lane lane = {.backend = u->backend};
  if (u->packed != NULL) check(mz_lane_pack(&lane, u->backend->pack_forward, params, u->values, u->bf16, u->packed));
  if (u->transposed != NULL) check(mz_lane_pack(&lane, u->backend->pack_backward, params, u->values, u->bf16, u->transposed));
}

static inline void open_tape(update *u, const mz_backend *backend, int unroll) {
  const mz_params *params = &u->model.params;
  const mz_loss_settings settings = {
      .unroll = unroll,
      .policy_weight = fixture_scalar(&u->torch, "loss_weight.policy"),
      .value_weight = fixture_scalar(&u->torch, "loss_weight.value"),
      .reward_weight = fixture_scalar(&u->torch, "loss_weight.reward"),
  };
  u->backend = backend;
  check(mz_tape_create(&u->tape, &(mz_lane){.backend = backend}, params, TORCH_ROWS, true));
  mz_loss_build(&u->loss, &u->model, &settings, u->tape);
  check(mz_tape_plan(u->tape));
  check(mz_alloc(&u->values, (size_t)params->size, backend->element_size));
  const size_t packed = (size_t)mz_backend_layout(backend, params, NULL);
  if (backend->pack_forward != NULL) check(mz_alloc(&u->packed, packed, backend->element_size));
  if (backend->pack_backward != NULL) check(mz_alloc(&u->transposed, packed, backend->element_size));
  pack(u);
}

static inline void close_update(update *u) {
  mz_tape_free(u->tape);
  free(u->values);
  free(u->packed);
  free(u->transposed);
  free(u->weights);
  fixture_close(&u->torch);
}

/* Rows first … first + rows − 1 of a batch tensor into a tape input. */
static inline void write_input(const update *u, const char *what, int k, int columns, mz_value value, int first, int rows) {
  char name[64];
  float dense[TORCH_ROWS * TORCH_BINS];
  assert_true(columns <= TORCH_BINS);
  snprintf(name, sizeof name, "batch.%s.%d", what, k);
  fixture_f32(&u->torch, name, (size_t)(TORCH_ROWS * columns), dense);
  check(mz_tape_put(u->tape, value, 0, dense + first * columns, rows));
}

static inline void write_batch(const update *u, int first, int rows) {
  float observations[TORCH_ROWS * TORCH_OBS_MAX];
  assert_true(u->model.obs_size <= TORCH_OBS_MAX);
  fixture_f32(&u->torch, "batch.observation", (size_t)(TORCH_ROWS * u->model.obs_size), observations);
  check(mz_tape_put(u->tape, u->loss.obs, 0, observations + first * u->model.obs_size, rows));
  for (int k = 0; k <= u->loss.unroll; k++) {
    write_input(u, "policy_target", k, u->model.actions, u->loss.policy_target[k], first, rows);
    write_input(u, "policy_weight", k, 1, u->loss.policy_weight[k], first, rows);
    write_input(u, "value_target", k, u->model.value.bins, u->loss.value_target[k], first, rows);
    write_input(u, "value_weight", k, 1, u->loss.value_weight[k], first, rows);
    if (k == 0) continue;
    write_input(u, "reward_target", k, u->model.reward.bins, u->loss.reward_target[k], first, rows);
    write_input(u, "reward_weight", k, 1, u->loss.reward_weight[k], first, rows);
    char name[64];
    int32_t actions[TORCH_ROWS];
    snprintf(name, sizeof name, "batch.action.%d", k);
    memcpy(actions, fixture_tensor(&u->torch, name, "I32", sizeof actions)->data, sizeof actions);
    check(mz_tape_put_list(u->tape, u->loss.action[k], 0, actions + first, rows));
  }
}

/* Loss of those rows; their gradient into `gradients`. */
static inline double run(const update *u, int first, int rows, void *gradients) {
  const void *values = u->packed != NULL ? u->packed : u->values;
  write_batch(u, first, rows);
  check(mz_tape_forward(u->tape, values, rows));
  check(mz_tape_backward(u->tape, values, u->transposed, gradients, rows));
  return tape_loss(u->tape);
}

/* ‖flat − tensor‖ / ‖tensor − base‖ for one parameter; base NULL: zero. */
static inline double relative_error(const update *u, const mz_param *param, const char *prefix, const void *flat,
                                    const mz_backend *backend, const float *base) {
  char name[96];
  double *wanted = NULL, difference = 0, norm = 0;
  const size_t count = (size_t)param->rows * (size_t)param->columns;
  check(mz_alloc(&wanted, count, sizeof *wanted));
  snprintf(name, sizeof name, "%s%s", prefix, param->name);
  fixture_numbers(&u->torch, name, count, wanted);
  for (int r = 0; r < param->rows; r++) {
    for (int c = 0; c < param->columns; c++) {
      const int64_t at = param->offset + (int64_t)r * param->stride + c;
      const double value = wanted[r * param->columns + c];
      difference += pow(element(backend, flat, at) - value, 2);
      norm += pow(value - (base ? base[at] : 0.0), 2);
    }
  }
  free(wanted);
  return sqrt(difference / norm);
}

/* Loss and gradients of the whole batch on one tape, relative to PyTorch's: the loss `wanted`, tensors named `prefix` +
 * parameter. */
static inline void compare_gradients(const update *u, const char *prefix, double wanted, double loss_tolerance,
                                     double tolerance) {
  const mz_params *params = &u->model.params;
  const mz_backend *backend = u->backend;
  void *gradients;
  check(mz_alloc(&gradients, (size_t)params->size, backend->element_size));
  memset(gradients, 0xff, (size_t)params->size * backend->element_size); /* NaN: whatever is not written shows */
  const double loss = run(u, 0, TORCH_ROWS, gradients);
  double largest = 0;
  for (int p = 0; p < params->count; p++) {
    const mz_param *param = &params->items[p];
    const double error = relative_error(u, param, prefix, gradients, backend, NULL);
    if (!(error <= tolerance)) fail_msg("%s: gradient of %s: relative error %.2e", backend->name, param->name, error);
    largest = fmax(largest, error);
    for (int r = 0; r < param->rows; r++)
      for (int c = param->columns; c < param->stride; c++)
        assert_true(element(backend, gradients, param->offset + (int64_t)r * param->stride + c) == 0.0);
  }
  print_message("%s: loss off by %.1e, gradients by at most %.1e\n", backend->name, fabs(loss - wanted) / wanted, largest);
  assert_true(fabs(loss - wanted) <= loss_tolerance * wanted);
  free(gradients);
}

static inline mz_optimizer_settings optimizer_settings(const mz_fixture *torch) {
  return (mz_optimizer_settings){
      .kind = MZ_ADAM,
      .learning_rate = fixture_scalar(torch, "optimizer.learning_rate"),
      .beta1 = fixture_scalar(torch, "optimizer.beta1"),
      .beta2 = fixture_scalar(torch, "optimizer.beta2"),
      .epsilon = fixture_scalar(torch, "optimizer.epsilon"),
      .weight_decay = fixture_scalar(torch, "optimizer.weight_decay"),
      .gradient_clip = fixture_scalar(torch, "optimizer.gradient_clip"),
  };
}

/* The update as a learner does it: shards, sum over the tree, norm, clip, step. Takes the weights on; the new ones are not yet
 * packed. */
static inline void sharded_update(update *u, mz_optimizer *optimizer, double *loss, double *norm) {
  const mz_params *params = &u->model.params;
  const int chunks = mz_chunk_count(params), rows = TORCH_ROWS / TORCH_SHARDS;
  double squares = 0;
  mz_shard_sum sum;
  check(mz_shard_sum_init(&sum, TORCH_SHARDS, params->size));
  const float *gradient = sum.gradients[0];
  mz_tape_set_share(u->tape, 1.0 / TORCH_SHARDS);
  *loss = 0;
  for (int s = 0; s < TORCH_SHARDS; s++) {
    *loss += run(u, s * rows, rows, sum.gradients[s]);
    mz_shard_sum_arrive(&sum, s);
  }
  for (int chunk = 0; chunk < chunks; chunk++) squares += mz_gradient_squares_chunk(gradient, params->trained, chunk);
  *norm = sqrt(squares);
  const float scale = mz_clip_scale(&optimizer->settings, *norm);
  assert_true(scale < 1.0f);
  optimizer->steps++;
  for (int chunk = 0; chunk < chunks; chunk++)
    mz_optimizer_step_chunk(optimizer, chunk, gradient, scale, optimizer->settings.learning_rate, u->weights);
  mz_shard_sum_deinit(&sum);
}
