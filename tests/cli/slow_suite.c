/* compare --suite: every workload, made small, with one seed. */
#include "tests/cli/support/lines.h"
#include "tests/cli/support/process.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void check_workload(const cJSON *workload) {
  const cJSON *arms = cJSON_GetObjectItem(workload, "arms");
  assert_int_equal(cJSON_GetArraySize(arms), 2);
  assert_string_equal(lines_string(arms->child, "arm"), "rule");
  assert_string_equal(lines_string(arms->child->next, "arm"), "greedy");
  assert_true(lines_number(arms->child, "ratio") > 0 && lines_number(arms->child->next, "ratio") > 0);
  assert_true(lines_number(workload, "rounds") >= 24);
  assert_true(lines_number(cJSON_GetObjectItem(workload, "best"), "cpu_actor") >= 1);
}

static void test_suite(void **state) {
  (void)state;
  process p = {0};
  for (int again = 0; again < 2; again++) { /* the second time everything is there already */
    process_run(&p, "compare", "--suite", "--arms", "rule,greedy", "--seeds", "1", "--for", "1s", "--set", "num_games=4", "--set",
                "moves_per_round=2", "--set", "loop_count=1", "--set", "batch_size=16", "--set", "replay.min_fill=16", "--run",
                "suite", "--json", NULL);
    assert_status(&p, 0);
    cJSON *done = lines_at(p.out, -1);
    const cJSON *workloads = cJSON_GetObjectItem(done, "workloads"), *workload;
    assert_int_equal(cJSON_GetArraySize(workloads), 12);
    cJSON_ArrayForEach(workload, workloads) check_workload(workload);
    assert_true(lines_number(cJSON_GetObjectItem(done, "arms")->child, "mean") > 0);
    cJSON_Delete(done);
  }
  process_run(&p, "compare", "cartpole", "--suite", NULL);
  assert_status(&p, 2);
  assert_says(p.err, "--suite");
  process_run(&p, "compare", NULL);
  assert_status(&p, 2);
  assert_says(p.err, "needs ENV");
  process_free(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_suite)};
  return cmocka_run_group_tests(tests, process_make_folder, process_remove_folder);
}
