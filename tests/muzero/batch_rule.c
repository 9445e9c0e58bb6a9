/* Settings under other batch sizes. */
#include "testing.h"
#include "muzero/batch_rule.h"
#include <math.h>

static mz_settings preset(const char *name) {
  mz_settings s;
  uint8_t given[MZ_SETTINGS_ROWS_MAX];
  mz_config config = mz_settings_config(&s, given);
  mz_config_defaults(&config);
  expect_ok(mz_preset_apply(&config, name));
  expect_ok(mz_settings_resolve(&s, given));
  return s;
}

static void a_round_trains_as_many_rows_and_spans_stay(void **unused) {
  (void)unused;
  const mz_settings before = preset("tictactoe"); /* batches of 256 */
  const double average = before.learning.average;
  mz_settings s = before;
  expect_ok(mz_batch_rule_apply(&s, 1024, "test"));
  assert_int_equal(s.learning.batch_size, 1024);
  assert_int_equal(s.learning.loop_count, before.learning.loop_count / 4);
  assert_int_equal(s.train.horizon, before.train.horizon / 4);
  assert_int_equal(s.train.updates, before.train.updates / 4);
  assert_int_equal(s.learning.target_interval, 50);
  assert_true(fabs(s.optimizer.learning_rate / before.optimizer.learning_rate - 2) < 1e-12);
  assert_true(fabs(s.optimizer.weight_decay / before.optimizer.weight_decay - 2) < 1e-12);
  assert_true(fabs(s.learning.average - average * average * average * average) < 1e-12);
  assert_true(s.learning.replay_ratio == before.learning.replay_ratio);
  expect_ok(mz_settings_check(&s));
  expect_ok(mz_batch_rule_apply(&s, 256, "test")); /* and back */
  assert_int_equal(s.learning.loop_count, before.learning.loop_count);
  assert_int_equal(s.train.horizon, before.train.horizon);
  assert_true(fabs(s.learning.average - average) < 1e-12);
  s = before;
  expect_ok(mz_batch_rule_apply(&s, before.learning.batch_size, "test"));
  assert_memory_equal(&s, &before, sizeof s);
}

static void averages_that_are_off_stay_off(void **unused) {
  (void)unused;
  mz_settings s = preset("connect4");
  s.learning.average = 0;
  s.train.horizon = 0;
  s.train.updates = 0;
  const int64_t larger = 2 * s.learning.batch_size;
  const double momentum = s.network.bn_momentum;
  expect_ok(mz_batch_rule_apply(&s, larger, "test"));
  assert_true(s.learning.average == 0);
  assert_int_equal(s.train.horizon, 0);
  assert_int_equal(s.train.updates, 0);
  assert_true(fabs(s.network.bn_momentum - (2 * momentum - momentum * momentum)) < 1e-12);
}

static void a_batch_that_does_not_go_is_refused_and_nothing_changes(void **unused) {
  (void)unused;
  mz_settings s = preset("cartpole"); /* 12 updates of 128 in 8 shards */
  const mz_settings before = s;
  assert_int_equal(mz_batch_rule_apply(&s, 100, "batch_size"), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "batch_size: batches of 100 rows do not divide into 8 shards; nearest valid value: 96"));
  assert_int_equal(mz_batch_rule_apply(&s, 136, "batch_size"), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "1536 rows"));
  assert_non_null(strstr(mz_message(), "nearest valid value: 128"));
  assert_int_equal(mz_batch_rule_apply(&s, 4096, "batch_size"), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "nearest valid value: 1536"));
  assert_int_equal(mz_batch_rule_apply(&s, 0, "batch_size"), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "nearest valid value: 8"));
  assert_memory_equal(&s, &before, sizeof s);
}

static void groups_of_a_projections_norm_are_named_as_those_of_boards_are(void **unused) {
  (void)unused;
  mz_settings s = preset("cartpole"); /* 8 shards, which 8 rows divide into */
  s.network.projection = 16;
  s.network.norm_rows = 8;
  assert_int_equal(mz_batch_rule_apply(&s, 8, "batch_size"), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "do not divide into 8 shards of whole groups of batch norm; nearest valid value: 64"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_round_trains_as_many_rows_and_spans_stay),
      cmocka_unit_test(averages_that_are_off_stay_off),
      cmocka_unit_test(a_batch_that_does_not_go_is_refused_and_nothing_changes),
      cmocka_unit_test(groups_of_a_projections_norm_are_named_as_those_of_boards_are),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
