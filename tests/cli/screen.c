/* The live view, on a pseudo-terminal. */
#include "tests/cli/support/process.h"
#include <errno.h>
#include <pty.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { COLUMNS = 60, OUTPUT_MAX = 1 << 20 };

static char output[OUTPUT_MAX];

/* Runs a tiny training on a terminal of 60 columns; everything it wrote is in `output`. `interrupt`: presses Ctrl-C once. */
static int run_on_terminal(const char *term, const char *no_color, const char *run, bool interrupt) {
  const struct winsize size = {.ws_row = 24, .ws_col = COLUMNS};
  int terminal;
  const pid_t pid = forkpty(&terminal, NULL, NULL, &size);
  assert_true(pid >= 0);
  if (pid == 0) {
    if (chdir(process_folder()) != 0) _exit(126);
    setenv("TERM", term, 1);
    setenv("LC_ALL", "C.UTF-8", 1);
    if (no_color)
      setenv("NO_COLOR", no_color, 1);
    else
      unsetenv("NO_COLOR");
    execl(MUZERO_BINARY, MUZERO_BINARY, "train", "tictactoe", "--preset", TEST_DATA "/cli/tiny.json", "--run", run, "--rounds",
          interrupt ? "100M" : "6", (char *)NULL);
    _exit(127);
  }
  size_t length = 0;
  bool pressed = false;
  for (;;) {
    const ssize_t got = read(terminal, output + length, OUTPUT_MAX - 1 - length);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break; /* EIO: the other end is closed */
    length += (size_t)got;
    output[length] = 0;
    if (length == OUTPUT_MAX - 1) length = 0;
    if (interrupt && !pressed && strstr(output, "updates/s")) {
      assert_int_equal(write(terminal, "\003", 1), 1);
      pressed = true;
    }
  }
  output[length] = 0;
  close(terminal);
  int status;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_true(WIFEXITED(status));
  return WEXITSTATUS(status);
}

static void test_redraws_in_place(void **state) {
  (void)state;
  assert_int_equal(run_on_terminal("xterm-256color", NULL, "color", false), 0);
  assert_says(output, "\033["); /* moves up and clears */
  assert_says(output, "A\033[2K");
  assert_says(output, "\033[1m");
  assert_null(strstr(output, "\033[?1049")); /* no alternate screen */
  assert_null(strstr(output, "\033[2J"));    /* nothing before it is erased */
  assert_says(output, "score");
  assert_says(output, "simulations/s");
  assert_says(output, "replay");
  assert_says(output, "█");
  assert_says(output, " resume color"); /* and the summary below it */
}

static void test_no_color(void **state) {
  (void)state;
  assert_int_equal(run_on_terminal("xterm", "1", "grey", false), 0);
  assert_says(output, "\033[2K");
  for (const char *at = output; (at = strstr(at, "\033[")); at++)
    assert_int_not_equal(at[2 + strspn(at + 2, "0123456789;")], 'm');
}

static void test_dumb_terminal(void **state) {
  (void)state;
  assert_int_equal(run_on_terminal("dumb", NULL, "dumb", false), 0);
  assert_null(strchr(output, '\033'));
  assert_says(output, "phase 1: ");
}

/* A line that wraps would spoil the redraw. */
static void test_no_line_is_wider_than_the_window(void **state) {
  (void)state;
  assert_int_equal(run_on_terminal("xterm", "1", "a-directory-with-a-name-that-is-longer-than-the-window-is-wide-by-far", false),
                   0);
  char *end = strstr(output, "the limit of rounds is reached");
  assert_non_null(end);
  *end = 0;
  for (char *line = strtok(output, "\r\n"); line; line = strtok(NULL, "\r\n")) {
    int columns = 0;
    for (const char *at = line; *at; at++) {
      if (*at == '\033') {
        at += 2 + strspn(at + 2, "0123456789;");
        continue;
      }
      columns += (*at & 0xc0) != 0x80;
    }
    assert_true(columns < COLUMNS);
  }
}

static void test_control_c(void **state) {
  (void)state;
  assert_int_equal(run_on_terminal("xterm", NULL, "stopped", true), 75);
  const char *said = strstr(output, "interrupted");
  assert_non_null(said);
  assert_says(said, "interrupted: stopped is saved and can be resumed");
  assert_null(strstr(said + 1, "interrupted")); /* once */
  assert_says(output, " resume stopped");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_redraws_in_place), cmocka_unit_test(test_no_color),
      cmocka_unit_test(test_dumb_terminal),    cmocka_unit_test(test_no_line_is_wider_than_the_window),
      cmocka_unit_test(test_control_c),
  };
  return cmocka_run_group_tests(tests, process_make_folder, process_remove_folder);
}
