/* Limits that arms broke are counted seed by seed, and runs that did not begin apart from them. */
#include "muzero/compare/violations.h"
#include "tests/muzero/testing.h"
#include <math.h>

static cJSON *summary_of(void) {
  cJSON *summary;
  static const char text[] =
      "{\"arms\": [{\"name\": \"rule\", \"by_seed\": ["
      "{\"wall_s\": 11, \"cost\": 1, \"reached\": true}, {\"wall_s\": 10, \"cost\": 3, \"reached\": true},"
      "{\"wall_s\": 12, \"cost\": 3, \"reached\": false, \"refused\": null}]},"
      "{\"name\": \"static\", \"by_seed\": [{\"wall_s\": 0, \"cost\": 0, \"reached\": false, \"refused\": \"plan: none\"}]}]}";
  expect_ok(mz_json_parse(text, sizeof text - 1, "test", false, MZ_E_CONFIG, &summary));
  return summary;
}

static double count_of(const cJSON *summary, int arm, const char *key) {
  const cJSON *row = cJSON_GetArrayItem(cJSON_GetObjectItem(summary, "arms"), arm);
  return mz_json_number_or_nan(cJSON_GetObjectItem(row, "violations"), key);
}

static void limits_are_counted_each_by_itself(void **state) {
  (void)state;
  cJSON *summary = summary_of();
  mz_violations_add(summary, &(mz_allocation_settings){.deadline = 10, .budget = 2}, 475);
  assert_true(count_of(summary, 0, "deadline") == 2 && count_of(summary, 0, "budget") == 2 && count_of(summary, 0, "score") == 1);
  assert_true(count_of(summary, 0, "refused") == 0 && count_of(summary, 0, "late_s") == 2);
  assert_true(count_of(summary, 1, "refused") == 1 && count_of(summary, 1, "score") == 0 &&
              count_of(summary, 1, "deadline") == 0);
  assert_true(mz_json_number_or_nan(cJSON_GetObjectItem(summary, "limits"), "deadline_s") == 10);
  cJSON_Delete(summary);
}

static void without_limits_nothing_is_said(void **state) {
  (void)state;
  cJSON *summary = summary_of();
  mz_violations_add(summary, &(mz_allocation_settings){0}, NAN);
  assert_null(cJSON_GetObjectItem(summary, "limits"));
  assert_true(isnan(count_of(summary, 0, "score")));
  cJSON_Delete(summary);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(limits_are_counted_each_by_itself),
                                     cmocka_unit_test(without_limits_nothing_is_said)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
