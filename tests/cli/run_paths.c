/* RUN as a user may write it: one of a run's checkpoints, a directory with an '@' in its name, a folder of runs. */
#include "tests/cli/support/lines.h"
#include "tests/cli/support/process.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TINY_TEXT "--preset " TEST_DATA "/cli/tiny.json --history none"

/* $M in commands is the program. */
static void shell(process *p, int status, const char *command) {
  char text[2048];
  snprintf(text, sizeof text, "M=\"$MUZERO\"; %s", command);
  process_shell(p, text);
  assert_status(p, status);
}

/* A run of ten rounds that keeps rounds 8, 9, 10 and its best. */
static int make_run(void **state) {
  if (process_make_folder(state) != 0) return -1;
  process p = {0};
  shell(&p, 0, "$M train tictactoe " TINY_TEXT " --run k --rounds 10 --set checkpoint.interval=0");
  shell(&p, 0, "echo round-000000008.mzc >k/BEST");
  process_free(&p);
  return 0;
}

static void test_a_checkpoint_is_chosen(void **state) {
  (void)state;
  process p = {0};
  shell(&p, 0,
        "file() { echo k/checkpoints/round-00000000$1.mzc; }; same() { test $($M inspect $1 --digest) = $($M inspect $2 "
        "--digest); }; "
        "same k@9 $(file 9) && same k@best $(file 8) && same k@latest k && same k@10 k && same k/@000009 k@9 && ! same k@9 k");
  shell(&p, 0,
        "$M eval k@best --games 6 --json >best && $M eval k/checkpoints/round-000000008.mzc --games 6 --json >same && cmp same "
        "best");
  shell(&p, 0, "$M eval k --opponent k@9 --games 4 --json");
  cJSON *result = lines_at(p.out, -1);
  assert_string_equal(lines_string(result, "opponent"), "k@9");
  cJSON_Delete(result);
  shell(&p, 0, "$M watch k@9 --opponent k@best --json && echo name | $M gtp k@best && echo quit | $M play k@9 --seat first");
  shell(&p, 0, "$M inspect --diff k@9 k@10 && $M inspect k@8 --verify");
  assert_says(p.out, "differ first in phase 4, after 9 and 10 rounds");
  assert_says(p.out, "and the replay's packs");
  shell(&p, 0, "$M train cartpole --history none --rounds 1 --run pole --set eval.games=1");
  shell(&p, 3, "$M inspect --diff k pole");
  assert_says(p.err, "--diff: k plays tictactoe, and pole plays cartpole");
  shell(&p, 5, "$M why k/checkpoints/round-000000008.mzc");
  assert_says(p.err, "round-000000008.mzc: not a directory; give the run's");
  process_free(&p);
}

static void test_what_is_not_there_is_said(void **state) {
  (void)state;
  static const refusal refusals[] = {
      {{"eval", "k@5"}, 4, "k@5: this run keeps no checkpoint of round 5; the nearest is k@"},
      {{"inspect", "k@999"}, 4, "the nearest is k@10"},
      {{"inspect", "/dev/zero"}, 5, "/dev/zero: a device or a pipe, no file with a checkpoint"}, /* it has no end */
      {{"gtp", "k@bst"}, 2, "k@bst: '@' takes latest, best or a number of rounds, as in k@best; did you mean '@best'?"},
      {{"eval", "k", "--opponent", "k@7x"}, 2, "k@7x: '@' takes latest, best"},
      {{"eval", "k@"}, 2, "k@: '@' takes latest, best"},
      {{"eval", "nothing@best"}, 5, "nothing@best: there is nothing here"},
      {{"eval", "k@9/more"}, 5, "k@9/more: there is nothing here"},
      {{"eval", "k/checkpoints/round-000000009.mzc@best"}, 2, "is a checkpoint file"},
      {{"train", "tictactoe", "--from", "k@3"}, 4, "k@3: this run keeps no checkpoint of round 3"},
      {{"why", "k@9"}, 2, "a ledger is of a whole run, not of one checkpoint; give k"},
      {{"what-if", "k@best"}, 2, "give k"},
      {{"report", "k@9"}, 2, "a report is of a whole run"},
      {{"eval", "k@9", "--ladder"}, 2, "a ladder is of a whole run"},
  };
  assert_refused(refusals, sizeof refusals / sizeof refusals[0]);
  process p = {0};
  shell(&p, 0, "cp -r k early && rm early/BEST && $M inspect early@latest");
  shell(&p, 4, "$M eval early@best");
  assert_says(p.err, "early@best: this run has no best checkpoint yet");
  process_free(&p);
}

/* The rounds after an older checkpoint are in the run's logs. */
static void test_resume_continues_the_latest_only(void **state) {
  (void)state;
  process p = {0};
  shell(&p, 0, "cp -r k again; tar c again | cksum >before");
  shell(&p, 3, "$M resume again@9 --rounds 12");
  assert_says(p.err, "'muzero train tictactoe --from again@9' starts a new run from that one");
  shell(&p, 3, "$M resume again@best");
  shell(&p, 4, "$M resume again@77 --allow-fallback");
  shell(&p, 0, "tar c again | cksum | cmp - before");
  shell(&p, 0, "$M resume again@latest --rounds 12 --json");
  cJSON *done = lines_at(p.out, -1);
  assert_string_equal(lines_string(done, "run"), "again");
  assert_int_equal((int)lines_number(done, "rounds"), 12);
  cJSON_Delete(done);
  process_free(&p);
}

/* The new run's record names the file: what @best means changes. */
static void test_a_new_run_starts_from_a_checkpoint(void **state) {
  (void)state;
  process p = {0};
  shell(&p, 0, "$M train tictactoe --from k@best --run child --rounds 9 --history none --json");
  cJSON *done = lines_at(p.out, -1);
  assert_int_equal((int)lines_number(done, "rounds"), 9);
  cJSON_Delete(done);
  shell(&p, 0, "grep -q '\"parent\": \"k/checkpoints/round-000000008.mzc\"' child/env.json");
  process_free(&p);
}

static void test_a_name_with_an_at(void **state) {
  (void)state;
  process p = {0};
  shell(&p, 0, "cp -r k k@9 && rm k@9/checkpoints/round-000000008.mzc && echo round-000000009.mzc >k@9/BEST");
  shell(&p, 0, "test $($M inspect k@9 --digest) = $($M inspect k --digest)"); /* the directory, not round 9 of k */
  shell(&p, 0, "test $($M inspect k@9@best --digest) = $($M inspect ./k@9/checkpoints/round-000000009.mzc --digest)");
  shell(&p, 0, "$M resume k@9 --rounds 11 && $M why k@9 && rm -r k@9");
  process_free(&p);
}

static void test_a_folder_means_its_newest_run(void **state) {
  (void)state;
  process p = {0};
  shell(&p, 0,
        "mkdir -p f/deep f/empty f/.hidden && cp -r k f/old && cp -r k f/deep/new && cp -r k f/.hidden/newest && "
        "touch -d '2001-01-01' f/old/checkpoints/* && touch -d '2002-02-02' f/deep/new/checkpoints/* && touch f/note");
  shell(&p, 0, "$M eval f --games 2 --json");
  assert_string_equal(p.err, "f: a folder of 2 runs; the newest is f/deep/new\n");
  assert_int_equal(lines_count(p.out), 1);
  /* The latest checkpoint's time counts, no other's. */
  shell(&p, 0,
        "touch -d '2003-03-03' f/deep/new/checkpoints/round-000000009.mzc; touch -d '2002-03-03' "
        "f/old/checkpoints/round-000000010.mzc");
  shell(&p, 0,
        "$M inspect f@best --digest >a 2>err; grep -qx 'f: a folder of 2 runs; the newest is f/old' err && $M inspect k@8 "
        "--digest | cmp - a");
  shell(&p, 0, "$M eval k --opponent f --games 2 && $M watch f/deep && $M why f && $M report f && ls f/old/report.html");
  shell(
      &p, 0,
      "$M resume f --rounds 11 && grep -q 11 f/old/LATEST && $M train tictactoe --from f@8 --run from --rounds 9 --history none");
  shell(&p, 0, "grep -q '\"parent\": \"f/old/checkpoints/round-000000008.mzc\"' from/env.json");
  shell(&p, 4, "$M eval f/empty");
  assert_says(p.err, "f/empty: no checkpoint in this directory");
  shell(&p, 4, "$M resume f/empty@latest");
  assert_says(p.err, "f/empty");
  process_free(&p);
}

static void test_whole_checkpoints_are_named(void **state) {
  (void)state;
  process p = {0};
  shell(&p, 0, "rm -rf torn; cp -r k torn; truncate -s 3000 torn/checkpoints/round-000000010.mzc");
  shell(&p, 4, "$M eval torn");
  assert_says(p.err, "round-000000010.mzc: section '");
  assert_says(p.err, "whole are torn@9, torn@8");
  assert_says(p.err, "`muzero eval torn@9` takes the newest of them");
  shell(&p, 0, "$M eval torn@9 --games 2");
  shell(&p, 4, "$M watch torn");
  assert_says(p.err, "whole are torn@9, torn@8");
  shell(&p, 4, "$M eval k --opponent torn");
  assert_says(p.err, "whole are torn@9, torn@8");
  assert_null(strstr(p.err, "muzero eval torn@9")); /* that plays another match */
  /* LATEST lost, or rubbish: the tenth is damaged all the same. */
  shell(&p, 4, "echo rubbish >torn/LATEST; $M eval torn");
  assert_says(p.err, "`muzero eval torn@9`");
  shell(&p, 4, "rm torn/LATEST; $M eval torn");
  assert_says(p.err, "`muzero eval torn@9`");
  shell(&p, 4, "truncate -s 3000 torn/checkpoints/*; $M eval torn");
  assert_null(strstr(p.err, "whole"));
  shell(&p, 4, "$M eval torn@9"); /* who asks for one is told of that one */
  assert_null(strstr(p.err, "whole"));
  process_free(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_checkpoint_is_chosen),
      cmocka_unit_test(test_what_is_not_there_is_said),
      cmocka_unit_test(test_resume_continues_the_latest_only),
      cmocka_unit_test(test_a_new_run_starts_from_a_checkpoint),
      cmocka_unit_test(test_a_name_with_an_at),
      cmocka_unit_test(test_a_folder_means_its_newest_run),
      cmocka_unit_test(test_whole_checkpoints_are_named),
  };
  return cmocka_run_group_tests(tests, make_run, process_remove_folder);
}
