/* The diagnosis of a phase gives each warning where it belongs, and none where all is well. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "muzero/training/diagnosis.h"
#include <math.h>
#include <string.h>

/* Learning that goes well: 10 updates of 100 rows, predictions near their targets. */
static const mz_settings settings = {.loss = {.unroll = 1}, .optimizer = {.gradient_clip = 5}};
static const mz_learning_stats well = {
    .updates = 10,
    .rows = 1000,
    .value_rows = 1000,
    .value = 510,
    .target = 500,
    .value_squared = 300,
    .target_squared = 300,
    .value_target = 290,
    .step_loss = {1, 1.2},
    .step_weight = {1, 1},
    .targets = 2000,
    .clamped = 20,
    .latent_spread = 5,
};

static mz_phase phase_of(void) {
  return (mz_phase){.counters = {.updates = 500}, .policy_entropy = 0.5, .gradient_norm = 1, .evaluated = true};
}

/* Games of one move each, that foretell `value` and bring 0 or `outcome`, in turn. */
static mz_foresight foresight(double value, double outcome) {
  mz_foresight sums = {0};
  for (int i = 0; i < 100; i++) {
    mz_foreseen_game game = {0};
    mz_foreseen_game_value(&game, value + 0.01 * i);
    mz_foreseen_game_reward(&game, 0.99, i % 2 * outcome);
    mz_foresight_add(&sums, &game.sums);
  }
  return sums;
}

static void expect(mz_phase phase, const mz_learning_stats *stats, const char *warning) {
  mz_diagnose(&phase, &settings, stats);
  if (warning == NULL)
    assert_null(phase.warning);
  else if (phase.warning == NULL || strstr(phase.warning, warning) == NULL)
    fail_msg("\"%s\" does not say \"%s\"", phase.warning ? phase.warning : "", warning);
}

static void test_numbers(void **state) {
  (void)state;
  mz_phase phase = phase_of();
  phase.evaluation.values = foresight(1, 1);
  mz_diagnose(&phase, &settings, &well);
  assert_true(fabs(phase.value_bias - 0.01) < 1e-12 && fabs(phase.clamped_targets - 0.01) < 1e-12);
  assert_true(fabs(phase.value_correlation - 0.035 / sqrt(0.0399 * 0.05)) < 1e-12);
  assert_true(fabs(phase.latent_spread - 0.5) < 1e-12 && fabs(phase.model_error - 1.2) < 1e-12);
  assert_true(fabs(phase.eval_value_bias - (1.495 - 0.5)) < 1e-12);
  assert_true(phase.eval_value_correlation > 0 && phase.eval_value_correlation < 0.1); /* they rise, and every other game pays */
  phase.evaluated = false;
  mz_diagnose(&phase, &settings, &well);
  assert_true(isnan(phase.eval_value_bias) && isnan(phase.eval_value_correlation));
  const mz_learning_stats none = {0};
  mz_diagnose(&phase, &settings, &none);
  assert_true(isnan(phase.value_bias) && isnan(phase.value_correlation) && isnan(phase.latent_spread));
}

static void test_warnings(void **state) {
  (void)state;
  expect(phase_of(), &well, NULL);
  mz_learning_stats stats = well;
  stats.latent_spread = 0.04;
  expect(phase_of(), &stats, "collapse");
  mz_phase phase = phase_of();
  phase.counters.updates = 499; /* too early to say */
  expect(phase, &stats, NULL);
  phase = phase_of();
  phase.gradient_norm = 101;
  expect(phase, &well, "the learning rate is probably too high");
  phase = phase_of();
  phase.policy_entropy = 5e-5;
  expect(phase, &well, "explores nothing");
  stats = well;
  stats.step_loss[1] = 6;
  expect(phase_of(), &stats, "K imagined steps");
}

static void test_values_that_no_return_bears_out(void **state) {
  (void)state;
  mz_phase phase = phase_of();
  phase.evaluation.values = foresight(3, 1); /* 0.5 ± 0.5 came of 3.5 */
  expect(phase, &well, "values are far above the returns that followed");
  phase.evaluated = false;
  expect(phase, &well, NULL);
  phase = phase_of();
  phase.evaluation.values = foresight(1, 1);
  expect(phase, &well, NULL);
  phase.evaluation.values = foresight(3, 0); /* nothing has come yet */
  expect(phase, &well, NULL);
  phase.evaluation.values = foresight(-3, 1); /* caution costs less */
  expect(phase, &well, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_numbers), cmocka_unit_test(test_warnings),
                                     cmocka_unit_test(test_values_that_no_return_bears_out)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
