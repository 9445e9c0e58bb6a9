/* A program that is started with standard input, output or error closed. */
#include "tests/cli/support/process.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TINY "--preset " TEST_DATA "/cli/tiny.json --rounds 4 --threads 1"

static void read_digest(const char *run, char *out, size_t size) {
  process p = {0};
  process_run(&p, "inspect", run, "--digest", NULL);
  assert_status(&p, 0);
  snprintf(out, size, "%s", p.out);
  process_free(&p);
}

/* The first files that are opened would get the numbers of the closed ones, and what is printed. */
static void test_output_does_not_go_into_the_runs_files(void **state) {
  (void)state;
  static const char *const closed[] = {"<&- >&- 2>&-", ">&-", "2>&-", ">&- 2>&-", "<&-"};
  process p = {0};
  char digest[64], other[64], command[512];
  process_shell(&p, "exec $MUZERO train tictactoe --run open " TINY);
  assert_status(&p, 0);
  read_digest("open", digest, sizeof digest);
  for (size_t i = 0; i < sizeof closed / sizeof closed[0]; i++) {
    snprintf(command, sizeof command, "rm -rf closed; exec $MUZERO train tictactoe --run closed " TINY " --json %s", closed[i]);
    process_shell(&p, command);
    assert_status(&p, 0);
    read_digest("closed", other, sizeof other);
    assert_string_equal(other, digest);
    process_shell(&p,
                  "wc -c <closed/lock; grep -v '^{' closed/metrics.jsonl; grep -c '\"event\":\"phase\"' closed/metrics.jsonl");
    assert_string_equal(p.out, "0\n2\n");
    process_run(&p, "inspect", "closed", "--verify", NULL);
    assert_status(&p, 0);
  }
  process_free(&p);
}

/* A failure that nobody can read is still an exit status. */
static void test_failures_without_standard_error(void **state) {
  (void)state;
  process p = {0};
  process_shell(&p, "exec $MUZERO resume nosuch >&- 2>&-");
  assert_status(&p, 5);
  process_shell(&p, "exec $MUZERO trian 2>&-");
  assert_status(&p, 2);
  assert_string_equal(p.out, "");
  process_free(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_output_does_not_go_into_the_runs_files),
      cmocka_unit_test(test_failures_without_standard_error),
  };
  return cmocka_run_group_tests(tests, process_make_folder, process_remove_folder);
}
