/* Histories of older and newer versions, and databases that are none. */
#include "tests/allocator/history_fixture.h"

static void test_a_newer_version_is_named(void **state) {
  (void)state;
  mz_history *history = open_history("history.db");
  add_rows(history, 1, 2);
  mz_history_close(history);
  run_sql("history.db", "PRAGMA user_version = 7");
  assert_int_equal(mz_history_open(&history, in_folder("history.db")), MZ_E_CONFIG);
  assert_null(history);
  assert_non_null(strstr(mz_message(), "history.db"));
  assert_non_null(strstr(mz_message(), "version 7"));
  assert_non_null(strstr(mz_message(), "up to 5"));
  assert_string_equal(ask_sql("history.db", "SELECT count(*) FROM measurements"), "2"); /* left alone */
  assert_false(mz_file_exists(in_folder("history.db.damaged-1")));
}

/* Version 2 had neither pipelines nor what came with them; version 1 the same columns, and other seconds. */
static void make_older(const char *statements, int version) {
  char sql[1024];
  snprintf(
      sql, sizeof sql,
      "%sDROP TABLE pipelines; DROP TABLE runs; DROP TABLE epochs; ALTER TABLE measurements DROP COLUMN run; ALTER TABLE "
      "measurements DROP COLUMN window;"
      "ALTER TABLE measurements DROP COLUMN others; ALTER TABLE measurements DROP COLUMN waiting;"
      "ALTER TABLE measurements DROP COLUMN throttled; ALTER TABLE measurements DROP COLUMN training; PRAGMA user_version = %d",
      statements, version);
  run_sql("history.db", sql);
}

static void make_rows(int count) {
  mz_history *history = open_history("history.db");
  add_rows(history, 1, count);
  mz_history_close(history);
}

static void test_an_older_version_is_brought_to_ours(void **state) {
  (void)state;
  make_rows(4);
  make_older("UPDATE measurements SET unit_s = 10;"
             "UPDATE measurements SET stages = '{\"evaluate\":[4,2,2,0,0,2.5]}' WHERE id = 1;"
             "UPDATE measurements SET stages = '{\"evaluate\":[4,2,2,0,0,10]}' WHERE id = 2;"
             "UPDATE measurements SET stages = 'no JSON' WHERE id = 3;",
             1);
  for (int i = 0; i < 2; i++) { /* once */
    mz_history_close(open_history("history.db"));
    assert_string_equal(ask_sql("history.db", "PRAGMA user_version"), "5");
    assert_string_equal(ask_sql("history.db", "SELECT group_concat(unit_s, ' ') FROM measurements"), "7.5 10.0 10.0 10.0");
    assert_string_equal(
        ask_sql("history.db", "SELECT count(*) FROM measurements WHERE run = '' AND window = 0 AND others IS NULL"), "4");
  }
  assert_int_equal(warnings, 0);
}

/* Adds row `number` to the file and reads all there are: `number` of them, the last one whole; free() the result. */
static mz_history_row *rows_with_one_more(int number) {
  const mz_pipeline p = bakery();
  mz_history *history = open_history("history.db");
  mz_history_row row = row_of(number), *rows = NULL;
  int count = 0;
  assert_int_equal(mz_history_add(history, &p, &row), MZ_OK);
  assert_int_equal(mz_history_read(history, &row.key, &p, 10, &rows, &count), MZ_OK);
  assert_int_equal(count, number);
  expect_row(&rows[number - 1], &row);
  mz_history_close(history);
  return rows;
}

static void test_version_2_is_brought_to_ours(void **state) {
  (void)state;
  make_rows(4);
  make_older("", 2);
  mz_history_row *rows = rows_with_one_more(5);
  assert_true(isnan(rows[0].observation.others) && rows[0].window == 0);
  free(rows);
  assert_int_equal(warnings, 0);
}

static void test_version_3_is_brought_to_ours(void **state) {
  (void)state;
  make_rows(2);
  run_sql("history.db",
          "DROP TABLE runs; DROP TABLE epochs; ALTER TABLE measurements DROP COLUMN training; PRAGMA user_version = 3");
  mz_history_row *rows = rows_with_one_more(3);
  assert_true(isnan(rows[0].observation.training.replay_fill) && isnan(rows[0].observation.training.score_slope));
  expect_same(rows[0].observation.others, 0.125);
  free(rows);
  assert_int_equal(warnings, 0);
}

static void test_another_programs_database_is_left_alone(void **state) {
  (void)state;
  mz_history *history = NULL;
  run_sql("mail.db", "CREATE TABLE letters (id INTEGER); INSERT INTO letters VALUES (1)");
  assert_int_equal(mz_history_open(&history, in_folder("mail.db")), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "another program"));
  assert_string_equal(ask_sql("mail.db", "SELECT count(*) FROM letters"), "1");
  assert_string_equal(ask_sql("mail.db", "PRAGMA journal_mode"), "delete");
  run_sql("own.db", "PRAGMA application_id = 5");
  assert_int_equal(mz_history_open(&history, in_folder("own.db")), MZ_E_CONFIG);
  assert_null(history);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_a_newer_version_is_named, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_an_older_version_is_brought_to_ours, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_version_2_is_brought_to_ours, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_version_3_is_brought_to_ours, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_another_programs_database_is_left_alone, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
