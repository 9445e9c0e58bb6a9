/* train --replay-plan: the plans of another run's ledger, round by round, with the same result; what it refuses. */
#include "tests/cli/support/lines.h"
#include "tests/cli/support/process.h"
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define TINY "--preset", TEST_DATA "/cli/tiny.json", "--history", "none", "--seed", "5", "--json"

static void write_text(const char *name, const char *text) {
  FILE *out = fopen(process_path(name), "wb");
  assert_non_null(out);
  assert_int_equal(fputs(text, out) < 0, 0);
  assert_int_equal(fclose(out), 0);
}

static void write_line(FILE *out, const cJSON *json) {
  char *line = mz_json_line(json);
  assert_non_null(line);
  fprintf(out, "%s\n", line);
  free(line);
}

typedef struct change { /* from `round` on the knob has this value */
  int round;
  const char *knob;
  int value;
} change;

/* Makes up a ledger from the first two lines of run "first": its changes are known whatever this machine makes of a run. */
static void make_ledger(const char *name, const change *changes, int count) {
  char *text = process_text("first/ledger.jsonl");
  cJSON *open = lines_at(text, 0), *decision = lines_at(text, 1), *plan = cJSON_GetObjectItem(decision, "plan");
  FILE *out = fopen(process_path(name), "wb");
  assert_non_null(out);
  write_line(out, open);
  for (int i = 0; i < count; i++) {
    cJSON *next = cJSON_CreateObject();
    cJSON_AddNumberToObject(next, changes[i].knob, changes[i].value);
    cJSON_ReplaceItemInObject(decision, "next", next);
    cJSON_ReplaceItemInObject(decision, "round", cJSON_CreateNumber(changes[i].round));
    write_line(out, decision);
    cJSON_ReplaceItemInObject(plan, changes[i].knob, cJSON_CreateNumber(changes[i].value));
  }
  assert_int_equal(fclose(out), 0);
  cJSON_Delete(open);
  cJSON_Delete(decision);
  free(text);
}

static char *done_digest(const process *p) {
  cJSON *done = lines_at(p->out, -1);
  char *digest = strdup(lines_string(done, "digest"));
  cJSON_Delete(done);
  return digest;
}

/* The round at which each section of the ledger begins, and a knob then. */
static int starts(const char *ledger, const char *knob, int rounds[16], int values[16]) {
  char *text = process_text(ledger);
  int count = 0;
  for (int i = 0; i < lines_count(text); i++) {
    cJSON *line = lines_at(text, i);
    if (strcmp(lines_string(line, "event"), "open") == 0) {
      assert_true(count < 16);
      rounds[count] = (int)lines_number(line, "round");
      values[count++] = (int)lines_number(cJSON_GetObjectItem(line, "start"), knob);
    }
    cJSON_Delete(line);
  }
  free(text);
  return count;
}

static const change made_up[] = {
    {0, "mcts_storage_size", 1}, {3, "mcts_storage_size", 2}, {8, "mcts_storage_size", 4}, {9, "mcts_storage_size", 3}};

static void test_plans_are_repeated_by_round(void **state) {
  (void)state;
  process p = {0};
  int rounds[16], values[16];
  process_run(&p, "train", "tictactoe", TINY, "--run", "first", "--rounds", "12", "--set", "allocate.start=plain", NULL);
  assert_status(&p, 0);
  char *first = done_digest(&p);
  make_ledger("made.jsonl", made_up, 4);
  process_run(&p, "train", "tictactoe", TINY, "--run", "second", "--rounds", "12", "--replay-plan", process_path("made.jsonl"),
              NULL);
  assert_status(&p, 0);
  char *second = done_digest(&p);
  assert_string_equal(first, second);
  assert_int_equal(starts("second/ledger.jsonl", "mcts_storage_size", rounds, values), 4);
  for (int i = 0; i < 4; i++) {
    assert_int_equal(rounds[i], made_up[i].round);
    assert_int_equal(values[i], made_up[i].value);
  }
  lines_assert_replays(&p, "second"); /* its own ledger is a ledger */
  process_run(&p, "train", "tictactoe", TINY, "--run", "third", "--rounds", "12", "--replay-plan", "second",
              NULL); /* named by its run */
  assert_status(&p, 0);
  assert_int_equal(starts("third/ledger.jsonl", "mcts_storage_size", rounds, values), 4);
  assert_int_equal(rounds[2], 8);
  free(first);
  free(second);
  process_free(&p);
}

/* Fills batches with those of all epochs in a history, run by run. */
static int batches_in(const char *name, int batches[16]) {
  sqlite3 *db;
  sqlite3_stmt *rows;
  int count = 0;
  assert_int_equal(sqlite3_open_v2(process_path(name), &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
  assert_int_equal(sqlite3_prepare_v2(db, "SELECT batch_size FROM epochs ORDER BY run, number", -1, &rows, NULL), SQLITE_OK);
  for (; sqlite3_step(rows) == SQLITE_ROW; count++) {
    assert_true(count < 16);
    batches[count] = sqlite3_column_int(rows, 0);
  }
  sqlite3_finalize(rows);
  sqlite3_close(db);
  return count;
}

/* A run that repeats another one moves its batches before its epoch is kept. */
static void test_epochs_have_the_batches_that_they_were_trained_in(void **state) {
  (void)state;
  process p = {0};
  int batches[16];
  const char *const tiny = TEST_DATA "/cli/tiny.json";
  process_run(&p, "train", "tictactoe", "--preset", tiny, "--history", "moved.db", "--run", "moved", "--set",
              "batch_schedule=1:32", NULL);
  assert_status(&p, 0);
  process_run(&p, "train", "tictactoe", "--preset", tiny, "--history", "moved.db", "--run", "again", "--replay-plan", "moved",
              NULL);
  assert_status(&p, 0);
  assert_int_equal(batches_in("moved.db", batches), 4);
  for (int run = 0; run < 2; run++) {
    assert_int_equal(batches[2 * run], 16);
    assert_int_equal(batches[2 * run + 1], 32);
  }
  process_free(&p);
}

/* Stopped in the middle of a phase, after the very round that another plan begins with: the ledger is in the run, and gone elsewhere. */
static void test_a_resumed_run_continues_to_follow(void **state) {
  (void)state;
  process p = {0};
  int rounds[16], values[16];
  make_ledger("gone.jsonl", made_up, 4);
  process_run(&p, "train", "tictactoe", TINY, "--run", "stopped", "--rounds", "3", "--replay-plan", process_path("gone.jsonl"),
              NULL);
  assert_status(&p, 0);
  assert_int_equal(unlink(process_path("gone.jsonl")), 0);
  process_run(&p, "resume", "stopped", "--json", "--history", "none", "--rounds", "12", NULL);
  assert_status(&p, 0);
  char *digest = done_digest(&p);
  const int count = starts("stopped/ledger.jsonl", "mcts_storage_size", rounds, values);
  assert_true(count >= 4);
  assert_int_equal(rounds[count - 2], 8);
  assert_int_equal(values[count - 2], 4);
  assert_int_equal(rounds[count - 1], 9);
  assert_int_equal(rounds[count - 3], 3);
  assert_int_equal(values[count - 3], 2);
  process_run(&p, "train", "tictactoe", TINY, "--run", "whole", "--rounds", "12", "--replay-plan", "stopped", NULL);
  assert_status(&p, 0);
  char *whole = done_digest(&p);
  assert_string_equal(digest, whole);
  free(digest);
  free(whole);
  process_free(&p);
}

static void refused(const char *env, const char *ledger, const char *set, int status, const char *says) {
  process p = {0};
  process_run(&p, "train", env, TINY, "--run", "refused", "--replay-plan", ledger, "--set", set, NULL);
  assert_status(&p, status);
  assert_says(p.err, says);
  assert_int_not_equal(access(process_path("refused"), F_OK), 0); /* it leaves no directory */
  process_free(&p);
}

/* The ledger of run "first" with one text in place of another. */
static const char *changed_ledger(const char *from, const char *to) {
  char *text = process_text("first/ledger.jsonl"), *at = strstr(text, from);
  assert_non_null(at);
  char *other = calloc(1, strlen(text) + strlen(to) + 1);
  assert_non_null(other);
  memcpy(other, text, (size_t)(at - text));
  strcat(other, to);
  strcat(other, at + strlen(from));
  write_text("changed.jsonl", other);
  free(other);
  free(text);
  return "changed.jsonl";
}

static void test_refusals(void **state) {
  (void)state;
  static const char any[] = "train.time=0";
  refused("tictactoe", "nosuch.jsonl", any, 5, "nosuch.jsonl");
  refused("tictactoe", "first/metrics.jsonl", any, 4, "unknown event 'phase'");
  refused("tictactoe", "first/config.json", any, 4, "not a line of a ledger");
  write_text("empty.jsonl", "");
  refused("tictactoe", "empty.jsonl", any, 4, "no plan in it");
  refused("tictactoe", changed_ledger("\"format\":5", "\"format\":6"), any, 3, "a ledger of format 6");
  refused("tictactoe", changed_ledger("\"format\":5", "\"format\":1"), any, 3, "a ledger of format 1");
  refused("tictactoe", changed_ledger("\"name\":\"muzero\"", "\"name\":\"other\""), any, 3, "a ledger of pipeline 'other'");
  refused("tictactoe", changed_ledger("\"plan\":{\"cpu_actor\":", "\"plan\":{\"rollouts\":1,\"cpu_actor\":"), any, 3, "rollouts");
  refused("tictactoe", changed_ledger("\"plan\":{\"cpu_actor\":1,", "\"plan\":{"), any, 3, "lack cpu_actor");
  refused("cartpole", "first", any, 3, "is of tictactoe, not cartpole");
  make_ledger("wide.jsonl", &(change){4, "cpu_actor", 999}, 1);
  refused("tictactoe", "wide.jsonl", any, 3, "cpu_actor is 999 from round 4 on, and this run takes 1 to ");
  refused("tictactoe", "wide.jsonl", "cpu_actor=1", 3, "this run takes 1 only; leave it free");
  process p = {0};
  process_run(&p, "train", "tictactoe", TINY, "--replay-plan", "first", "--allocate", "greedy", NULL);
  assert_status(&p, 2);
  assert_says(p.err, "takes no --allocate");
  process_free(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_plans_are_repeated_by_round),
                                     cmocka_unit_test(test_epochs_have_the_batches_that_they_were_trained_in),
                                     cmocka_unit_test(test_a_resumed_run_continues_to_follow), cmocka_unit_test(test_refusals)};
  return cmocka_run_group_tests(tests, process_make_folder, process_remove_folder);
}
