#include "base/log.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef struct record {
  int lines;
  mz_log_level level;
  char last[4096];
} record;

static void keep(void *context, mz_log_level level, const char *line) {
  record *r = context;
  r->lines++;
  r->level = level;
  snprintf(r->last, sizeof r->last, "%s", line);
}

static void test_sink_gets_formatted_lines_up_to_the_level(void **state) {
  (void)state;
  record r = {0};
  mz_log_set_sink(keep, &r);
  mz_log_write(MZ_LOG_WARNING, "%d of %s", 3, "four");
  assert_int_equal(r.lines, 1);
  assert_int_equal(r.level, MZ_LOG_WARNING);
  assert_string_equal(r.last, "3 of four");
  mz_log_write(MZ_LOG_DEBUG, "too verbose"); /* by default up to info */
  assert_int_equal(r.lines, 1);
  mz_log_set_level(MZ_LOG_DEBUG);
  mz_log_write(MZ_LOG_DEBUG, "now");
  assert_int_equal(r.lines, 2);
  mz_log_set_level(MZ_LOG_ERROR);
  mz_log_write(MZ_LOG_WARNING, "not now");
  assert_int_equal(r.lines, 2);
  mz_log_set_level(MZ_LOG_INFO);
  mz_log_set_sink(NULL, NULL);
}

static void test_a_line_is_one_line_that_no_terminal_obeys(void **state) {
  (void)state;
  record r = {0};
  mz_log_set_sink(keep, &r);
  mz_log_write(MZ_LOG_WARNING, "%s: there", "a\nb\033[2J\xff");
  assert_string_equal(r.last, "a\\x0Ab\\x1B[2J\\xFF: there");
  mz_log_set_sink(NULL, NULL);
}

static void *shout(void *word) {
  for (int i = 0; i < 200; i++) mz_log_write(MZ_LOG_INFO, "%s", (const char *)word);
  return NULL;
}

/* Two threads shout to stderr; each line in the file must be wholly one's or the other's. */
static void test_lines_on_stderr_are_whole(void **state) {
  (void)state;
  static char words[2][512];
  memset(words[0], 'a', sizeof words[0] - 1);
  memset(words[1], 'b', sizeof words[1] - 1);
  FILE *file = tmpfile();
  assert_non_null(file);
  const int saved = dup(STDERR_FILENO);
  assert_true(saved >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
  pthread_t threads[2];
  for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&threads[i], NULL, shout, words[i]), 0);
  for (int i = 0; i < 2; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
  mz_log_write(MZ_LOG_ERROR, "end");
  assert_true(dup2(saved, STDERR_FILENO) >= 0);
  close(saved);

  rewind(file);
  char line[1024];
  int counts[2] = {0, 0}, ended = 0;
  while (fgets(line, sizeof line, file) != NULL) {
    line[strcspn(line, "\n")] = '\0';
    if (strcmp(line, "error: end") == 0)
      ended = 1;
    else if (strcmp(line, words[0]) == 0)
      counts[0]++;
    else if (strcmp(line, words[1]) == 0)
      counts[1]++;
    else
      fail_msg("a broken line: %s", line);
  }
  fclose(file);
  assert_int_equal(counts[0], 200);
  assert_int_equal(counts[1], 200);
  assert_int_equal(ended, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sink_gets_formatted_lines_up_to_the_level),
      cmocka_unit_test(test_a_line_is_one_line_that_no_terminal_obeys),
      cmocka_unit_test(test_lines_on_stderr_are_whole),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
