/* Updates of a convolutional model against PyTorch (tests/data/networks/make_torch_conv.py), on a board of cells and on one of
 * columns: the K-step loss, every gradient tensor and batch norm's statistics; then losses, norms of gradients and what
 * becomes of the small parameters over several updates of four shards of two rows. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "networks/isa.h"
#include "tests/networks/torch.h"

enum { CHANNELS = 16, PLANES = 3, UNROLL = 3, UPDATES = 4 };

typedef struct board_fixture {
  const char *path;
  mz_board board;
  mz_action_kind action_kind;
  int actions, prediction_blocks, pooled_blocks;
  mz_scaling scaling;
} board_fixture;
static const board_fixture fixtures[] = {
    {TEST_DATA "/networks/torch_conv_3x3.safetensors", {3, 3}, MZ_ACTIONS_CELLS, 9, 1, 0, MZ_SCALING_MINMAX},
    {TEST_DATA "/networks/torch_conv_6x7.safetensors", {6, 7}, MZ_ACTIONS_COLUMNS, 7, 0, 1, MZ_SCALING_RMS},
};
enum { FIXTURES = sizeof fixtures / sizeof *fixtures };

/* A number in [−1, 1), the same as in make_torch_conv.py (the hash is Wellons' lowbias32). */
static float made_up(uint32_t index, uint32_t i) {
  uint32_t x = i + (index << 20);
  x = (x ^ x >> 16) * 0x7feb352du;
  x = (x ^ x >> 15) * 0x846ca68bu;
  x ^= x >> 16;
  return (float)(x >> 8) / 8388608.0f - 1.0f;
}

static bool ends_in(const char *name, const char *end) {
  const size_t length = strlen(name), end_length = strlen(end);
  return length >= end_length && strcmp(name + length - end_length, end) == 0;
}

static void make_up_weights(update *u) {
  for (int p = 0; p < u->model.params.count; p++) {
    const mz_param *param = &u->model.params.items[p];
    const float middle = ends_in(param->name, ".scale") || ends_in(param->name, ".variance") ? 1.0f : 0.0f;
    for (int i = 0; i < param->rows * param->columns; i++) {
      const int64_t at = param->offset + (int64_t)(i / param->columns) * param->stride + i % param->columns;
      u->weights[at] = middle + made_up((uint32_t)p, (uint32_t)i) * 0.25f;
    }
  }
}

static void open_update(update *u, const board_fixture *f, const mz_backend *backend, bool bf16) {
  const mz_network_settings network = {
      .kind = MZ_MODEL_CONV,
      .channels = CHANNELS,
      .blocks = 1,
      .pooled_blocks = f->pooled_blocks,
      .prediction_blocks = f->prediction_blocks,
      .scaling = f->scaling,
      .head_channels = 16,
      .norm_rows = 2,
      .bn_momentum = 0.1,
      .training = bf16 ? MZ_PRECISION_BF16 : MZ_PRECISION_F32,
      .value_bins = 5,
      .reward_bins = 3,
  };
  const mz_spec spec = {
      .obs_kind = MZ_OBS_F32,
      .obs_shape = {f->board.height, f->board.width, PLANES},
      .obs_size = f->board.height * f->board.width * PLANES,
      .actions = f->actions,
      .action_kind = f->action_kind,
      .players = 2,
      .return_max = 1,
      .reward_max = 1,
  };
  open_model(u, f->path, &network, &spec);
  u->bf16 = bf16;
  make_up_weights(u);
  open_tape(u, backend, UNROLL);
}

static void loss_and_gradients(const mz_backend *backend, double tolerance) {
  for (int i = 0; i < FIXTURES; i++) {
    update u;
    double losses[UPDATES];
    open_update(&u, &fixtures[i], backend, false);
    fixture_f64(&u.torch, "losses", UPDATES, losses);
    compare_gradients(&u, "gradients.", losses[0], tolerance, tolerance);
    close_update(&u);
  }
}

static void loss_and_gradients_of_ref(void **state) {
  (void)state;
  loss_and_gradients(&mz_backend_ref, 1e-6);
}

static void loss_and_gradients_of_cpu(void **state) {
  (void)state;
  loss_and_gradients(&mz_backend_cpu, 1e-5);
}

/* PyTorch's with the same factors rounded to bfloat16. What lies near the middle of two, float and double may round apart. */
static void loss_and_gradients_in_halves(void **state) {
  (void)state;
  if (!mz_isa_has_bf16()) {
    print_message("skipped: this processor does not multiply bfloat16\n");
    skip();
  }
  update u;
  open_update(&u, &fixtures[0], &mz_backend_cpu, true);
  compare_gradients(&u, "half_gradients.", fixture_scalar(&u.torch, "half_loss"), 1e-4, 0.02);
  close_update(&u);
}

static void the_model_has_no_other_parameters(void **state) {
  (void)state;
  for (int i = 0; i < FIXTURES; i++) {
    update u;
    open_update(&u, &fixtures[i], &mz_backend_ref, false);
    int gradients = 0;
    for (int t = 0; t < u.torch.file.count; t++) gradients += strncmp(u.torch.file.tensors[t].name, "gradients.", 10) == 0;
    assert_int_equal(u.model.params.count, gradients);
    close_update(&u);
  }
}

/* Biases, the parameters of norms and their running statistics. */
static void compare_small_parameters(const update *u, const char *path) {
  double largest = 0;
  for (int p = 0; p < u->model.params.count; p++) {
    const mz_param *param = &u->model.params.items[p];
    if (param->rows > 1) continue;
    const double error = relative_error(u, param, "updated.", u->weights, u->backend, NULL);
    if (!(error <= 1e-5)) fail_msg("%s: %s after %d updates: relative error %.2e", path, param->name, UPDATES, error);
    largest = fmax(largest, error);
  }
  print_message("after %d updates: off by at most %.1e\n", UPDATES, largest);
}

static void several_updates(void **state) {
  (void)state;
  for (int i = 0; i < FIXTURES; i++) {
    update u;
    double losses[UPDATES], norms[UPDATES];
    open_update(&u, &fixtures[i], &mz_backend_cpu, false);
    fixture_f64(&u.torch, "losses", UPDATES, losses);
    fixture_f64(&u.torch, "gradient_norms", UPDATES, norms);
    const mz_optimizer_settings settings = optimizer_settings(&u.torch);
    mz_optimizer optimizer;
    check(mz_optimizer_init(&optimizer, &settings, &u.model.params));
    for (int k = 0; k < UPDATES; k++) {
      double loss, norm;
      sharded_update(&u, &optimizer, &loss, &norm);
      pack(&u);
      if (!(fabs(loss / losses[k] - 1) <= 1e-5)) fail_msg("update %d: loss %.9g, PyTorch has %.9g", k, loss, losses[k]);
      if (!(fabs(norm / norms[k] - 1) <= 1e-4)) fail_msg("update %d: norm %.9g, PyTorch has %.9g", k, norm, norms[k]);
    }
    compare_small_parameters(&u, fixtures[i].path);
    mz_optimizer_deinit(&optimizer);
    close_update(&u);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(loss_and_gradients_of_ref),
      cmocka_unit_test(loss_and_gradients_of_cpu),
      cmocka_unit_test(loss_and_gradients_in_halves),
      cmocka_unit_test(the_model_has_no_other_parameters),
      cmocka_unit_test(several_updates),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
