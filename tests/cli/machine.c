/* envs, bench and doctor. */
#include "tests/cli/support/lines.h"
#include "tests/cli/support/process.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_envs(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "envs", NULL);
  assert_status(&p, 0);
  assert_says(p.out, "tictactoe");
  assert_says(p.out, "cartpole");
  process_run(&p, "envs", "--json", NULL);
  assert_status(&p, 0);
  assert_true(lines_count(p.out) >= 2);
  process_run(&p, "envs", "cartpole", "--json", NULL);
  assert_status(&p, 0);
  cJSON *object = lines_at(p.out, 0);
  assert_string_equal(lines_string(object, "name"), "cartpole");
  assert_keys(object, "observation", "actions", "players", NULL);
  cJSON_Delete(object);
  process_free(&p);
}

static void test_trace(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "envs", "cartpole", "--trace", "--steps", "30", "--seed", "1", NULL);
  assert_status(&p, 0);
  assert_int_equal(lines_count(p.out), 30);
  cJSON *line = lines_at(p.out, 0);
  assert_keys(line, "t", "player", "state", "observation", "legal", "action", "reward", "terminated", "truncated", NULL);
  cJSON_Delete(line);
  process_shell(&p, "printf '[0, 1,\\n8]\\n' >moves; $MUZERO envs tictactoe --trace --actions moves");
  assert_status(&p, 0);
  assert_int_equal(lines_count(p.out), 3);
  line = lines_at(p.out, 2);
  assert_int_equal((int)lines_number(line, "action"), 8);
  cJSON_Delete(line);
  process_shell(&p, "printf '0 0' >moves; $MUZERO envs tictactoe --trace --actions moves"); /* the square is taken */
  assert_status(&p, 3);
  process_shell(&p, "printf '0 1x' >moves; $MUZERO envs tictactoe --trace --actions moves");
  assert_status(&p, 3);
  assert_says(p.err, "1x");
  process_free(&p);
}

static void test_doctor(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "doctor", "--json", NULL);
  assert_status(&p, 0);
  cJSON *object = lines_at(p.out, 0);
  const cJSON *check = NULL;
  int count = 0;
  bool numbers = false;
  cJSON_ArrayForEach(check, cJSON_GetObjectItem(object, "checks")) {
    assert_keys(check, "name", "ok", "value", "advice", NULL);
    if (strcmp(lines_string(check, "name"), "self-test") == 0) numbers = cJSON_IsTrue(cJSON_GetObjectItem(check, "ok"));
    count++;
  }
  assert_true(count >= 8);
  assert_true(numbers);
  cJSON_Delete(object);
  process_run(&p, "doctor", NULL);
  assert_status(&p, 0);
  assert_says(p.out, "onednn");
  process_free(&p);
}

static void expect_bench(const char *what, const char *key_a, const char *key_b, bool array) {
  process p = {0};
  process_run(&p, "bench", what, "--time", "0.01s", "--json", NULL);
  assert_status(&p, 0);
  cJSON *object = lines_at(p.out, 0);
  const cJSON *rows = cJSON_GetObjectItem(object, what);
  assert_non_null(rows);
  assert_int_equal(cJSON_IsArray(rows), array);
  for (const cJSON *row = array ? rows->child : rows; row; row = array ? row->next : NULL) {
    assert_true(lines_number(row, key_a) > 0);
    assert_true(lines_number(row, key_b) > 0);
  }
  cJSON_Delete(object);
  process_free(&p);
}

static void test_bench(void **state) {
  (void)state;
  expect_bench("search", "sims_per_s", "network_share", true);
  expect_bench("learner", "updates_per_s", "gflops", true);
  expect_bench("inference", "evaluations_per_s", "gflops", true);
  expect_bench("selfplay", "sims_per_s", "share", true);
  expect_bench("envs", "steps_per_s", "batch", true);
  expect_bench("replay", "pushes_per_s", "tree_us_1M", false);
  expect_bench("resize", "up_us", "down_us", false);
  expect_bench("machine", "smt", "core_gb_per_s", false);
}

/* The text that is measured here describes a machine that can be simulated. */
static void test_bench_machine(void **state) {
  (void)state;
  process p = {0};
  process_shell(&p, "$MUZERO profile tictactoe --preset " TEST_DATA
                    "/cli/tiny.json --plans 0 --passes 1 --again 0 --machine $($MUZERO bench machine --time 0.01s --json | "
                    "sed -n 's/.*\"spec\":\"\\([^\"]*\\)\".*/\\1/p')");
  assert_status(&p, 0);
  assert_says(p.out, "Every figure is simulated, in virtual time, on sim:cores=");
  process_free(&p);
}

static void test_bench_settings(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "bench", "search", "--time", "0.01s", "--json", "--set", "simulations=7", "--set", "search.algorithm=puct",
              NULL);
  assert_status(&p, 0);
  cJSON *object = lines_at(p.out, 0);
  const cJSON *row = NULL;
  cJSON_ArrayForEach(row, cJSON_GetObjectItem(object, "search")) {
    assert_int_equal((int)lines_number(row, "simulations"), 7);
    assert_string_equal(lines_string(row, "algorithm"), "puct");
  }
  cJSON_Delete(object);
  process_run(&p, "bench", "envs", "--time", "0.01s", NULL);
  assert_status(&p, 0);
  assert_says(p.out, "steps_per_s");
  process_free(&p);
}

static void test_signature_does_not_depend_on_threads(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "bench", "--signature", "--threads", "1", NULL);
  assert_status(&p, 0);
  char *one = strdup(p.out);
  process_run(&p, "bench", "--signature", "--threads", "3", NULL);
  assert_status(&p, 0);
  assert_string_equal(p.out, one);
  process_run(&p, "bench", "--signature", "--json", NULL);
  cJSON *object = lines_at(p.out, 0);
  assert_int_equal(strncmp(lines_string(object, "signature"), one, 16), 0);
  cJSON_Delete(object);
  free(one);
  process_free(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_envs),
      cmocka_unit_test(test_trace),
      cmocka_unit_test(test_doctor),
      cmocka_unit_test(test_bench),
      cmocka_unit_test(test_bench_machine),
      cmocka_unit_test(test_bench_settings),
      cmocka_unit_test(test_signature_does_not_depend_on_threads),
  };
  return cmocka_run_group_tests(tests, process_make_folder, process_remove_folder);
}
