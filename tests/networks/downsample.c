/* Models that halve pictures: how often, what they refuse, their parameters, and what they cost. Their numbers are compared in
 * board_cases.h and fold.c. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/networks/board_model.h"

enum { AUTO = 0, ACTIONS = 4 };
static int asked(int halvings) { return halvings + 1; }

static mz_status init(int height, int width, mz_action_kind kind, int downsample) {
  mz_network_settings settings = small;
  settings.downsample = downsample;
  settings.downsample_blocks = 1;
  const mz_spec spec = spec_of((mz_board){height, width}, kind, kind == MZ_ACTIONS_CELLS ? height * width : ACTIONS);
  return mz_model_init(&model, &settings, &spec);
}

static void expect_board(int height, int width, int halvings) {
  assert_int_equal(model.board.height, height);
  assert_int_equal(model.board.width, width);
  assert_int_equal(model.halvings, halvings);
  assert_int_equal(model.latent, height * width * 16);
  assert_int_equal(model.action_map.board.height, height);
}

static void pictures_are_halved(void **state) {
  (void)state;
  static const int sizes[][5] = {/* height, width, and what they become, after so many halvings */
                                 {84, 84, 6, 6, 4},     {96, 96, 6, 6, 4},  {64, 64, 8, 8, 3},   {33, 20, 5, 3, 3},
                                 {210, 160, 14, 10, 4}, {100, 3, 50, 2, 1}, {32, 32, 32, 32, 0}, {19, 19, 19, 19, 0}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    check(init(sizes[i][0], sizes[i][1], MZ_ACTIONS_PLAIN, AUTO));
    expect_board(sizes[i][2], sizes[i][3], sizes[i][4]);
  }
  check(init(84, 84, MZ_ACTIONS_DIRECTIONS, AUTO));
  expect_board(6, 6, 4);
  check(init(40, 40, MZ_ACTIONS_CELLS, AUTO)); /* actions are places on it */
  expect_board(40, 40, 0);
}

static void halvings_may_be_named(void **state) {
  (void)state;
  check(init(84, 84, MZ_ACTIONS_PLAIN, asked(0)));
  expect_board(84, 84, 0);
  check(init(84, 84, MZ_ACTIONS_PLAIN, asked(3)));
  expect_board(11, 11, 3);
  check(init(9, 9, MZ_ACTIONS_PLAIN, asked(2)));
  expect_board(3, 3, 2);
}

static void expect_refusal(mz_status status, const char *hint) {
  assert_int_equal(status, MZ_E_CONFIG);
  if (strstr(mz_message(), hint) == NULL) fail_msg("\"%s\" does not speak of %s", mz_message(), hint);
}

static void halvings_that_do_not_fit_are_refused(void **state) {
  (void)state;
  expect_refusal(init(40, 40, MZ_ACTIONS_CELLS, asked(2)), "network.downsample: 2, but actions here are places");
  expect_refusal(init(9, 6, MZ_ACTIONS_PLAIN, asked(3)), "nearest valid value: 2");
  mz_network_settings settings = small;
  settings.blocks = 16;
  settings.downsample = asked(4);
  settings.downsample_blocks = 2;
  const mz_spec spec = spec_of((mz_board){84, 84}, MZ_ACTIONS_PLAIN, ACTIONS);
  expect_refusal(mz_model_init(&model, &settings, &spec), "41 blocks");
}

static void expect_param(const char *name, int rows, int columns) {
  const int index = mz_params_find(&model.params, name);
  if (index < 0) fail_msg("no parameter %s", name);
  assert_int_equal(model.params.items[index].rows, rows);
  assert_int_equal(model.params.items[index].columns, columns);
}

/* Halves of the channels are multiples of 16; nine taps of three planes are filled up to 32. */
static void parameters_have_their_names_and_shapes(void **state) {
  (void)state;
  mz_network_settings settings = small;
  settings.channels = 48;
  settings.downsample_blocks = 2;
  const mz_spec spec = spec_of((mz_board){84, 84}, MZ_ACTIONS_PLAIN, ACTIONS);
  check(mz_model_init(&model, &settings, &spec));
  expect_param("representation.downsample0.weight", 32, 32);
  expect_param("representation.downsample0.bias", 1, 32);
  expect_param("representation.downsample0.1.conv1.weight", 9 * 32, 32);
  expect_param("representation.downsample1.weight", 9 * 32, 48);
  expect_param("representation.downsample3.1.norm0.scale", 1, 48);
  expect_param("representation.downsample3.1.norm0.variance", 1, 48);
  expect_param("representation.stem.weight", 9 * 48, 48);
  expect_param("dynamics.action", ACTIONS, 48);
  expect_param("value.hidden.weight", 36 * 16, 32);
  assert_true(mz_params_find(&model.params, "representation.downsample2.weight") < 0); /* a mean pool */
}

static void flops_count_multiply_adds_twice(void **state) {
  (void)state;
  check(init(84, 84, MZ_ACTIONS_PLAIN, asked(3)));
  const double first = 42 * 42 * 9 * 16 * (PLANES + 2 * 16), second = 21 * 21 * 9 * 16 * (16 + 2 * 16),
               third = 11 * 11 * 9 * 16 * (2 * 16), conv = 11 * 11 * 9 * 16 * 16;
  mz_model_part parts[MZ_MODEL_PARTS];
  mz_model_take_apart(&model, parts);
  assert_true(parts[0].flops == 2 * (first + second + third + 5 * conv + 32 * 16)); /* the last block is pooled */
  assert_true(parts[0].depth == 2 * (1 + 2) + 2 + 1 + 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pictures_are_halved),
      cmocka_unit_test(halvings_may_be_named),
      cmocka_unit_test(halvings_that_do_not_fit_are_refused),
      cmocka_unit_test(parameters_have_their_names_and_shapes),
      cmocka_unit_test(flops_count_multiply_adds_twice),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
