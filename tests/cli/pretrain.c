/* `muzero pretrain`, and runs with networks of their own: the file is used, kept and replayed from, and done without where it cannot be. */
#include "tests/cli/support/lines.h"
#include "tests/cli/support/process.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TINY "--preset", TEST_DATA "/cli/tiny.json", "--set", "eval.games=1"
#define ADAPTIVE "--allocate", "adaptive", "--history", "none", "--rounds", "24", "--set", "allocate.window=1"

static int setup(void **state) {
  process p = {0};
  if (process_make_folder(state) != 0) return 1;
  process_run(&p, "profile", "tictactoe", TINY, "--history", "h.db", "--plans", "2", "--passes", "1", "--again", "0", NULL);
  assert_status(&p, 0);
  process_run(&p, "pretrain", "own.safetensors", "--history", "h.db", "--situations", "48", "--epochs", "2", "--cores-max", "8",
              "--json", NULL);
  assert_status(&p, 0);
  cJSON *result = lines_at(p.out, 0);
  assert_true(lines_number(result, "samples") > 100);
  assert_true(lines_number(result, "held_out") > 10);
  assert_true(lines_number(result, "analytic_error") > 0);
  assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(result, "kinds")), 3);
  cJSON_Delete(result);
  process_free(&p);
  return 0;
}

static void expect_refused(int status, const char *says, const char *file, const char *option, const char *value) {
  process p = {0};
  process_run(&p, "pretrain", file, "--situations", "32", "--epochs", "1", "--cores-max", "4", "--history", "h.db", option, value,
              NULL);
  assert_status(&p, status);
  assert_says(p.err, says);
  process_free(&p);
}

static void test_refusals(void **state) {
  (void)state;
  expect_refused(3, "--cores-min: 9 exceeds --cores-max 4", "x.safetensors", "--cores-min", "9");
  expect_refused(3, "holds no pipeline", "x.safetensors", "--history", "new.db");
  expect_refused(5, "nowhere/x.safetensors", "nowhere/x.safetensors", "--seed", "1");
  expect_refused(2, "--situations", "x.safetensors", "--situations", "3");
}

/* Trains, asks what its ledger replays to, and returns what the training said on stderr, in p->err. */
static void train_and_replay(process *p, const char *run, const char *setting) {
  process_run(p, "train", "tictactoe", TINY, ADAPTIVE, "--run", run, "--set", setting, NULL);
  assert_status(p, 0);
  process why = {0};
  process_run(&why, "what-if", run, "--set", "cpu_actor=1", "--json", NULL);
  assert_status(&why, 0);
  cJSON *answer = lines_at(why.out, 0);
  assert_true(lines_number(answer, "replayed") > 4);
  assert_int_equal((int)lines_number(answer, "differences"), 0);
  cJSON_Delete(answer);
  process_free(&why);
}

static void test_a_run_keeps_what_it_used(void **state) {
  (void)state;
  process p = {0};
  train_and_replay(&p, "own", "allocate.pretrained=own.safetensors");
  process_shell(&p, "cmp own/predictors/*.safetensors own.safetensors && grep -c '\"pretrained\":\"' own/ledger.jsonl");
  assert_status(&p, 0);
  process_shell(&p, "mv own.safetensors away");
  process_run(&p, "what-if", "own", "--set", "cpu_actor=1", NULL); /* the run's own copy is enough */
  assert_status(&p, 0);
  assert_null(strstr(p.err, "differ"));
  process_shell(&p, "mv away own.safetensors; rm -r own/predictors");
  process_run(&p, "what-if", "own", "--set", "cpu_actor=1", NULL);
  assert_status(&p, 0);
  assert_says(p.err, "decisions are replayed without it, and differ");
  process_free(&p);
}

static void test_a_run_does_without_a_file_that_it_cannot_have(void **state) {
  (void)state;
  process p = {0};
  train_and_replay(&p, "missing", "allocate.pretrained=nosuch.safetensors");
  assert_says(p.err, "allocate.pretrained: nosuch.safetensors");
  assert_says(p.err, "predictions come without it");
  process_shell(&p, "head -c 1000 own.safetensors >cut.safetensors; cp h.db foreign.safetensors");
  assert_status(&p, 0);
  train_and_replay(&p, "damaged", "allocate.pretrained=cut.safetensors");
  assert_says(p.err, "cut.safetensors");
  train_and_replay(&p, "foreign", "allocate.pretrained=foreign.safetensors");
  assert_says(p.err, "foreign.safetensors");
  process_free(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_a_run_keeps_what_it_used),
      cmocka_unit_test(test_a_run_does_without_a_file_that_it_cannot_have),
  };
  return cmocka_run_group_tests(tests, setup, process_remove_folder);
}
