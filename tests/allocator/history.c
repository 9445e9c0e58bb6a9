/* Rows and statements of the history, its file in good order. Versions: history_versions.c; damage: history_damage.c; processes:
 * history_processes.c. */
#include "tests/allocator/history_fixture.h"

static void test_default_path(void **state) {
  (void)state;
  char path[128], small[16];
  setenv("XDG_DATA_HOME", "/data", 1);
  setenv("HOME", "/home/a", 1);
  assert_true(mz_history_default_path(path, sizeof path));
  assert_string_equal(path, "/data/muzero/history.db");
  assert_false(mz_history_default_path(small, sizeof small));
  setenv("XDG_DATA_HOME", "relative", 1);
  assert_true(mz_history_default_path(path, sizeof path));
  assert_string_equal(path, "/home/a/.local/share/muzero/history.db");
  unsetenv("XDG_DATA_HOME");
  assert_true(mz_history_default_path(path, sizeof path));
  assert_string_equal(path, "/home/a/.local/share/muzero/history.db");
  setenv("HOME", "", 1);
  assert_false(mz_history_default_path(path, sizeof path));
  unsetenv("HOME");
  assert_false(mz_history_default_path(path, sizeof path));
}

static void test_none_does_nothing(void **state) {
  (void)state;
  mz_history *history = (mz_history *)1;
  assert_int_equal(mz_history_open_existing(&history, "none"), MZ_OK);
  assert_null(history);
  history = (mz_history *)1;
  assert_int_equal(mz_history_open(&history, "none"), MZ_OK);
  assert_null(history);
  const mz_pipeline p = bakery();
  mz_history_row row = row_of(1), *rows = NULL;
  int count = -1;
  assert_int_equal(mz_history_add(history, &p, &row), MZ_OK);
  assert_int_equal(row.id, 0);
  assert_int_equal(mz_history_read(history, &row.key, &p, 10, &rows, &count), MZ_OK);
  assert_int_equal(count, 0);
  free(rows);
  assert_int_equal(mz_history_count(history), 0);
  mz_history_close(history);
}

static void test_rows_come_back_to_the_bit(void **state) {
  (void)state;
  const mz_pipeline p = bakery();
  mz_history_row kept[5], *rows = NULL;
  mz_history *history = open_history("deep/er/history.db"); /* folders are made */
  for (int i = 0; i < 5; i++) {
    kept[i] = row_of(i);
    kept[i].unix_s -= 100.0 * i; /* the clock runs backwards: nobody minds */
    if (i == 3) kept[i].observation.round_s = kept[i].observation.noise = kept[i].utilisation = NAN;
    assert_int_equal(mz_history_add(history, &p, &kept[i]), MZ_OK);
    assert_int_equal(kept[i].id, i + 1);
  }
  for (int again = 0; again < 2; again++) {
    int count = 0;
    assert_int_equal(mz_history_read(history, &kept[0].key, &p, 100, &rows, &count), MZ_OK);
    assert_int_equal(count, 5);
    for (int i = 0; i < 5; i++) expect_row(&rows[i], &kept[i]);
    free(rows);
    assert_int_equal(mz_history_read(history, &kept[0].key, &p, 2, &rows, &count), MZ_OK);
    assert_int_equal(count, 2); /* the newest two, oldest first */
    expect_row(&rows[0], &kept[3]);
    expect_row(&rows[1], &kept[4]);
    free(rows);
    assert_int_equal(mz_history_read(history, &kept[0].key, &p, 0, &rows, &count), MZ_OK);
    assert_int_equal(count, 0);
    free(rows);
    mz_history_close(history); /* and once more from the disk */
    history = open_history("deep/er/history.db");
  }
  assert_int_equal(mz_history_count(history), 5);
  mz_history_close(history);
  assert_int_equal(warnings, 0);
}

static void test_rows_say_which_of_them_are_of_one_run(void **state) {
  (void)state;
  const mz_pipeline p = bakery();
  mz_history *history = open_history("history.db");
  static const char *const runs[] = {"runs/a", "runs/b", "runs/a", "", "runs/b", ""}; /* two at once, and unknown ones */
  static const int numbers[] = {1, 2, 1, 3, 2, 3};
  for (int i = 0; i < 6; i++) {
    mz_history_row row = row_of(0);
    snprintf(row.run, sizeof row.run, "%s", runs[i]);
    assert_int_equal(mz_history_add(history, &p, &row), MZ_OK);
  }
  mz_history_row *rows = NULL;
  const mz_history_row any = row_of(0);
  int count = 0;
  assert_int_equal(mz_history_read(history, &any.key, &p, 10, &rows, &count), MZ_OK);
  assert_int_equal(count, 6);
  for (int i = 0; i < 6; i++) assert_int_equal(rows[i].observation.run, numbers[i]);
  free(rows);
  mz_history_close(history);
}

static void test_only_rows_of_the_key_are_read(void **state) {
  (void)state;
  const mz_pipeline p = bakery();
  mz_history *history = open_history("history.db");
  const char *strange = "'; DROP TABLE measurements; --\"\xc3\xa4%";
  for (int i = 0; i < 5; i++) {
    mz_history_row row = row_of(i);
    if (i == 1) snprintf(row.key.machine, sizeof row.key.machine, "%s", strange);
    if (i == 2) snprintf(row.key.env, sizeof row.key.env, "%s", strange);
    if (i == 3) snprintf(row.key.network, sizeof row.key.network, "%s", strange);
    if (i == 4) snprintf(row.key.work, sizeof row.key.work, "%016d", 4);
    assert_int_equal(mz_history_add(history, &p, &row), MZ_OK);
    mz_history_row *rows = NULL;
    int count = 0;
    assert_int_equal(mz_history_read(history, &row.key, &p, 10, &rows, &count), MZ_OK);
    assert_int_equal(count, 1);
    expect_row(&rows[0], &row);
    free(rows);
  }
  assert_int_equal(mz_history_count(history), 5);
  mz_history_close(history);
}

static void test_rows_of_other_pipelines_are_left_out(void **state) {
  (void)state;
  mz_pipeline fewer = bakery(), more = bakery(), renamed = bakery(), stages = bakery();
  fewer.knob_count--;
  snprintf(more.knobs[more.knob_count++].name, MZ_NAME_MAX, "cellar");
  snprintf(renamed.knobs[1].name, MZ_NAME_MAX, "sheet");
  snprintf(stages.stages[0].name, MZ_NAME_MAX, "mix");
  const mz_pipeline *others[] = {&fewer, &more, &renamed, &stages};
  mz_history *history = open_history("history.db");
  add_rows(history, 1, 1);
  for (int i = 0; i < 4; i++) {
    mz_history_row row = row_of(2 + i);
    assert_int_equal(mz_history_add(history, others[i], &row), MZ_OK);
    assert_true(row.id > 0);
  }
  add_rows(history, 6, 6);
  run_sql("history.db",
          "INSERT INTO measurements SELECT NULL, machine, env, network, work, unix_s, source, version, '{\"kneaders\":',"
          " units, unit_s, round_s, noise, rounds, stages, cpu_s, rss_bytes, utilisation, run, window, others, waiting, "
          "throttled, training"
          " FROM measurements WHERE id = 1;"
          "INSERT INTO measurements SELECT NULL, machine, env, network, work, unix_s, source, version, plan,"
          " units, -1.0, round_s, noise, rounds, stages, cpu_s, rss_bytes, utilisation, run, window, others, waiting, throttled, "
          "training"
          " FROM measurements WHERE id = 1");
  assert_int_equal(mz_history_count(history), 8);
  assert_int_equal(read_rows(history), 2);
  mz_history_close(history);
  assert_int_equal(warnings, 0);
}

static void test_a_row_without_a_time_is_not_kept(void **state) {
  (void)state;
  const mz_pipeline p = bakery();
  const double useless[] = {0.0, -1.0, NAN, INFINITY};
  mz_history *history = open_history("history.db");
  for (int i = 0; i < 4; i++) {
    mz_history_row row = row_of(1);
    row.observation.unit_s = useless[i];
    assert_int_equal(mz_history_add(history, &p, &row), MZ_OK);
    assert_int_equal(row.id, 0);
  }
  assert_int_equal(mz_history_count(history), 0);
  mz_history_close(history);
}

static void test_columns_can_be_read_by_people(void **state) {
  (void)state;
  mz_history *history = open_history("history.db");
  add_rows(history, 3, 3);
  assert_string_equal(ask_sql("history.db", "PRAGMA journal_mode"), "wal");
  mz_history_close(history);
  assert_string_equal(ask_sql("history.db", "SELECT plan FROM measurements"),
                      "{\"kneaders\":4,\"trays\":4,\"bakers\":1,\"shelves\":4,\"oven\":0}");
  assert_string_equal(ask_sql("history.db", "SELECT json_extract(stages, '$.bake[0]') FROM measurements"), "53");
  assert_string_equal(ask_sql("history.db", "SELECT env || ' ' || unit_s || ' ' || rounds FROM measurements"),
                      "rye 0.2529296875 19");
  assert_string_equal(ask_sql("history.db", "PRAGMA application_id"), "1299536488");
  assert_string_equal(ask_sql("history.db", "PRAGMA user_version"), "5");
}

static void test_a_reader_makes_no_file(void **state) {
  (void)state;
  mz_history *history = (mz_history *)1;
  mz_history_key *keys;
  mz_pipeline *pipelines;
  int count = -1;
  assert_int_equal(mz_history_open_existing(&history, in_folder("unmade/history.db")), MZ_OK);
  assert_null(history);
  assert_int_equal(access(in_folder("unmade"), F_OK), -1);
  assert_int_equal(mz_history_keys(history, &keys, &count), MZ_OK);
  assert_int_equal(count, 0);
  free(keys);
  assert_int_equal(mz_history_pipelines(history, &pipelines, &count), MZ_OK);
  assert_int_equal(count, 0);
  free(pipelines);
  assert_int_equal(mz_history_open(&history, in_folder("made.db")), MZ_OK);
  mz_history_close(history);
  assert_int_equal(mz_history_open_existing(&history, in_folder("made.db")), MZ_OK);
  assert_non_null(history);
  mz_history_close(history);
  assert_int_equal(mz_history_open_existing(&history, folder), MZ_E_IO);
}

static void test_a_path_that_cannot_be(void **state) {
  (void)state;
  mz_history *history = (mz_history *)1;
  assert_int_equal(mz_history_open(&history, folder), MZ_E_IO);
  assert_null(history);
  assert_non_null(strstr(mz_message(), folder));
  write_file("plain", "x", 1);
  assert_int_equal(mz_history_open(&history, in_folder("plain/history.db")), MZ_E_IO);
  assert_int_equal(mz_history_open(&history, "/proc/history.db"), MZ_E_IO);
  assert_int_equal(mz_history_open(&history, "/dev/null"), MZ_E_IO);
  char path[5000];
  memset(path, 'a', sizeof path);
  path[0] = '/', path[sizeof path - 1] = '\0';
  assert_int_equal(mz_history_open(&history, path), MZ_E_IO);
  assert_null(history);
  assert_int_equal(warnings, 0); /* the caller says it, or not */
}

/* One for each key, the last one that was kept. */
static void test_pipelines_are_kept_by_key(void **state) {
  (void)state;
  mz_pipeline first = bakery(), other = bakery(), got;
  const mz_history_row row = row_of(1);
  mz_history_key key = row.key;
  bool found;
  mz_history *history = open_history("history.db");
  assert_int_equal(mz_history_pipeline(history, &key, &got, &found), MZ_OK);
  assert_false(found);
  other.stages[1].probes[MZ_DEVICE_CPU].cpu_s[0] = 0.125;
  other.stages[1].probes[MZ_DEVICE_CPU].batch[0] = 3;
  for (int i = 0; i < 3; i++) assert_int_equal(mz_history_keep_pipeline(history, &key, i < 2 ? &first : &other), MZ_OK);
  snprintf(key.env, sizeof key.env, "wheat");
  assert_int_equal(mz_history_keep_pipeline(history, &key, &first), MZ_OK);
  for (int again = 0; again < 2; again++) {
    for (int i = 0; i < 2; i++) {
      assert_int_equal(mz_history_pipeline(history, i == 0 ? &row.key : &key, &got, &found), MZ_OK);
      assert_true(found);
      assert_memory_equal(&got, i == 0 ? &other : &first, sizeof got);
    }
    mz_history_close(history);
    history = open_history("history.db");
  }
  run_sql("history.db", "UPDATE pipelines SET pipeline = '{}' WHERE env = 'wheat'");
  assert_int_equal(mz_history_pipeline(history, &key, &got, &found), MZ_OK);
  assert_false(found);
  mz_history_close(history);
  assert_string_equal(ask_sql("history.db", "SELECT count(*) FROM pipelines"), "2");
  assert_int_equal(warnings, 0);
}

static void test_the_oldest_rows_are_removed(void **state) {
  (void)state;
  mz_history *history = open_history("history.db");
  add_rows(history, 1, 6);
  const mz_pipeline p = bakery();
  mz_history_key key = row_of(1).key;
  assert_int_equal(mz_history_keep_pipeline(history, &key, &p), MZ_OK);
  snprintf(key.env, sizeof key.env, "spelt"); /* of which there is no row */
  assert_int_equal(mz_history_keep_pipeline(history, &key, &p), MZ_OK);
  mz_history_close(history);
  char sql[128];
  snprintf(sql, sizeof sql, "UPDATE measurements SET id = %d WHERE id = 6", MZ_HISTORY_ROWS_MAX + 2);
  run_sql("history.db", sql);
  history = open_history("history.db"); /* the newest 200,000 are those from 3 on */
  assert_int_equal(mz_history_count(history), 4);
  mz_history_close(history);
  assert_string_equal(ask_sql("history.db", "SELECT min(id) FROM measurements"), "3");
  assert_string_equal(ask_sql("history.db", "SELECT group_concat(env) FROM pipelines"), "rye");
}

/* A copy made after a handle was closed has every row, also while another handle is open. */
static void test_a_copy_is_whole(void **state) {
  (void)state;
  mz_history *other = open_history("history.db"), *history = open_history("history.db");
  add_rows(history, 1, 20);
  assert_int_equal(read_rows(other), 20);
  mz_history_close(history);
  char command[600];
  snprintf(command, sizeof command, "cp %s %s", in_folder("history.db"), in_folder("copy.db"));
  assert_int_equal(system(command), 0);
  assert_string_equal(ask_sql("copy.db", "SELECT count(*) FROM measurements"), "20");
  mz_history_close(other);
  assert_false(mz_file_exists(in_folder("history.db-wal")));
}

static void test_memory_that_cannot_be_had(void **state) {
  (void)state;
  const mz_pipeline p = bakery();
  mz_history *history = (mz_history *)1;
  mz_alloc_fail_after(1);
  assert_int_equal(mz_history_open(&history, in_folder("history.db")), MZ_E_MEMORY);
  mz_alloc_fail_after(0);
  assert_null(history);
  history = open_history("history.db");
  add_rows(history, 1, 2);
  for (long nth = 1; nth <= 12; nth++) {
    mz_history_row row = row_of(3), *rows = NULL;
    int count = -1;
    mz_alloc_fail_after(nth);
    assert_int_equal(mz_history_read(history, &row.key, &p, 10, &rows, &count), MZ_E_MEMORY);
    mz_alloc_fail_after(0);
    assert_null(rows);
    assert_int_equal(count, 0);
  }
  assert_int_equal(read_rows(history), 2);
  mz_history_close(history);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_default_path),
      cmocka_unit_test(test_none_does_nothing),
      cmocka_unit_test_setup_teardown(test_rows_come_back_to_the_bit, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_rows_say_which_of_them_are_of_one_run, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_only_rows_of_the_key_are_read, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_rows_of_other_pipelines_are_left_out, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_a_row_without_a_time_is_not_kept, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_columns_can_be_read_by_people, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_a_reader_makes_no_file, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_a_path_that_cannot_be, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_pipelines_are_kept_by_key, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_the_oldest_rows_are_removed, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_a_copy_is_whole, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_memory_that_cannot_be_had, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
