/* A run never fails because of its history: files that are damaged, at the start or under way, that may not be written, that do
 * not fit the disk, that others hold or take away. */
#include "tests/allocator/history_fixture.h"
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* One row can be kept and read back, and a warning was given. */
static void expect_begun_anew(const char *name) {
  mz_history *history = open_history(name);
  assert_int_equal(read_rows(history), 0);
  add_rows(history, 1, 1);
  assert_int_equal(read_rows(history), 1);
  mz_history_close(history);
  assert_int_equal(warnings, 1);
  assert_non_null(strstr(last_warning, in_folder(name)));
}

static void expect_content(const char *name, const void *wanted, size_t wanted_size) {
  uint8_t *data = NULL;
  size_t size = 0;
  assert_int_equal(mz_file_read(in_folder(name), 0, &data, &size), MZ_OK);
  assert_int_equal(size, wanted_size);
  assert_memory_equal(data, wanted, size);
  free(data);
}

static void test_what_is_no_database_is_set_aside(void **state) {
  (void)state;
  char text[3000];
  for (int number = 1; number <= 3; number++) {
    memset(text, 'a' + number, sizeof text);
    write_file("history.db", text, sizeof text);
    write_file("history.db-wal", "old", 3);
    warnings = 0;
    expect_begun_anew("history.db");
    char aside[64], aside_wal[80];
    snprintf(aside, sizeof aside, "history.db.damaged-%d", number);
    snprintf(aside_wal, sizeof aside_wal, "%s-wal", aside);
    assert_non_null(strstr(last_warning, aside));
    expect_content(aside, text, sizeof text);
    expect_content(aside_wal, "old", 3);
  }
}

static void test_truncated_files(void **state) {
  (void)state;
  size_t size = 0;
  uint8_t *whole = file_with_rows("whole.db", 40, &size);
  const size_t cuts[] = {2, 17, 99, 100, 512, 4095, 4096, 4097, 8192, size / 2, size / 2 + 1, size - 4096};
  for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
    char name[32];
    snprintf(name, sizeof name, "cut%zu.db", i);
    write_file(name, whole, cuts[i]);
    warnings = 0;
    expect_begun_anew(name);
  }
  free(whole);
  for (size_t left = 0; left <= 1; left++) { /* as good as none, to SQLite */
    write_file("empty.db", "S", left);
    warnings = 0;
    mz_history *history = open_history("empty.db");
    add_rows(history, 1, 1);
    mz_history_close(history);
    assert_int_equal(warnings, 0);
    assert_int_equal(unlink(in_folder("empty.db")), 0);
  }
}

/* Bytes 60–63 are the version, 68–71 the application: flipping them can make a file look newer, or foreign when its table is
 * unreadable too. */
static bool flips_identity(const size_t *at, int count) {
  for (int i = 0; i < count; i++) {
    if ((at[i] >= 60 && at[i] < 64) || (at[i] >= 68 && at[i] < 72)) return true;
  }
  return false;
}

/* Bytes are flipped in the header, on the first page or anywhere. Whatever comes of it, the run continues, the new row is kept,
 * and the file that is there afterwards is sound. */
static void test_flipped_bytes(void **state) {
  (void)state;
  size_t size = 0;
  uint8_t *whole = file_with_rows("whole.db", 60, &size);
  uint8_t *flipped = malloc(size);
  assert_non_null(flipped);
  const mz_pipeline p = bakery();
  int set_aside = 0, kept = 0;
  for (uint32_t trial = 0; trial < 150; trial++) {
    mz_rng rng = mz_rng_at(5, MZ_RNG_TEST, trial, 0);
    memcpy(flipped, whole, size);
    size_t at[24];
    const int count = draw(&rng, 1, 24);
    const size_t range = trial % 3 == 0 ? 100 : trial % 3 == 1 ? 4096 : size;
    for (int i = 0; i < count; i++) {
      at[i] = mz_rng_below(&rng, (uint32_t)range);
      flipped[at[i]] ^= (uint8_t)draw(&rng, 1, 255);
    }
    write_file("history.db", flipped, size);
    warnings = 0;
    mz_history *history = NULL;
    const mz_status status = mz_history_open(&history, in_folder("history.db"));
    if (status != MZ_OK) {
      assert_int_equal(status, MZ_E_CONFIG);
      assert_true(flips_identity(at, count));
      assert_int_equal(unlink(in_folder("history.db")), 0);
      continue;
    }
    mz_history_row row = row_of(1), *rows = NULL;
    int read = 0;
    assert_int_equal(mz_history_read(history, &row.key, &p, 1000, &rows, &read), MZ_OK);
    free(rows);
    assert_int_equal(mz_history_add(history, &p, &row), MZ_OK);
    if (row.id == 0) fail_msg("trial %u: %s", trial, last_warning);
    mz_history_close(history);
    assert_true(warnings <= 1);
    set_aside += warnings;
    kept += warnings == 0;

    history = open_history("history.db");
    assert_int_equal(mz_history_read(history, &row.key, &p, 1, &rows, &read), MZ_OK);
    assert_int_equal(read, 1);
    assert_int_equal(rows[0].id, row.id);
    free(rows);
    mz_history_close(history);
    assert_true(warnings <= 1);
    assert_int_equal(unlink(in_folder("history.db")), 0);
  }
  assert_true(set_aside > 60 && kept > 5); /* both ways were gone */
  free(flipped);
  free(whole);
}

static void test_damage_met_while_reading(void **state) {
  (void)state;
  mz_history *history = open_history("history.db");
  add_rows(history, 1, 50);
  assert_int_equal(read_rows(history), 50);
  assert_int_equal(wait_for(start_child(spoil, 0)), 0);
  assert_int_equal(read_rows(history), 0);
  assert_int_equal(warnings, 1);
  assert_true(mz_file_exists(in_folder("history.db.damaged-1")));
  add_rows(history, 51, 53);
  assert_int_equal(read_rows(history), 3);
  mz_history_close(history);
  assert_int_equal(warnings, 1);
}

static void test_damage_met_while_writing(void **state) {
  (void)state;
  mz_history *history = open_history("history.db");
  add_rows(history, 1, 50);
  assert_int_equal(wait_for(start_child(spoil, 0)), 0);
  add_rows(history, 51, 51); /* in the new file */
  assert_int_equal(warnings, 1);
  assert_int_equal(mz_history_count(history), 1);
  /* a second time is one too many: the disk may be bad */
  assert_int_equal(wait_for(start_child(spoil, 0)), 0);
  const mz_pipeline p = bakery();
  for (int i = 0; i < 3; i++) {
    mz_history_row row = row_of(52 + i);
    assert_int_equal(mz_history_add(history, &p, &row), MZ_OK);
    assert_int_equal(row.id, 0);
  }
  assert_int_equal(warnings, 2);
  assert_non_null(strstr(last_warning, "continues without"));
  assert_int_equal(read_rows(history), 0);
  assert_int_equal(mz_history_count(history), 0);
  mz_history_close(history);
}

static void test_a_file_that_others_took_away(void **state) {
  (void)state;
  mz_history *history = open_history("history.db");
  add_rows(history, 1, 3);
  take_away();
  mz_history *other = open_history("history.db");
  add_rows(other, 4, 4);
  add_rows(history, 5, 5); /* beside the other's */
  assert_int_equal(read_rows(other), 2);
  assert_int_equal(read_rows(history), 2);
  mz_history_close(other);
  assert_int_equal(unlink(in_folder("history.db")), 0);
  add_rows(history, 6, 6);
  assert_int_equal(read_rows(history), 1);
  mz_history_close(history);
  assert_string_equal(ask_sql("elsewhere.db", "SELECT count(*) FROM measurements"), "3");
  assert_int_equal(warnings, 0);
}

static int migrate(int unused) {
  (void)unused;
  sqlite3 *db = NULL;
  const char *sql = "ALTER TABLE measurements RENAME COLUMN units TO amount; PRAGMA user_version = 6";
  if (sqlite3_open(in_folder("history.db"), &db) != SQLITE_OK) return 1;
  if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) return 2;
  return sqlite3_close(db) == SQLITE_OK ? 0 : 3;
}

/* A newer program changes the table while an older one runs: the file is the newer's from then on. */
static void test_a_newer_program_under_way(void **state) {
  (void)state;
  const mz_pipeline p = bakery();
  mz_history *history = open_history("history.db");
  add_rows(history, 1, 3);
  assert_int_equal(wait_for(start_child(migrate, 0)), 0);
  for (int i = 0; i < 3; i++) {
    mz_history_row row = row_of(i);
    assert_int_equal(mz_history_add(history, &p, &row), MZ_OK);
    assert_int_equal(row.id, 0);
  }
  mz_history_close(history);
  assert_int_equal(warnings, 1);
  assert_non_null(strstr(last_warning, "version 6"));
  assert_string_equal(ask_sql("history.db", "SELECT count(amount) FROM measurements"), "3");
  assert_false(mz_file_exists(in_folder("history.db.damaged-1")));
}

/* ---- surroundings ---- */

enum { NOBODY = 65534 };

/* Rights do not bind root. 77: they cannot be given up. */
static int become_nobody(void) { return geteuid() != 0 || setuid(NOBODY) == 0 ? 0 : 77; }

/* A history of 5 rows that may not be written: 0 when all is as it should be. `number`: how many rows can be read at the least. */
static int use_without_rights(int number) {
  if (become_nobody() != 0) return 77;
  const mz_pipeline p = bakery();
  mz_history *history = NULL;
  mz_history_row row = row_of(1), *rows = NULL;
  int count = 0;
  if (mz_history_open(&history, in_folder("history.db")) != MZ_OK || history == NULL) return 1;
  if (mz_history_read(history, &row.key, &p, 10, &rows, &count) != MZ_OK || count < number) return 2;
  free(rows);
  for (int i = 0; i < 3; i++) {
    if (mz_history_add(history, &p, &row) != MZ_OK || row.id != 0) return 3;
  }
  mz_history_close(history);
  return warnings == 1 ? 0 : 4;
}

static void expect_child(int (*work)(int), int number) {
  const int code = wait_for(start_child(work, number));
  if (code == 77) print_message("skipped: rights cannot be given up here\n");
  assert_true(code == 0 || code == 77);
}

static void test_a_file_that_may_not_be_written(void **state) {
  (void)state;
  mz_history *history = open_history("history.db");
  add_rows(history, 1, 5);
  assert_int_equal(chmod(in_folder("history.db"), 0444), 0);
  assert_int_equal(chmod(in_folder("history.db-wal"), 0444), 0);
  assert_int_equal(chmod(in_folder("history.db-shm"), 0444), 0);
  assert_int_equal(chmod(folder, 0555), 0);
  expect_child(use_without_rights, 5); /* another's, in use: can be read */
  assert_int_equal(chmod(folder, 0755), 0);
  mz_history_close(history);
  assert_int_equal(chmod(folder, 0555), 0);
  expect_child(use_without_rights, 0); /* SQLite needs files beside it to read it */
  assert_int_equal(chmod(in_folder("history.db"), 0666), 0);
  expect_child(use_without_rights, 0); /* the folder alone is enough to be in the way */
  assert_int_equal(chmod(folder, 0755), 0);
  assert_string_equal(ask_sql("history.db", "SELECT count(*) FROM measurements"), "5");
}

static int open_where_nothing_can_be(int unused) {
  (void)unused;
  if (become_nobody() != 0) return 77;
  mz_history *history = NULL;
  const bool refused = mz_history_open(&history, in_folder("new.db")) == MZ_E_IO && history == NULL && warnings == 0;
  return refused && mz_history_open(&history, in_folder("sub/new.db")) == MZ_E_IO ? 0 : 1;
}

static void test_a_folder_that_may_not_be_written(void **state) {
  (void)state;
  assert_int_equal(chmod(folder, 0555), 0);
  expect_child(open_where_nothing_can_be, 0);
}

/* A damaged file of another's stays where it is. */
static void test_damage_that_is_not_ours_to_move(void **state) {
  (void)state;
  char text[2000];
  memset(text, 'x', sizeof text);
  write_file("history.db", text, sizeof text);
  assert_int_equal(chmod(in_folder("history.db"), 0444), 0);
  assert_int_equal(chmod(folder, 0777), 0);
  expect_child(use_without_rights, 0);
  expect_content("history.db", text, sizeof text);
}

/* A file of another kind that was named by mistake. */
static void test_what_is_no_database_is_left_alone(void **state) {
  (void)state;
  mz_history *history = NULL;
  write_file("metrics.jsonl", "{\"event\":\"phase\"}\n", 18);
  assert_int_equal(mz_history_open(&history, in_folder("metrics.jsonl")), MZ_E_IO);
  assert_non_null(strstr(mz_message(), "metrics.jsonl: is no history, nor any database"));
  expect_content("metrics.jsonl", "{\"event\":\"phase\"}\n", 18);
}

/* Files may not grow beyond 100 kB, as on a disk that is full. */
static int fill_the_disk(int unused) {
  (void)unused;
  const struct rlimit limit = {100000, 100000};
  if (signal(SIGXFSZ, SIG_IGN) == SIG_ERR || setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
  const mz_pipeline p = bakery();
  mz_history *history = NULL;
  if (mz_history_open(&history, in_folder("history.db")) != MZ_OK || history == NULL) return 2;
  int kept = 0;
  for (int i = 0; i < 400; i++) {
    mz_history_row row = row_of(i);
    if (mz_history_add(history, &p, &row) != MZ_OK) return 3;
    if (row.id != 0 && row.id != ++kept) return 4;
  }
  mz_history_close(history);
  if (warnings != 1 || kept == 400) return 5;
  return kept >= 3 ? 0 : 6;
}

static void test_a_full_disk(void **state) {
  (void)state;
  assert_int_equal(wait_for(start_child(fill_the_disk, 0)), 0);
  mz_history *history = open_history("history.db"); /* room again: what was kept is there, and more can be */
  const int kept = read_rows(history);
  assert_true(kept >= 3);
  add_rows(history, 1, 2);
  assert_int_equal(read_rows(history), kept + 2);
  mz_history_close(history);
  assert_int_equal(warnings, 0);
}

static void test_a_file_that_others_hold(void **state) {
  (void)state;
  const mz_pipeline p = bakery();
  mz_history *history = open_history("history.db");
  add_rows(history, 1, 2);
  sqlite3 *holder = NULL;
  assert_int_equal(sqlite3_open(in_folder("history.db"), &holder), SQLITE_OK);
  assert_int_equal(sqlite3_exec(holder, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
  for (int i = 0; i < 3; i++) { /* the first one waits, the others do nothing */
    mz_history_row row = row_of(3 + i);
    assert_int_equal(mz_history_add(history, &p, &row), MZ_OK);
    assert_int_equal(row.id, 0);
  }
  assert_int_equal(warnings, 1);
  assert_non_null(strstr(last_warning, "locked"));
  assert_int_equal(sqlite3_exec(holder, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
  assert_int_equal(sqlite3_close(holder), SQLITE_OK);
  mz_history_close(history);
  assert_false(mz_file_exists(in_folder("history.db.damaged-1")));
  assert_string_equal(ask_sql("history.db", "SELECT count(*) FROM measurements"), "2");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_what_is_no_database_is_set_aside, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_truncated_files, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_flipped_bytes, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_damage_met_while_reading, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_damage_met_while_writing, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_a_file_that_others_took_away, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_a_newer_program_under_way, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_a_file_that_may_not_be_written, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_a_folder_that_may_not_be_written, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_damage_that_is_not_ours_to_move, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_what_is_no_database_is_left_alone, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_a_full_disk, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_a_file_that_others_hold, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
