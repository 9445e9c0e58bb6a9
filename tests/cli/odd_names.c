/* Names from outside that hold control characters or are not UTF-8: a terminal gets none of their bytes, JSON stays UTF-8. */
#include "base/text.h"
#include "tests/cli/support/lines.h"
#include "tests/cli/support/process.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TINY "--preset", TEST_DATA "/cli/tiny.json", "--rounds", "2", "--history", "none"
/* Clears a screen, sets a title (C1), ends a line, is no UTF-8. */
#define ODD                                                                                                                      \
  "\033[2J\xc2\x9d"                                                                                                              \
  "0;t\x07\rx\xff"
#define SHOWN "\\x1B[2J\\xC2\\x9D0;t\\x07\\x0Dx\\xFF"
#define IN_JSON "\\u001b[2J\\u009d0;t\\u0007\\u000dx\xef\xbf\xbd"

/* Lines of characters that a terminal shows. */
static void assert_clean_(const char *text, const char *file, int line) {
  for (const char *at = text; *at;) {
    uint32_t code;
    const size_t length = mz_text_character(at, &code);
    if (length == 0 || (mz_text_is_control(code) && code != '\n')) {
      print_error("byte %#x in:\n%s\n", (unsigned)code, text);
      _fail(file, line);
    }
    at += length;
  }
}
#define assert_clean(p) (assert_clean_((p)->out, __FILE__, __LINE__), assert_clean_((p)->err, __FILE__, __LINE__))

static void test_messages(void **state) {
  (void)state;
  static const char *const commands[][5] = {
      {ODD},
      {"train", ODD},
      {"train", "tictactoe", "--" ODD},
      {"train", "tictactoe", "--set", "games=" ODD},
      {"train", "tictactoe", "--set", ODD "=1"},
      {"train", "tictactoe", "--set", "eval.opponent=" ODD},
      {"train", "tictactoe", "--preset", "./" ODD ".json"},
      {"train", "tictactoe", "--rounds", ODD},
      {"train", "tictactoe", "--device", ODD},
      {"resume", ODD},
      {"inspect", ODD},
      {"why", ODD},
      {"report", ODD},
      {"bench", ODD},
      {"compare", "tictactoe", "--arms", "rule," ODD},
  };
  process p = {0};
  for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
    const char *const *a = commands[i];
    process_run(&p, a[0], a[1], a[2], a[3], a[4], NULL);
    assert_in_range(p.status, 2, 5);
    assert_clean(&p);
    assert_says(p.err, SHOWN);
    assert_int_equal(lines_count(p.err), 1);
  }
  process_free(&p);
}

/* A text setting is kept in JSON, which could not give it back. */
static void test_text_settings_are_utf8(void **state) {
  (void)state;
  static const refusal refusals[] = {
      {{"train", "tictactoe", "--set", "eval.opponent=a\xff"}, 3, "eval.opponent takes text of at most 63 bytes of UTF-8"},
      {{"train", "tictactoe", "--set", "eval.opponent=a\nb"}, 3, "eval.opponent takes text of at most 63 bytes of UTF-8"},
  };
  assert_refused(refusals, sizeof refusals / sizeof refusals[0]);
}

static void test_a_run_of_such_a_name(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "train", "tictactoe", TINY, "--run", ODD, NULL);
  assert_status(&p, 0);
  assert_clean(&p);
  assert_says(p.out, "in " SHOWN "\n");
  process_run(&p, "train", "tictactoe", TINY, "--run", ODD, NULL);
  assert_status(&p, 3);
  assert_clean(&p);
  process_run(&p, "resume", ODD, "--rounds", "4", "--json", NULL);
  assert_status(&p, 0);
  assert_clean(&p);
  assert_says(p.out, "\"run\":\"" IN_JSON "\"");
  cJSON *done = lines_at(p.out, -1);
  assert_string_equal(lines_string(done, "event"), "done");
  cJSON_Delete(done);
  process_run(&p, "report", ODD, NULL);
  assert_status(&p, 0);
  assert_clean(&p);
  assert_says(p.out, SHOWN "/report.html\n");
  process_run(&p, "eval", ODD, "--opponent", ODD, "--games", "2", NULL);
  assert_status(&p, 0);
  assert_clean(&p);
  assert_says(p.out, "against " SHOWN);
  process_run(&p, "eval", ODD, "--opponent", ODD, "--games", "2", "--json", NULL);
  assert_status(&p, 0);
  assert_clean(&p);
  process_run(&p, "watch", ODD, "--opponent", ODD "@best", NULL);
  assert_status(&p, 0);
  assert_clean(&p);
  process_run(&p, "eval", ODD "@77", NULL);
  assert_status(&p, 4);
  assert_clean(&p);
  assert_says(p.err, SHOWN "@77: this run keeps no checkpoint of round 77");
  process_run(&p, "eval", ".", "--games", "2", NULL);
  assert_status(&p, 0);
  assert_clean(&p);
  assert_says(p.err, "the newest is ./" SHOWN "\n");
  process_run(&p, "runs", ".", NULL);
  assert_status(&p, 0);
  assert_clean(&p);
  assert_says(p.out, "./" SHOWN " ");
  process_run(&p, "runs", ".", "--json", NULL);
  assert_clean(&p);
  assert_says(p.out, "\"name\":\"./" IN_JSON "\"");
  process_free(&p);
}

/* What other programs and files say. */
static void test_answers_and_ledgers(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "train", "tictactoe", TINY, "--run", "plain", "--rounds", "4", NULL);
  assert_status(&p, 0);
  process_run(&p, "eval", "plain", "--opponent", "gtp:printf '? \\033[2Jno\\377\\n\\n'; cat >/dev/null", "--games", "2", NULL);
  assert_clean(&p);
  assert_says(p.err, "[2Jno\\xFF");
  process_shell(&p, "printf 'z\\033[2J\\377\\n' | $MUZERO play plain");
  assert_clean(&p);
  assert_says(p.out, "'z\\x1B[2J\\xFF' is no move");
  process_shell(&p, "sed -i 's/\"reason\":\"/&\\\\u001b[2J\\xff/' plain/ledger.jsonl && $MUZERO why plain --phase 0");
  assert_status(&p, 0);
  assert_clean(&p);
  assert_says(p.out, "why: \\x1B[2J\\xFF");
  process_shell(&p, "exec $MUZERO why plain --json");
  assert_status(&p, 0);
  assert_clean(&p);
  assert_says(p.out, "\"reason\":\"\\u001b[2J\xef\xbf\xbd");
  process_shell(&p, "XDG_DATA_HOME=$(printf '/tmp/\\033[2J\\377') exec $MUZERO doctor");
  assert_clean(&p);
  process_free(&p);
}

/* An arm's process says in more bytes what is short in words. */
static void test_a_long_message_of_an_arm(void **state) {
  (void)state;
  process p = {0};
  char path[601];
  memset(path, '\x01', sizeof path - 1);
  for (size_t i = 200; i < sizeof path; i += 200) path[i] = '/';
  path[sizeof path - 1] = '\0';
  process_run(&p, "compare", "tictactoe", TINY, "--arms", "rule,greedy", "--history", path, "--run", "c", NULL);
  assert_int_equal(p.status, 5);
  assert_clean(&p);
  assert_says(p.err, "arm rule: history: \\x01\\x01");
  process_free(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_messages),
      cmocka_unit_test(test_text_settings_are_utf8),
      cmocka_unit_test(test_a_run_of_such_a_name),
      cmocka_unit_test(test_answers_and_ledgers),
      cmocka_unit_test(test_a_long_message_of_an_arm),
  };
  return cmocka_run_group_tests(tests, process_make_folder, process_remove_folder);
}
