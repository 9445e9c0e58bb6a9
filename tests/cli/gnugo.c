/* Whole games of Go with GNU Go, through pipes: as an opponent, and with our program following its games against itself.
 *
 * Agreement is: after every move both list the same stones and, for the side to move, the same legal points; after two passes both
 * give the same score. GNU Go takes off what it holds for dead (--chinese-rules), and plays on until nothing is
 * (--capture-all-dead), so where it says so its area score is Tromp and Taylor's. Positional superko holds on both sides. */
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
#include <strings.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define GNUGO "/usr/games/gnugo"

enum { SIDE = 9, POINTS = SIDE * SIDE, MOVES_MAX = 2 * POINTS, ANSWER_MAX = 4096 };

/* --- programs that speak GTP --- */

typedef struct engine {
  pid_t pid;
  FILE *to, *from;
  char answer[ANSWER_MAX]; /* to the last question, without its frame */
} engine;

static void start(engine *e, char *const *arguments) {
  int questions[2], answers[2];
  assert_int_equal(pipe2(questions, O_CLOEXEC), 0);
  assert_int_equal(pipe2(answers, O_CLOEXEC), 0);
  e->pid = fork();
  assert_true(e->pid >= 0);
  if (e->pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (dup2(questions[0], STDIN_FILENO) < 0 || dup2(answers[1], STDOUT_FILENO) < 0 || chdir(process_folder()) != 0) _exit(126);
    execv(arguments[0], arguments);
    _exit(127);
  }
  close(questions[0]);
  close(answers[1]);
  e->to = fdopen(questions[1], "w");
  e->from = fdopen(answers[0], "r");
  assert_true(e->to && e->from);
}

/* True for "=", false for "?". */
static __attribute__((format(printf, 2, 3))) bool ask(engine *e, const char *format, ...) {
  va_list list;
  va_start(list, format);
  vfprintf(e->to, format, list);
  va_end(list);
  fputc('\n', e->to);
  assert_int_equal(fflush(e->to), 0);
  char text[ANSWER_MAX] = "";
  size_t length = 0;
  do { /* to an empty line */
    if (!fgets(text + length, (int)(sizeof text - length), e->from)) fail_msg("no answer to \"%s\"", format);
    length += strlen(text + length);
  } while (length < 2 || strcmp(text + length - 2, "\n\n") != 0);
  text[length - 2] = '\0';
  snprintf(e->answer, sizeof e->answer, "%s", length > 4 ? text + 2 : "");
  return text[0] == '=';
}

static void stop(engine *e) {
  assert_true(ask(e, "quit"));
  fclose(e->to);
  fclose(e->from);
  int status;
  assert_int_equal(waitpid(e->pid, &status, 0), e->pid);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* --- comparing --- */

static bool is_pass(const char *vertex) { return strcasecmp(vertex, "pass") == 0; }

static int point_of(const char *vertex) {
  static const char columns[] = "ABCDEFGHJ";
  const char *column = strchr(columns, vertex[0]);
  const int row = atoi(vertex + 1);
  assert_true(column && *column && row >= 1 && row <= SIDE);
  return (row - 1) * SIDE + (int)(column - columns);
}

/* The points of a list of vertices as 0 and 1; passes do not count: GNU Go leaves them out. */
static void read_points(engine *e, const char *command, const char *colour, char out[POINTS + 1]) {
  assert_true(ask(e, "%s %s", command, colour));
  memset(out, '0', POINTS);
  out[POINTS] = '\0';
  char *rest = NULL;
  for (char *vertex = strtok_r(e->answer, " \n", &rest); vertex; vertex = strtok_r(NULL, " \n", &rest))
    if (!is_pass(vertex)) out[point_of(vertex)] = '1';
}

static void assert_same_points(engine *a, engine *b, const char *command, const char *colour) {
  char ours[POINTS + 1], theirs[POINTS + 1];
  read_points(a, command, colour, ours);
  read_points(b, command, colour, theirs);
  assert_string_equal(ours, theirs);
}

static void assert_same_boards(engine *a, engine *b) {
  assert_same_points(a, b, "list_stones", "black");
  assert_same_points(a, b, "list_stones", "white");
}

/* --- games --- */

static engine muzero, gnugo[2];

static int start_all(void **state) {
  if (process_make_folder(state) != 0) return -1;
  process p = {0};
  process_run(&p, "train", "go:superko=forbid", "--preset", TEST_DATA "/cli/tiny.json", "--set", "network.kind=mlp", "--set",
              "eval.games=1", "--run", "go", "--rounds", "1", NULL);
  assert_status(&p, 0);
  process_free(&p);
  signal(SIGPIPE, SIG_IGN);
  start(&muzero, (char *[]){MUZERO_BINARY, "gtp", "go", "--sims", "8", "--temperature", "1", NULL});
  for (int i = 0; i < 2; i++)
    start(&gnugo[i], (char *[]){GNUGO, "--mode", "gtp", "--level", "1", "--chinese-rules", "--positional-superko",
                                "--capture-all-dead", NULL});
  return 0;
}

static int stop_all(void **state) {
  stop(&muzero);
  for (int i = 0; i < 2; i++) stop(&gnugo[i]);
  return process_remove_folder(state);
}

static void begin(engine *e) {
  assert_true(ask(e, "boardsize %d", SIDE));
  assert_true(ask(e, "clear_board"));
  assert_true(ask(e, "komi 7.5"));
}

/* Black and White play while `follower`, if there is one, is told; the stones and legal points of `muzero` and gnugo[0] are
 * compared after each move. True when the game ended by two passes and GNU Go held no stone for dead: then the scores agree. */
static bool play_game(engine *black, engine *white, engine *follower, int seed) {
  engine *const all[] = {&muzero, &gnugo[0], &gnugo[1]};
  static const char *const colours[] = {"black", "white"};
  for (int i = 0; i < 3; i++) begin(all[i]);
  for (int i = 0; i < 2; i++) assert_true(ask(&gnugo[i], "set_random_seed %d", seed + i));
  int moves = 0, passes = 0;
  for (; moves < MOVES_MAX && passes < 2; moves++) {
    engine *const mover = moves % 2 ? white : black;
    const char *colour = colours[moves % 2];
    char vertex[16];
    if (!ask(mover, "genmove %s", colour)) fail_msg("genmove %s: %s", colour, mover->answer);
    snprintf(vertex, sizeof vertex, "%.15s", mover->answer);
    for (int i = 0; i < 3; i++) {
      if (all[i] == mover || (all[i] != black && all[i] != white && all[i] != follower)) continue;
      if (!ask(all[i], "play %s %s", colour, vertex)) fail_msg("play %s %s: %s", colour, vertex, all[i]->answer);
    }
    passes = is_pass(vertex) ? passes + 1 : 0;
    assert_same_boards(&muzero, &gnugo[0]);
    if (passes < 2 && moves + 1 < MOVES_MAX) assert_same_points(&muzero, &gnugo[0], "all_legal", colours[(moves + 1) % 2]);
  }
  assert_true(ask(&muzero, "final_score"));
  assert_true(ask(&gnugo[0], "final_score"));
  char score[32];
  snprintf(score, sizeof score, "%.31s", gnugo[0].answer);
  assert_true(ask(&gnugo[0], "final_status_list dead"));
  const bool counts = passes == 2 && !gnugo[0].answer[0];
  if (counts) assert_string_equal(muzero.answer, score);
  print_message("%d moves, %s: %s%s\n", moves, muzero.answer, score, counts ? "" : " (not comparable)");

  /* and all the way back */
  for (; moves > 0; moves--) {
    assert_true(ask(&muzero, "undo"));
    assert_true(ask(&gnugo[0], "undo"));
    if (moves % 10 == 1) assert_same_boards(&muzero, &gnugo[0]);
  }
  assert_false(ask(&muzero, "undo"));
  return counts;
}

static void test_opponent(void **state) {
  (void)state;
  int counted = 0;
  for (int game = 0; game < 4; game++)
    counted += game % 2 ? play_game(&gnugo[0], &muzero, NULL, 10 * game) : play_game(&muzero, &gnugo[0], NULL, 10 * game);
  assert_true(counted >= 3);
}

/* Where both sides can play: living groups, kos, points on both sides. */
static void test_follows(void **state) {
  (void)state;
  int counted = 0;
  for (int game = 0; game < 4; game++) counted += play_game(&gnugo[0], &gnugo[1], &muzero, 100 + 10 * game);
  assert_true(counted >= 3);
}

int main(void) {
  if (access(GNUGO, X_OK) != 0) {
    printf("skipped: there is no " GNUGO " to play with (Debian: gnugo)\n");
    return 77;
  }
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_opponent), cmocka_unit_test(test_follows)};
  return cmocka_run_group_tests(tests, start_all, stop_all);
}
