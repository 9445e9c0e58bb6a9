/* The model: its parameters, supports and sizes, and what its parts compute. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/networks/cases.h"

static const mz_spec cartpole = {.obs_kind = MZ_OBS_F32,
                                 .obs_size = 4,
                                 .actions = 2,
                                 .players = 1,
                                 .reward_min = 1,
                                 .reward_max = 1,
                                 .return_min = 1,
                                 .return_max = 500};
static const mz_network_settings small = {.width = 24, .depth = 1, .value_bins = 21, .reward_bins = 5, .transform = true};
static mz_model model; /* large */

static void expect_param(const char *name, int rows, int columns, bool decay) {
  const int index = mz_params_find(&model.params, name);
  if (index < 0) fail_msg("no parameter %s", name);
  assert_int_equal(model.params.items[index].rows, rows);
  assert_int_equal(model.params.items[index].columns, columns);
  assert_int_equal(model.params.items[index].decay, decay);
}

static void parameters_have_their_names_and_shapes(void **state) {
  (void)state;
  mz_network_settings settings = small;
  settings.depth = 2;
  settings.latent = 10;
  check(mz_model_init(&model, &settings, &cartpole));
  expect_param("representation.0.weight", 4, 24, true);
  expect_param("representation.0.bias", 1, 24, false);
  expect_param("representation.1.weight", 24, 24, true);
  expect_param("representation.2.weight", 24, 10, true);
  expect_param("dynamics.0.weight", 10, 24, true);
  expect_param("dynamics.0.action", 2, 24, true);
  expect_param("dynamics.0.bias", 1, 24, false);
  expect_param("dynamics.1.weight", 24, 24, true);
  expect_param("dynamics.2.weight", 24, 10, true);
  expect_param("reward.weight", 10, 5, true);
  expect_param("reward.bias", 1, 5, false);
  expect_param("prediction.0.weight", 10, 24, true);
  expect_param("prediction.1.weight", 24, 24, true);
  expect_param("policy.weight", 24, 2, true);
  expect_param("value.weight", 24, 21, true);
  expect_param("value.bias", 1, 21, false);
  assert_int_equal(model.params.count, 2 * (3 + 3 + 1 + 2 + 2) + 1);
  assert_int_equal(model.latent, 10);

  check(mz_model_init(&model, &small, &cartpole));
  assert_int_equal(model.latent, 24); /* 0: as width */
}

/* Two layers that project and two that predict, the first of these half as wide, up to a multiple of 16. */
static void a_projection_has_four_layers_of_its_own(void **state) {
  (void)state;
  check(mz_model_init(&model, &small, &cartpole));
  const int count = model.params.count;
  const double flops = mz_model_inference_flops(&model);
  mz_model_part without[MZ_MODEL_PARTS], with[MZ_MODEL_PARTS];
  mz_model_take_apart(&model, without);
  mz_network_settings settings = small;
  settings.projection = 48;
  settings.bn_momentum = 0.02;
  check(mz_model_init(&model, &settings, &cartpole));
  expect_param("projection.0.weight", 24, 48, true);
  expect_param("projection.0.norm.scale", 1, 48, false);
  expect_param("projection.1.weight", 48, 48, true);
  expect_param("projection.1.norm.variance", 1, 48, false);
  expect_param("projection.prediction.0.weight", 48, 32, true);
  expect_param("projection.prediction.0.norm.shift", 1, 32, false);
  expect_param("projection.prediction.1.weight", 32, 48, true);
  expect_param("projection.prediction.1.bias", 1, 48, false);
  assert_int_equal(model.params.count, count + 3 * 5 + 2);
  mz_model_take_apart(&model, with); /* nothing of it takes part in searches */
  for (int i = 0; i < MZ_MODEL_PARTS; i++) assert_true(with[i].parameters == without[i].parameters);
  assert_true(mz_model_inference_flops(&model) == flops);
}

static void supports_hold_what_the_environment_pays(void **state) {
  (void)state;
  check(mz_model_init(&model, &small, &cartpole));
  const float reach = mz_value_transform(500.0f);
  assert_true(model.value.min == -reach && model.value.max == reach && reach > 18.0f && model.value.transform);
  assert_true(model.reward.max == mz_value_transform(1.0f));
  assert_int_equal(model.reward.bins, 5);

  mz_network_settings settings = small;
  settings.transform = false;
  check(mz_model_init(&model, &settings, &cartpole));
  assert_true(model.value.max == 500.0f && model.reward.max == 1.0f);

  settings.value_range = 7.0;
  check(mz_model_init(&model, &settings, &cartpole));
  assert_true(model.value.min == -7.0f && model.value.max == 7.0f);

  mz_spec losing = cartpole; /* the larger side counts */
  losing.return_min = -900;
  check(mz_model_init(&model, &small, &losing));
  assert_true(model.value.max == mz_value_transform(900.0f));

  mz_spec only = losing; /* that side alone */
  only.one_sided = true, only.reward_min = -1, only.reward_max = 0;
  check(mz_model_init(&model, &small, &only));
  assert_true(model.value.min == -mz_value_transform(900.0f) && model.value.max == 0);
  assert_true(model.reward.min == -mz_value_transform(1.0f) && model.reward.max == 0);
  only.return_min = 0, only.reward_max = 2;
  check(mz_model_init(&model, &small, &only));
  assert_true(model.value.min == 0 && model.value.max == mz_value_transform(500.0f));
  assert_true(model.reward.min == 0 && model.reward.max == mz_value_transform(2.0f));

  mz_spec free_of_charge = {.obs_size = 1, .actions = 1};
  check(mz_model_init(&model, &small, &free_of_charge));
  assert_true(model.value.max == 1.0f && model.reward.max == 1.0f);
}

static mz_init init_of(const char *param) { return model.params.items[mz_params_find(&model.params, param)].init; }

static void one_sided_values_may_begin_at_zero(void **state) {
  (void)state;
  mz_network_settings settings = small;
  settings.value_start = MZ_VALUE_START_ZERO;
  mz_spec gains = cartpole;
  gains.one_sided = true, gains.return_min = 0;
  check(mz_model_init(&model, &settings, &gains));
  assert_int_equal(init_of("value.bias"), MZ_INIT_FIRST);
  assert_int_equal(init_of("reward.bias"), MZ_INIT_FIRST);
  mz_spec costs = gains;
  costs.return_min = -900, costs.return_max = 0;
  check(mz_model_init(&model, &settings, &costs));
  assert_int_equal(init_of("value.bias"), MZ_INIT_LAST);
  costs.one_sided = false; /* 0 is in the middle */
  check(mz_model_init(&model, &settings, &costs));
  assert_int_equal(init_of("value.bias"), MZ_INIT_ZERO);
  assert_int_equal(init_of("reward.bias"), MZ_INIT_ZERO);
}

static void sizes_that_do_not_fit_are_refused(void **state) {
  (void)state;
  mz_spec spec = cartpole;
  spec.actions = 0;
  assert_int_equal(mz_model_init(&model, &small, &spec), MZ_E_CONFIG);
  spec = cartpole;
  spec.obs_size = 0;
  assert_int_equal(mz_model_init(&model, &small, &spec), MZ_E_CONFIG);
  mz_network_settings settings = small;
  settings.depth = 100;
  assert_int_equal(mz_model_init(&model, &settings, &cartpole), MZ_E_CONFIG);
}

static void table_rows_are_valid(void **state) {
  (void)state;
  mz_network_settings settings;
  mz_loss_settings loss;
  mz_settings_table tables[] = {mz_network_table, mz_loss_table};
  struct {
    mz_network_settings network;
    mz_loss_settings loss;
  } both;
  tables[1].base = (size_t)((char *)&both.loss - (char *)&both);
  mz_config config = {.tables = tables, .table_count = 2, .values = &both};
  mz_config_defaults(&config);
  settings = both.network;
  loss = both.loss;
  assert_int_equal(settings.width, 64);
  assert_int_equal(settings.depth, 1);
  assert_int_equal(settings.latent, 0);
  assert_int_equal(settings.value_bins, 21);
  assert_int_equal(settings.reward_bins, 21);
  assert_true(settings.value_range == 0.0 && settings.reward_range == 0.0 && settings.transform);
  assert_int_equal(loss.unroll, 5);
  assert_true(loss.value_weight == 0.25 && loss.reward_weight == 1.0 && loss.policy_weight == 1.0);
  check(mz_model_init(&model, &settings, &cartpole));
  /* the limits of the table are within those of the model */
  settings.depth = 16;
  check(mz_model_init(&model, &settings, &cartpole));
}

static void flops_count_multiply_adds_twice(void **state) {
  (void)state;
  mz_network_settings settings = {.width = 64, .depth = 1, .value_bins = 21, .reward_bins = 21, .transform = true};
  check(mz_model_init(&model, &settings, &cartpole));
  const double dynamics = 64 * 64 + 64 * 64 + 64 * 21, prediction = 64 * 64 + 64 * (2 + 21), representation = 4 * 64 + 64 * 64;
  assert_true(mz_model_inference_flops(&model) == 2 * (dynamics + prediction));
  assert_true(mz_model_update_flops(&model, 5) == 6 * (representation + 6 * prediction + 5 * dynamics));
}

typedef struct outputs {
  float latent[24], policy[2], value[21], reward[5];
} outputs;

/* Recurrent inference from a made-up latent on the reference backend. */
static outputs recurrent(const float *weights, const float *latent, int action) {
  outputs out;
  double *values = NULL;
  check(mz_alloc(&values, (size_t)model.params.size, sizeof *values));
  for (int64_t i = 0; i < model.params.size; i++) values[i] = weights[i];
  mz_tape *tape = NULL;
  check(mz_tape_create(&tape, &(mz_lane){.backend = &mz_backend_ref}, &model.params, 1, false));
  const mz_value in = mz_tape_input(tape, 24);
  const int index = mz_tape_index_input(tape);
  const mz_model_heads heads = mz_model_recurrent(&model, tape, in, index);
  check(mz_tape_plan(tape));
  check(mz_tape_put(tape, in, 0, latent, 1));
  check(mz_tape_put_list(tape, index, 0, &action, 1));
  check(mz_tape_forward(tape, values, 1));
  check(mz_tape_get(tape, heads.latent, 0, out.latent, 1));
  check(mz_tape_get(tape, heads.policy, 0, out.policy, 1));
  check(mz_tape_get(tape, heads.value, 0, out.value, 1));
  check(mz_tape_get(tape, heads.reward, 0, out.reward, 1));
  mz_tape_free(tape);
  free(values);
  return out;
}

static void first_outputs_are_modest(void **state) {
  (void)state;
  check(mz_model_init(&model, &small, &cartpole));
  float *weights = NULL, latent[24];
  check(mz_alloc(&weights, (size_t)model.params.size, sizeof *weights));
  mz_params_init(&model.params, 4, weights);
  for (int i = 0; i < 24; i++) latent[i] = (float)i / 23.0f;
  const outputs out = recurrent(weights, latent, 1), other = recurrent(weights, latent, 0);
  float min = 1, max = 0;
  for (int i = 0; i < 24; i++) {
    min = fminf(min, out.latent[i]);
    max = fmaxf(max, out.latent[i]);
  }
  assert_true(min == 0.0f && max > 0.999f && max <= 1.0f);              /* scaled to [0, 1] */
  assert_true(fabsf(out.policy[0] - out.policy[1]) < 0.1f);             /* nearly uniform */
  assert_memory_not_equal(out.latent, other.latent, sizeof out.latent); /* the action matters */
  free(weights);
}

/* The action's table row is one column block of a one-hot vector concatenated to the latent: the same layer written that way. */
static void action_table_equals_a_concatenated_one_hot(void **state) {
  (void)state;
  enum { LATENT = 9, WIDTH = 13, ACTIONS = 4 };
  mz_params params = {0};
  layer_params(&params, "split", LATENT, WIDTH);
  mz_params_add(&params, "action", ACTIONS, WIDTH, true, MZ_INIT_HE, LATENT);
  layer_params(&params, "joined", LATENT + ACTIONS, WIDTH);
  float *seed = NULL;
  double *values = NULL;
  check(mz_alloc(&seed, (size_t)params.size, sizeof *seed));
  check(mz_alloc(&values, (size_t)params.size, sizeof *values));
  mz_params_init(&params, 8, seed);
  for (int64_t i = 0; i < params.size; i++) values[i] = seed[i];
  const mz_param *split = params.items, *joined = &params.items[3];
  for (int r = 0; r < LATENT + ACTIONS; r++) {
    for (int c = 0; c < WIDTH; c++) {
      values[joined->offset + r * joined->stride + c] = r < LATENT ? values[split[0].offset + r * split[0].stride + c]
                                                                   : values[split[2].offset + (r - LATENT) * split[2].stride + c];
    }
  }
  for (int c = 0; c < WIDTH; c++) values[params.items[4].offset + c] = values[split[1].offset + c];

  mz_tape *tape = NULL;
  check(mz_tape_create(&tape, &(mz_lane){.backend = &mz_backend_ref}, &params, ACTIONS, false));
  const mz_value latent = mz_tape_input(tape, LATENT), concatenated = mz_tape_input(tape, LATENT + ACTIONS);
  const int index = mz_tape_index_input(tape);
  const mz_value a = mz_tape_linear_table(tape, latent, 0, 1, 2, index, MZ_RELU);
  const mz_value b = mz_tape_linear(tape, concatenated, 3, 4, MZ_RELU);
  check(mz_tape_plan(tape));
  float x[ACTIONS][LATENT], joined_x[ACTIONS][LATENT + ACTIONS] = {{0}}, y[2][ACTIONS][WIDTH];
  for (int r = 0; r < ACTIONS; r++) {
    for (int i = 0; i < LATENT; i++) x[r][i] = joined_x[r][i] = sinf((float)(r * LATENT + i));
    joined_x[r][LATENT + r] = 1.0f;
    check(mz_tape_put_list(tape, index, r, &r, 1));
  }
  check(mz_tape_put(tape, latent, 0, x[0], ACTIONS));
  check(mz_tape_put(tape, concatenated, 0, joined_x[0], ACTIONS));
  check(mz_tape_forward(tape, values, ACTIONS));
  check(mz_tape_get(tape, a, 0, y[0][0], ACTIONS));
  check(mz_tape_get(tape, b, 0, y[1][0], ACTIONS));
  for (int r = 0; r < ACTIONS; r++) {
    for (int c = 0; c < WIDTH; c++) assert_true(fabsf(y[0][r][c] - y[1][r][c]) <= 1e-6f);
  }
  mz_tape_free(tape);
  free(seed);
  free(values);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parameters_have_their_names_and_shapes),
      cmocka_unit_test(a_projection_has_four_layers_of_its_own),
      cmocka_unit_test(supports_hold_what_the_environment_pays),
      cmocka_unit_test(one_sided_values_may_begin_at_zero),
      cmocka_unit_test(sizes_that_do_not_fit_are_refused),
      cmocka_unit_test(table_rows_are_valid),
      cmocka_unit_test(flops_count_multiply_adds_twice),
      cmocka_unit_test(first_outputs_are_modest),
      cmocka_unit_test(action_table_equals_a_concatenated_one_hot),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
