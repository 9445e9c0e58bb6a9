/* `muzero plan`: what it says, what it draws, what it refuses. */
#include "tests/cli/support/lines.h"
#include "tests/cli/support/process.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TINY "--preset", TEST_DATA "/cli/tiny.json"

static void test_a_plan_has_its_keys(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "plan", "tictactoe", TINY, "--history", "none", "--json", NULL);
  assert_status(&p, 0);
  cJSON *answer = lines_at(p.out, -1);
  assert_keys(answer, "plan", "start", "predicted_s", "low", "high", "start_predicted_s", "cost", "limits", "predictor",
              "plans_measured", "simulated", "search", NULL);
  const double predicted = lines_number(answer, "predicted_s");
  assert_true(lines_number(answer, "low") <= predicted && predicted <= lines_number(answer, "high"));
  assert_true(predicted <= lines_number(answer, "start_predicted_s") * 1.001);
  assert_string_equal(lines_string(answer, "predictor"), "analytic");
  assert_int_equal((int)lines_number(answer, "plans_measured"), 0);
  cJSON_Delete(answer);
  process_free(&p);
}

static void test_what_was_measured_counts(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "profile", "tictactoe", TINY, "--plans", "8", "--passes", "1", "--history", "h.db", "--json", NULL);
  assert_status(&p, 0);
  cJSON *profiled = lines_at(p.out, -1);
  const char *text = lines_string(profiled, "best_text"); /* what is the same in all plans is not in it */
  assert_non_null(strstr(text, "cpu_actor "));
  assert_null(strstr(text, "devices."));
  cJSON_Delete(profiled);
  process_run(&p, "plan", "tictactoe", TINY, "--history", "h.db", "--json", NULL);
  assert_status(&p, 0);
  cJSON *answer = lines_at(p.out, -1);
  assert_true(lines_number(answer, "plans_measured") >= 4);
  cJSON_Delete(answer);
  process_run(&p, "plan", "tictactoe", TINY, "--history", "h.db", "--set", "allocate.predictor=nearest", "--json", NULL);
  assert_status(&p, 0);
  answer = lines_at(p.out, -1);
  assert_string_equal(lines_string(answer, "predictor"), "nearest");
  cJSON_Delete(answer);
  process_run(&p, "bench", "predictors", "--history", "h.db", "--json", NULL);
  assert_status(&p, 0);
  answer = lines_at(p.out, -1);
  const cJSON *rows = cJSON_GetObjectItem(answer, "predictors");
  assert_true(cJSON_GetArraySize(rows) >= 5);
  assert_keys(rows->child, "env", "work", "plans", "noise", "predictor", "error", "mape", "median_ape", "tau", "regret", "held",
              "drives", NULL);
  cJSON_Delete(answer);
  process_free(&p);
}

static void test_the_search_is_drawn(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "plan", "tictactoe", TINY, "--machine", "sim:cores=32", "--trace", "search.svg", NULL);
  assert_status(&p, 0);
  assert_non_null(strstr(p.out, "simulated machine"));
  process_shell(&p, "head -c 5 search.svg; grep -c polyline search.svg");
  assert_string_equal(p.out, "<svg 4\n");
  process_free(&p);
}

static void test_what_it_refuses(void **state) {
  (void)state;
  static const refusal refusals[] = {
      {{"plan", "tictactoe", "--machine", "sim:cores=x"}, 3, "at character 11"},
      {{"plan", "tictactoe", "--trace", "no/such/folder.svg"}, 5, "no/such/folder.svg"},
      {{"plan", "tictactoe", "--set", "allocate.predictor=analitic"}, 3, "did you mean analytic?"},
      {{"plan", "tictactoe", "--set", "limits.memory_max=1MiB"}, 3, "MiB"},
      {{"plan", "tictactow"}, 3, "tictactoe"},
  };
  assert_refused(refusals, sizeof refusals / sizeof *refusals);
}

static void test_a_start_plan_that_no_run_begins_with_is_refused(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "plan", "tictactoe", TINY, "--machine", "sim:cores=8", "--set", "allocate.start=plain", "--set",
              "limits.cpu_min=6", NULL);
  assert_status(&p, 3);
  assert_non_null(strstr(p.err, "limits.cpu_min: the start plan keeps 3 cores busy, 3 fewer than asked for"));
  process_free(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_plan_has_its_keys),
      cmocka_unit_test(test_what_was_measured_counts),
      cmocka_unit_test(test_the_search_is_drawn),
      cmocka_unit_test(test_what_it_refuses),
      cmocka_unit_test(test_a_start_plan_that_no_run_begins_with_is_refused),
  };
  return cmocka_run_group_tests(tests, process_make_folder, process_remove_folder);
}
