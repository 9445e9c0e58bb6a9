/* Profiles on simulated machines from the command line: labelled everywhere, nothing kept, and beside what was measured. */
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
#define FEW TINY, "--passes", "1", "--plans", "2"
static const char label[] = "Every figure is simulated, in virtual time, on sim:cores=64,numa=2\n";

static void refused(process *p, int status, const char *says) {
  assert_status(p, status);
  assert_says(p->err, says);
  process_free(p);
}

static void test_every_figure_is_labelled(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "profile", "tictactoe", FEW, "--machine", "sim:cores=64,numa=2", NULL);
  assert_status(&p, 0);
  assert_int_equal(strncmp(p.out, label, strlen(label)), 0);
  assert_null(strstr(p.out, "kept in"));
  assert_says(p.out, " replay.raw_bytes "); /* a knob by its setting's key */
  assert_null(strstr(p.out, "replay_raw"));
  process_run(&p, "profile", "tictactoe", FEW, "--machine", "sim:cores=64,numa=2", "--json", NULL);
  assert_status(&p, 0);
  cJSON *first = lines_at(p.out, 0), *done = lines_at(p.out, -1);
  assert_true(cJSON_IsTrue(cJSON_GetObjectItem(first, "simulated")));
  assert_string_equal(lines_string(done, "event"), "done");
  assert_string_equal(lines_string(done, "machine_simulated"), "sim:cores=64,numa=2");
  assert_keys(done, "env", "plans", "noise", "best", "best_s", "default_s", "ratio", "stopped", NULL);
  assert_true(lines_number(done, "best_s") > 0);
  assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(done, "plans")), 5); /* default, twin, plain, two drawn */
  cJSON_Delete(first), cJSON_Delete(done);
  process_free(&p);
}

/* The plans are this machine's no more: more threads than it has cores. */
static void test_a_grid_beyond_this_machine(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "profile", "tictactoe", TINY, "--machine", "sim:cores=64", "--passes", "1", "--grid", "cpu_actor=1,100",
              "--json", NULL);
  assert_status(&p, 0);
  process_run(&p, "profile", "tictactoe", TINY, "--machine", "sim:cores=4", "--passes", "1", "--grid", "cpu_actor=1,100", NULL);
  refused(&p, 3, "takes whole numbers from 1 to 8");
  process_run(&p, "profile", "tictactoe", TINY, "--machine", "sim:cores=4", "--passes", "1", "--grid", "cpu_actor=", NULL);
  refused(&p, 3, "--grid: cpu_actor: no value");
}

static void test_nothing_is_kept(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "profile", "tictactoe", FEW, "--machine", "sim:cores=4", "--history", "kept.db", NULL);
  refused(&p, 3, "nothing that is simulated goes into it");
  process_shell(&p, "XDG_DATA_HOME=$PWD/home $MUZERO profile tictactoe --preset " TEST_DATA
                    "/cli/tiny.json --passes 1 --plans 0 --machine sim:cores=4 && test ! -e kept.db && test ! -e home");
  assert_status(&p, 0);
  process_free(&p);
}

/* Twice the same plans, as measured.jsonl; measured figures are not labelled. */
static void measure(void) {
  process p = {0};
  process_shell(
      &p, "for seed in 1 2; do $MUZERO profile tictactoe --preset " TEST_DATA
          "/cli/tiny.json --history none --seed $seed --grid 'mcts_storage_size=1,4' --passes 1 --again 0 --json || exit 1; done "
          ">measured.jsonl");
  assert_status(&p, 0);
  process_shell(&p, "cat measured.jsonl");
  cJSON *done = lines_at(p.out, -1);
  assert_true(cJSON_IsNull(cJSON_GetObjectItem(done, "machine_simulated")));
  assert_true(lines_number(done, "learner_serial") >= 0 && lines_number(done, "learner_serial") <= 1);
  const cJSON *stages = cJSON_GetObjectItem(cJSON_GetArrayItem(cJSON_GetObjectItem(done, "plans"), 0), "stages");
  assert_keys(stages, "actor", "batch", "learner", "fold", NULL);
  assert_true(lines_number(cJSON_GetObjectItem(stages, "actor"), "cpu_s") > 0);
  cJSON_Delete(done);
  process_free(&p);
}

static void test_beside_what_was_measured(void **state) {
  (void)state;
  process p = {0};
  measure();
  process_run(&p, "profile", "tictactoe", TINY, "--machine", "sim:cores=2", "--costs", "measured.jsonl", "--against",
              "measured.jsonl", "--json", NULL);
  assert_status(&p, 0);
  cJSON *done = lines_at(p.out, -1);
  assert_string_equal(lines_string(done, "machine_simulated"), "sim:cores=2");
  assert_keys(done, "median_error", "p90_error", "worst_error", "bias", "regret", "noise_median", "noise_p90", NULL);
  const cJSON *row = cJSON_GetArrayItem(cJSON_GetObjectItem(done, "plans"), 0);
  assert_keys(row, "plan", "measured_s", "measurements", "simulated_s", "error", NULL);
  assert_true(lines_number(row, "measurements") >= 2 && lines_number(row, "simulated_s") > 0);
  cJSON_Delete(done);
  process_run(&p, "profile", "tictactoe", TINY, "--machine", "sim:cores=64,numa=2", "--costs", "measured.jsonl", "--against",
              "measured.jsonl", NULL);
  assert_status(&p, 0);
  assert_int_equal(strncmp(p.out, label, strlen(label)), 0);
  assert_says(p.out, "measured twice");
  process_free(&p);
}

static void test_refusals(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "profile", "tictactoe", TINY, "--machine", "sim:cors=64", NULL);
  refused(&p, 3, "at character 5: there is no key 'cors'; did you mean 'cores'?");
  process_run(&p, "profile", "tictactoe", TINY, "--machine", "sim:cores=2,numa=3", NULL);
  refused(&p, 3, "nearest valid value: 2");
  process_run(&p, "profile", "tictactoe", TINY, "--costs", "measured.jsonl", NULL);
  refused(&p, 2, "--costs: needs --machine");
  process_run(&p, "profile", "tictactoe", TINY, "--machine", "sim:cores=2", "--against", "a", "--grid", "cpu_actor=1", NULL);
  refused(&p, 2, "--against");
  process_run(&p, "profile", "tictactoe", TINY, "--machine", "sim:cores=2", "--costs", "absent.jsonl", NULL);
  refused(&p, 5, "absent.jsonl");
  process_shell(&p, "head -n 1 measured.jsonl >none.jsonl; $MUZERO profile tictactoe --machine sim:cores=2 --costs none.jsonl");
  refused(&p, 3, "holds no profile");
  process_shell(
      &p, "(cat measured.jsonl; echo '{') >broken.jsonl; $MUZERO profile tictactoe --machine sim:cores=2 --costs broken.jsonl");
  refused(&p, 3, "broken.jsonl: line ");
  process_shell(&p, "sed 's/\"stages\":{/\"stages\":[1],\"others\":{/' measured.jsonl >array.jsonl; "
                    "$MUZERO profile tictactoe --machine sim:cores=2 --costs array.jsonl");
  refused(&p, 3, "stages: takes a JSON object");
  process_shell(&p, "$MUZERO profile cartpole --machine sim:cores=2 --costs measured.jsonl");
  refused(&p, 3, "is a profile of 'tictactoe', not of cartpole");
  process_shell(&p, "$MUZERO profile tictactoe --preset " TEST_DATA
                    "/cli/tiny.json --machine sim:cores=2 --plans 0 --passes 1 --json "
                    ">simulated.jsonl; $MUZERO profile tictactoe --machine sim:cores=2 --against simulated.jsonl");
  refused(&p, 3, "its figures are simulated");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_figure_is_labelled),
                                     cmocka_unit_test(test_a_grid_beyond_this_machine), cmocka_unit_test(test_nothing_is_kept),
                                     cmocka_unit_test(test_beside_what_was_measured), cmocka_unit_test(test_refusals)};
  return cmocka_run_group_tests(tests, process_make_folder, process_remove_folder);
}
