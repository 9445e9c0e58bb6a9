/* The summary of `why` over a ledger whose decisions are known, and `what-if --best`. */
#include "tests/cli/support/lines.h"
#include "tests/cli/support/process.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#define TINY "--preset", TEST_DATA "/cli/tiny.json", "--set", "eval.games=1", "--history", "none"

static FILE *make_ledger(const char *run) {
  char path[256];
  snprintf(path, sizeof path, "%s/%s", process_folder(), run);
  assert_int_equal(mkdir(path, 0777), 0);
  snprintf(path, sizeof path, "%s/%s/ledger.jsonl", process_folder(), run);
  FILE *out = fopen(path, "w");
  assert_non_null(out);
  return out;
}

static void decide(FILE *out, int phase, const char *action, int plan, int next, const char *rounds) {
  fprintf(out, "{\"event\":\"decision\",\"phase\":%d,\"action\":\"%s\",\"observed\":1,\"plan\":{\"threads\":%d},\"next\":{",
          phase, action, plan);
  if (next != plan) fprintf(out, "\"threads\":%d", next);
  fprintf(out, "},\"reason\":\"made up\",\"rounds\":[%s]", rounds);
  if (phase > 0) fprintf(out, ",\"window\":{\"units\":4}");
  fprintf(out, "}\n");
}

static void test_a_summary_comes_first(void **state) {
  (void)state;
  process p = {0};
  FILE *out = make_ledger("made");
  decide(out, 0, "keep", 1, 1, "");
  decide(out, 1, "try", 1, 2, "2,2.02,1.98,2");
  decide(out, 2, "wait", 2, 1, "1,1.01");
  decide(out, 3, "confirm", 1, 2, "1.99,2");
  decide(out, 4, "try", 2, 4, "1,1,1,1");
  decide(out, 5, "revert", 4, 2, "3,3");
  decide(out, 6, "keep", 2, 2, "1,1.02,0.98,1");
  assert_int_equal(fclose(out), 0);
  process_run(&p, "why", "made", NULL);
  assert_status(&p, 0);
  assert_says(p.out, "7 decisions: 2 plans tried, 1 kept, 1 undone; trials took 12.0 s of 28.0 s of rounds.");
  assert_says(p.out, "Rounds run 2 times as fast (90 %");
  assert_says(p.out, "8 against 6 of them");
  process_run(&p, "why", "made", "--json", NULL); /* a decision a line, and nothing else */
  assert_status(&p, 0);
  assert_int_equal(lines_count(p.out), 7);
  process_free(&p);
}

static void test_a_plan_that_stayed_needs_no_gain(void **state) {
  (void)state;
  process p = {0};
  FILE *out = make_ledger("stayed");
  decide(out, 0, "keep", 1, 1, "");
  decide(out, 1, "keep", 1, 1, "2,2");
  assert_int_equal(fclose(out), 0);
  process_run(&p, "why", "stayed", NULL);
  assert_status(&p, 0);
  assert_says(p.out, "2 decisions: 0 plans tried, 0 kept, 0 undone.\n  The plan that it began with holds.");
  process_free(&p);
}

static void test_the_best_plan_is_the_present_one_or_was_measured(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "train", "tictactoe", TINY, "--run", "w", "--rounds", "12", NULL);
  assert_status(&p, 0);
  process_run(&p, "what-if", "w", "--best", "--json", NULL);
  assert_status(&p, 0);
  cJSON *answer = lines_at(p.out, -1);
  const double ratio = lines_number(answer, "time_ratio");
  assert_true(ratio <= 1);
  if (ratio < 1) assert_true(lines_number(answer, "measured") >= 1);
  cJSON_Delete(answer);
  process_run(&p, "what-if", "w", "--set", "batch_buffer_size=63", NULL);
  assert_status(&p, 0);
  assert_says(p.out, "never measured: inferred from other plans");
  process_run(&p, "what-if", "w", "--best", "--set", "cpu_actor=1", NULL);
  assert_status(&p, 2);
  assert_says(p.err, "leave --set cpu_actor=1 out");
  process_free(&p);
}

static void test_what_is_not_known_is_no_number(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "train", "tictactoe", TINY, "--run", "u", "--rounds", "1", "--allocate", "fixed", NULL);
  assert_status(&p, 0);
  process_run(&p, "what-if", "u", "--set", "batch_buffer_size=63", NULL);
  assert_status(&p, 0);
  assert_says(p.out, "what if: nothing was measured that predicts its time: batch_buffer_size 63");
  assert_null(strstr(p.out, "nan"));
  process_run(&p, "train", "tictactoe", TINY, "--run", "free", "--rounds", "12", "--set", "prices.core_hour=0", "--set",
              "prices.gpu_hour=0", "--set", "prices.gib_hour=0", NULL);
  assert_status(&p, 0);
  process_run(&p, "what-if", "free", "--set", "batch_buffer_size=63", NULL);
  assert_status(&p, 0);
  assert_says(p.out, " of the time\n");
  process_free(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_summary_comes_first),
                                     cmocka_unit_test(test_a_plan_that_stayed_needs_no_gain),
                                     cmocka_unit_test(test_the_best_plan_is_the_present_one_or_was_measured),
                                     cmocka_unit_test(test_what_is_not_known_is_no_number)};
  return cmocka_run_group_tests(tests, process_make_folder, process_remove_folder);
}
