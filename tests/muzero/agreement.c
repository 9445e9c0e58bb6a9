/* Simulated times beside measured ones: errors, noise and regret of times that are made up. */
#include "muzero/compare/agreement.h"
#include "base/json/json.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const mz_pipeline pipeline = {.name = "made up",
                                     .stage_count = 1,
                                     .device_count = 1,
                                     .knob_count = 1,
                                     .stages = {{.name = "work", .threads = 0, .batch = -1, .device = -1, .items = 1}},
                                     .devices = {{.name = "cpu:0", .cores = 1}},
                                     .knobs = {{"threads", MZ_EXACT, MZ_SCALE_LOG2, 1, 8}}};

static mz_observation timed(int64_t threads, double unit_s) {
  return (mz_observation){.plan = {.values = {threads}}, .unit_s = unit_s};
}

static void assert_member(const cJSON *o, const char *key, double wanted) {
  const double value = mz_json_number_or_nan(o, key);
  if (!(fabs(value - wanted) < 1e-12)) fail_msg("%s: %.9g instead of %.9g", key, value, wanted);
}

/* Plan 1: 1.0 s, plan 2: 0.8 s, plan 4: 0.5 s, in the median of three; simulated to be 1.1, 0.6 and 0.75 s. */
static void test_errors_noise_and_regret(void **state) {
  (void)state;
  const mz_observation seen[] = {timed(1, 1.0), timed(2, 0.8), timed(4, 0.5), timed(4, 0.4), timed(2, 1.0),
                                 timed(1, 0.9), timed(1, 1.1), timed(2, 0.7), timed(4, 0.6)};
  static const double simulated[] = {1.1, 0.6, 0.75};
  mz_agreement a;
  assert_int_equal(mz_agreement_of(&a, &pipeline, seen, 9), MZ_OK);
  assert_int_equal(a.count, 3);
  for (int i = 0; i < 3; i++) {
    assert_int_equal(a.plans[i].measurements, 3);
    a.plans[i].simulated_s = simulated[i];
  }
  cJSON *o;
  assert_int_equal(mz_agreement_json(&a, &pipeline, &o), MZ_OK);
  assert_member(o, "median_error", 0.25); /* of 10, 25 and 50 % */
  assert_member(o, "p90_error", 0.25 + 0.8 * 0.25);
  assert_member(o, "worst_error", 0.5);
  assert_member(o, "bias", 0.1);             /* of +10, −25 and +50 % */
  assert_member(o, "regret", 0.8 / 0.5 - 1); /* plan 2 is chosen, plan 4 was the fastest */
  /* first and third measurement against the second: 1.05 / 0.9, 0.75 / 1, 0.55 / 0.4 */
  assert_member(o, "noise_median", 0.25);
  assert_member(o, "noise_regret", 0.0); /* either half calls plan 4 fastest */
  assert_member(cJSON_GetArrayItem(cJSON_GetObjectItem(o, "plans"), 1), "measured_s", 0.8);
  assert_member(cJSON_GetArrayItem(cJSON_GetObjectItem(o, "plans"), 1), "error", -0.25);
  cJSON_Delete(o);
  mz_agreement_free(&a);
}

static void test_what_was_measured_once_has_no_noise(void **state) {
  (void)state;
  const mz_observation seen[] = {timed(1, 2), timed(2, 1)};
  mz_agreement a;
  assert_int_equal(mz_agreement_of(&a, &pipeline, seen, 2), MZ_OK);
  a.plans[0].simulated_s = 2, a.plans[1].simulated_s = 1;
  cJSON *o;
  assert_int_equal(mz_agreement_json(&a, &pipeline, &o), MZ_OK);
  assert_member(o, "worst_error", 0);
  assert_member(o, "regret", 0);
  assert_true(isnan(mz_json_number_or_nan(o, "noise_median")));
  cJSON_Delete(o);
  mz_agreement_free(&a);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_errors_noise_and_regret),
                                     cmocka_unit_test(test_what_was_measured_once_has_no_noise)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
