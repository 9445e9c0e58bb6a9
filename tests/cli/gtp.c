/* The Go Text Protocol as a program meets it: frames, errors, and games of every kind of board. */
#include "tests/cli/support/process.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Agents that have learned next to nothing, of several games. */
static int make_runs(void **state) {
  static const char *const games[][2] = {{"tictactoe", "t"}, {"connect4", "c4"},
                                         {"othello", "oth"}, {"go:size=5,komi=0.5", "go"},
                                         {"cartpole", "cp"}, {"go:size=5,komi=0.5,superko=forbid", "strict"}};
  if (process_make_folder(state) != 0) return -1;
  process p = {0};
  for (size_t i = 0; i < sizeof games / sizeof games[0]; i++)
    if (process_run(&p, "train", games[i][0], "--preset", TEST_DATA "/cli/tiny.json", "--run", games[i][1], "--rounds", "1",
                    "--set", "network.kind=mlp", "--set", "eval.games=1", NULL) != 0) {
      print_error("%s\n", p.err);
      return -1;
    }
  process_free(&p);
  return 0;
}

/* What `muzero gtp run` answers to these lines. */
static void ask(process *p, const char *run, const char *lines) {
  setenv("LINES", lines, 1);
  setenv("RUN", run, 1);
  process_shell(p, "printf %s \"$LINES\" | $MUZERO gtp $RUN --sims 3");
  assert_status(p, 0);
}

static void expect(const char *run, const char *lines, const char *answers) {
  process p = {0};
  ask(&p, run, lines);
  assert_string_equal(p.out, answers);
  process_free(&p);
}

static void test_frames(void **state) {
  (void)state;
  expect("t", "protocol_version\nquit\n", "= 2\n\n= \n\n");
  expect("t", "17 protocol_version\n", "=17 2\n\n");                         /* the end of input is an end */
  expect("t", "2147483647\tname\r\n", "=2147483647 muzero\n\n");             /* tabs, carriage returns */
  expect("t", "# a comment\n\n  \nname # another\n#name\n", "= muzero\n\n"); /* nothing there: no answer */
  expect("t", "  3  na\001me  \n", "=3 muzero\n\n");                         /* control characters are not there */
  expect("t", "nosuch\n4 nosuch thing\n5\n", "? unknown command\n\n?4 unknown command\n\n?5 unknown command\n\n");
  expect("t", "quit\nname\n", "= \n\n");
  expect("t", "name", "= muzero\n\n"); /* a last line without its end */
  expect("t", "", "");
}

static void test_commands_are_known(void **state) {
  (void)state;
  process p = {0};
  ask(&p, "go", "list_commands\n");
  static const char *const required[] = {
      "protocol_version", "name", "version", "known_command", "list_commands", "quit", "boardsize",
      "clear_board",      "komi", "play",    "genmove",       "reg_genmove",   "undo", "showboard",
      "final_score"};
  for (size_t i = 0; i < sizeof required / sizeof required[0]; i++) {
    char line[64];
    snprintf(line, sizeof line, "%s\n", required[i]);
    assert_says(p.out, line);
  }
  process_free(&p);
  expect("go", "known_command komi\nknown_command Komi\nknown_command\n", "= true\n\n= false\n\n? syntax error\n\n");
  expect("t", "known_command komi\nkomi 5\n", "= false\n\n? unknown command\n\n"); /* nobody is given points in tic-tac-toe */
}

static void test_setup(void **state) {
  (void)state;
  expect("t", "boardsize 3\nboardsize 19\nboardsize three\nboardsize\n",
         "= \n\n? unacceptable size\n\n? syntax error\n\n? syntax error\n\n");
  expect("t", "play b a1\nboardsize 4\nlast_move\nboardsize 3\nlast_move\n",
         "= \n\n? unacceptable size\n\n= black a1\n\n= \n\n? no previous move known\n\n");
  expect("c4", "query_boardsize\nboardsize 7\nboardsize 6\n", "= 7\n\n= \n\n? unacceptable size\n\n");
  expect("go", "komi 6.5\nget_komi\nfinal_score\nkomi 0.5\nkomi much\nfinal_score\n",
         "= \n\n= 6.5\n\n= W+6.5\n\n= \n\n? syntax error\n\n= W+0.5\n\n");
}

static const char empty_board[] = "= \n  a b c\n1 . . .\n2 . . .\n3 . . .\n\n";

static void test_moves(void **state) {
  (void)state;
  process p = {0};
  ask(&p, "t", "showboard\n");
  assert_string_equal(p.out, empty_board);
  process_free(&p);
  expect("t", "play b b2\nplay WHITE A1\nshowboard\nlist_stones b\nlist_stones w\ncolor a1\ncolor c3\nmove_history\n",
         "= \n\n= \n\n= \n  a b c\n1 o . .\n2 . x .\n3 . . .\n\n= b2\n\n= a1\n\n= white\n\n= empty\n\n= white a1\nblack b2\n\n");
  expect("t", "play b a1\nplay w a1\nis_legal w a1\nis_legal w a2\nall_legal w\nall_legal b\n",
         "= \n\n? illegal move\n\n= 0\n\n= 1\n\n= b1 c1 a2 b2 c2 a3 b3 c3\n\n= \n\n");
  expect("t", "undo\nplay b a1\nplay w b1\nundo\nundo\nundo\nshowboard\n",
         "? cannot undo\n\n= \n\n= \n\n= \n\n= \n\n? cannot undo\n\n= \n  a b c\n1 . . .\n2 . . .\n3 . . .\n\n");
  expect("t", "play b a1\nplay w b1\ngg-undo 3\ngg-undo 2\nlast_move\nplay b c3\nclear_board\nlast_move\n",
         "= \n\n= \n\n? cannot undo\n\n= \n\n? no previous move known\n\n= \n\n= \n\n? no previous move known\n\n");
}

static void test_illegal_moves_change_nothing(void **state) {
  (void)state;
  expect("t", "play b b2\nplay w b2\nplay w d4\nplay w pass\nplay w\nplay green a1\nplay b a1\nmove_history\n",
         "= \n\n? illegal move\n\n? illegal move\n\n? illegal move\n\n? syntax error\n\n? syntax error\n\n"
         "? illegal move: the other side is to move\n\n= black b2\n\n");
  /* three in a row: nothing may follow, but may be taken back */
  expect(
      "t",
      "play b a1\nplay w a2\nplay b b1\nplay w b2\nfinal_score\nplay b c1\nplay w c2\ngenmove w\nfinal_score\nundo\nplay b c3\n",
      "= \n\n= \n\n= \n\n= \n\n? cannot score\n\n= \n\n? illegal move: the game is over\n\n? illegal move: the game is over\n\n"
      "= B+1\n\n= \n\n= \n\n");
}

static void test_generated_moves(void **state) {
  (void)state;
  process p = {0}, again = {0};
  char wanted[96], vertex[8], more[8];
  ask(&p, "t", "reg_genmove b\ngenmove b\nmove_history\ngenmove b\nundo\ngenmove b\n");
  assert_int_equal(sscanf(p.out, "= %7s = %7s", vertex, more), 2);
  assert_string_equal(vertex, more); /* and the first left no trace */
  snprintf(wanted, sizeof wanted, "= black %s\n\n? illegal move: the other side is to move\n\n= \n\n= %s\n\n", vertex, vertex);
  assert_says(p.out, wanted);
  /* A whole game between two seats. */
  ask(&p, "t",
      "genmove b\ngenmove w\ngenmove b\ngenmove w\ngenmove b\ngenmove w\ngenmove b\ngenmove w\ngenmove b\nfinal_score\n");
  const char *score = strrchr(p.out, '=');
  assert_non_null(score);
  assert_true(strcmp(score, "= 0\n\n") == 0 || strcmp(score, "= B+1\n\n") == 0 || strcmp(score, "= W+1\n\n") == 0);
  /* Drawn moves follow the seed alone. */
  process_shell(&p, "printf 'genmove b\\ngenmove w\\nclear_board\\ngenmove b\\n' | $MUZERO gtp go --temperature 5 --seed 7");
  process_shell(&again, "printf 'genmove b\\ngenmove w\\nclear_board\\ngenmove b\\n' | $MUZERO gtp go --temperature 5 --seed 7");
  assert_string_equal(p.out, again.out);
  process_shell(&again, "printf 'genmove b\\ngenmove w\\nclear_board\\ngenmove b\\n' | $MUZERO gtp go --temperature 5 --seed 8");
  assert_string_not_equal(p.out, again.out);
  process_free(&p);
  process_free(&again);
}

static void test_columns(void **state) {
  (void)state;
  expect("c4", "play b d\nplay w D\nplay b h\nplay b d\nplay w d\nplay b d\nplay w d\nplay b d\nmove_history\n",
         "= \n\n= \n\n? illegal move\n\n= \n\n= \n\n= \n\n= \n\n? illegal move\n\n"
         "= white d\nblack d\nwhite d\nblack d\nwhite d\nblack d\n\n");
}

static void test_discs(void **state) {
  (void)state;
  expect("oth", "final_score\nplay b pass\nplay b d3\nfinal_score\nplay b c3\nlist_stones w\n",
         "= 0\n\n? illegal move\n\n= \n\n= B+3\n\n? illegal move: the other side is to move\n\n= e5\n\n");
}

static void test_passes(void **state) {
  (void)state;
  /* a side that is skipped passes, and takes that back with the move behind it */
  expect("go", "play b c3\nplay b b2\nmove_history\nundo\nmove_history\n",
         "= \n\n= \n\n= black B2\nwhite pass\nblack C3\n\n= \n\n= black C3\n\n");
  expect("go", "play b c3\nplay b b2\ngg-undo 3\nlast_move\ngg-undo 2\nlast_move\n",
         "= \n\n= \n\n? cannot undo\n\n= black B2\n\n= \n\n? no previous move known\n\n");
  expect("go", "play b c3\nplay b c3\nis_legal b d4\nmove_history\n", "= \n\n? illegal move\n\n= 1\n\n= black C3\n\n");
  /* two passes end a game, so none is put in behind one */
  expect("go", "play b pass\nplay b c3\nplay w PASS\nplay b c3\nfinal_score\nundo\nplay w c3\nfinal_score\n",
         "= \n\n? illegal move: the other side is to move, and its pass would end the game\n\n= \n\n"
         "? illegal move: the game is over\n\n= W+0.5\n\n= \n\n= \n\n= W+25.5\n\n");
  process p = {0};
  char vertex[8], history[64];
  ask(&p, "go", "play b c3\nreg_genmove b\nmove_history\ngenmove b\nmove_history\n");
  assert_int_equal(sscanf(p.out, "= = %7s = black C3", vertex), 1);
  snprintf(history, sizeof history, "= black %s\nwhite pass\nblack C3\n\n", vertex);
  assert_says(p.out, history);
  process_free(&p);
}

static void test_captures_and_area(void **state) {
  (void)state;
  expect("go",
         "play b b1\nplay w a1\nplay b a2\nlist_stones w\nplay w a1\nfinal_score\nplay w c1\nplay b c2\nplay w d2\nfinal_score\n"
         "showboard\n",
         /* suicide is illegal; alone on the board, Black has all of it */
         "= \n\n= \n\n= \n\n= \n\n? illegal move\n\n= B+24.5\n\n= \n\n= \n\n= \n\n"
         /* A1 is Black's, all other empty points are nobody's: 4 to 2 */
         "= B+1.5\n\n= \n   A B C D E\n 5 . . . . .\n 4 . . . . .\n 3 . . . . .\n 2 X . X O .\n 1 . X O . .\n\n");
}

/* White's last stone brings back the position after Black's E4. */
static const char repetition[] =
    "play b a2\nplay w b1\nplay b b2\nplay w c2\nplay b e5\nplay w d1\nplay b e4\nplay w a1\nplay b c1\n"
    "play w b1\nlast_move\nfinal_score\n";
#define NINE_MOVES "= \n\n= \n\n= \n\n= \n\n= \n\n= \n\n= \n\n= \n\n= \n\n"

static void test_superko(void **state) {
  (void)state;
  /* it loses, though the points are White's: 4 to 4, and komi */
  expect("go", repetition, NINE_MOVES "= \n\n= white B1\n\n= B+F\n\n");
  /* or is refused; then Black has seven points, A1 and B1 among them, to two */
  expect("strict", repetition, NINE_MOVES "? illegal move\n\n= black C1\n\n= B+4.5\n\n");
}

static void test_wrong_input(void **state) {
  (void)state;
  static const refusal wrong[] = {
      {{"gtp"}, 2, "needs RUN"},
      {{"gtp", "t", "--sims", "0"}, 2, "out of range"},
      {{"gtp", "t", "--sim", "5"}, 2, "--sims"},
      {{"gtp", "nosuch"}, 5, "nosuch"},
      {{"gtp", "cp"}, 3, "played alone"},
  };
  assert_refused(wrong, sizeof wrong / sizeof wrong[0]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_frames),
      cmocka_unit_test(test_commands_are_known),
      cmocka_unit_test(test_setup),
      cmocka_unit_test(test_moves),
      cmocka_unit_test(test_illegal_moves_change_nothing),
      cmocka_unit_test(test_generated_moves),
      cmocka_unit_test(test_columns),
      cmocka_unit_test(test_discs),
      cmocka_unit_test(test_passes),
      cmocka_unit_test(test_captures_and_area),
      cmocka_unit_test(test_superko),
      cmocka_unit_test(test_wrong_input),
  };
  return cmocka_run_group_tests(tests, make_runs, process_remove_folder);
}
