/* batch_schedule: batches of other sizes by phase, in the records of a run, after a kill, and when its plans are repeated. */
#include "tests/cli/support/lines.h"
#include "tests/cli/support/process.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Phases of two rounds, of 128 trained rows each. */
#define WORK                                                                                                                     \
  "--preset", TEST_DATA "/cli/tiny.json", "--history", "none", "--json", "--set", "batch_size=32", "--set", "loop_count=4",      \
      "--set", "eval.games=1", "--seed", "5"
#define SCHEDULE "--set", "batch_schedule=2:64,4:16,6:128"

static void read_digest(const process *p, char out[17]) {
  cJSON *done = lines_at(p->out, -1);
  snprintf(out, 17, "%s", lines_string(done, "digest"));
  cJSON_Delete(done);
}

/* batch_size and loop_count in the records of the phases. */
static void check_phases(const char *run) {
  static const int sizes[] = {32, 32, 64, 64, 16, 16, 128, 128};
  char name[128];
  snprintf(name, sizeof name, "%s/metrics.jsonl", run);
  char *text = process_text(name);
  int count = 0;
  for (int i = 0; i < lines_count(text); i++) {
    cJSON *line = lines_at(text, i);
    if (strcmp(lines_string(line, "event"), "phase") == 0) {
      assert_true(count < 8);
      assert_int_equal((int)lines_number(line, "batch_size"), sizes[count]);
      assert_int_equal((int)lines_number(line, "loop_count"), 128 / sizes[count]);
      count++;
    }
    cJSON_Delete(line);
  }
  free(text);
  assert_int_equal(count, 8);
}

static void test_moves_are_recorded_and_repeated(void **state) {
  (void)state;
  process p = {0};
  char first[17], again[17];
  process_run(&p, "train", "tictactoe", WORK, SCHEDULE, "--run", "moves", "--rounds", "16", NULL);
  assert_status(&p, 0);
  read_digest(&p, first);
  check_phases("moves");
  process_run(&p, "inspect", "moves", "--digest", NULL); /* of the checkpoint: what it holds is the state */
  assert_status(&p, 0);
  assert_says(p.out, first);
  process_run(&p, "why", "moves", NULL);
  assert_status(&p, 0);
  assert_says(p.out, "after phase 2, round 4: batch_size 64 instead of 32, by schedule");
  assert_says(p.out, "after phase 6, round 12: batch_size 128 instead of 16, by schedule");
  lines_assert_replays(&p, "moves");
  process_run(&p, "train", "tictactoe", WORK, "--run", "again", "--rounds", "16", "--replay-plan", "moves", NULL);
  assert_status(&p, 0);
  read_digest(&p, again);
  assert_string_equal(first, again);
  check_phases("again");
  process_run(&p, "why", "again", NULL);
  assert_says(p.out, "batch_size 64 instead of 32, by replay-plan");
  process_run(&p, "inspect", "--diff", "moves", "again", NULL);
  assert_status(&p, 0);
  /* The ledger's moves count, whatever the setting says. */
  process_run(&p, "train", "tictactoe", WORK, "--set", "batch_schedule=1:128", "--run", "both", "--rounds", "16", "--replay-plan",
              "moves", NULL);
  assert_status(&p, 0);
  read_digest(&p, again);
  assert_string_equal(first, again);
  process_free(&p);
}

/* A run that dies in any stage continues from its last checkpoint as if nothing had happened. */
static void test_a_killed_run_continues(void **state) {
  (void)state;
  process p = {0};
  char whole[17], again[17], rounds[8], name[16], lost[160];
  process_run(&p, "train", "tictactoe", WORK, SCHEDULE, "--run", "whole", "--rounds", "16", NULL);
  assert_status(&p, 0);
  read_digest(&p, whole);
  for (int at = 3; at < 16; at += 3) {
    snprintf(rounds, sizeof rounds, "%d", at);
    snprintf(name, sizeof name, "part%d", at);
    process_run(&p, "train", "tictactoe", WORK, SCHEDULE, "--run", name, "--rounds", rounds, NULL);
    assert_status(&p, 0);
    /* All that a killed process did after its last checkpoint is lost, but for lines of the logs. */
    snprintf(lost, sizeof lost,
             "cp -r %s copy && $MUZERO resume copy --rounds 16 --history none && cp copy/*.jsonl %s/ && rm -r copy", name, name);
    process_shell(&p, lost);
    assert_status(&p, 0);
    process_run(&p, "resume", name, "--rounds", "16", "--json", "--history", "none", NULL);
    assert_status(&p, 0);
    read_digest(&p, again);
    assert_string_equal(whole, again);
    check_phases(name);
  }
  process_free(&p);
}

static void test_what_cannot_be_is_refused(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "train", "tictactoe", WORK, "--run", "refused", "--set", "batch_schedule=2:64,4:48", NULL);
  assert_status(&p, 3);
  assert_says(p.err, "batch_schedule: entry '4:48': the 128 rows that a round trains");
  assert_says(p.err, "nearest valid value: 64");
  process_run(&p, "train", "tictactoe", WORK, SCHEDULE, "--run", "refused", "--set", "allocate.objective=goodput", NULL);
  assert_status(&p, 3);
  assert_says(p.err, "allocate.objective=goodput");
  process_run(&p, "resume", "moves", "--set", "allocate.objective=goodput", NULL);
  assert_status(&p, 3);
  assert_says(p.err, "allocate.objective=goodput");
  process_run(&p, "resume", "moves", "--set", "batch_schedule=2:64", NULL);
  assert_status(&p, 3);
  assert_says(p.err, "batch_schedule: this run was made with 2:64,4:16,6:128, not 2:64");
  process_run(&p, "train", "tictactoe", WORK, "--run", "refused", "--replay-plan", "moves", "--set", "batch_size=64", NULL);
  assert_status(&p, 3);
  assert_says(p.err, "--set batch_size=32");
  process_free(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_moves_are_recorded_and_repeated),
                                     cmocka_unit_test(test_a_killed_run_continues),
                                     cmocka_unit_test(test_what_cannot_be_is_refused)};
  return cmocka_run_group_tests(tests, process_make_folder, process_remove_folder);
}
