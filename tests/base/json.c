#include "base/json/json.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static mz_status parse(const char *text, bool comments, cJSON **out) {
  return mz_json_parse(text, strlen(text), "a.json", comments, MZ_E_CONFIG, out);
}

static void expect_error(const char *text, bool comments, const char *message) {
  cJSON *json = NULL;
  assert_int_equal(parse(text, comments, &json), MZ_E_CONFIG);
  assert_null(json);
  assert_string_equal(mz_message(), message);
}

static void expect_line(const char *text, bool comments, const char *line) {
  cJSON *json = NULL;
  assert_int_equal(parse(text, comments, &json), MZ_OK);
  char *got = mz_json_line(json);
  assert_string_equal(got, line);
  free(got);
  cJSON_Delete(json);
}

static void test_values_come_back_on_one_line(void **state) {
  (void)state;
  expect_line(" { \"a\" : [ 1 , -2.5, true,false , null, \"x\" ] ,\n \"b\":{}, \"c\":[] } ", false,
              "{\"a\":[1,-2.5,true,false,null,\"x\"],\"b\":{},\"c\":[]}");
  expect_line("\"q\\\" b\\\\ n\\n t\\t u\\u0001 e\\u00e9\"", false, "\"q\\\" b\\\\ n\\n t\\t u\\u0001 e\xc3\xa9\"");
}

static void expect_written(const char *text, const char *line) {
  cJSON *string = cJSON_CreateString(text);
  char *got = mz_json_line(string);
  assert_string_equal(got, line);
  free(got);
  cJSON_Delete(string);
}

/* Paths and messages are any bytes; what is written is UTF-8 that a terminal does not obey. */
static void test_strings_are_written_as_utf8_without_controls(void **state) {
  (void)state;
  expect_written("a\xff"
                 "b\xe2\x80",
                 "\"a\xef\xbf\xbd"
                 "b\xef\xbf\xbd\xef\xbf\xbd\"");
  expect_written("\xed\xa0\x80\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
  expect_written("\033[2J\x7f\r\xc2\x9b"
                 "0m\xc2\x85",
                 "\"\\u001b[2J\\u007f\\u000d\\u009b0m\\u0085\"");
  expect_written("é…🎲\xc2\xa0\"\\", "\"é…🎲\xc2\xa0\\\"\\\\\"");
  cJSON *object = cJSON_CreateObject();
  cJSON_AddNumberToObject(object, "k\xff\033", 1);
  char *line = mz_json_line(object);
  assert_string_equal(line, "{\"k\xef\xbf\xbd\\u001b\":1}");
  free(line);
  cJSON_Delete(object);
}

static void test_comments_are_blanked_on_request(void **state) {
  (void)state;
  expect_line("// head\n{ /* one\ntwo */ \"a\": 1, // tail\n \"url\": \"http://x/*y*/\" } // end", true,
              "{\"a\":1,\"url\":\"http://x/*y*/\"}");
  expect_error("{} // no", false, "a.json:1:4: not valid JSON from here on");
  expect_error("{\n /* open", true, "a.json:2:2: comment without an end");
}

static void test_positions_count_lines_and_code_points_across_comments(void **state) {
  (void)state;
  expect_error("/* \xc3\xa9 */ x", true, "a.json:1:9: not valid JSON from here on");
  expect_error("{\n  // line\n  \"a\": 1,\n  \"b\": bad\n}", true, "a.json:4:8: not valid JSON from here on");
}

static void test_duplicate_keys_are_named_at_any_depth(void **state) {
  (void)state;
  expect_error("{\"a\":1,\n \"a\":2}", false, "a.json:2:2: key 'a' is there twice");
  expect_error("{\"x\":[{\"k\":{\"a\":1}},\n{\"b\":0,\"c\":[\"b\"],   \"b\":1}]}", false, "a.json:2:21: key 'b' is there twice");
  expect_error("{\"a\":1,\"\\u0061\":2}", false, "a.json:1:8: key 'a' is there twice");
  expect_line("{\"a\":{\"a\":1},\"A\":2,\"b\":\"a\"}", false, "{\"a\":{\"a\":1},\"A\":2,\"b\":\"a\"}");
}

static void test_what_is_not_json_is_refused(void **state) {
  (void)state;
  expect_error("", false, "a.json:1:1: the text ends too early");
  expect_error("{\"a\":1", false, "a.json:1:7: the text ends too early");
  expect_error("{} {}", false, "a.json:1:4: not valid JSON from here on");
  expect_error("[1,]", false, "a.json:1:4: not valid JSON from here on");
  expect_error("\"abc", false, "a.json:1:1: string without an end");
  expect_error("\"a\nb\"", false, "a.json:1:3: line break or control character in a string");
  expect_error("\"a\\u0000b\"", false, "a.json:1:3: \\u0000 is not allowed in a string");
  expect_error("{\"big\":1e999}", false, "a.json: big: number too large for a double");
  cJSON *json = NULL;
  assert_int_equal(mz_json_parse("{}\0 ", 4, "b", false, MZ_E_CHECKPOINT, &json), MZ_E_CHECKPOINT);
  assert_string_equal(mz_message(), "b:1:3: NUL byte");
}

static void test_depth_is_limited(void **state) {
  (void)state;
  char text[200001];
  memset(text, '[', 100000);
  memset(text + 100000, ']', 100000);
  text[200000] = '\0';
  expect_error(text, false, "a.json:1:65: nested more than 64 levels deep");
  text[64] = '\0';
  memset(text + 32, ']', 32);
  cJSON *json = NULL;
  assert_int_equal(parse(text, false, &json), MZ_OK);
  cJSON_Delete(json);
}

/* Every prefix and every single-byte change of a text is either parsed or refused; sanitizers watch. */
static void test_damaged_texts_do_no_harm(void **state) {
  (void)state;
  static const char good[] = "{\"a\":[1,2.5e-3,\"x\\u00e9\\n\"],/*c*/\"b\":{\"c\":null,\"d\":true}} // e";
  char text[sizeof good];
  cJSON *json = NULL;
  for (size_t n = 0; n < sizeof good; n++) {
    if (mz_json_parse(good, n, "p", true, MZ_E_CONFIG, &json) == MZ_OK) cJSON_Delete(json);
  }
  for (size_t at = 0; at + 1 < sizeof good; at++) {
    for (int byte = 0; byte < 256; byte++) {
      memcpy(text, good, sizeof good);
      text[at] = (char)byte;
      if (mz_json_parse(text, sizeof good - 1, "p", true, MZ_E_CONFIG, &json) == MZ_OK) cJSON_Delete(json);
    }
  }
}

static void test_numbers_read_back_the_same_bits(void **state) {
  (void)state;
  static const double numbers[] = {0.1, 1.0 / 3, -0.0, 3e-3, 5e-324, 1.7976931348623157e308, 9007199254740993.0, 0.1 + 0.2, 1e22};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    cJSON *number = cJSON_CreateNumber(numbers[i]), *back = NULL;
    char *line = mz_json_line(number);
    assert_int_equal(parse(line, false, &back), MZ_OK);
    assert_memory_equal(&back->valuedouble, &numbers[i], sizeof(double));
    free(line);
    cJSON_Delete(number);
    cJSON_Delete(back);
  }
  char text[MZ_JSON_NUMBER_MAX];
  mz_json_number(0.1, text);
  assert_string_equal(text, "0.1");
  mz_json_number(0.1 + 0.2, text);
  assert_string_equal(text, "0.30000000000000004");
}

static void test_non_finite_numbers_become_null(void **state) {
  (void)state;
  cJSON *array = cJSON_CreateArray();
  cJSON_AddItemToArray(array, cJSON_CreateNumber(NAN));
  cJSON_AddItemToArray(array, cJSON_CreateNumber(INFINITY));
  char *line = mz_json_line(array);
  assert_string_equal(line, "[null,null]");
  free(line);
  cJSON_Delete(array);
}

static void test_getters(void **state) {
  (void)state;
  cJSON *object = cJSON_CreateObject();
  mz_json_add_u64_hex(object, "hash", 0x0123456789ABCDEFu);
  cJSON_AddNumberToObject(object, "n", 2.5);
  cJSON_AddStringToObject(object, "short", "12");
  uint64_t hash = 0;
  double number = 0;
  const char *text = NULL;
  assert_string_equal(cJSON_GetObjectItem(object, "hash")->valuestring, "0123456789abcdef");
  assert_int_equal(mz_json_get_u64_hex(object, "hash", "f", MZ_E_CHECKPOINT, &hash), MZ_OK);
  assert_true(hash == 0x0123456789ABCDEFu);
  assert_int_equal(mz_json_get_number(object, "n", "f", MZ_E_CHECKPOINT, &number), MZ_OK);
  assert_true(number == 2.5);
  assert_int_equal(mz_json_get_string(object, "n", "f", MZ_E_CHECKPOINT, &text), MZ_E_CHECKPOINT);
  assert_string_equal(mz_message(), "f: 'n' takes a string");
  assert_int_equal(mz_json_get_number(object, "N", "f", MZ_E_CHECKPOINT, &number), MZ_E_CHECKPOINT);
  assert_string_equal(mz_message(), "f: key 'N' is missing");
  assert_int_equal(mz_json_get_u64_hex(object, "short", "f", MZ_E_CONFIG, &hash), MZ_E_CONFIG);
  cJSON_Delete(object);
}

static void test_whole_numbers_keep_their_digits(void **state) {
  (void)state;
  cJSON *object = cJSON_CreateObject();
  mz_json_add_u64(object, "small", 7);
  mz_json_add_u64(object, "exact", UINT64_C(9007199254740992));
  mz_json_add_u64(object, "large", UINT64_C(9007199254740993));
  mz_json_add_u64(object, "most", UINT64_MAX);
  char *line = mz_json_line(object);
  assert_string_equal(line, "{\"small\":7,\"exact\":9007199254740992,\"large\":9007199254740993,\"most\":18446744073709551615}");
  assert_true(mz_json_number_or_nan(object, "exact") == 9007199254740992.0);
  free(line);
  cJSON_Delete(object);
}

static void test_lack_of_memory_is_an_error(void **state) {
  (void)state;
  cJSON *json = NULL;
  int failed = 0;
  for (int n = 1; n < 20; n++) {
    mz_alloc_fail_after(n);
    const mz_status status = parse("{\"a\":{\"b\":[1]}}", false, &json);
    if (status == MZ_OK)
      cJSON_Delete(json);
    else
      assert_int_equal(status, MZ_E_MEMORY), failed++;
  }
  mz_alloc_fail_after(0);
  assert_in_range(failed, 9, 18); /* the copy, four values, two names, the keys of two objects, and what cJSON has besides */
}

/* cJSON leaves out what it has no memory for, in silence: no text may come of that. */
static void test_a_text_never_lacks_a_member(void **state) {
  (void)state;
  for (int n = 1;; n++) {
    mz_alloc_fail_after(n);
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "env", "cartpole");
    cJSON_AddNumberToObject(cJSON_AddObjectToObject(object, "settings"), "games", 3);
    mz_alloc_fail_after(0);
    char *line = mz_json_line(object);
    cJSON_Delete(object);
    if (line) {
      assert_string_equal(line, "{\"env\":\"cartpole\",\"settings\":{\"games\":3}}");
      assert_true(n > 5);
      free(line);
      return;
    }
  }
}

static void test_a_page_is_indented(void **state) {
  (void)state;
  cJSON *json = NULL;
  assert_int_equal(parse("{\"a\":[1,{\"b\":\"c\"}],\"d\":{},\"e\":[]}", false, &json), MZ_OK);
  char *page = mz_json_page(json);
  assert_string_equal(page, "{\n  \"a\": [\n    1,\n    {\n      \"b\": \"c\"\n    }\n  ],\n  \"d\": {},\n  \"e\": []\n}\n");
  free(page);
  cJSON_Delete(json);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_values_come_back_on_one_line),
      cmocka_unit_test(test_strings_are_written_as_utf8_without_controls),
      cmocka_unit_test(test_comments_are_blanked_on_request),
      cmocka_unit_test(test_positions_count_lines_and_code_points_across_comments),
      cmocka_unit_test(test_duplicate_keys_are_named_at_any_depth),
      cmocka_unit_test(test_what_is_not_json_is_refused),
      cmocka_unit_test(test_depth_is_limited),
      cmocka_unit_test(test_damaged_texts_do_no_harm),
      cmocka_unit_test(test_numbers_read_back_the_same_bits),
      cmocka_unit_test(test_non_finite_numbers_become_null),
      cmocka_unit_test(test_getters),
      cmocka_unit_test(test_whole_numbers_keep_their_digits),
      cmocka_unit_test(test_lack_of_memory_is_an_error),
      cmocka_unit_test(test_a_text_never_lacks_a_member),
      cmocka_unit_test(test_a_page_is_indented),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
