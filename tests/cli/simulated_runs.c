/* Whole runs on simulated machines from the command line: planned and compared by learning curves that are measured here, labelled, and
 * what lacks or cannot be is said. */
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
#define MACHINE "--machine", "sim:cores=64,gpus=8"
#define PLAN "plan", "tictactoe", TINY, "--target", "0.01"
#define COMPARE "compare", "tictactoe", TINY, MACHINE, "--until", "0.01", "--history", "h.db", "--seeds", "2"

static int make_curves(void **state) {
  process p = {0};
  process_make_folder(state);
  process_run(&p, "profile", "tictactoe", TINY, "--score", "--seeds", "3", "--epochs", "4", "--until", "0.01", "--grid",
              "cores=1;batch_size=16,32", "--history", "h.db", "--json", NULL);
  assert_status(&p, 0);
  process_free(&p);
  return 0;
}

static void test_a_plan_is_labelled(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, PLAN, MACHINE, "--history", "h.db", "--json", NULL);
  assert_status(&p, 0);
  cJSON *answer = lines_at(p.out, -1);
  assert_keys(answer, "plan", "predicted_s", "low", "high", "cost", "limits", "feasible", "cores", "gpus", "batch_size", "epochs",
              "simulated", "machine_simulated", "choices", NULL);
  assert_true(cJSON_IsTrue(cJSON_GetObjectItem(answer, "simulated")));
  assert_string_equal(lines_string(answer, "machine_simulated"), "sim:cores=64,gpus=8");
  assert_true(cJSON_GetArraySize(cJSON_GetObjectItem(answer, "choices")) >= 7); /* cores up to 64; a batch size may be left out */
  cJSON_Delete(answer);
  process_run(&p, PLAN, MACHINE, "--history", "h.db", NULL);
  assert_status(&p, 0);
  assert_says(p.out, "Times and costs are simulated, on the machine sim:cores=64,gpus=8");
  assert_says(p.out, "Nothing was trained.");
  assert_null(strstr(p.out, "carry out"));
  process_free(&p);
}

#define IN_SHELL " tictactoe --preset " TEST_DATA "/cli/tiny.json --set eval.opponent=random "
#define PLAN_ON(machine) "$MUZERO plan" IN_SHELL "--target 0.01 --machine " machine
#define COMPARE_ON "$MUZERO compare" IN_SHELL "--machine sim:cores=4 --until 0.01 "

static void test_what_lacks_or_cannot_be_is_said(void **state) {
  (void)state;
  process p = {0};
  static const struct {
    const char *command;
    int status;
    const char *says;
  } refusals[] = {
      {PLAN_ON("sim:cors=64 --history h.db"), 3, "did you mean 'cores'?"},
      {PLAN_ON("sim:cores=4 --history none.db"), 3, "'muzero profile tictactoe --score' measures some"},
      {PLAN_ON("sim:cores=4 --history none"), 3, "--history none"},
      {PLAN_ON("sim:cores=4 --history h.db --trace t.svg"), 2, "--trace"},
      {PLAN_ON("sim:cores=4 --history h.db --course c.json --deadline 1s --budget 1"), 2, "give --epochs N, too"},
      {COMPARE_ON "--history none.db", 3, "measures some"},
      {COMPARE_ON "--history h.db --arms rule,staged", 3, "allocate.strategy staged: needs --set allocate.policy=RUN"},
      {"$MUZERO compare" IN_SHELL "--machine sim:cores=4 --rounds 10 --arms rule,greedy:allocate.policy=x", 3, "give --until S"},
      {COMPARE_ON "--history h.db --arms rule,fixed:batch_size=32", 3, "batch_schedule=0:ROWS"},
      {COMPARE_ON "--history h.db --scenario cores=2@1", 3, "--scenario"},
      {COMPARE_ON "--history h.db --curves none.db", 3, "none.db: no learning curve of these settings"},
      {COMPARE_ON "--history h.db --for 1s", 3, "no other limits"},
      {"$MUZERO compare" IN_SHELL "--curves h.db", 3, "give --machine and --until"},
  };
  for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
    process_shell(&p, refusals[i].command);
    assert_status(&p, refusals[i].status);
    assert_says(p.err, refusals[i].says);
  }
  process_run(&p, PLAN, MACHINE, "--history", "h.db", "--deadline", "0.000001s", NULL);
  assert_status(&p, 3);
  assert_says(p.err, "a deadline of");
  assert_says(p.out, "Times and costs are simulated"); /* what there is to choose from is shown all the same */
  process_free(&p);
}

static void test_arms_play_whole_runs(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, COMPARE, "--arms", "rule,greedy,fixed:batch_schedule=0:32,static", "--run", "c", "--json", NULL);
  assert_status(&p, 0);
  cJSON *done = lines_at(p.out, -1);
  const cJSON *arms = cJSON_GetObjectItem(done, "arms"), *arm;
  assert_string_equal(lines_string(done, "machine_simulated"), "sim:cores=64,gpus=8");
  assert_true(cJSON_IsNull(cJSON_GetObjectItem(done, "same_digest")));
  assert_int_equal(cJSON_GetArraySize(arms), 4);
  cJSON_ArrayForEach(arm, arms) {
    assert_int_equal((int)lines_number(arm, "reached"), 2);
    assert_true(lines_number(arm, "wall_s") > 0 && lines_number(arm, "cost") > 0 && lines_number(arm, "score") >= 0.01);
    assert_keys(cJSON_GetObjectItem(arm, "violations"), "deadline", "budget", "score", "refused", NULL);
  }
  const cJSON *curves = cJSON_GetObjectItem(done, "curves");
  assert_int_equal((int)lines_number(curves, "runs"), 6);
  assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(done, "probes")), 2);
  cJSON_Delete(done);
  /* the directory keeps what it rests on: a seed that is lost comes out the same */
  process_shell(&p,
                "cp c/seed-2.json first.json && rm c/seed-2.json && $MUZERO compare tictactoe --preset " TEST_DATA
                "/cli/tiny.json --set eval.opponent=random --machine sim:cores=64,gpus=8 --until 0.01 --history h.db --seeds 2 "
                "--arms rule,greedy,fixed:batch_schedule=0:32,static --run c >c.txt && cmp c/seed-2.json first.json");
  assert_status(&p, 0);
  char *text = process_text("c.txt");
  assert_non_null(strstr(text, "seeds that broke a limit, or did not begin"));
  free(text);
  process_free(&p);
}

#define SMALL_AGENT                                                                                                              \
  "--set", "num_games=4", "--set", "batch_size=16", "--set", "shards=2", "--set", "simulations=4", "--set", "network.width=16",  \
      "--set", "replay.min_fill=16", "--set", "eval.games=2"

/* A course is fitted to the machine, an agent is trained on it, and an arm under another strategy keeps what it would have done. */
static void test_an_agent_accompanies_a_run(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "profile", "tictactoe", TINY, "--score", "--seeds", "3", "--epochs", "4", "--until", "1", "--grid",
              "cores=1;batch_size=16,32", "--history", "long.db", NULL);
  assert_status(&p, 0);
  process_run(&p, "plan", "tictactoe", TINY, MACHINE, "--history", "long.db", "--target", "0.6", "--deadline", "10m", "--budget",
              "1", "--epochs", "4", "--stages", "4", "--course", "course.json", "--json", NULL);
  assert_status(&p, 0);
  cJSON *course = lines_at(p.out, -1);
  assert_string_equal(lines_string(course, "machine_simulated"), "sim:cores=64,gpus=8");
  assert_true(cJSON_GetArraySize(cJSON_GetObjectItem(course, "plans")) >= 2); /* cores buy time */
  cJSON_Delete(course);
  process_run(&p, "train", "allocation:course=course.json", SMALL_AGENT, "--run", "agent", "--rounds", "4", "--history", "none",
              NULL);
  assert_status(&p, 0);
  process_run(&p, "compare", "tictactoe", TINY, MACHINE, "--until", "0.6", "--rounds", "100", "--history", "long.db", "--seeds",
              "1", "--arms", "rule,greedy:allocate.policy=agent", "--run", "shadow", NULL);
  assert_status(&p, 0);
  process_run(&p, "why", "shadow/seed-1/arm-1", NULL);
  assert_status(&p, 0);
  assert_says(p.out, "stage 1 of 4: the agent proposes");
  assert_says(p.out, "4 of 4 stages: regret of the agent");
  process_run(&p, "train", "tictactoe", TINY, "--run", "real", "--history", "none", "--set", "allocate.policy=agent", NULL);
  assert_status(&p, 3);
  assert_says(p.err, "fitted to runs on sim:cores=64,gpus=8, and this one is on a real machine");
  process_free(&p);
}

/* An arm that plans says beforehand that it cannot keep its limits; the others end in time. */
static void test_a_deadline_that_is_too_short(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, COMPARE, "--arms", "rule,static", "--set", "limits.deadline=0.000001s", "--run", "d", "--json", NULL);
  assert_status(&p, 0);
  cJSON *done = lines_at(p.out, -1);
  const cJSON *arms = cJSON_GetObjectItem(done, "arms"), *rule = cJSON_GetArrayItem(arms, 0),
              *planned = cJSON_GetArrayItem(arms, 1);
  assert_int_equal((int)lines_number(cJSON_GetObjectItem(planned, "violations"), "refused"), 2);
  assert_says(lines_string(planned, "refused"), "a deadline of");
  assert_int_equal((int)lines_number(cJSON_GetObjectItem(rule, "violations"), "deadline"), 2);
  cJSON_Delete(done);
  process_run(&p, COMPARE, "--arms", "rule,static:limits.deadline=0.000001s", "--run", "e", NULL);
  assert_status(&p, 0);
  assert_says(p.out, "did not begin: plan: no plan reaches 0.01 within the limits");
  assert_null(strstr(p.out, "did not reach the target")); /* the other did, and this one has no times */
  process_free(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_plan_is_labelled), cmocka_unit_test(test_what_lacks_or_cannot_be_is_said),
      cmocka_unit_test(test_arms_play_whole_runs), cmocka_unit_test(test_an_agent_accompanies_a_run),
      cmocka_unit_test(test_a_deadline_that_is_too_short)};
  return cmocka_run_group_tests(tests, make_curves, process_remove_folder);
}
