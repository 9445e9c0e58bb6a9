/* Comparisons on simulated machines from the command line: labelled, resumable, the same again from the same probes. */
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
#define ON(machine) TINY, "--machine", machine, "--arms", "rule,default,greedy"

static void refused(process *p, int status, const char *says) {
  assert_status(p, status);
  assert_says(p->err, says);
  process_free(p);
}

static void test_figures_are_labelled(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "compare", "tictactoe", ON("sim:cores=64,numa=2"), "--rounds", "60", "--seeds", "2", "--run", "a", "--json",
              NULL);
  assert_status(&p, 0);
  cJSON *block = lines_at(p.out, 0), *done = lines_at(p.out, -1);
  assert_true(cJSON_IsTrue(cJSON_GetObjectItem(block, "simulated")));
  assert_string_equal(lines_string(done, "machine_simulated"), "sim:cores=64,numa=2");
  assert_true(cJSON_IsNull(cJSON_GetObjectItem(done, "same_digest"))); /* nothing was learned */
  const cJSON *sentences = cJSON_GetObjectItem(done, "sentences");
  assert_non_null(strstr(cJSON_GetArrayItem(sentences, 0)->valuestring, "Every figure is simulated"));
  assert_int_equal(cJSON_GetArraySize(sentences), 2);
  assert_true(cJSON_IsNull(cJSON_GetObjectItem(cJSON_GetArrayItem(cJSON_GetObjectItem(done, "arms"), 0), "score")));
  cJSON_Delete(block), cJSON_Delete(done);
  process_run(&p, "compare", "tictactoe", ON("sim:cores=64,numa=2"), "--rounds", "60", "--seeds", "2", "--run", "a", NULL);
  assert_status(&p, 0);
  static const char first[] = "Every figure is simulated, in virtual time, on sim:cores=64,numa=2\n";
  assert_int_equal(strncmp(p.out, first, strlen(first)), 0);
  process_shell(&p, "grep -c machine_simulated a/report.html");
  assert_status(&p, 0);
  process_free(&p);
}

/* A seed that was cut short is simulated again from the probes that the directory keeps. */
static void test_a_seed_is_the_same_again(void **state) {
  (void)state;
  process p = {0};
  process_shell(&p, "for i in 1 2; do $MUZERO compare tictactoe --preset " TEST_DATA
                    "/cli/tiny.json --machine sim:cores=8 --arms rule,greedy --rounds 60 --seeds 2 --run b >/dev/null || exit 1; "
                    "cp b/seed-2.json b-$i.json; rm b/seed-2.json; done; cmp b-1.json b-2.json && test ! -e b/seed-1");
  assert_status(&p, 0);
  process_free(&p);
}

/* Neither where it was played nor where its file is read again: doubles do not hold it. */
static void test_a_large_seed_keeps_its_digits(void **state) {
  (void)state;
  process p = {0};
  for (int again = 0; again < 2; again++) {
    process_run(&p, "compare", "tictactoe", "--machine", "sim:cores=4", "--arms", "rule,default", "--seeds", "1", "--seed",
                "9007199254740993", "--rounds", "4", "--run", "large", "--json", NULL);
    assert_status(&p, 0);
    assert_says(p.out, "\"first_seed\":9007199254740993,");
    assert_says(p.out, "\"seeds\":[9007199254740993]");
  }
  process_free(&p);
}

static void test_a_scenario_on_a_simulated_machine(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "compare", "tictactoe", ON("sim:cores=16"), "--rounds", "40", "--seeds", "1", "--block", "1", "--scenario",
              "cores=2@3-4;neighbour=16@5-6", "--run", "c", "--json", NULL);
  assert_status(&p, 0);
  cJSON *done = lines_at(p.out, -1);
  assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(done, "segments")), 4);
  cJSON_Delete(done);
  process_free(&p);
}

static void test_refusals(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "compare", "tictactoe", ON("sim:cors=64"), "--rounds", "60", NULL);
  refused(&p, 3, "at character 5: there is no key 'cors'; did you mean 'cores'?");
  process_run(&p, "compare", "tictactoe", ON("sim:cores=64"), NULL);
  refused(&p, 3, "--rounds N");
  process_run(&p, "compare", "tictactoe", ON("sim:cores=64"), "--rounds", "60", "--for", "1s", NULL);
  refused(&p, 3, "no other limit");
  process_run(&p, "compare", "tictactoe", TINY, "--machine", "sim:cores=8", "--arms", "rule,greedy:simulations=9", "--rounds",
              "60", NULL);
  refused(&p, 3, "arm greedy:simulations=9 changes what is learned");
  process_run(&p, "compare", "tictactoe", ON("sim:cores=64"), "--rounds", "60", "--scenario", "cores=65@1", NULL);
  refused(&p, 3, "cores takes 1 … 64");
}

/* A comparison removes seeds that it did not finish; what is in a folder that holds none is somebody else's. */
static void test_folders_of_others_stay(void **state) {
  (void)state;
  process p = {0};
  process_shell(&p, "mkdir -p others/seed-1 && echo mine >others/seed-1/mine && $MUZERO compare tictactoe --run others --seeds 1 "
                    "--rounds 2 --history none");
  assert_status(&p, 3);
  assert_says(p.err, "others: holds seed-1, and no comparison (plan.json) to continue");
  process_shell(&p, "cat others/seed-1/mine && ls others");
  assert_string_equal(p.out, "mine\nseed-1\n");
  const char longest[] = "rule,fixed:cpu_actor=1,batch_actor=1,learner_threads=1,mcts_storage_size=1,batch_buffer_size=1,replay."
                         "raw_bytes=1073741824,"
                         "limits.cpu_min=1,limits.cpu_max=2,limits.memory_max=64GiB";
  process_run(&p, "compare", "tictactoe", "--arms", longest, "--run", "long", NULL);
  assert_status(&p, 3);
  assert_says(p.err, "is longer than 159 characters");
  process_run(&p, "train", "tictactoe", "--run", "a", "--rounds", "1", NULL); /* where the tests before compared */
  assert_status(&p, 3);
  assert_says(p.err, "a: there is a comparison here (plan.json); choose another --run");
  process_shell(&p, "$MUZERO compare --suite --seeds 1 --for 1s --run others; status=$?; ls others; exit $status");
  assert_status(&p, 3);
  assert_says(p.err, "others: holds seed-1, and no suite to continue; choose another --run");
  assert_string_equal(p.out, "seed-1\n");
  process_shell(&p, "mkdir suite && echo '{\"best\":{\"cpu_actor\":1},\"rounds\":24,\"for_s\":5}' >suite/cartpole.json && "
                    "$MUZERO compare --suite --seeds 1 --for 1s --run suite");
  assert_status(&p, 3);
  assert_says(p.err, "suite: a suite with --for 5s is here already; continue with it by that, or choose another --run");
  process_run(&p, "compare", "--suite", "--machine", "sim:cores=4", NULL);
  assert_status(&p, 2);
  assert_says(p.err, "only --arms, --seeds, --for, --run, --set, --seed, --threads, --device, --watchdog and --json go with it");
  process_free(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_figures_are_labelled),          cmocka_unit_test(test_a_seed_is_the_same_again),
      cmocka_unit_test(test_a_large_seed_keeps_its_digits), cmocka_unit_test(test_a_scenario_on_a_simulated_machine),
      cmocka_unit_test(test_folders_of_others_stay),        cmocka_unit_test(test_refusals)};
  return cmocka_run_group_tests(tests, process_make_folder, process_remove_folder);
}
