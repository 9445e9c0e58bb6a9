/* eval with a program that speaks GTP: its games, its faults, and its end. */
#include "tests/cli/support/lines.h"
#include "tests/cli/support/process.h"
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static void train(const char *env, const char *run, const char *seed) {
  process p = {0};
  process_run(&p, "train", env, "--preset", TEST_DATA "/cli/tiny.json", "--run", run, "--seed", seed, NULL);
  assert_status(&p, 0);
  process_free(&p);
}

static int make_runs(void **state) {
  if (process_make_folder(state) != 0) return -1;
  train("tictactoe", "agent", "1");
  train("tictactoe", "rival", "2");
  train("cartpole", "pole", "1");
  train("pig", "dice", "1");
  return 0;
}

/* The same agent once beside ours and once as a program of its own: the same games. */
static void test_a_program_that_speaks_gtp(void **state) {
  (void)state;
  process p = {0};
  cJSON *results[2];
  static const char *const opponents[] = {"--opponent ./rival --opponent-sims 3",
                                          "--opponent \"gtp:$MUZERO gtp rival --sims 3\""};
  for (int i = 0; i < 2; i++) {
    char command[256];
    snprintf(command, sizeof command, "$MUZERO eval agent %s --games 14 --sims 5 --threads 2 --json", opponents[i]);
    assert_int_equal(process_shell(&p, command), 0);
    results[i] = lines_at(p.out, 0);
    cJSON_DeleteItemFromObject(results[i], "opponent");
    cJSON_DeleteItemFromObject(results[i], "opponent_sims");
    cJSON_DeleteItemFromObject(results[i], "score_name");
  }
  assert_true(cJSON_Compare(results[0], results[1], true));
  for (int i = 0; i < 2; i++) cJSON_Delete(results[i]);
  process_free(&p);
}

static void test_programs_that_do_not_play_on(void **state) {
  (void)state;
#define ANSWERS(moves) "gtp:while read c; do case \"$c\" in genmove*) echo '" moves "';; *) echo =;; esac; echo; done"
  process p = {0};
  /* A line may hold an identity, spaces, tabs, control characters. */
  static const char *const resigns[] = {ANSWERS("= resign"), ANSWERS("=7 resign"), ANSWERS("=\tresign  "), ANSWERS("= Resign \r"),
                                        ANSWERS("\001= \033resign")};
  for (size_t i = 0; i < sizeof resigns / sizeof resigns[0]; i++) {
    process_run(&p, "eval", "agent", "--opponent", resigns[i], "--games", "6", "--json", NULL);
    assert_status(&p, 0);
    cJSON *result = lines_at(p.out, 0);
    assert_int_equal((int)lines_number(result, "win"), 6);
    cJSON_Delete(result);
    process_free(&p);
  }
  static const refusal wrong[] = {
      {{"eval", "agent", "--opponent", "gtp:"}, 2, "needs a command"},
      {{"eval", "agent", "--opponent", "qwertz"},
       2,
       "there are random, rule, perfect, mcts:SIMS, all, gtp:COMMAND and the path of a RUN"},
      {{"eval", "pole", "--opponent", "gtp:false"}, 2, "alone"},
      {{"eval", "dice", "--opponent", "gtp:false"}, 2, "pig has chance, which each program would draw by itself"},
      {{"eval", "agent", "--opponent", "gtp:false"}, 5, "ended instead of answering \"boardsize 3\""},
      {{"eval", "agent", "--opponent", "gtp:cat"}, 5, "not GTP: \"boardsize 3\""},
      {{"eval", "agent", "--opponent", "gtp:echo '? no'; echo; cat"}, 3, "refuses \"boardsize 3\": no"},
      {{"eval", "agent", "--opponent", ANSWERS("= z9")}, 3, "to \"z9\" after"},
      {{"eval", "agent", "--opponent", "gtp:false", "--opponent-sims", "3"}, 2, "its own flags"},
      {{"eval", "agent", "--opponent", "gtp:false", "--positions", "3"}, 2, "--positions"},
  };
  assert_refused(wrong, sizeof wrong / sizeof wrong[0]);
}

/* Whether somebody holds the pipe's end for writing, at the end of 20 seconds. */
static bool is_held(int pipe) {
  char byte;
  struct timespec rest = {.tv_nsec = 20000000};
  for (int i = 0; i < 1000; i++, nanosleep(&rest, NULL))
    if (read(pipe, &byte, 1) == 0) return false;
  return true;
}

static bool appears(const char *name) {
  struct timespec rest = {.tv_nsec = 20000000};
  for (int i = 0; i < 3000 && access(process_path(name), F_OK) != 0; i++) nanosleep(&rest, NULL);
  return access(process_path(name), F_OK) == 0;
}

/* A program may answer "quit" before it goes; what does not go, or was started by it, ends with the evaluation, however that ends. */
static void test_programs_end_with_the_evaluation(void **state) {
  (void)state;
#define SAYS(on_move, on_quit)                                                                                                   \
  "gtp:exec 9>held; trap '' PIPE HUP TERM; (sleep 600; :) & while read c; do case \"$c\" in genmove*) " on_move                  \
  ";; quit*) " on_quit ";; *) echo =;; esac; echo; done"
  process p = {0};
  assert_int_equal(mkfifo(process_path("held"), 0600), 0);
  const int held = open(process_path("held"), O_RDONLY | O_NONBLOCK);
  assert_true(held >= 0);
  process_run(&p, "eval", "agent", "--games", "2", "--threads", "1", "--opponent",
              SAYS("echo = resign", "sleep 0.3; echo = && echo && : > told; exit"), NULL);
  assert_status(&p, 0);
  assert_false(is_held(held));
  assert_int_equal(access(process_path("told"), F_OK), 0);
  process_run(&p, "eval", "agent", "--games", "2", "--threads", "1", "--opponent", SAYS("echo = resign", "sleep 600; :"), NULL);
  assert_status(&p, 0);
  assert_false(is_held(held));
  process_start(&p, "eval", "agent", "--games", "2", "--threads", "1", "--opponent", SAYS(": > thinks; sleep 600; :", ":"), NULL);
  assert_true(appears("thinks"));
  assert_int_equal(kill(p.pid, SIGKILL), 0);
  process_wait(&p);
  assert_false(is_held(held));
  close(held);
  process_free(&p);
#undef SAYS
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_program_that_speaks_gtp),
      cmocka_unit_test(test_programs_that_do_not_play_on),
      cmocka_unit_test(test_programs_end_with_the_evaluation),
  };
  return cmocka_run_group_tests(tests, make_runs, process_remove_folder);
}
