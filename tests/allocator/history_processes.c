/* Several processes on one history: nothing is lost, nothing is damaged, also when one of them is killed. */
#include "tests/allocator/history_fixture.h"
#include <signal.h>

enum { WRITERS = 4, ROWS = 250 };

/* Rows of writer w say so: rounds is w, units counts up. */
static int add_rows_of(int writer) {
  const mz_pipeline p = bakery();
  mz_history *history = NULL;
  if (mz_history_open(&history, in_folder("history.db")) != MZ_OK || history == NULL) return 1;
  int64_t last = 0;
  for (int i = 1; i <= ROWS; i++) {
    mz_history_row row = row_of(i);
    row.observation.rounds = writer;
    row.units = i;
    if (mz_history_add(history, &p, &row) != MZ_OK || row.id <= last) return 2;
    last = row.id;
  }
  mz_history_close(history);
  return warnings == 0 ? 0 : 3;
}

/* Every row of every writer, in the writer's order. */
static void expect_all_rows(mz_history *history) {
  const mz_pipeline p = bakery();
  const mz_history_row like = row_of(0);
  mz_history_row *rows = NULL;
  int count = 0, next[WRITERS] = {0};
  assert_int_equal(mz_history_read(history, &like.key, &p, 2 * WRITERS * ROWS, &rows, &count), MZ_OK);
  assert_int_equal(count, WRITERS * ROWS);
  for (int i = 0; i < count; i++) {
    const int writer = rows[i].observation.rounds;
    assert_in_range(writer, 0, WRITERS - 1);
    assert_true(rows[i].units == ++next[writer]);
    assert_int_equal(rows[i].id, i + 1);
  }
  free(rows);
}

/* All begin at once, where there is no file yet; the test itself reads meanwhile. */
static void test_writers_and_a_reader(void **state) {
  (void)state;
  pid_t writers[WRITERS];
  for (int w = 0; w < WRITERS; w++) writers[w] = start_child(add_rows_of, w);
  mz_history *history = open_history("history.db");
  int64_t seen = 0;
  while (seen < WRITERS * ROWS) {
    int status;
    for (int w = 0; w < WRITERS; w++) {
      if (writers[w] == 0 || waitpid(writers[w], &status, WNOHANG) == 0) continue;
      writers[w] = 0;
      assert_true(WIFEXITED(status));
      assert_int_equal(WEXITSTATUS(status), 0); /* a failure ends the wait */
    }
    const int64_t count = mz_history_count(history);
    assert_true(count >= seen);
    seen = count;
    read_rows(history);
  }
  for (int w = 0; w < WRITERS; w++) {
    if (writers[w] != 0) assert_int_equal(wait_for(writers[w]), 0);
  }
  expect_all_rows(history);
  mz_history_close(history);
  assert_int_equal(warnings, 0);
  assert_string_equal(ask_sql("history.db", "PRAGMA integrity_check"), "ok");
}

static int add_rows_warned(int writer) {
  const int code = add_rows_of(writer);
  return code == 3 && warnings == 1 ? 0 : code; /* one of them finds the damage and says so */
}

/* One of the processes sets the file aside, and the others use the new one. */
static void test_a_damaged_file_is_set_aside_once(void **state) {
  (void)state;
  char text[5000];
  memset(text, 'z', sizeof text);
  write_file("history.db", text, sizeof text);
  pid_t writers[WRITERS];
  for (int w = 0; w < WRITERS; w++) writers[w] = start_child(add_rows_warned, w);
  for (int w = 0; w < WRITERS; w++) assert_int_equal(wait_for(writers[w]), 0);
  assert_true(mz_file_exists(in_folder("history.db.damaged-1")));
  assert_false(mz_file_exists(in_folder("history.db.damaged-2")));
  mz_history *history = open_history("history.db");
  expect_all_rows(history);
  mz_history_close(history);
  assert_int_equal(warnings, 0);
}

static int report[2]; /* pipe: ids of rows that were kept */

static int add_rows_for_ever(int unused) {
  (void)unused;
  const mz_pipeline p = bakery();
  mz_history *history = NULL;
  if (mz_history_open(&history, in_folder("history.db")) != MZ_OK) return 1;
  for (int i = 0;; i++) {
    mz_history_row row = row_of(i);
    if (mz_history_add(history, &p, &row) != MZ_OK || row.id == 0) return 2;
    if (write(report[1], &row.id, sizeof row.id) != sizeof row.id) return 3;
  }
}

/* Killed after ever more rows, with no other process that has the file open: every row that was added is there. */
static void test_a_killed_writer_loses_nothing(void **state) {
  (void)state;
  int64_t id = 0, before = 0;
  for (int kill_after = 1; kill_after <= 300; kill_after = kill_after * 2 + 3) {
    assert_int_equal(pipe(report), 0);
    const pid_t writer = start_child(add_rows_for_ever, 0);
    while (id < before + kill_after) assert_int_equal(read(report[0], &id, sizeof id), sizeof id);
    assert_int_equal(kill(writer, SIGKILL), 0);
    assert_int_equal(wait_for(writer), 128 + SIGKILL);
    close(report[1]);
    while (read(report[0], &id, sizeof id) == sizeof id) continue; /* what it still reported */
    close(report[0]);
    mz_history *history = open_history("history.db");
    before = mz_history_count(history);
    assert_true(before == id || before == id + 1); /* killed between adding and reporting */
    mz_history_close(history);
    assert_string_equal(ask_sql("history.db", "PRAGMA integrity_check"), "ok");
  }
  assert_int_equal(warnings, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_writers_and_a_reader, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_a_damaged_file_is_set_aside_once, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_a_killed_writer_loses_nothing, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
