/* One whole update against PyTorch (tests/data/networks/make_torch_update.py): the K-step loss, every gradient tensor, and the
 * weights after clipping and one AdamW step, the gradient summed from four shards of two rows. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "networks/backend.h"
#include "networks/loss.h"
#include "networks/optimizer.h"
#include "networks/shard_sum.h"
#include "networks/weights.h"
#include "tests/networks/fixture.h"

enum { OBS = 4, WIDTH = 32, ACTIONS = 3, BINS = 21, ROWS = 8, UNROLL = 5, SHARDS = 4 };

/* The fixture, the model with its weights, and the loss recorded on a tape of one backend. */
typedef struct update {
  mz_fixture torch;
  mz_model model;
  float *weights;
  const mz_backend *backend;
  mz_tape *tape;
  mz_loss loss;
  void *values, *transposed; /* in the backend's elements */
} update;

static void check(mz_status status) {
  if (status != MZ_OK) fail_msg("%s", mz_message());
}

static double element(const mz_backend *backend, const void *values, int64_t i) {
  return backend->element_size == sizeof(double) ? ((const double *)values)[i] : ((const float *)values)[i];
}

static void build_model(update *u) {
  const mz_network_settings network = {
      .width = WIDTH,
      .depth = 1,
      .latent = WIDTH,
      .value_bins = BINS,
      .reward_bins = BINS,
      .value_range = 10,
      .reward_range = 10,
  };
  const mz_spec spec = {
      .obs_kind = MZ_OBS_F32,
      .obs_shape = {1, 1, OBS},
      .obs_size = OBS,
      .actions = ACTIONS,
      .players = 1,
      .symmetries = 1,
      .reward_min = -1,
      .reward_max = 1,
      .return_min = -10,
      .return_max = 10,
  };
  check(mz_model_init(&u->model, &network, &spec));
  check(mz_alloc(&u->weights, (size_t)u->model.params.size, sizeof *u->weights));
  check(mz_weights_read(&u->model.params, &u->torch.file, "weights.", "torch_update", MZ_E_IO, u->weights));
}

static void build_tape(update *u) {
  const mz_params *params = &u->model.params;
  const mz_loss_settings settings = {
      .unroll = UNROLL,
      .policy_weight = fixture_scalar(&u->torch, "loss_weight.policy"),
      .value_weight = fixture_scalar(&u->torch, "loss_weight.value"),
      .reward_weight = fixture_scalar(&u->torch, "loss_weight.reward"),
  };
  check(mz_tape_create(&u->tape, u->backend, params, ROWS, true));
  mz_loss_build(&u->loss, &u->model, &settings, u->tape);
  check(mz_tape_plan(u->tape));

  check(mz_alloc(&u->values, (size_t)params->size, u->backend->element_size));
  for (int64_t i = 0; i < params->size; i++)
    if (u->backend->element_size == sizeof(double))
      ((double *)u->values)[i] = u->weights[i];
    else
      ((float *)u->values)[i] = u->weights[i];
  if (!u->backend->pack_backward) return;
  check(mz_alloc(&u->transposed, (size_t)params->size, u->backend->element_size));
  (void)!u->backend->pack_backward(params, u->values, u->transposed);
}

static void open_update(update *u, const mz_backend *backend) {
  *u = (update){.backend = backend};
  fixture_open(&u->torch, TEST_DATA "/networks/torch_update.safetensors");
  build_model(u);
  build_tape(u);
}

static void close_update(update *u) {
  mz_tape_free(u->tape);
  free(u->values);
  free(u->transposed);
  free(u->weights);
  fixture_close(&u->torch);
}

/* Rows first … first + rows − 1 of a batch tensor into a tape input. */
static void write_input(const update *u, const char *what, int k, int columns, mz_value value, int first, int rows) {
  char name[64];
  float dense[ROWS * BINS];
  snprintf(name, sizeof name, "batch.%s.%d", what, k);
  fixture_f32(&u->torch, name, (size_t)(ROWS * columns), dense);
  mz_tape_write(u->tape, value, dense + first * columns, rows);
}

static void write_batch(const update *u, int first, int rows) {
  float observations[ROWS * OBS];
  fixture_f32(&u->torch, "batch.observation", ROWS * OBS, observations);
  mz_tape_write(u->tape, u->loss.obs, observations + first * OBS, rows);
  for (int k = 0; k <= UNROLL; k++) {
    write_input(u, "policy_target", k, ACTIONS, u->loss.policy_target[k], first, rows);
    write_input(u, "policy_weight", k, 1, u->loss.policy_weight[k], first, rows);
    write_input(u, "value_target", k, BINS, u->loss.value_target[k], first, rows);
    write_input(u, "value_weight", k, 1, u->loss.value_weight[k], first, rows);
    if (k == 0) continue;
    write_input(u, "reward_target", k, BINS, u->loss.reward_target[k], first, rows);
    write_input(u, "reward_weight", k, 1, u->loss.reward_weight[k], first, rows);
    char name[64];
    int32_t actions[ROWS];
    snprintf(name, sizeof name, "batch.action.%d", k);
    memcpy(actions, fixture_tensor(&u->torch, name, "I32", sizeof actions)->data, sizeof actions);
    memcpy(mz_tape_index_at(u->tape, u->loss.action[k]), actions + first, (size_t)rows * sizeof *actions);
  }
}

/* Loss of those rows; their gradient into `gradients`. */
static double run(const update *u, int first, int rows, void *gradients) {
  write_batch(u, first, rows);
  mz_tape_forward(u->tape, u->values, rows);
  mz_tape_backward(u->tape, u->values, u->transposed, gradients, rows);
  return mz_tape_loss(u->tape);
}

/* ‖flat − tensor‖ / ‖tensor − base‖ for one parameter; base NULL: zero. */
static double relative_error(const update *u, const mz_param *param, const char *prefix, const void *flat, const float *base) {
  char name[96];
  double wanted[WIDTH * WIDTH], difference = 0, norm = 0;
  assert_true(param->rows * param->columns <= WIDTH * WIDTH);
  snprintf(name, sizeof name, "%s%s", prefix, param->name);
  fixture_f64(&u->torch, name, (size_t)(param->rows * param->columns), wanted);
  for (int r = 0; r < param->rows; r++)
    for (int c = 0; c < param->columns; c++) {
      const int64_t at = param->offset + (int64_t)r * param->stride + c;
      const double value = wanted[r * param->columns + c];
      difference += pow(element(u->backend, flat, at) - value, 2);
      norm += pow(value - (base ? base[at] : 0.0), 2);
    }
  return sqrt(difference / norm);
}

static void compare_gradients(const mz_backend *backend, double tolerance) {
  update u;
  open_update(&u, backend);
  const mz_params *params = &u.model.params;
  void *gradients;
  check(mz_alloc(&gradients, (size_t)params->size, backend->element_size));
  memset(gradients, 0xff, (size_t)params->size * backend->element_size); /* NaN: whatever is not written shows */

  const double wanted = fixture_scalar(&u.torch, "loss"), loss = run(&u, 0, ROWS, gradients);
  double largest = 0;
  for (int p = 0; p < params->count; p++) {
    const mz_param *param = &params->items[p];
    const double error = relative_error(&u, param, "gradients.", gradients, NULL);
    if (!(error <= tolerance)) fail_msg("%s: gradient of %s: relative error %.2e", backend->name, param->name, error);
    largest = fmax(largest, error);
    for (int r = 0; r < param->rows; r++)
      for (int c = param->columns; c < param->stride; c++)
        assert_true(element(backend, gradients, param->offset + (int64_t)r * param->stride + c) == 0.0);
  }
  print_message("%s: loss off by %.1e, gradients by at most %.1e\n", backend->name, fabs(loss - wanted) / wanted, largest);
  assert_true(fabs(loss - wanted) <= tolerance * wanted);
  free(gradients);
  close_update(&u);
}

static void loss_and_gradients_of_ref(void **state) {
  (void)state;
  compare_gradients(&mz_backend_ref, 1e-6);
}

static void loss_and_gradients_of_cpu(void **state) {
  (void)state;
  compare_gradients(&mz_backend_cpu, 1e-5);
}

static void the_model_has_no_other_parameters(void **state) {
  (void)state;
  update u;
  open_update(&u, &mz_backend_ref);
  int weights = 0;
  for (int i = 0; i < u.torch.file.count; i++) weights += strncmp(u.torch.file.tensors[i].name, "weights.", 8) == 0;
  assert_int_equal(u.model.params.count, weights);
  close_update(&u);
}

static mz_optimizer_settings optimizer_settings(const mz_fixture *torch) {
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

/* The update as a learner does it: shards, sum over the tree, norm, clip, step. */
static void weights_after_a_sharded_step(void **state) {
  (void)state;
  update u;
  open_update(&u, &mz_backend_cpu);
  const mz_params *params = &u.model.params;
  const int chunks = mz_chunk_count(params);
  mz_shard_sum sum;
  check(mz_shard_sum_init(&sum, SHARDS, params->size));
  const float *gradient = sum.gradients[0];
  double loss = 0, squares = 0;
  for (int s = 0; s < SHARDS; s++) {
    loss += run(&u, s * ROWS / SHARDS, ROWS / SHARDS, sum.gradients[s]);
    mz_shard_sum_arrive(&sum, s);
  }
  assert_true(fabs(loss / fixture_scalar(&u.torch, "loss") - 1) <= 1e-5);
  for (int chunk = 0; chunk < chunks; chunk++) squares += mz_gradient_squares_chunk(gradient, params->size, chunk);
  const double norm = sqrt(squares);
  assert_true(fabs(norm / fixture_scalar(&u.torch, "gradient_norm") - 1) <= 1e-5);

  const mz_optimizer_settings settings = optimizer_settings(&u.torch);
  mz_optimizer optimizer;
  check(mz_optimizer_init(&optimizer, &settings, params));
  const float scale = mz_clip_scale(&settings, norm);
  assert_true(scale < 1.0f);
  float *updated;
  check(mz_alloc(&updated, (size_t)params->size, sizeof *updated));
  memcpy(updated, u.weights, (size_t)params->size * sizeof *updated);
  optimizer.steps++;
  for (int chunk = 0; chunk < chunks; chunk++)
    mz_optimizer_step_chunk(&optimizer, chunk, gradient, scale, settings.learning_rate, updated);

  double largest = 0, largest_step = 0;
  for (int p = 0; p < params->count; p++) {
    const mz_param *param = &params->items[p];
    largest = fmax(largest, relative_error(&u, param, "updated.", updated, NULL));
    largest_step = fmax(largest_step, relative_error(&u, param, "updated.", updated, u.weights));
  }
  print_message("updated weights off by at most %.1e, the step itself by %.1e\n", largest, largest_step);
  assert_true(largest <= 1e-6);
  assert_true(largest_step <= 1e-4); /* a difference of floats much larger than itself */

  mz_optimizer_deinit(&optimizer);
  free(updated);
  mz_shard_sum_deinit(&sum);
  close_update(&u);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(loss_and_gradients_of_ref),
      cmocka_unit_test(loss_and_gradients_of_cpu),
      cmocka_unit_test(the_model_has_no_other_parameters),
      cmocka_unit_test(weights_after_a_sharded_step),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
