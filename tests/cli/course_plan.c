/* `muzero plan --course`: a course is fitted to the history's learning curves, and what it needs. Which plans are worth choosing depends on
 * what runs took, so a fit may also say that one beats all others. */
#include "tests/cli/support/lines.h"
#include "tests/cli/support/process.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TINY "--preset", TEST_DATA "/cli/tiny.json", "--set", "eval.opponent=random", "--history", "h.db"
#define COURSE "plan", "tictactoe", TINY, "--course", "course.json"
#define LIMITS "--target", "0.75", "--deadline", "10m", "--budget", "1"

static void assert_fitted(process *p) {
  assert_status(p, 0);
  cJSON *done = lines_at(p->out, -1);
  assert_keys(done, "course", "stages", "epochs", "plans", "error", "usable", "notes", NULL);
  assert_int_equal((int)lines_number(done, "stages"), 4);
  assert_true(cJSON_GetArraySize(cJSON_GetObjectItem(done, "plans")) >= 2);
  cJSON_Delete(done);
  process_run(p, "envs", "allocation:course=course.json", NULL);
  assert_status(p, 0);
}

static void test_a_course_is_fitted(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "profile", "tictactoe", TINY, "--score", "--seeds", "3", "--epochs", "8", "--until", "1", "--grid",
              "cores=1,2;batch_size=16,32", NULL);
  assert_status(&p, 0);
  process_run(&p, COURSE, LIMITS, "--epochs", "8", "--stages", "4", "--json", NULL);
  if (p.status == 3) /* as this machine is, today */
    assert_says(p.err, "beat the other");
  else
    assert_fitted(&p);
  process_run(&p, COURSE, LIMITS, "--epochs", "8", "--stages", "4", "--json", "--machine", "sim:cores=64,gpus=8", NULL);
  assert_fitted(&p); /* where cores buy time */
  process_run(&p, COURSE, LIMITS, "--epochs", "8", "--stages", "4", "--json", "--set", "batch_schedule=0:16", NULL);
  if (p.status == 3) { /* of two plans */
    assert_says(p.err, "batches of 16 on");
  } else {
    assert_status(&p, 0);
    cJSON *done = lines_at(p.out, -1);
    const cJSON *plan;
    assert_true(cJSON_GetArraySize(cJSON_GetObjectItem(done, "plans")) >= 1);
    cJSON_ArrayForEach(plan, cJSON_GetObjectItem(done, "plans")) assert_int_equal((int)lines_number(plan, "batch_size"), 16);
    cJSON_Delete(done);
  }
  process_run(&p, COURSE, LIMITS, "--epochs", "8", "--stages", "4", "--set", "batch_schedule=0:8", NULL);
  assert_status(&p, 3);
  assert_says(p.err, "no run with these settings was evaluated");
  process_free(&p);
}

static void test_what_is_missing_is_named(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, COURSE, "--epochs", "8", NULL);
  assert_status(&p, 2);
  assert_says(p.err, "--epochs: belongs to the plan of a whole run, which needs --target S");
  process_run(&p, COURSE, "--target", "0.75", "--epochs", "8", "--deadline", "10m", NULL);
  assert_status(&p, 2);
  assert_says(p.err, "--course course.json: a course has limits and a length: give --budget C, too");
  process_run(&p, COURSE, LIMITS, NULL);
  assert_status(&p, 2);
  assert_says(p.err, "give --epochs N, too");
  process_run(&p, "plan", "tictactoe", TINY, LIMITS, "--stages", "4", NULL);
  assert_status(&p, 2);
  assert_says(p.err, "--stages: belongs to --course FILE");
  process_run(&p, COURSE, LIMITS, "--epochs", "8", "--tradeoff", "t.svg", NULL);
  assert_status(&p, 2);
  assert_says(p.err, "--tradeoff");
  process_run(&p, COURSE, LIMITS, "--epochs", "8", "--set", "learning_rate=0.5", NULL);
  assert_status(&p, 3);
  assert_says(p.err, "no run with these settings was evaluated; `muzero profile tictactoe --score` makes such runs");
  process_free(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_course_is_fitted),
      cmocka_unit_test(test_what_is_missing_is_named),
  };
  return cmocka_run_group_tests(tests, process_make_folder, process_remove_folder);
}
