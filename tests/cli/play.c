/* A person at the prompt of `muzero play`. */
#include "tests/cli/support/process.h"
#include <errno.h>
#include <pty.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static int make_runs(void **state) {
  static const char *const games[][3] = {
      {"tictactoe", "t", "0"}, {"tictactoe", "one", "1"}, {"gomoku", "g", "0"}, {"cartpole", "cp", "0"}};
  if (process_make_folder(state) != 0) return -1;
  process p = {0};
  char simulations[64];
  for (size_t i = 0; i < sizeof games / sizeof games[0]; i++) {
    snprintf(simulations, sizeof simulations, "eval.simulations=%s", games[i][2]);
    if (process_run(&p, "train", games[i][0], "--preset", TEST_DATA "/cli/tiny.json", "--run", games[i][1], "--rounds", "1",
                    "--set", "network.kind=mlp", "--set", "eval.games=1", "--set", simulations, NULL) != 0) {
      print_error("%s\n", p.err);
      return -1;
    }
  }
  process_free(&p);
  return 0;
}

/* What is shown to somebody who types these lines. */
static void type(process *p, const char *flags, const char *lines) {
  setenv("LINES", lines, 1);
  setenv("FLAGS", flags, 1);
  process_shell(p, "printf %s \"$LINES\" | $MUZERO play $FLAGS --sims 4");
  assert_status(p, 0);
}

static int count(const char *text, const char *word) {
  int found = 0;
  for (const char *at = text; (at = strstr(at, word)); at++) found++;
  return found;
}

static const char empty_board[] = "\n  a b c\n1 . . .\n2 . . .\n3 . . .\n";

static void test_moves_and_answers(void **state) {
  (void)state;
  process p = {0};
  type(&p, "t", " B2 \n"); /* and the end of input is an end */
  assert_says(p.out, empty_board);
  assert_says(p.out, "\n2 . x .\n3 . . .\nyou: b2\n");
  assert_int_equal(count(p.out, "agent: "), 1);
  assert_null(strchr(p.out, '\033')); /* no terminal, no colours */
  assert_null(strchr(p.out, '>'));    /* and no prompt */
  type(&p, "t --seat second", "quit\nb2\n");
  assert_int_equal(count(p.out, "agent: "), 1);
  assert_int_equal(count(p.out, "x"), 1);
  assert_null(strstr(p.out, "you: "));
  type(&p, "t --seat second", "");
  assert_int_equal(count(p.out, "agent: "), 1);
  process_free(&p);
}

static void test_agent_on_both_seats(void **state) {
  (void)state;
  process p = {0};
  type(&p, "t --seat both", "a1\n\n\n\n\n\n\n\n\n\n\n");
  assert_says(p.out, "moved: a1");
  assert_in_range(count(p.out, "agent: "), 4, 8);
  assert_int_equal(count(p.out, "`new` begins another game"), 1);
  assert_true(strstr(p.out, "A draw.") || strstr(p.out, " player wins."));
  process_free(&p);
}

static void test_illegal_input(void **state) {
  (void)state;
  process p = {0};
  type(&p, "t", "b2\nb2\n");
  assert_says(p.out, "b2 is not legal here; the nearest legal move is ");
  type(&p, "t", "hnit\n");
  assert_says(p.out, "'hnit' is no move; did you mean `hint`?");
  type(&p, "t", "a4\n");
  assert_says(p.out, "'a4' is no move; the nearest legal move is a1 ");
  type(&p, "t", "something else\n");
  assert_says(p.out, "legal are a1 b1 c1 a2 b2 c2 a3 b3 c3\n");
  type(&p, "g", "somewhere else\n");
  assert_says(p.out, "`moves` lists the legal ones");
  type(&p, "g --seat both", "h8\nh8\n"); /* the nearest on the board, not in spelling */
  assert_says(p.out, "h8 is not legal here; the nearest legal move is H7 ");
  process_free(&p);
}

/* An agent that is evaluated by a single simulation gives hints by a whole search; --sims holds for both. */
static void test_hint_searches(void **state) {
  (void)state;
  process p = {0};
  process_shell(&p, "printf 'hint\\n' | $MUZERO play one");
  assert_status(&p, 0);
  assert_says(p.out, "against the agent, 1 simulation a move");
  assert_says(p.out, ", by 1 simulation; after more it would play ");
  assert_says(p.out, "after 4 simulations");
  process_shell(&p, "printf 'hint\\n' | $MUZERO play one --sims 2");
  assert_status(&p, 0);
  assert_says(p.out, "after 2 simulations");
  assert_null(strstr(p.out, "after more"));
  process_free(&p);
}

static void test_words(void **state) {
  (void)state;
  process p = {0};
  type(&p, "t", "hint\n");
  assert_says(p.out, "The agent would play ");
  assert_says(p.out, "after 4 simulations");
  assert_says(p.out, " %");
  assert_null(strstr(p.out, "agent: "));
  type(&p, "t", "help\nmoves\n");
  assert_says(p.out, "  hint ");
  assert_says(p.out, "9 legal moves: a1 b1 c1 a2 b2 c2 a3 b3 c3\n");
  type(&p, "t", "undo\nb2\nundo\nUNDO\n"); /* both plies */
  assert_int_equal(count(p.out, "There is no move of yours to take back."), 2);
  assert_int_equal(count(p.out, empty_board), 2);
  type(&p, "t --seat second", "undo\n"); /* the agent's first move is not ours to take back */
  assert_says(p.out, "There is no move of yours to take back.");
  type(&p, "t", "b2\nnew\nboard\n");
  assert_int_equal(count(p.out, empty_board), 3);
  process_free(&p);
}

static void test_whole_game(void **state) {
  (void)state;
  process p = {0};
  /* whatever the agent answers, one of these lines ends the game; then moves are refused, and undo plays on */
  type(&p, "t", "a1\nb1\nc1\na2\nb2\nc2\na3\nb3\nc3\n");
  assert_true(strstr(p.out, "You win.") || strstr(p.out, "The agent wins.") || strstr(p.out, "A draw."));
  const char *end = strstr(p.out, "`new` begins another game");
  assert_null(strstr(end, "you: "));
  type(&p, "t", "a1\nb1\nc1\na2\nb2\nc2\na3\nb3\nc3\nundo\nmoves\n");
  assert_says(strstr(p.out, "`new` begins another game"), " legal moves: ");
  process_free(&p);
}

enum { OUTPUT_MAX = 1 << 16 };

/* Types a move and Ctrl-D at a terminal; what was shown. */
static void play_on_terminal(const char *no_color, char output[OUTPUT_MAX]) {
  int terminal;
  const pid_t pid = forkpty(&terminal, NULL, NULL, NULL);
  assert_true(pid >= 0);
  if (pid == 0) {
    if (chdir(process_folder()) != 0) _exit(126);
    setenv("TERM", "xterm", 1);
    if (no_color)
      setenv("NO_COLOR", no_color, 1);
    else
      unsetenv("NO_COLOR");
    execl(MUZERO_BINARY, MUZERO_BINARY, "play", "t", (char *)NULL);
    _exit(127);
  }
  size_t length = 0;
  int prompts = 0;
  for (;;) {
    const ssize_t got = read(terminal, output + length, OUTPUT_MAX - 1 - length);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break; /* EIO: the other end is closed */
    length += (size_t)got;
    output[length] = 0;
    const char *text = prompts == 0 ? "b2\n" : "\004";
    for (; count(output, "> ") > prompts; prompts++) assert_int_equal(write(terminal, text, strlen(text)), strlen(text));
  }
  output[length] = 0;
  close(terminal);
  int status;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void test_terminal(void **state) {
  (void)state;
  static char output[OUTPUT_MAX];
  play_on_terminal(NULL, output);
  assert_says(output, "2 . \033[1;36mx\033[0m .");
  assert_says(output, "\033[1;33mo\033[0m");
  play_on_terminal("1", output);
  assert_says(output, "2 . x .");
  assert_null(strchr(output, '\033'));
}

static void test_wrong_input(void **state) {
  (void)state;
  static const refusal wrong[] = {
      {{"play"}, 2, "needs RUN"},
      {{"play", "t", "--seat", "third"}, 2, "first, second and both"},
      {{"play", "t", "--seed", "one"}, 2, "--seed"},
      {{"play", "t", "--temperature", "-1"}, 2, "out of range"},
      {{"play", "nosuch"}, 5, "nosuch"},
      {{"play", "cp"}, 3, "muzero watch"},
  };
  assert_refused(wrong, sizeof wrong / sizeof wrong[0]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_moves_and_answers),
      cmocka_unit_test(test_agent_on_both_seats),
      cmocka_unit_test(test_illegal_input),
      cmocka_unit_test(test_hint_searches),
      cmocka_unit_test(test_words),
      cmocka_unit_test(test_whole_game),
      cmocka_unit_test(test_terminal),
      cmocka_unit_test(test_wrong_input),
  };
  return cmocka_run_group_tests(tests, make_runs, process_remove_folder);
}
