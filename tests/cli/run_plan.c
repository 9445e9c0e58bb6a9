/* Plans of whole runs: learning curves are measured, planned by, carried out, and set beside what came of it. */
#include "base/machine/machine.h"
#include "tests/cli/support/lines.h"
#include "tests/cli/support/process.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TINY "--preset", TEST_DATA "/cli/tiny.json", "--set", "eval.opponent=random"
#define PROFILE "profile", "tictactoe", TINY, "--score", "--seeds", "3", "--epochs", "4"

/* Six runs, to a score that any evaluation reaches but the worst. */
static void test_curves_are_measured(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, PROFILE, "--until", "0.01", "--grid", "cores=1;batch_size=16,32", "--history", "h.db", "--json", NULL);
  assert_status(&p, 0);
  cJSON *done = lines_at(p.out, -1);
  const cJSON *runs = cJSON_GetObjectItem(done, "runs");
  assert_int_equal(cJSON_GetArraySize(runs), 6);
  assert_keys(runs->child, "cores", "batch_size", "seed", "epochs", "reached", "best", "seconds", NULL);
  const cJSON *run;
  cJSON_ArrayForEach(run, runs) {
    const double reached = lines_number(run, "reached"), epochs = lines_number(run, "epochs");
    assert_true(reached >= 1 && epochs == (2 * reached < 4 ? 2 * reached : 4));
  }
  cJSON_Delete(done);
  process_run(&p, "profile", "tictactoe", TINY, "--score", "--seeds", "3", "--epochs", "1", "--until", "0.01", "--grid",
              "cores=1;batch_size=16", "--history", "none", "--seed", "9007199254740993001", NULL);
  assert_status(&p, 0);
  assert_says(p.out, "9007199254740993003");
  process_free(&p);
}

static void test_a_plan_has_its_keys(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "plan", "tictactoe", TINY, "--target", "0.01", "--deadline", "10m", "--history", "h.db", "--tradeoff", "t.svg",
              "--json", NULL);
  assert_status(&p, 0);
  cJSON *answer = lines_at(p.out, -1);
  assert_keys(answer, "plan", "predicted_s", "low", "high", "cost", "limits", "feasible", "cores", "batch_size", "epochs",
              "seconds", "score", "cost_interval", "needs", "choices", NULL);
  assert_true(cJSON_IsTrue(cJSON_GetObjectItem(answer, "feasible")));
  assert_true(lines_number(answer, "low") <= lines_number(answer, "predicted_s"));
  assert_true(lines_number(answer, "high") <= 600);
  assert_int_equal((int)lines_number(answer, "cores"), 1);
  cJSON_Delete(answer);
  char *drawing = process_text("t.svg");
  assert_non_null(strstr(drawing, "batches of 32"));
  assert_non_null(strstr(drawing, "</svg>"));
  free(drawing);
  process_run(&p, "plan", "tictactoe", TINY, "--target", "0.01", "--history", "h.db", "--set", "batch_size=32", "--epochs", "3",
              NULL);
  assert_status(&p, 3); /* as the user's own, such batches are another training: there is no curve of it */
  assert_says(p.err, "no learning curve of these settings is known");
  process_run(&p, "plan", "tictactoe", TINY, "--target", "0.01", "--history", "h.db", "--epochs", "3", NULL);
  assert_status(&p, 0);
  assert_says(p.out, "3 epochs");
  assert_says(p.out, " --set learner_threads=1");
  process_run(&p, "plan", "tictactoe", TINY, "--target", "0.01", "--history", "h.db", "--set", "batch_schedule=0:32", NULL);
  assert_status(&p, 0);
  assert_says(p.out, "batches of 32 rows");
  process_run(&p, "plan", "tictactoe", TINY, "--target", "0.01", "--history", "h.db", "--set", "batch_schedule=0:8", NULL);
  assert_status(&p, 3);
  assert_says(p.err, "batch_size: no run in batches of 8 rows is known, but in 16 to 32");
  process_free(&p);
}

/* The command that carries a plan out names the devices of its stages, which may be others than a fixed run begins on. */
static void test_the_command_names_devices(void **state) {
  (void)state;
  process p = {0};
  if (mz_machine_cores() < 2) return;
  process_run(&p, PROFILE, "--until", "0.01", "--grid", "cores=2;batch_size=16", "--history", "d.db", "--set", "devices.cpu=0,1",
              "--set", "devices.learning=cpu:1", NULL);
  assert_status(&p, 0);
  process_run(&p, "plan", "tictactoe", TINY, "--target", "0.01", "--history", "d.db", "--set", "devices.cpu=0,1", NULL);
  assert_status(&p, 0);
  assert_says(p.out, " --set devices.selfplay=cpu:0 --set devices.reanalyze=cpu:0 --set devices.learning=cpu:1");
  process_run(&p, "plan", "tictactoe", TINY, "--target", "0.01", "--history", "h.db", NULL);
  assert_status(&p, 0);
  assert_null(strstr(p.out, "devices.learning=")); /* there is one only */
  assert_null(strstr(p.out, "env_workers="));      /* nor are there processes */
  process_free(&p);
}

static void test_what_cannot_be_is_said(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "plan", "tictactoe", TINY, "--target", "0.01", "--deadline", "0.000001s", "--history", "h.db", NULL);
  assert_status(&p, 3);
  assert_says(p.err, "no plan reaches 0.01 within the limits");
  assert_says(p.err, "a deadline of");
  process_run(&p, "plan", "tictactoe", TINY, "--target", "5", "--history", "h.db", NULL);
  assert_status(&p, 3);
  assert_says(p.err, "no plan reaches 5 within the limits");
  assert_says(p.err, "the median run reaches a score of");
  process_run(&p, "plan", "tictactoe", TINY, "--target", "0.01", "--history", "none", NULL);
  assert_status(&p, 3);
  assert_says(p.err, "--history none");
  process_run(&p, "plan", "tictactoe", TINY, "--deadline", "10s", NULL);
  assert_status(&p, 2);
  assert_says(p.err, "--target");
  process_run(&p, "plan", "tictactoe", TINY, "--target", "0.01", "--history", "h.db", "--set", "prices.core_hour=0", "--set",
              "prices.gib_hour=0", "--set", "prices.gpu_hour=0", NULL);
  assert_status(&p, 3);
  assert_says(p.err, "every plan costs the same");
  process_run(&p, PROFILE, "--grid", "batch_size=20", NULL);
  assert_status(&p, 3);
  assert_says(p.err, "nearest valid value: 16");
  process_run(&p, PROFILE, "--grid", "cores=", NULL);
  assert_status(&p, 3);
  assert_says(p.err, "--grid: 'cores=': no value");
  process_run(&p, PROFILE, "--grid", "cores=0", NULL);
  assert_status(&p, 3);
  assert_says(p.err, "nearest valid value: 1");
  process_run(&p, PROFILE, "--grid", "ovens=2", NULL);
  assert_status(&p, 3);
  assert_says(p.err, "cores=N,N or batch_size=N,N");
  process_run(&p, PROFILE, "--machine", "sim:cores=4", NULL);
  assert_status(&p, 2);
  process_free(&p);
}

/* Others go on where static has no plan, and the comparison counts that it did not begin. */
static void test_a_comparison_counts_what_did_not_begin(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "compare", "tictactoe", TINY, "--arms", "rule,static", "--seeds", "1", "--rounds", "4", "--history", "h.db",
              "--run", "refused", "--set", "limits.score=0.01", "--set", "limits.deadline=0.000001s", NULL);
  assert_status(&p, 0);
  assert_says(p.out, "did not begin: plan: no plan reaches 0.01 within the limits");
  char *summary = process_text("refused/compare.json");
  cJSON *json = cJSON_Parse(summary), *arms = cJSON_GetObjectItem(json, "arms");
  for (int arm = 0; arm < 2; arm++) {
    const cJSON *violations = cJSON_GetObjectItem(cJSON_GetArrayItem(arms, arm), "violations");
    assert_int_equal(cJSON_GetNumberValue(cJSON_GetObjectItem(violations, "refused")), arm);
  }
  cJSON_Delete(json);
  free(summary);
  process_free(&p);
}

static void test_static_carries_it_out(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "train", "tictactoe", TINY, "--allocate", "static", "--history", "h.db", "--run", "none", NULL);
  assert_status(&p, 3);
  assert_says(p.err, "limits.score: strategy static plans for a score");
  process_run(&p, "train", "tictactoe", TINY, "--allocate", "static", "--history", "h.db", "--run", "kept", "--set",
              "limits.score=0.01", "--set", "limits.deadline=10m", "--json", NULL);
  assert_status(&p, 0);
  char *ledger = process_text("kept/ledger.jsonl");
  assert_non_null(strstr(ledger, "{\"event\":\"promise\""));
  assert_non_null(strstr(ledger, "{\"event\":\"outcome\""));
  assert_non_null(strstr(ledger, "\"in_time\":true"));
  free(ledger);
  process_run(&p, "why", "kept", NULL);
  assert_status(&p, 0);
  assert_says(p.out, "planned for the whole run: 1 core, batches of");
  assert_says(p.out, "deadline kept");
  lines_assert_replays(&p, "kept");
  process_run(&p, "train", "tictactoe", TINY, "--allocate", "static", "--history", "h.db", "--run", "never", "--set",
              "limits.score=0.01", "--set", "limits.deadline=0.000001s", NULL);
  assert_status(&p, 3);
  assert_says(p.err, "a deadline of");
  process_run(&p, "train", "tictactoe", "--from", "kept", "--history", "h.db", "--run", "again", NULL);
  assert_status(&p, 3);
  assert_says(p.err, "static plans a run from its first round on, and this one continues kept");
  process_free(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_curves_are_measured),
      cmocka_unit_test(test_a_plan_has_its_keys),
      cmocka_unit_test(test_the_command_names_devices),
      cmocka_unit_test(test_what_cannot_be_is_said),
      cmocka_unit_test(test_a_comparison_counts_what_did_not_begin),
      cmocka_unit_test(test_static_carries_it_out),
  };
  return cmocka_run_group_tests(tests, process_make_folder, process_remove_folder);
}
