/* A program that is stopped from outside has not stood still: the watchdog, which would end it, says nothing. */
#include "tests/cli/support/process.h"
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define TINY "--preset", TEST_DATA "/cli/tiny.json", "--set", "eval.games=1"

static void test_time_stopped_does_not_count(void **state) {
  (void)state;
  process p = {0};
  process_start(&p, "train", "tictactoe", TINY, "--rounds", "100M", "--run", "stopped", "--json", "--watchdog", "abort", "--set",
                "watchdog.time=2s", NULL);
  assert_true(process_wait_for(&p, "\"phase\":2"));
  assert_int_equal(kill(p.pid, SIGSTOP), 0);
  nanosleep(&(struct timespec){.tv_sec = 3}, NULL);
  assert_int_equal(kill(p.pid, SIGCONT), 0);
  nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL); /* a dozen looks */
  assert_int_equal(kill(p.pid, SIGINT), 0);
  process_wait(&p);
  assert_status(&p, 75);
  assert_null(strstr(p.err, "watchdog"));
  process_free(&p);
}

static void test_actions(void **state) {
  (void)state;
  const refusal refusals[] = {
      {{"train", "tictactoe", "--watchdog", "bark"}, 3, "abort"},
      {{"train", "tictactoe", "--set", "watchdog.time=-1s"}, 3, "watchdog.time"},
  };
  assert_refused(refusals, sizeof refusals / sizeof *refusals);
  process p = {0};
  process_run(&p, "train", "tictactoe", TINY, "--rounds", "2", "--run", "off", NULL);
  assert_status(&p, 0);
  process_run(&p, "resume", "off", "--rounds", "3", "--watchdog", "abort", "--set", "watchdog.time=1h", NULL);
  assert_status(&p, 0);
  process_shell(&p, "tr -d ' \\n\\t' <off/config.json");
  assert_says(p.out, "\"watchdog\":{\"time\":3600,\"action\":\"abort\"}");
  process_free(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_time_stopped_does_not_count), cmocka_unit_test(test_actions)};
  return cmocka_run_group_tests(tests, process_make_folder, process_remove_folder);
}
