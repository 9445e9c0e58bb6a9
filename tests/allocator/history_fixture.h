/* A folder of its own, rows of the bakery, and the warnings that were given, for the tests of the history. */
#pragma once
#include "allocator/records/history.h"
#include "base/file/file.h"
#include "base/log.h"
#include "tests/allocator/invented.h"
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static char folder[64];
static int warnings;
static char last_warning[2048];

static inline const char *in_folder(const char *name) {
  static char paths[4][256];
  static int next;
  char *path = paths[next++ % 4];
  snprintf(path, sizeof paths[0], "%s/%s", folder, name);
  return path;
}

static inline void keep_warning(void *context, mz_log_level level, const char *line) {
  (void)context;
  if (level != MZ_LOG_WARNING) return;
  warnings++;
  snprintf(last_warning, sizeof last_warning, "%s", line);
}

static inline int set_up(void **state) {
  (void)state;
  warnings = 0;
  last_warning[0] = '\0';
  mz_log_set_sink(keep_warning, NULL);
  snprintf(folder, sizeof folder, "/tmp/mz_test_history_XXXXXX");
  return mkdtemp(folder) == NULL;
}

static inline int tear_down(void **state) {
  (void)state;
  mz_log_set_sink(NULL, NULL);
  char command[160];
  snprintf(command, sizeof command, "chmod -R u+w %s && rm -r %s", folder, folder);
  return system(command);
}

/* Different in every field for every `number`. */
static inline mz_history_row row_of(int number) {
  mz_history_row row = {
      .key = {.machine = "Xeon, 4 cores", .env = "rye", .network = "mlp 64x2", .work = "0123456789abcdef"},
      .unix_s = 1.7e9 + number,
      .source = "run",
      .version = "0.1.0",
      .units = 10 + number,
      .utilisation = 0.5 + number * 1e-6,
      .run = "runs/rye",
      .window = 1 + number,
      .observation = {.unit_s = 0.25 + number / 1024.0,
                      .round_s = 0.2 + number / 3.0,
                      .noise = 0.01,
                      .rounds = 16 + number,
                      .cpu_s = 0.75,
                      .rss_bytes = 1e8 + number,
                      .others = 0.125 * number,
                      .waiting = 0.25,
                      .throttled = NAN,
                      .training = {.replay_fill = number / 1024.0, .episode_length = 9, .horizon = NAN, .score_slope = -0.25}},
  };
  row.observation.plan = bakery_plan();
  row.observation.plan.values[TRAYS] = 1 + number % 25;
  row.observation.stages[0] = (mz_stage_sample){.items = 100, .busy_s = 0.1, .cpu_s = 0.09, .elapsed_s = 0.2};
  row.observation.stages[1] = (mz_stage_sample){.items = 50 + number, .busy_s = 0.3, .wait_in_s = 0.1 / 3.0, .wait_out_s = 1e-9};
  return row;
}

static inline mz_history *open_history(const char *name) {
  mz_history *history = NULL;
  assert_int_equal(mz_history_open(&history, in_folder(name)), MZ_OK);
  assert_non_null(history);
  return history;
}

/* Rows first … last. */
static inline void add_rows(mz_history *history, int first, int last) {
  const mz_pipeline p = bakery();
  for (int i = first; i <= last; i++) {
    mz_history_row row = row_of(i);
    assert_int_equal(mz_history_add(history, &p, &row), MZ_OK);
    assert_true(row.id > 0);
  }
}

/* How many rows are read, newest 1000 at most; they are whole and in the order of their ids. */
static inline int read_rows(mz_history *history) {
  const mz_pipeline p = bakery();
  const mz_history_row like = row_of(0);
  mz_history_row *rows = NULL;
  int count = 0;
  assert_int_equal(mz_history_read(history, &like.key, &p, 1000, &rows, &count), MZ_OK);
  for (int i = 0; i < count; i++) {
    assert_true(i == 0 || rows[i].id > rows[i - 1].id);
    assert_true(rows[i].observation.unit_s > 0.0 && rows[i].observation.plan.values[KNEADERS] == 4);
  }
  free(rows);
  return count;
}

/* Statements on the file itself, beside the history. */
static inline void run_sql(const char *name, const char *sql) {
  sqlite3 *db = NULL;
  assert_int_equal(sqlite3_open(in_folder(name), &db), SQLITE_OK);
  char *message = NULL;
  if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK) fail_msg("%s: %s", sql, message);
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* The first column of the first row, as text. */
static inline const char *ask_sql(const char *name, const char *sql) {
  static char answer[512];
  sqlite3 *db = NULL;
  sqlite3_stmt *s = NULL;
  assert_int_equal(sqlite3_open(in_folder(name), &db), SQLITE_OK);
  assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &s, NULL), SQLITE_OK);
  assert_int_equal(sqlite3_step(s), SQLITE_ROW);
  snprintf(answer, sizeof answer, "%s", (const char *)sqlite3_column_text(s, 0));
  sqlite3_finalize(s);
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
  return answer;
}

static inline void write_file(const char *name, const void *data, size_t size) {
  FILE *file = fopen(in_folder(name), "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(data, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

/* A file with rows 1 … n, closed; free(). */
static inline uint8_t *file_with_rows(const char *name, int n, size_t *size) {
  mz_history *history = open_history(name);
  add_rows(history, 1, n);
  mz_history_close(history);
  uint8_t *data = NULL;
  assert_int_equal(mz_file_read(in_folder(name), 0, &data, size), MZ_OK);
  return data;
}

/* Exit code of a child process that runs `work`; cmocka's assertions do not work in one. */
static inline pid_t start_child(int (*work)(int number), int number) {
  const pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) _exit(work(number));
  return pid;
}

static inline int wait_for(pid_t pid) {
  int status = 0;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Does what another program would do, in a child: a change that makes all others forget what they have cached, then rubbish on every
 * page but the first. */
static inline int spoil(int unused) {
  (void)unused;
  sqlite3 *db = NULL;
  const char *path = in_folder("history.db");
  if (sqlite3_open(path, &db) != SQLITE_OK) return 1;
  if (sqlite3_exec(db, "UPDATE measurements SET env = env; PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL, NULL) != SQLITE_OK)
    return 2;
  if (sqlite3_close(db) != SQLITE_OK) return 3;
  struct stat st;
  if (stat(path, &st) != 0) return 4;
  FILE *file = fopen(path, "r+b");
  if (file == NULL || fseek(file, 4096, SEEK_SET) != 0) return 5;
  for (long i = 4096; i < st.st_size; i++) fputc(0xa5, file);
  return fclose(file) == 0 ? 0 : 6;
}

/* The history goes elsewhere while it is open. */
static inline void take_away(void) {
  assert_int_equal(rename(in_folder("history.db"), in_folder("elsewhere.db")), 0);
  assert_int_equal(rename(in_folder("history.db-wal"), in_folder("elsewhere.db-wal")), 0);
  assert_int_equal(rename(in_folder("history.db-shm"), in_folder("elsewhere.db-shm")), 0);
}

static inline void expect_same(double a, double b) { assert_true(a == b || (isnan(a) && isnan(b))); }

static inline void expect_row(const mz_history_row *got, const mz_history_row *wanted) {
  assert_memory_equal(&got->key, &wanted->key, sizeof got->key);
  assert_int_equal(got->id, wanted->id);
  expect_same(got->unix_s, wanted->unix_s);
  assert_string_equal(got->source, wanted->source);
  assert_string_equal(got->version, wanted->version);
  expect_same(got->units, wanted->units);
  expect_same(got->utilisation, wanted->utilisation);
  const mz_observation *a = &got->observation, *b = &wanted->observation;
  assert_memory_equal(&a->plan, &b->plan, sizeof a->plan);
  expect_same(a->unit_s, b->unit_s);
  expect_same(a->round_s, b->round_s);
  expect_same(a->noise, b->noise);
  assert_int_equal(a->rounds, b->rounds);
  expect_same(a->cpu_s, b->cpu_s);
  expect_same(a->rss_bytes, b->rss_bytes);
  assert_memory_equal(a->stages, b->stages, sizeof a->stages);
  assert_string_equal(got->run, wanted->run);
  assert_int_equal(got->window, wanted->window);
  expect_same(a->others, b->others);
  expect_same(a->waiting, b->waiting);
  expect_same(a->throttled, b->throttled);
  expect_same(a->training.replay_fill, b->training.replay_fill);
  expect_same(a->training.episode_length, b->training.episode_length);
  expect_same(a->training.horizon, b->training.horizon);
  expect_same(a->training.score_slope, b->training.score_slope);
}
