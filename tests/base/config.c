#include "base/config/config.h"
#include "base/log.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Two rooms with their own structs, joined. */
typedef struct learner {
  double learning_rate;
  int64_t loop_count;
  bool symmetry;
} learner;

typedef struct store {
  int32_t kind;
  int64_t size, big;
  double pause;
  char name[64];
  char path[200];
} store;

typedef struct joined {
  int padding;
  learner learner;
  store store;
} joined;

enum { RATE, LOOPS, SYMMETRY, KIND, SIZE, BIG, PAUSE, NAME, PATH, ROWS };

static const mz_setting learner_rows[] = {
    MZ_SETTING(learner, learning_rate, "learning_rate", MZ_FLOAT, MZ_ALGORITHMIC, 1e-8, 10, "0.003", "", "step size"),
    MZ_SETTING(learner, loop_count, "loop_count", MZ_INT, MZ_ALGORITHMIC, 0, 4096, "40", "updates a round", "L"),
    MZ_SETTING(learner, symmetry, "symmetry", MZ_BOOL, MZ_ALGORITHMIC, 0, 1, "on", "", "augment"),
};
static const mz_setting store_rows[] = {
    MZ_SETTING(store, kind, "replay.kind", MZ_ENUM, MZ_EXACT, 0, 0, "raw", "", "tier", .choices = "raw|zstd|disk"),
    MZ_SETTING(store, size, "replay.size", MZ_SIZE, MZ_EXACT, 1024, 1e12, "64MiB", "", "bytes"),
    MZ_SETTING(store, big, "replay.big", MZ_INT, MZ_EXACT, -0x1p63, 0x1p63, "9007199254740993", "", "wide"),
    MZ_SETTING(store, pause, "log.pause", MZ_TIME, MZ_OPERATIONAL, 0, 86400, "1.5h", "", "seconds"),
    MZ_SETTING(store, name, "log.name", MZ_TEXT, MZ_OPERATIONAL, 0, 0, "run", "", "label"),
    MZ_SETTING(store, path, "log.path", MZ_TEXT, MZ_OPERATIONAL, 0, 0, "", "", "long"),
};
static const mz_settings_table tables[] = {
    {learner_rows, 3, offsetof(joined, learner)},
    {store_rows, 6, offsetof(joined, store)},
};

typedef struct fixture {
  joined values;
  uint8_t is_explicit[ROWS];
  mz_config config;
} fixture;

static void init(fixture *f) {
  memset(f, 0xEE, sizeof *f);
  f->config = (mz_config){.tables = tables, .table_count = 2, .values = &f->values, .explicit_ = f->is_explicit};
  mz_config_defaults(&f->config);
}

static void expect_error(fixture *f, const char *pair, const char *message) {
  const joined before = f->values;
  assert_int_equal(mz_config_set_pair(&f->config, pair, "--set"), MZ_E_CONFIG);
  assert_string_equal(mz_message(), message);
  assert_memory_equal(&f->values, &before, sizeof before);
}

static void test_defaults_fill_every_row(void **state) {
  (void)state;
  fixture f;
  init(&f);
  assert_int_equal(mz_config_row_count(&f.config), ROWS);
  assert_true(f.values.learner.learning_rate == 0.003);
  assert_int_equal(f.values.learner.loop_count, 40);
  assert_true(f.values.learner.symmetry);
  assert_int_equal(f.values.store.kind, 0);
  assert_int_equal(f.values.store.size, 64 << 20);
  assert_true(f.values.store.big == INT64_C(9007199254740993));
  assert_true(f.values.store.pause == 5400);
  assert_string_equal(f.values.store.name, "run");
  for (int i = 0; i < ROWS; i++) assert_int_equal(f.is_explicit[i], 0);
  assert_string_equal(mz_config_row(&f.config, KIND)->key, "replay.kind");
  assert_int_equal(mz_config_find(&f.config, "replay.kind"), KIND);
  assert_int_equal(mz_config_find(&f.config, "kind"), -1);
  assert_string_equal(mz_class_name(mz_config_row(&f.config, RATE)->class_), "algorithmic");
}

static void test_set_writes_and_marks(void **state) {
  (void)state;
  static const struct {
    const char *pair;
    int row;
    const char *text;
  } cases[] = {
      {"learning_rate=1e-4", RATE, "0.0001"},
      {"loop_count=7", LOOPS, "7"},
      {"loop_count=4e3", LOOPS, "4000"},
      {"loop_count=4k", LOOPS, "4000"},
      {"symmetry=off", SYMMETRY, "off"},
      {"symmetry=true", SYMMETRY, "on"},
      {"replay.kind=disk", KIND, "disk"},
      {"replay.size=1.5k", SIZE, "1500"},
      {"replay.size=2 GiB", SIZE, "2GiB"},
      {"replay.size=3000000", SIZE, "3M"},
      {"log.pause=90", PAUSE, "90s"},
      {"log.pause=2.5m", PAUSE, "150s"},
      {"log.pause=0", PAUSE, "0s"},
      {"log.name=a=b", NAME, "a=b"},
      {"log.name=", NAME, ""},
      {"replay.size=2.3k", SIZE, "2300"},
      {"replay.big=-9223372036854775808", BIG, "-9223372036854775808"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    fixture f;
    char text[80];
    init(&f);
    assert_int_equal(mz_config_set_pair(&f.config, cases[i].pair, "--set"), MZ_OK);
    mz_config_text(&f.config, cases[i].row, text, sizeof text);
    assert_string_equal(text, cases[i].text);
    for (int row = 0; row < ROWS; row++) assert_int_equal(f.is_explicit[row], row == cases[i].row);
  }
}

static void test_unknown_keys_name_the_nearest(void **state) {
  (void)state;
  fixture f;
  init(&f);
  expect_error(&f, "learning_rat=1", "--set learning_rat=1: unknown key 'learning_rat'; did you mean 'learning_rate'?");
  expect_error(&f, "size=1", "--set size=1: unknown key 'size'; did you mean 'replay.size'?");
  expect_error(&f, "xyzzy=1", "--set xyzzy=1: unknown key 'xyzzy'");
  expect_error(&f, "loop_count", "--set loop_count: takes key=value");
  expect_error(&f, "=3", "--set =3: takes key=value");
}

static void test_range_errors_show_range_unit_and_nearest(void **state) {
  (void)state;
  fixture f;
  init(&f);
  expect_error(&f, "loop_count=-1",
               "--set loop_count=-1: out of range; loop_count takes 0 … 4096 (updates a round); nearest valid value: 0");
  expect_error(&f, "loop_count=99999999999999999999",
               "--set loop_count=99999999999999999999: out of range; loop_count takes 0 … 4096 (updates a round); nearest valid "
               "value: 4096");
  expect_error(&f, "learning_rate=1e999",
               "--set learning_rate=1e999: out of range; learning_rate takes 1e-08 … 10; nearest valid value: 10");
  expect_error(&f, "replay.size=1",
               "--set replay.size=1: out of range; replay.size takes 1KiB … 1000G; nearest valid value: 1KiB");
  expect_error(&f, "log.pause=25h", "--set log.pause=25h: out of range; log.pause takes 0s … 24h; nearest valid value: 24h");
}

/* A text setting takes so many bytes, and no more. */
static void expect_longest(fixture *f, const char *key, const char *field, int most, const char *message) {
  char text[300], pair[400];
  memset(text, 'x', sizeof text);
  snprintf(pair, sizeof pair, "%s=%.*s", key, most + 1, text);
  assert_int_equal(mz_config_set_pair(&f->config, pair, "--set"), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), message));
  snprintf(pair, sizeof pair, "%s=%.*s", key, most, text);
  assert_int_equal(mz_config_set_pair(&f->config, pair, "--set"), MZ_OK);
  assert_string_equal(field, strchr(pair, '=') + 1);
}

static void test_wrong_types_show_what_is_taken(void **state) {
  (void)state;
  fixture f;
  init(&f);
  expect_error(&f, "learning_rate=fast", "--set learning_rate=fast: not a valid value; learning_rate takes a number, 1e-08 … 10");
  expect_error(&f, "loop_count=2.5",
               "--set loop_count=2.5: not a valid value; loop_count takes a whole number, 0 … 4096 (updates a round)");
  expect_error(&f, "symmetry=maybe", "--set symmetry=maybe: not a valid value; symmetry takes on or off");
  expect_error(&f, "replay.kind=zip", "--set replay.kind=zip: not a valid value; replay.kind takes one of raw, zstd, disk");
  expect_error(&f, "replay.size=64MB",
               "--set replay.size=64MB: no such unit; replay.size takes a size with k, M, G, KiB, MiB or GiB, 1KiB … 1000G");
  expect_error(&f, "log.pause=3min", "--set log.pause=3min: no such unit; log.pause takes a time with s, m or h, 0s … 24h");
  static const char *const wrong[] = {"learning_rate=nan", "learning_rate=inf", "learning_rate=0x1p-3",
                                      "learning_rate= 1",  "learning_rate=",    "loop_count=",
                                      "loop_count=1-",     "replay.kind=",      "replay.kind=raw|zstd"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    assert_int_equal(mz_config_set_pair(&f.config, wrong[i], "--set"), MZ_E_CONFIG);
  }
  expect_longest(&f, "log.name", f.values.store.name, 63, "text of at most 63 bytes");
  expect_longest(&f, "log.path", f.values.store.path, 199, "text of at most 199 bytes");
}

static mz_status set_json(fixture *f, const char *text) {
  cJSON *json = NULL;
  assert_int_equal(mz_json_parse(text, strlen(text), "p.json", true, MZ_E_CONFIG, &json), MZ_OK);
  const mz_status status = mz_config_set_json(&f->config, json, "p.json");
  cJSON_Delete(json);
  return status;
}

static void test_json_sets_nested_and_dotted_keys(void **state) {
  (void)state;
  fixture f;
  init(&f);
  assert_int_equal(set_json(&f, "{\"learning_rate\": 0.01, \"symmetry\": false, \"log.pause\": 12,"
                                " \"replay\": {\"kind\": \"zstd\", \"size\": \"2k\", \"big\": \"9007199254740995\"}}"),
                   MZ_OK);
  assert_true(f.values.learner.learning_rate == 0.01);
  assert_false(f.values.learner.symmetry);
  assert_true(f.values.store.pause == 12);
  assert_int_equal(f.values.store.kind, 1);
  assert_int_equal(f.values.store.size, 2000);
  assert_true(f.values.store.big == INT64_C(9007199254740995));
}

static void test_json_errors_write_nothing(void **state) {
  (void)state;
  static const struct {
    const char *text, *message;
  } cases[] = {
      {"{\"loop_count\": 1, \"replay\": {\"siz\": 3}}",
       "p.json: replay.siz=…: unknown key 'replay.siz'; did you mean 'replay.size'?"},
      {"{\"loop_count\": 1, \"learning_rate\": 11}",
       "p.json: learning_rate=11: out of range; learning_rate takes 1e-08 … 10; nearest valid value: 10"},
      {"{\"loop_count\": 1, \"symmetry\": 1}", "p.json: symmetry: takes true, false or a string"},
      {"{\"loop_count\": 1, \"log\": {\"name\": 5}}", "p.json: log.name: takes a string"},
      {"{\"loop_count\": 1, \"learning_rate\": null}", "p.json: learning_rate: takes a number or a string"},
      {"{\"loop_count\": 1, \"replay\": {\"big\": 9007199254740993}}",
       "p.json: replay.big: JSON numbers are exact below 2^53 only; write this one as a string"},
      {"{\"replay\": {\"size\": 2048}, \"replay.size\": 4096}",
       "p.json: replay.size: the setting is given twice; keep one of them"},
      {"[1]", "p.json: takes a JSON object"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    fixture f;
    init(&f);
    const joined before = f.values;
    assert_int_equal(set_json(&f, cases[i].text), MZ_E_CONFIG);
    assert_string_equal(mz_message(), cases[i].message);
    assert_memory_equal(&f.values, &before, sizeof before);
    for (int row = 0; row < ROWS; row++) assert_int_equal(f.is_explicit[row], 0);
  }
}

static void test_json_reads_back_the_same_bits(void **state) {
  (void)state;
  fixture a, b;
  init(&a);
  init(&b);
  a.values.learner.learning_rate = 0.1 + 0.2;
  a.values.learner.symmetry = false;
  a.values.store.kind = 2;
  a.values.store.big = INT64_MIN;
  a.values.store.pause = 1.0 / 3;
  snprintf(a.values.store.name, sizeof a.values.store.name, "\"q\" \xc3\xa9");
  memset(a.values.store.path, 'z', sizeof a.values.store.path - 1);
  for (int i = 0; i < ROWS; i++) {
    const int changed = i == RATE || i == SYMMETRY || i == KIND || i == BIG || i == PAUSE || i == NAME || i == PATH;
    assert_int_equal(mz_config_equal(&a.config, &b.config, i), !changed);
  }
  cJSON *json = mz_config_to_json(&a.config);
  char *line = mz_json_line(json);
  assert_int_equal(set_json(&b, line), MZ_OK);
  for (int i = 0; i < ROWS; i++) assert_true(mz_config_equal(&a.config, &b.config, i));
  free(line);
  cJSON_Delete(json);
}

static void test_text_reads_back_the_same_bits(void **state) {
  (void)state;
  fixture a, b;
  init(&a);
  init(&b);
  a.values.learner.learning_rate = 1.0 / 3;
  a.values.store.pause = 7201.000001;
  for (int i = 0; i < ROWS; i++) {
    char text[MZ_SETTING_TEXT_MAX];
    mz_config_text(&a.config, i, text, sizeof text);
    assert_int_equal(mz_config_set(&b.config, mz_config_row(&b.config, i)->key, text, "--set"), MZ_OK);
    assert_true(mz_config_equal(&a.config, &b.config, i));
  }
}

static void test_sizes_and_times(void **state) {
  (void)state;
  int64_t size = -1;
  double seconds = -1;
  assert_int_equal(mz_parse_size("64 MiB", "--memory", &size), MZ_OK);
  assert_int_equal(size, 64 << 20);
  assert_int_equal(mz_parse_size("1e6", "--steps", &size), MZ_OK);
  assert_int_equal(size, 1000000);
  assert_int_equal(mz_parse_size("64MB", "--memory", &size), MZ_E_CONFIG);
  assert_string_equal(mz_message(), "--memory 64MB: no such unit; a size takes k, M, G, KiB, MiB or GiB");
  assert_int_equal(mz_parse_size("-1", "--steps", &size), MZ_E_CONFIG);
  assert_string_equal(mz_message(), "--steps -1: not a whole number of 0 or more, which may have k, M, G, KiB, MiB or GiB");
  assert_int_equal(mz_parse_size("10000000000G", "--steps", &size), MZ_E_CONFIG);
  assert_string_equal(
      mz_message(),
      "--steps 10000000000G: out of range; the largest is 9223372036854775807, and from 2^53 on it takes every digit");
  assert_int_equal(mz_parse_size("k", "--steps", &size), MZ_E_CONFIG);
  assert_int_equal(size, 1000000); /* untouched by failures */
  assert_int_equal(mz_parse_time("1.5h", "--for", &seconds), MZ_OK);
  assert_true(seconds == 5400);
  assert_int_equal(mz_parse_time("20k", "--for", &seconds), MZ_E_CONFIG);
  assert_string_equal(mz_message(), "--for 20k: no such unit; a time takes s, m or h");
  assert_int_equal(mz_parse_time("1e308h", "--for", &seconds), MZ_E_CONFIG);
  assert_string_equal(mz_message(), "--for 1e308h: out of range; no time is as long as that");
  assert_int_equal(mz_parse_time("soon", "--for", &seconds), MZ_E_CONFIG);
  assert_string_equal(mz_message(), "--for soon: not a time; it takes a number of 0 or more with s, m or h");
  assert_int_equal(mz_parse_time("-1s", "--for", &seconds), MZ_E_CONFIG);
}

static void test_nearest(void **state) {
  (void)state;
  static const char *const names[] = {"train", "resume", "eval", "inspect", "tictactoe", "cartpole"};
  enum { N = sizeof names / sizeof *names };
  assert_string_equal(mz_nearest("trian", names, N), "train"); /* swapped neighbours */
  assert_string_equal(mz_nearest("CartPole", names, N), "cartpole");
  assert_string_equal(mz_nearest("tictacto", names, N), "tictactoe");
  assert_string_equal(mz_nearest("evall", names, N), "eval");
  assert_string_equal(mz_nearest("inpsetc", names, N), "inspect");
  assert_null(mz_nearest("chess", names, N));
  assert_null(mz_nearest("", names, N));
  assert_null(mz_nearest("train", names, 0));
  char longer[300];
  memset(longer, 'a', sizeof longer);
  longer[299] = '\0';
  assert_null(mz_nearest(longer, names, N));
}

static const mz_renamed_key renamed[] = {{"replay.bytes", "replay.size"}, {"name", "log.name"}, {NULL, NULL}};

static int warnings;
static void count_warnings(void *context, mz_log_level level, const char *line) {
  (void)context;
  if (level == MZ_LOG_WARNING) warnings++;
  if (warnings == 1) assert_string_equal(line, "p.json: 'replay.bytes' is now called 'replay.size'; the old name still works");
}

static mz_status set_text(fixture *f, const char *text) {
  cJSON *json;
  assert_int_equal(mz_json_parse(text, strlen(text), "p.json", true, MZ_E_CONFIG, &json), MZ_OK);
  const mz_status status = mz_config_set_json(&f->config, json, "p.json");
  cJSON_Delete(json);
  return status;
}

static void test_an_old_key_works_and_warns_once(void **state) {
  (void)state;
  fixture f;
  init(&f);
  f.config.renamed = renamed;
  mz_log_set_sink(count_warnings, NULL);
  warnings = 0;
  f.config.stored = true;
  assert_int_equal(set_text(&f, "{\"replay\": {\"bytes\": 2048}}"), MZ_OK);
  assert_int_equal(warnings, 0); /* a program wrote it */
  f.config.stored = false;
  assert_int_equal(set_text(&f, "{\"replay\": {\"bytes\": 4096}}"), MZ_OK);
  assert_int_equal(mz_config_set_pair(&f.config, "replay.bytes=8192", "--set"), MZ_OK);
  mz_log_set_sink(NULL, NULL);
  assert_int_equal(warnings, 1);
  assert_int_equal(f.values.store.size, 8192);
  assert_int_equal(mz_config_find(&f.config, "replay.bytes"), mz_config_find(&f.config, "replay.size"));
}

static void test_both_names_of_a_setting_are_an_error(void **state) {
  (void)state;
  fixture f;
  init(&f);
  f.config.renamed = renamed;
  f.config.stored = true;
  const joined before = f.values;
  assert_int_equal(set_text(&f, "{\"replay.bytes\": 4096, \"replay\": {\"size\": 2048}}"), MZ_E_CONFIG);
  assert_string_equal(mz_message(),
                      "p.json: replay.size: the setting is given under its old and under its new name; keep one of them");
  assert_memory_equal(&f.values, &before, sizeof before);
  assert_int_equal(set_text(&f, "{\"name\": \"a\"}"), MZ_OK);
  assert_int_equal(mz_config_set_pair(&f.config, "log.name=b", "--set"), MZ_OK); /* the command line comes after the file */
  assert_int_equal(mz_config_set_pair(&f.config, "name=c", "--set"), MZ_E_CONFIG);
  assert_string_equal(mz_message(), "--set name: the setting is given under its old and under its new name; keep one of them");
  assert_string_equal(f.values.store.name, "b");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_defaults_fill_every_row),
      cmocka_unit_test(test_set_writes_and_marks),
      cmocka_unit_test(test_unknown_keys_name_the_nearest),
      cmocka_unit_test(test_range_errors_show_range_unit_and_nearest),
      cmocka_unit_test(test_wrong_types_show_what_is_taken),
      cmocka_unit_test(test_json_sets_nested_and_dotted_keys),
      cmocka_unit_test(test_json_errors_write_nothing),
      cmocka_unit_test(test_json_reads_back_the_same_bits),
      cmocka_unit_test(test_text_reads_back_the_same_bits),
      cmocka_unit_test(test_sizes_and_times),
      cmocka_unit_test(test_nearest),
      cmocka_unit_test(test_an_old_key_works_and_warns_once),
      cmocka_unit_test(test_both_names_of_a_setting_are_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
