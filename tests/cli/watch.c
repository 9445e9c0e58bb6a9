/* `muzero watch`: games shown to people and to scripts. */
#include "tests/cli/support/lines.h"
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
  static const char *const games[][2] = {{"tictactoe", "t"}, {"tictactoe", "other"}, {"cartpole", "cp"}};
  if (process_make_folder(state) != 0) return -1;
  process p = {0};
  for (size_t i = 0; i < sizeof games / sizeof games[0]; i++)
    if (process_run(&p, "train", games[i][0], "--preset", TEST_DATA "/cli/tiny.json", "--run", games[i][1], "--rounds", "1",
                    "--set", "eval.games=1", NULL) != 0) {
      print_error("%s\n", p.err);
      return -1;
    }
  process_free(&p);
  return 0;
}

/* Moves of a game count from 1, alternate, and end once; the records add up. */
static void check_lines(const char *out, int games) {
  int line = 0, moves_in_all = 0;
  double returns = 0;
  for (int game = 1; game <= games; game++) {
    bool over = false;
    int moves = 0;
    double first = 0; /* what the first player has won */
    while (!over) {
      cJSON *json = lines_at(out, line++);
      assert_string_equal(lines_string(json, "event"), "move");
      assert_keys(json, "player", "by", "action", "text", "reward", "terminated", "truncated", NULL);
      assert_true(lines_number(json, "game") == game && lines_number(json, "move") == ++moves);
      assert_true(lines_number(json, "player") == (moves - 1) % 2);
      first += (moves % 2 ? 1 : -1) * lines_number(json, "reward");
      over = cJSON_IsTrue(cJSON_GetObjectItem(json, "terminated"));
      cJSON_Delete(json);
    }
    cJSON *json = lines_at(out, line++);
    assert_string_equal(lines_string(json, "event"), "game");
    assert_true(lines_number(json, "moves") == moves);
    assert_true(lines_number(json, "return") == (lines_number(json, "agent") == 0 ? first : -first));
    returns += lines_number(json, "return");
    moves_in_all += moves;
    cJSON_Delete(json);
  }
  cJSON *json = lines_at(out, line++);
  assert_string_equal(lines_string(json, "event"), "done");
  assert_true(lines_number(json, "games") == games && lines_number(json, "moves") == moves_in_all);
  assert_true(lines_number(json, "mean_return") == returns / games);
  cJSON_Delete(json);
  assert_int_equal(lines_count(out), line);
}

static void test_json(void **state) {
  (void)state;
  process p = {0}, again = {0};
  process_run(&p, "watch", "t", "--json", "--sims", "6", NULL);
  assert_status(&p, 0);
  check_lines(p.out, 1);
  cJSON *move = lines_at(p.out, 0);
  assert_keys(move, "value", "raw_value", NULL);
  assert_true(lines_number(move, "simulations") == 6);
  const cJSON *best = cJSON_GetObjectItem(move, "best"), *item;
  double share = 0, last = 1;
  cJSON_ArrayForEach(item, best) {
    assert_keys(item, "action", "text", "policy", NULL);
    assert_true(lines_number(item, "share") <= last);
    share += last = lines_number(item, "share");
  }
  assert_in_range(cJSON_GetArraySize(best), 1, 5);
  assert_true(share > 0 && share < 1 + 1e-9);
  cJSON_Delete(move);

  process_run(&p, "watch", "t", "--opponent", "random", "--games", "4", "--json", "--seed", "5", NULL);
  check_lines(p.out, 4);
  for (int seat = 0; seat < 2; seat++) { /* seats alternate */
    char wanted[64];
    snprintf(wanted, sizeof wanted, "\"game\":%d,\"move\":1,\"player\":0,\"by\":\"%s\"", seat + 1,
             seat == 0 ? "agent" : "random");
    assert_says(p.out, wanted);
  }
  process_run(&again, "watch", "t", "--opponent", "random", "--games", "4", "--json", "--seed", "5", NULL);
  assert_string_equal(p.out, again.out);
  process_run(&again, "watch", "t", "--opponent", "random", "--games", "4", "--json", "--seed", "6", NULL);
  assert_status(&again, 0);
  assert_string_not_equal(p.out, again.out);
  process_run(&p, "watch", "t", "--opponent", "./other", "--games", "2", "--json", NULL);
  check_lines(p.out, 2);
  assert_says(p.out, "\"by\":\"./other\"");
  process_free(&p);
  process_free(&again);
}

/* One simulation tries the move that the network likes most: its policy is at least that of chance. */
static void test_policy_is_the_networks(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "watch", "t", "--json", "--sims", "1", NULL);
  assert_status(&p, 0);
  const int moves = lines_count(p.out) - 2;
  for (int i = 0; i < moves; i++) {
    cJSON *move = lines_at(p.out, i);
    const cJSON *best = cJSON_GetObjectItem(move, "best"), *first = cJSON_GetArrayItem(best, 0);
    assert_int_equal(cJSON_GetArraySize(best), 1);
    assert_true(lines_number(first, "action") == lines_number(move, "action"));
    assert_true(lines_number(first, "share") == 1);
    assert_true(lines_number(first, "policy") >= 1.0 / (9 - i) - 1e-6);
    assert_true(lines_number(first, "improved_policy") >= 0);
    cJSON_Delete(move);
  }
  /* The network's policy does not depend on the search. */
  cJSON *few = lines_at(p.out, 0);
  process q = {0};
  process_run(&q, "watch", "t", "--json", "--sims", "50", NULL);
  cJSON *many = lines_at(q.out, 0);
  const cJSON *liked = cJSON_GetArrayItem(cJSON_GetObjectItem(few, "best"), 0), *item;
  cJSON_ArrayForEach(item, cJSON_GetObjectItem(many, "best")) {
    if (lines_number(item, "action") == lines_number(liked, "action"))
      assert_true(lines_number(item, "policy") == lines_number(liked, "policy"));
    assert_true(lines_number(item, "policy") <= lines_number(liked, "policy"));
  }
  cJSON_Delete(few);
  cJSON_Delete(many);
  process_run(&p, "watch", "--help", NULL);
  assert_says(p.out, "`improved_policy`");
  process_free(&p);
  process_free(&q);
}

static void test_pictures(void **state) {
  (void)state;
  process p = {0};
  process_run(&p, "watch", "t", "--opponent", "random", NULL);
  assert_status(&p, 0);
  assert_int_equal(strncmp(p.out, "  a b c\n1 . . .\n2 . . .\n3 . . .\n\n", 32), 0);
  assert_says(p.out, "\n1. agent: ");
  assert_says(p.out, "\nvalue ");
  assert_says(p.out, "\n2. random: ");
  assert_says(p.out, "\ngame 1 ends after ");
  assert_null(strchr(p.out, '\033'));
  /* alone */
  process_run(&p, "watch", "cp", NULL);
  assert_status(&p, 0);
  assert_says(p.out, "\n1. agent: ");
  assert_says(p.out, ", reward 1\nvalue ");
  assert_says(p.out, ", return ");
  process_free(&p);
}

static void test_draws_over_the_last_picture(void **state) {
  (void)state;
  enum { OUTPUT_MAX = 1 << 16 };
  static char output[OUTPUT_MAX];
  int terminal;
  const pid_t pid = forkpty(&terminal, NULL, NULL, NULL);
  assert_true(pid >= 0);
  if (pid == 0) {
    if (chdir(process_folder()) != 0) _exit(126);
    setenv("TERM", "xterm", 1);
    unsetenv("NO_COLOR");
    execl(MUZERO_BINARY, MUZERO_BINARY, "watch", "t", "--delay", "1", "--games", "2", (char *)NULL);
    _exit(127);
  }
  size_t length = 0;
  for (ssize_t got; (got = read(terminal, output + length, OUTPUT_MAX - 1 - length)) > 0 || (got < 0 && errno == EINTR);)
    length += got > 0 ? (size_t)got : 0;
  close(terminal);
  int status;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  assert_says(output, "\033[4A\033[J"); /* over the empty board */
  assert_says(output, "\033[6A\033[J"); /* over a board and two lines of words */
  assert_says(output, "\033[1;36mx\033[0m");
  assert_null(strstr(output, "\033[2J")); /* nothing before it is erased, */
  const char *second = strstr(output, "game 1 ends");
  assert_non_null(second);
  second = strstr(second, "1 . . .");
  assert_non_null(second);
  for (const char *at = strstr(output, "game 1 ends"); at < second; at++)
    assert_memory_not_equal(at, "\033[J", 3); /* nor a game's end */
}

static void test_wrong_input(void **state) {
  (void)state;
  static const refusal wrong[] = {
      {{"watch"}, 2, "needs RUN"},
      {{"watch", "nosuch"}, 5, "nosuch"},
      {{"watch", "t", "--delay", "soon"}, 2, "--delay"},
      {{"watch", "t", "--games", "0"}, 2, "out of range"},
      {{"watch", "t", "--opponent", "ranodm"}, 2, "did you mean random?"},
      {{"watch", "t", "--opponent", "qwertz"}, 2, "there are random, rule, perfect, mcts:SIMS, and the path of a RUN"},
      {{"watch", "t", "--opponent", "./nosuch"}, 5, "nosuch"},
      {{"watch", "t", "--opponent", "./cp"}, 3, "plays cartpole, not tictactoe"},
      {{"watch", "cp", "--opponent", "random"}, 2, "played alone"},
  };
  assert_refused(wrong, sizeof wrong / sizeof wrong[0]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_json),        cmocka_unit_test(test_policy_is_the_networks),
      cmocka_unit_test(test_pictures),    cmocka_unit_test(test_draws_over_the_last_picture),
      cmocka_unit_test(test_wrong_input),
  };
  return cmocka_run_group_tests(tests, make_runs, process_remove_folder);
}
