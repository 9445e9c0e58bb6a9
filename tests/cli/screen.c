/* The live view and the help, on a pseudo-terminal. */
#include "tests/cli/support/process.h"
#include <errno.h>
#include <pty.h>
#include <regex.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cmocka.h>

enum { COLUMNS = 60, OUTPUT_MAX = 1 << 20 };

static char output[OUTPUT_MAX];

static int columns = COLUMNS; /* of the terminal */
static bool resizes;          /* the window is made narrower, and Ctrl-C waits for what follows */
static const char cleared[] = "\033[H\033[2J";

/* Else the terminal writes "^C" amid whatever line is being drawn. */
static void stop_echo(int terminal) {
  struct termios settings;
  assert_int_equal(tcgetattr(terminal, &settings), 0);
  settings.c_lflag &= ~(tcflag_t)ECHO;
  assert_int_equal(tcsetattr(terminal, TCSANOW, &settings), 0);
}

/* Runs a tiny training on a terminal; everything it wrote is in `output`. `interrupt`: presses Ctrl-C once. */
static int run_on_terminal(const char *term, const char *no_color, const char *run, bool interrupt) {
  const struct winsize size = {.ws_row = 24, .ws_col = (unsigned short)columns}, narrow = {.ws_row = 24, .ws_col = COLUMNS};
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
  stop_echo(terminal);
  size_t length = 0;
  bool pressed = false, resized = false;
  for (;;) {
    const ssize_t got = read(terminal, output + length, OUTPUT_MAX - 1 - length);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break; /* EIO: the other end is closed */
    length += (size_t)got;
    output[length] = 0;
    if (length == OUTPUT_MAX - 1) length = 0;
    if (resizes && !resized && strstr(output, "updates/s")) {
      assert_int_equal(ioctl(terminal, TIOCSWINSZ, &narrow), 0);
      resized = true;
    }
    const char *again = resizes ? strstr(output, cleared) : output;
    if (interrupt && !pressed && again && strstr(again, "updates/s")) {
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

/* Takes what is no text out of a line; how many columns are left. */
static int plain(char *line) {
  int width = 0;
  char *to = line;
  for (const char *at = line; *at; at++) {
    if (*at == '\033') {
      at += 2 + strspn(at + 2, "?0123456789;");
      continue;
    }
    width += (*at & 0xc0) != 0x80;
    *to++ = *at;
  }
  *to = 0;
  return width;
}

/* A line that wraps would spoil the redraw. */
static void test_no_line_is_wider_than_the_window(void **state) {
  (void)state;
  assert_int_equal(run_on_terminal("xterm", "1", "a-directory-with-a-name-that-is-longer-than-the-window-is-wide-by-far", false),
                   0);
  char *end = strstr(output, "the limit of rounds is reached");
  assert_non_null(end);
  *end = 0;
  for (char *line = strtok(output, "\r\n"); line; line = strtok(NULL, "\r\n")) assert_true(plain(line) < COLUMNS);
}

/* Whole fields that have no room are left out: nothing ends inside a number or a word. */
static void test_fields_are_whole(void **state) {
  (void)state;
#define COUNT "[0-9.]+[kMGT]?"
  static const struct {
    const char *begins, *pattern;
  } lines[] = {
      {"  rates ", "^  rates   (" COUNT " moves/s(  " COUNT " simulations/s(  " COUNT " updates/s)?)?)?$"},
      {"  so far ", "^  so far  (" COUNT " rounds(  " COUNT " moves(  " COUNT " simulations(  " COUNT " updates)?)?)?)?$"},
      {"  loss ", "^  loss    ([-0-9.e]+ *(  return in self-play  [-0-9.e]+)?)?$"},
      {"  plan ", "^  plan    ([0-9]+ actors × [0-9]+ games(  [0-9]+ builders(  queue [0-9]+(  [0-9]+ learner threads(  "
                  "[a-z]+(: [a-z]+)?)?)?)?)?)?$"},
      {"  score ", "^  score   ([-0-9.e]+ *( [▁▂▃▄▅▆▇█]* ( target [-0-9.e]+)?(  share of points against itself)?)?)?$"},
  };
  for (columns = 24; columns <= COLUMNS; columns += 4) {
    int found = 0;
    char run[32];
    snprintf(run, sizeof run, "narrow%d", columns);
    assert_int_equal(run_on_terminal("xterm", "1", run, false), 0);
    char *end = strstr(output, "the limit of rounds is reached");
    assert_non_null(end);
    *end = 0;
    for (char *line = strtok(output, "\r\n"); line; line = strtok(NULL, "\r\n")) {
      assert_true(plain(line) < columns);
      for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        regex_t pattern;
        if (strncmp(line, lines[i].begins, strlen(lines[i].begins)) != 0) continue;
        assert_int_equal(regcomp(&pattern, lines[i].pattern, REG_EXTENDED | REG_NOSUB), 0);
        if (regexec(&pattern, line, 0, NULL, 0) != 0) fail_msg("%d columns: '%s'", columns, line);
        regfree(&pattern);
        found |= 1 << i;
      }
    }
    assert_int_equal(found, 31);
  }
  columns = COLUMNS;
}

/* Terminals break or cut the lines of a window that becomes narrower: it is cleared and drawn anew, and nothing goes up into what
 * was there. */
static void test_a_new_size_is_drawn_anew(void **state) {
  (void)state;
  columns = 120, resizes = true;
  assert_int_equal(run_on_terminal("xterm", "1", "resized", true), 75);
  columns = COLUMNS, resizes = false;
  char *after = strstr(output, cleared), *end = strstr(output, " after "); /* the summary's first line */
  assert_true(after && end && after < end);
  assert_null(strstr(after + 1, cleared)); /* once */
  while (*end != '\n') end--;
  *end = 0;
  assert_int_equal(strncmp(after + strlen(cleared), "\033[2Ktictactoe", 13), 0); /* a whole picture */
  for (char *line = strtok(after + strlen(cleared), "\r\n"); line; line = strtok(NULL, "\r\n"))
    if (plain(line) >= COLUMNS) fail_msg("%d columns: '%s'", COLUMNS, line);
}

/* Everything that `arguments`, from the program's name on, prints on a terminal of so many columns. */
static void print_on_terminal(int width, char *const arguments[]) {
  const struct winsize size = {.ws_row = 24, .ws_col = (unsigned short)width};
  int terminal, status;
  const pid_t pid = forkpty(&terminal, NULL, NULL, &size);
  assert_true(pid >= 0);
  if (pid == 0) {
    execv(MUZERO_BINARY, arguments);
    _exit(127);
  }
  size_t length = 0;
  for (ssize_t got; (got = read(terminal, output + length, OUTPUT_MAX - 1 - length)) > 0 || (got < 0 && errno == EINTR);)
    length += got > 0 ? (size_t)got : 0;
  output[length] = 0;
  close(terminal);
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void test_help_wraps_at_words(void **state) {
  (void)state;
  static char *asked[] = {NULL, "train", "compare", "why"};
  for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
    for (int width = COLUMNS; width <= 180; width += 40) {
      print_on_terminal(width, (char *[]){"muzero", asked[i] ? asked[i] : "--help", asked[i] ? "--help" : NULL, NULL});
      assert_says(output, i == 0 ? "resume" : "algorithmic");
      for (char *line = strtok(output, "\r\n"); line; line = strtok(NULL, "\r\n"))
        if (plain(line) > width) fail_msg("%d columns: '%s'", width, line);
    }
  }
}

static void test_progress_is_cut_at_the_edge(void **state) {
  (void)state;
  static char preset[] = TEST_DATA "/cli/tiny.json";
  print_on_terminal(COLUMNS, (char *[]){"muzero", "profile", "tictactoe", "--preset", preset, "--plans", "0", "--passes", "1",
                                        "--again", "0", "--history", "none", NULL});
  int lines = 0;
  for (const char *at = output; (at = strstr(at, " of 3, left ")); at++, lines++) {
    assert_int_equal(strncmp(at - 10, "\r\033[K\033[?7l", 9), 0); /* no automatic wrapping */
    assert_int_equal(strncmp(strchr(at, '\033'), "\033[?7h", 5), 0);
  }
  assert_int_equal(lines, 3);
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
      cmocka_unit_test(test_redraws_in_place),
      cmocka_unit_test(test_no_color),
      cmocka_unit_test(test_dumb_terminal),
      cmocka_unit_test(test_no_line_is_wider_than_the_window),
      cmocka_unit_test(test_progress_is_cut_at_the_edge),
      cmocka_unit_test(test_control_c),
      cmocka_unit_test(test_fields_are_whole),
      cmocka_unit_test(test_a_new_size_is_drawn_anew),
      cmocka_unit_test(test_help_wraps_at_words),
  };
  return cmocka_run_group_tests(tests, process_make_folder, process_remove_folder);
}
