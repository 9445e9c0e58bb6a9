/* allocate.objective=goodput: loop_count moves, is state, is resumed, and --replay-plan repeats such a run bit for bit. */
#include "tests/cli/support/lines.h"
#include "tests/cli/support/process.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Far more updates than any costs could make the best. */
#define WORK                                                                                                                     \
  "--preset", TEST_DATA "/cli/tiny.json", "--history", "none", "--json", "--set", "loop_count=256", "--set",                     \
      "allocate.window=5", "--set", "eval.games=1", "--seed", "5"
#define GOODPUT "--set", "allocate.objective=goodput"

static void read_digest(const process *p, char out[17]) {
  cJSON *done = lines_at(p->out, -1);
  snprintf(out, 17, "%s", lines_string(done, "digest"));
  cJSON_Delete(done);
}

enum { PHASES_MAX = 64 };

/* loop_count at the end of every phase. */
static int loop_counts(const char *run, int out[PHASES_MAX]) {
  char name[128];
  snprintf(name, sizeof name, "%s/metrics.jsonl", run);
  char *text = process_text(name);
  int count = 0;
  for (int i = 0; i < lines_count(text); i++) {
    cJSON *line = lines_at(text, i);
    if (strcmp(lines_string(line, "event"), "phase") == 0) {
      assert_true(count < PHASES_MAX);
      out[count++] = (int)lines_number(line, "loop_count");
    }
    cJSON_Delete(line);
  }
  free(text);
  return count;
}

static void test_it_moves_and_is_repeated(void **state) {
  (void)state;
  process p = {0};
  char first[17], again[17], stays[17];
  int moved[PHASES_MAX], repeated[PHASES_MAX];
  process_run(&p, "train", "tictactoe", WORK, GOODPUT, "--run", "moves", "--rounds", "64", NULL);
  assert_status(&p, 0);
  read_digest(&p, first);
  const int phases = loop_counts("moves", moved);
  assert_int_equal(moved[0], 256);
  assert_true(moved[phases - 1] < 256);
  for (int i = 1; i < phases; i++) assert_true(moved[i] == moved[i - 1] || 2 * moved[i] == moved[i - 1]); /* a step at a time */
  process_run(&p, "train", "tictactoe", WORK, GOODPUT, "--run", "again", "--rounds", "64", "--replay-plan", "moves", NULL);
  assert_status(&p, 0);
  read_digest(&p, again);
  assert_string_equal(first, again);
  assert_int_equal(loop_counts("again", repeated), phases);
  assert_memory_equal(moved, repeated, (size_t)phases * sizeof *moved);
  process_run(&p, "train", "tictactoe", WORK, "--run", "stays", "--rounds", "64", NULL);
  assert_status(&p, 0);
  read_digest(&p, stays);
  assert_string_not_equal(first, stays);
  loop_counts("stays", moved);
  assert_int_equal(moved[phases - 1], 256);
  process_run(&p, "why", "moves", NULL);
  assert_status(&p, 0);
  assert_says(p.out, "loop_count 128 instead of 256");
  lines_assert_replays(&p, "moves"); /* judgements replay, too */
  process_run(&p, "train", "tictactoe", WORK, "--run", "refused", "--replay-plan", "moves", NULL);
  assert_status(&p, 3);
  assert_says(p.err, "--set allocate.objective=goodput");
  process_run(&p, "train", "tictactoe", WORK, GOODPUT, "--run", "refused", "--replay-plan", "moves", "--set", "loop_count=16",
              NULL);
  assert_status(&p, 3);
  assert_says(p.err, "--set loop_count=256");
  process_free(&p);
}

static void test_it_is_state(void **state) {
  (void)state;
  process p = {0};
  char whole[17], again[17];
  int before[PHASES_MAX], after[PHASES_MAX];
  process_run(&p, "train", "tictactoe", WORK, GOODPUT, "--run", "parts", "--rounds", "45", NULL); /* within a phase */
  assert_status(&p, 0);
  read_digest(&p, whole);
  process_run(&p, "inspect", "parts", "--digest", NULL); /* of the checkpoint: what it holds is the state */
  assert_status(&p, 0);
  assert_says(p.out, whole);
  const int count = loop_counts("parts", before);
  assert_true(before[count - 1] < 256);
  /* Resumed, it begins with the loop_count it had, and whoever decides then, what was moved stays state. */
  process_run(&p, "resume", "parts", "--rounds", "46", "--json", "--history", "none", "--set", "allocate.objective=time", NULL);
  assert_status(&p, 0);
  assert_int_equal(loop_counts("parts", after), count);
  assert_int_equal(after[count - 1], before[count - 1]);
  process_run(&p, "resume", "parts", "--rounds", "64", "--json", "--history", "none", "--set", "allocate.objective=goodput",
              NULL);
  assert_status(&p, 0);
  read_digest(&p, whole);
  process_run(&p, "train", "tictactoe", WORK, GOODPUT, "--run", "in-one", "--rounds", "64", "--replay-plan", "parts", NULL);
  assert_status(&p, 0);
  read_digest(&p, again);
  assert_string_equal(whole, again);
  /* The same holds when the run that follows is stopped. */
  process_run(&p, "train", "tictactoe", WORK, GOODPUT, "--run", "stopped", "--rounds", "29", "--replay-plan", "parts", NULL);
  assert_status(&p, 0);
  process_run(&p, "resume", "stopped", "--rounds", "64", "--json", "--history", "none", NULL);
  assert_status(&p, 0);
  read_digest(&p, again);
  assert_string_equal(whole, again);
  process_free(&p);
}

/* At an end of its range nothing moves, and nothing has to be rested from: each judgement may step. */
static void test_it_rests_only_after_a_step(void **state) {
  (void)state;
  process p = {0};
  int judged = 0;
  process_run(&p, "train", "tictactoe", WORK, GOODPUT, "--run", "least", "--rounds", "96", "--set", "loop_count=1", "--set",
              "batch_size=512", NULL); /* 43 samples a transition */
  assert_status(&p, 0);
  char *text = process_text("least/ledger.jsonl");
  for (int i = 0; i < lines_count(text); i++) {
    cJSON *line = lines_at(text, i);
    if (strcmp(lines_string(line, "event"), "goodput") == 0) {
      judged++;
      assert_int_equal((int)lines_number(line, "next"), 1);
      assert_int_equal((int)lines_number(line, "rests"), 0);
    }
    cJSON_Delete(line);
  }
  free(text);
  assert_true(judged >= 4); /* the second one points where the first one did, and would be followed by a rest */
  lines_assert_replays(&p, "least");
  process_free(&p);
}

/* A run that starts from such a run's state has its own loop_count. */
static void test_a_new_run_begins_with_its_own(void **state) {
  (void)state;
  process p = {0};
  int counts[PHASES_MAX];
  process_run(&p, "train", "tictactoe", "--from", "parts", "--run", "child", "--rounds", "66", "--json", "--history", "none",
              "--set", "loop_count=7", "--set", "allocate.objective=time", NULL);
  assert_status(&p, 0);
  loop_counts("child", counts);
  assert_int_equal(counts[0], 7);
  process_free(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_it_moves_and_is_repeated), cmocka_unit_test(test_it_is_state),
                                     cmocka_unit_test(test_it_rests_only_after_a_step),
                                     cmocka_unit_test(test_a_new_run_begins_with_its_own)};
  return cmocka_run_group_tests(tests, process_make_folder, process_remove_folder);
}
