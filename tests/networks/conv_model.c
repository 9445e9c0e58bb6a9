/* The convolutional model: its parameters, what it refuses, and how it counts its work. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "networks/isa.h"
#include "tests/networks/board_model.h"

static void expect_param(const char *name, int rows, int columns, bool decay) {
  const int index = mz_params_find(&model.params, name);
  if (index < 0) fail_msg("no parameter %s", name);
  assert_int_equal(model.params.items[index].rows, rows);
  assert_int_equal(model.params.items[index].columns, columns);
  assert_int_equal(model.params.items[index].decay, decay);
}

static void parameters_have_their_names_and_shapes(void **state) {
  (void)state;
  const mz_spec spec = spec_of((mz_board){6, 7}, MZ_ACTIONS_COLUMNS, 7);
  check(mz_model_init(&model, &small, &spec));
  expect_param("representation.stem.weight", 9 * 16, 16, true);
  expect_param("representation.stem.bias", 1, 16, false);
  expect_param("representation.1.pooled.weight", 32, 16, true);
  expect_param("representation.1.norm1.scale", 1, 16, false);
  expect_param("representation.1.conv1.weight", 9 * 16, 16, true);
  expect_param("dynamics.stem.weight", 9 * 16, 16, true);
  expect_param("dynamics.action", 9, 16, true);
  expect_param("prediction.0.conv0.weight", 9 * 16, 16, true);
  expect_param("reward.conv.weight", 16, 16, true);
  expect_param("reward.norm.scale", 1, 16, false);
  expect_param("reward.norm.variance", 1, 16, false);
  expect_param("policy.norm.variance", 1, 16, false);
  expect_param("policy.norm.root.variance", 1, 16, false);
  expect_param("prediction.0.norm1.root.mean", 1, 16, false);
  expect_param("reward.hidden.weight", 42 * 16, 32, true);
  expect_param("policy.hidden.norm.root.mean", 1, 32, false);
  expect_param("reward.weight", 32, 5, true);
  expect_param("policy.bias", 1, 7, false);
  expect_param("value.weight", 32, 21, true);
  expect_param("prediction.0.norm1.variance", 1, 16, false);
  const int blocks = 2 + 2 + 1;
  assert_int_equal(model.params.count, blocks * 6 + 3 + 2 * 2 + 1 + 3 * 8 + (blocks + 1) * 4 + (3 + 2) * 4);
  assert_int_equal(model.latent, 42 * 16);
  assert_true(mz_params_convolve(&model.params));
}

/* Statistics lie behind what is trained, and take the share over that the settings name. */
static void statistics_come_last(void **state) {
  (void)state;
  const mz_spec spec = spec_of((mz_board){3, 3}, MZ_ACTIONS_CELLS, 9);
  check(mz_model_init(&model, &small, &spec));
  int64_t trained = 0, values = 0;
  for (int p = 0; p < model.params.count; p++) {
    const mz_param *param = &model.params.items[p];
    const bool statistic = strstr(param->name, ".mean") != NULL || strstr(param->name, ".variance") != NULL;
    assert_true(param->statistic == (statistic ? 0.02f : 0.0f));
    assert_true((param->offset >= model.params.trained) == statistic);
    if (statistic) continue;
    trained += (int64_t)param->rows * param->stride;
    values += (int64_t)param->rows * param->columns;
  }
  assert_int_equal(model.params.trained, trained);
  assert_int_equal(mz_params_trainable(&model.params), values);
}

static void expect_refusal(const mz_network_settings *settings, const mz_spec *spec, const char *hint) {
  if (mz_model_init(&model, settings, spec) != MZ_E_CONFIG) fail_msg("not refused: %s", hint);
  if (strstr(mz_message(), hint) == NULL) fail_msg("\"%s\" does not speak of %s", mz_message(), hint);
}

static void sizes_that_do_not_fit_are_refused(void **state) {
  (void)state;
  const mz_spec board = spec_of((mz_board){3, 3}, MZ_ACTIONS_CELLS, 9);
  const mz_spec vector = {.obs_kind = MZ_OBS_F32, .obs_shape = {1, 1, 4}, .obs_size = 4, .actions = 2};
  expect_refusal(&small, &vector, "network.kind=mlp");
  mz_network_settings settings = small;
  settings.channels = 40;
  expect_refusal(&settings, &board, "network.channels: 40: a multiple of 16 is needed; the nearest is 48");
  settings = small;
  settings.head_channels = 17;
  expect_refusal(&settings, &board, "network.head_channels: 17: a multiple of 16 is needed; the nearest is 16");
  settings = small;
  settings.head_width = 5; /* 0 would be none */
  expect_refusal(&settings, &board, "network.head_width: 5: a multiple of 16 is needed; the nearest is 16");
  settings = small;
  settings.projection = 100;
  expect_refusal(&settings, &board, "network.projection: 100: a multiple of 16 is needed; the nearest is 96");
  settings = small;
  settings.blocks = 16;
  settings.prediction_blocks = 9;
  expect_refusal(&settings, &board, "40");
}

static bool is_halving;
static bool halves(const mz_lane *lane) {
  (void)lane;
  return is_halving;
}

static void bf16_is_refused_where_it_is_asked_for_and_not_multiplied(void **state) {
  (void)state;
  const mz_spec spec = spec_of((mz_board){3, 3}, MZ_ACTIONS_CELLS, 9);
  const mz_backend backend = {.name = "narrow", .halves = halves}, none = {.name = "none"};
  const mz_lane lane = {.backend = &backend, .device = 1}, lane_of_none = {.backend = &none};
  mz_network_settings settings = small;
  settings.inference = MZ_PRECISION_BF16;
  for (int trains = 0; trains < 2; trains++) {
    check(mz_model_init(&model, &settings, &spec));
    is_halving = false;
    assert_int_equal(mz_model_check(&model, &lane, trains), MZ_E_CONFIG);
    assert_non_null(strstr(mz_message(), trains ? "network.training: narrow:1 does not multiply bf16; use f32"
                                                : "network.inference: narrow:1 does not multiply bf16; use f32"));
    check(mz_model_check(&model, &lane, !trains));
    check(mz_model_check(&model, &lane_of_none, trains)); /* computes in a precision of its own */
    is_halving = true;
    check(mz_model_check(&model, &lane, trains));
    settings = small;
    settings.training = MZ_PRECISION_BF16;
  }
  assert_int_equal(mz_lane_halves(&mz_lane_cpu), mz_isa_has_bf16());
}

/* As many blocks as there may be, pooled where they can be, most of them in prediction, whose norms have the most statistics; and a
 * turn. */
static void the_model_with_most_parameters_fits(void **state) {
  (void)state;
  mz_spec spec = spec_of((mz_board){3, 3}, MZ_ACTIONS_CELLS, 9);
  spec.turns = MZ_TURNS_TOLD;
  mz_network_settings settings = small;
  settings.blocks = settings.pooled_blocks = 16;
  settings.prediction_blocks = 8;
  settings.projection = 16;
  check(mz_model_init(&model, &settings, &spec));
  assert_true(model.params.count > MZ_PARAMS_MAX - 32 && model.params.count <= MZ_PARAMS_MAX);
}

/* A 3 × 3 convolution of c to c channels takes 9 c² multiply-adds a position. */
static void flops_count_multiply_adds_twice(void **state) {
  (void)state;
  const mz_spec spec = spec_of((mz_board){6, 7}, MZ_ACTIONS_COLUMNS, 7);
  check(mz_model_init(&model, &small, &spec));
  const double conv = 42 * 9 * 16 * 16, head = 42 * 16 * 16 + 42 * 16 * 32, pool = 32 * 16;
  const double dynamics = conv + 4 * conv + pool + head + 32 * 5;
  const double prediction = 2 * conv + pool + 2 * head + 32 * (7 + 21);
  const double representation = 42 * 9 * PLANES * 16 + 4 * conv + pool;
  assert_true(mz_model_inference_flops(&model) == 2 * (dynamics + prediction));
  assert_true(mz_model_update_flops(&model, 3) == 6 * (representation + 4 * prediction + 3 * dynamics));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parameters_have_their_names_and_shapes),
      cmocka_unit_test(statistics_come_last),
      cmocka_unit_test(sizes_that_do_not_fit_are_refused),
      cmocka_unit_test(the_model_with_most_parameters_fits),
      cmocka_unit_test(flops_count_multiply_adds_twice),
      cmocka_unit_test(bf16_is_refused_where_it_is_asked_for_and_not_multiplied),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
