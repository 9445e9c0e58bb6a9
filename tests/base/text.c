#include "base/text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static void test_characters(void **state) {
  (void)state;
  static const struct {
    const char *text;
    size_t length;
    uint32_t code;
  } cases[] = {
      {"a", 1, 'a'},
      {"", 0, 0},
      {"\x7f", 1, 0x7f},
      {"\xc2\x80", 2, 0x80},
      {"\xc3\xa9x", 2, 0xe9},
      {"\xe2\x80\xa6", 3, 0x2026},
      {"\xed\x9f\xbf", 3, 0xd7ff},
      {"\xf0\x9f\x8e\xb2", 4, 0x1f3b2},
      {"\xf4\x8f\xbf\xbf", 4, 0x10ffff},
      {"\x80", 0, 0x80},             /* no beginning */
      {"\xc3", 0, 0xc3},             /* cut */
      {"\xc3(", 0, 0xc3},            /* no continuation */
      {"\xe2\x80", 0, 0xe2},         /* cut */
      {"\xc0\xaf", 0, 0xc0},         /* overlong '/' */
      {"\xe0\x80\xaf", 0, 0xe0},     /* overlong '/' */
      {"\xf0\x80\x80\xaf", 0, 0xf0}, /* overlong '/' */
      {"\xed\xa0\x80", 0, 0xed},     /* a surrogate */
      {"\xf4\x90\x80\x80", 0, 0xf4}, /* beyond the last code point */
      {"\xf8\x88\x80\x80\x80", 0, 0xf8},
      {"\xff", 0, 0xff},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    uint32_t code = 1;
    assert_int_equal(mz_text_character(cases[i].text, &code), cases[i].length);
    assert_int_equal(code, cases[i].code);
  }
}

static void test_controls(void **state) {
  (void)state;
  assert_true(mz_text_is_control(0) && mz_text_is_control(0x1b) && mz_text_is_control(0x1f) && mz_text_is_control(0x7f));
  assert_true(mz_text_is_control(0x80) && mz_text_is_control(0x9b) && mz_text_is_control(0x9f));
  assert_false(mz_text_is_control(' ') || mz_text_is_control('~') || mz_text_is_control(0xa0) || mz_text_is_control(0x2026));
}

static void test_printable(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"runs/a b", "runs/a b"},
      {"", ""},
      {"1–2 × é 🎲", "1–2 × é 🎲"},
      {"a\033[2Jb", "a\\x1B[2Jb"},
      {"line\nbreak\ttab\r\x7f", "line\\x0Abreak\\x09tab\\x0D\\x7F"},
      {"\xc2\x9b"
       "2J",
       "\\xC2\\x9B2J"},
      {"\xffok\xe2\x80", "\\xFFok\\xE2\\x80"},
  };
  char out[128];
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    assert_ptr_equal(mz_text_printable(cases[i][0], out, sizeof out), out);
    assert_string_equal(out, cases[i][1]);
  }
}

static void test_printable_is_cut_behind_a_whole_character(void **state) {
  (void)state;
  static const char text[] = "a\xe2\x80\xa6\033z"; /* a, …, \x1B, z */
  static const char *const parts[] = {"", "a", "a", "a", "a…", "a…", "a…", "a…", "a…\\x1B", "a…\\x1Bz"};
  for (size_t size = 1; size <= sizeof parts / sizeof parts[0]; size++) {
    char out[16];
    memset(out, '#', sizeof out);
    assert_string_equal(mz_text_printable(text, out, size), parts[size - 1]);
    assert_int_equal(out[size], '#');
  }
}

static void test_quotes(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"runs/t-1_2,k=5:x@%+.", "runs/t-1_2,k=5:x@%+."},
      {"", "''"},
      {"my runs/t", "'my runs/t'"},
      {"it's", "'it'\\''s'"},
      {"~/a", "'~/a'"},
      {"$HOME/`id`;\"x\"\\", "'$HOME/`id`;\"x\"\\'"},
      {"é", "'é'"},
      {"-rf", "./-rf"},
      {"-r f", "./'-r f'"},
      {"a\nb'c\\d é\xff"
       "1",
       "$'a\\012b\\'c\\\\d é\\3771'"},
  };
  char out[128];
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    assert_ptr_equal(mz_shell_quote(cases[i][0], out, sizeof out), out);
    assert_string_equal(out, cases[i][1]);
  }
}

/* Every byte, alone and among others, comes out of a shell as it went in. */
static void test_a_shell_reads_back_what_was_quoted(void **state) {
  (void)state;
  if (system("bash -c true") != 0) skip();
  for (int byte = 1; byte < 256; byte++) {
    const char text[] = {'a', (char)byte, '7', ' ', (char)byte, 0};
    char word[MZ_SHELL_QUOTE_SIZE(sizeof text)], command[128], got[64] = "";
    snprintf(command, sizeof command, "printf %%s %s", mz_shell_quote(text, word, sizeof word));
    assert_int_equal(setenv("MZ_COMMAND", command, 1), 0);
    FILE *shell = popen("LC_ALL=C bash -c \"$MZ_COMMAND\"", "r");
    assert_non_null(shell);
    const size_t length = fread(got, 1, sizeof got - 1, shell);
    assert_int_equal(pclose(shell), 0);
    assert_int_equal(length, sizeof text - 1);
    assert_memory_equal(got, text, length);
  }
}

static void test_a_word_is_whole_or_none(void **state) {
  (void)state;
  char out[MZ_SHELL_QUOTE_SIZE(3)];
  assert_string_equal(mz_shell_quote("'''", out, sizeof out), "''\\'''\\'''\\'''");
  assert_string_equal(mz_shell_quote("-\n\xff", out, sizeof out), "./$'-\\012\\377'");
  assert_string_equal(mz_shell_quote("runs/t", out, 6), "'…'");
  assert_string_equal(mz_shell_quote("runs/t", out, 7), "runs/t");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_characters),
      cmocka_unit_test(test_controls),
      cmocka_unit_test(test_printable),
      cmocka_unit_test(test_printable_is_cut_behind_a_whole_character),
      cmocka_unit_test(test_quotes),
      cmocka_unit_test(test_a_shell_reads_back_what_was_quoted),
      cmocka_unit_test(test_a_word_is_whole_or_none),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
