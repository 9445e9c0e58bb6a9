/* One whole update against PyTorch (tests/data/networks/make_torch_update.py): the K-step loss, every gradient tensor, and the
 * weights after clipping and one AdamW step, the gradient summed from four shards of two rows. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "networks/parameters/weights.h"
#include "tests/networks/torch.h"

enum { OBS = 4, WIDTH = 32, ACTIONS = 3, UNROLL = 5 };

static void open_update(update *u, const mz_backend *backend) {
  const mz_network_settings network = {
      .width = WIDTH,
      .depth = 1,
      .latent = WIDTH,
      .value_bins = TORCH_BINS,
      .reward_bins = TORCH_BINS,
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
  open_model(u, TEST_DATA "/networks/torch_update.safetensors", &network, &spec);
  check(mz_weights_read(&u->model.params, &u->torch.file, "weights.", "torch_update", MZ_E_IO, u->weights));
  open_tape(u, backend, UNROLL);
}

static void loss_and_gradients(const mz_backend *backend, double tolerance) {
  update u;
  open_update(&u, backend);
  compare_gradients(&u, "gradients.", fixture_scalar(&u.torch, "loss"), tolerance, tolerance);
  close_update(&u);
}

static void loss_and_gradients_of_ref(void **state) {
  (void)state;
  loss_and_gradients(&mz_backend_ref, 1e-6);
}

static void loss_and_gradients_of_cpu(void **state) {
  (void)state;
  loss_and_gradients(&mz_backend_cpu, 1e-5);
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

static void weights_after_a_sharded_step(void **state) {
  (void)state;
  update u;
  open_update(&u, &mz_backend_cpu);
  const mz_params *params = &u.model.params;
  const mz_optimizer_settings settings = optimizer_settings(&u.torch);
  mz_optimizer optimizer;
  check(mz_optimizer_init(&optimizer, &settings, params));
  float *before;
  check(mz_alloc(&before, (size_t)params->size, sizeof *before));
  memcpy(before, u.weights, (size_t)params->size * sizeof *before);
  double loss, norm;
  sharded_update(&u, &optimizer, &loss, &norm);
  assert_true(fabs(loss / fixture_scalar(&u.torch, "loss") - 1) <= 1e-5);
  assert_true(fabs(norm / fixture_scalar(&u.torch, "gradient_norm") - 1) <= 1e-5);

  double largest = 0, largest_step = 0;
  for (int p = 0; p < params->count; p++) {
    const mz_param *param = &params->items[p];
    largest = fmax(largest, relative_error(&u, param, "updated.", u.weights, u.backend, NULL));
    largest_step = fmax(largest_step, relative_error(&u, param, "updated.", u.weights, u.backend, before));
  }
  print_message("updated weights off by at most %.1e, the step itself by %.1e\n", largest, largest_step);
  assert_true(largest <= 1e-6);
  assert_true(largest_step <= 1e-4); /* a difference of floats much larger than itself */

  mz_optimizer_deinit(&optimizer);
  free(before);
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
