/* Ledgers that were cut, changed, or never were any. */
#include "recorded.h"

static char *read_text(size_t *size) {
  static uint8_t *data; /* gcc 12 takes what it points to for the variable itself, and warns of a dangling pointer */
  ok(mz_file_read(path, 0, &data, size));
  return (char *)data;
}

/* Not by mz_file_write_atomic, which waits for the disk. */
static void write_text(const char *text, size_t size) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_int_equal(fwrite(text, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

/* The n-th line of a text. */
static char *line_of(char *text, int n) {
  for (; n > 1; n--) text = strchr(text, '\n') + 1;
  return text;
}

/* The second phase is the first of a trial, whose rounds make its ratio. */
static void test_a_changed_input_shows_as_differences(void **state) {
  (void)state;
  run r = open_run("greedy");
  record_phases(&r, 10);
  close_run(&r);
  size_t size = 0;
  char *text = read_text(&size);
  static const char *const keys[] = {"\"wall_s\":", "\"print\":[", "\"rounds\":[", "\"units\":"};
  for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
    char *number = strstr(line_of(text, 4), keys[i]);
    assert_non_null(number);
    number += strlen(keys[i]);
    if (i == 2) number = strchr(number, ',') + 1; /* the first round warms up */
    number += strspn(number, "0.");
    const char was = *number;
    *number = was == '9' ? '1' : (char)(was + 1);
    write_text(text, size);
    mz_replayed replayed;
    ok(mz_ledger_replay(path, INT64_MAX, &replayed));
    if (replayed.differences == 0) fail_msg("%s: no difference", keys[i]);
    if (i == 2) /* the rounds of a trial's first block: its ratio shows when there are three pairs */
      assert_in_range(replayed.first_difference, 2, 7);
    else
      assert_int_equal(replayed.first_difference, 2);
    mz_replayed_free(&replayed);
    *number = was;
  }
  free(text);
}

static void test_a_last_line_cut_anywhere_is_left_out(void **state) {
  (void)state;
  run r = open_run("greedy");
  record_phases(&r, 3);
  const uint64_t whole = r.ledger.offset;
  record_phase(&r, NULL, NULL);
  close_run(&r);
  size_t size = 0;
  char *text = read_text(&size);
  for (size_t length = size - 1; length > whole; length--) {
    write_text(text, length);
    warnings = 0;
    collected c = {0};
    ok(mz_ledger_read(path, collect, &c));
    assert_int_equal(c.count, 5);
    assert_int_equal(warnings, 1);
  }
  expect_replay(INT64_MAX, 4, 0);
  write_text(text, whole);
  warnings = 0;
  expect_replay(INT64_MAX, 4, 0);
  assert_int_equal(warnings, 0);
  free(text);
}

static int missing_warnings;
static void count_missing(void *context, mz_log_level level, const char *line) {
  (void)context;
  missing_warnings += level == MZ_LOG_WARNING && strstr(line, "ledger.jsonl: ") && strstr(line, " bytes are missing");
}

/* As after a crash of the machine, when the checkpoint was on the disk and the ledger's end was not. */
static void test_a_ledger_shorter_than_its_offset_continues(void **state) {
  (void)state;
  run r = open_run("greedy");
  record_phases(&r, 3);
  ok(mz_ledger_sync(&r.ledger));
  const uint64_t whole = r.ledger.offset;
  close_run(&r);
  size_t size = 0;
  char *text = read_text(&size);
  assert_int_equal(size, whole);
  write_text(text, size - 10); /* in the middle of the fifth line */
  mz_log_set_sink(count_missing, NULL);
  ok(mz_ledger_open(&r.ledger, folder, whole));
  assert_int_equal(missing_warnings, 1);
  assert_int_equal(r.ledger.offset, line_of(text, 5) - text);
  const mz_plan plain = shop_plain();
  open_section(&r, &plain, NULL, 0);
  record_phase(&r, NULL, NULL);
  close_run(&r);
  expect_replay(INT64_MAX, 5, 0);
  free(text);
  assert_int_equal(mz_ledger_open(&r.ledger, "/nowhere", whole), MZ_E_IO);
  assert_int_equal(r.ledger.fd, -1);
}

static void expect_damage(const char *text, size_t size, const char *says) {
  write_text(text, size);
  mz_replayed replayed;
  assert_int_equal(mz_ledger_replay(path, INT64_MAX, &replayed), MZ_E_CHECKPOINT);
  if (strstr(mz_message(), says) == NULL) fail_msg("'%s' does not say '%s'", mz_message(), says);
  assert_null(replayed.allocator);
  assert_null(replayed.storage);
}

static void test_junk_is_named_by_its_line(void **state) {
  (void)state;
  run r = open_run("greedy");
  r.took_s = 12;
  record_phases(&r, 10);
  close_run(&r);
  size_t size = 0;
  char *text = read_text(&size), *line = line_of(text, 4), kept[16];
  memcpy(kept, line, sizeof kept);
  memcpy(line, "junk", 4);
  expect_damage(text, size, "ledger.jsonl:4: damaged");
  memcpy(line, kept, sizeof kept);
  line[8] = '\0';
  expect_damage(text, size, "ledger.jsonl:4: damaged");
  memcpy(line, "{\"event\":\"xpen\"", 15);
  expect_damage(text, size, "ledger.jsonl:4");
  memcpy(line, kept, sizeof kept);
  line[1] = '\n';
  expect_damage(text, size, "ledger.jsonl:4: damaged");
  memcpy(line, kept, sizeof kept);
  char *end = strchr(line, '\n');
  end[-2] = 'x'; /* not JSON, although it looks like a line */
  expect_damage(text, size, "ledger.jsonl:4:1:");
  end[-2] = '}';
  char *format = strstr(text, "\"format\":5");
  format[9] = '7';
  expect_damage(text, size, "ledger.jsonl:1: a ledger of format 7 by a newer muzero; this one reads up to 5");
  format[9] = '5';
  char *took = strstr(text, "\"took_s\":");
  took[9] = '-';
  expect_damage(text, size, "took_s");
  took[9] = '1';
  char *strategy = strstr(text, "\"strategy\":\"greedy\"");
  memcpy(strategy + 12, "gredey", 6);
  write_text(text, size);
  mz_replayed replayed;
  assert_int_equal(mz_ledger_replay(path, INT64_MAX, &replayed), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "greedy"));
  memcpy(strategy + 12, "greedy", 6);
  line = line_of(text, 2); /* without the line that opens it */
  expect_damage(line, size - (size_t)(line - text), "ledger.jsonl:1: a decision before the line that opens a section");
  free(text);
}

/* Every byte of a decision and some of the opening line, changed in turn: replayed or refused; sanitizers watch. */
static void test_any_changed_byte_does_no_harm(void **state) {
  (void)state;
  run r = open_run("greedy");
  record_phase(&r, NULL, NULL);
  close_run(&r);
  size_t size = 0;
  char *text = read_text(&size);
  static const char bytes[] = {'"', '9', '-', '}', '\n', 'e', ','};
  int refused = 0;
  for (size_t at = 0; at < size; at++) {
    const char was = text[at];
    text[at] = bytes[at % sizeof bytes];
    write_text(text, size);
    mz_replayed replayed;
    refused += mz_ledger_replay(path, INT64_MAX, &replayed) != MZ_OK;
    mz_replayed_free(&replayed);
    text[at] = was;
  }
  assert_in_range(refused, size / 2, size);
  free(text);
}

static void test_a_line_without_end_is_refused(void **state) {
  (void)state;
  const size_t size = 9 << 20;
  char *text = malloc(size);
  assert_non_null(text);
  memset(text, 'a', size);
  memcpy(text, "{\"event\":\"open\"}\n", 17);
  write_text(text, size);
  collected c = {0};
  assert_int_equal(mz_ledger_read(path, collect, &c), MZ_E_CHECKPOINT);
  assert_non_null(strstr(mz_message(), "ledger.jsonl:2: damaged: a line of more than 8 MiB"));
  assert_int_equal(c.count, 1);
  free(text);
  assert_int_equal(mz_ledger_read("/nowhere/ledger.jsonl", collect, &c), MZ_E_IO);
}

static mz_status refuse_third(void *context, const char *line, size_t length, int64_t number) {
  (void)context;
  (void)line;
  (void)length;
  return number == 3 ? mz_fail(MZ_E_INTERNAL, "enough") : MZ_OK;
}

static void test_the_readers_failure_ends_it(void **state) {
  (void)state;
  record("fixed", 5);
  assert_int_equal(mz_ledger_read(path, refuse_third, NULL), MZ_E_INTERNAL);
  assert_string_equal(mz_message(), "enough");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      WITH_FOLDER(test_a_changed_input_shows_as_differences),
      WITH_FOLDER(test_a_last_line_cut_anywhere_is_left_out),
      WITH_FOLDER(test_a_ledger_shorter_than_its_offset_continues),
      WITH_FOLDER(test_junk_is_named_by_its_line),
      WITH_FOLDER(test_any_changed_byte_does_no_harm),
      WITH_FOLDER(test_a_line_without_end_is_refused),
      WITH_FOLDER(test_the_readers_failure_ends_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
