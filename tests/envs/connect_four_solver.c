/* Connect Four solved: against a plain solver on a plain board, against its mirror image, against values that are known.
 * usage: connect_four_solver [--openings]: prints the table of envs/connect_four/connect_four_openings.c, found by search. */
#include "envs/connect_four/connect_four_openings.h"
#include "envs/connect_four/connect_four_solver.h"
#include "base/maths/rng.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

enum { COLUMNS = MZ_CONNECT_FOUR_COLUMNS, ROWS = MZ_CONNECT_FOUR_ROWS, CELLS = MZ_CONNECT_FOUR_CELLS, TABLE_BYTES = 1 << 22 };
typedef mz_connect_four_board board;

/* The game again, as simply as can be. */
typedef struct plain {
  int cells[COLUMNS][ROWS]; /* 0: empty; 1, 2: who moved first, second */
  int heights[COLUMNS], moves;
} plain;

static int plain_at(const plain *p, int column, int row) {
  return column < 0 || column >= COLUMNS || row < 0 || row >= ROWS ? 0 : p->cells[column][row];
}

/* Plays; true when that makes four. */
static bool plain_play(plain *p, int column) {
  const int row = p->heights[column]++, player = 1 + p->moves++ % 2;
  p->cells[column][row] = player;
  static const int directions[][2] = {{0, 1}, {1, 0}, {1, 1}, {1, -1}};
  for (int d = 0; d < 4; d++) {
    int length = 1;
    for (int sign = -1; sign <= 1; sign += 2) {
      const int dc = sign * directions[d][0], dr = sign * directions[d][1];
      for (int n = 1; plain_at(p, column + n * dc, row + n * dr) == player; n++) length++;
    }
    if (length >= 4) return true;
  }
  return false;
}

static int plain_score(const plain *p, int low, int high) {
  if (p->moves == CELLS) return 0;
  int best = -CELLS;
  for (int c = 0; c < COLUMNS && best < high; c++) {
    if (p->heights[c] == ROWS) continue;
    plain next = *p;
    const int score = plain_play(&next, c) ? (CELLS + 1 - p->moves) / 2 : -plain_score(&next, -high, -(low > best ? low : best));
    if (score > best) best = score;
  }
  return best;
}

static int sign(int score) { return (score > 0) - (score < 0); }

static board board_of(const plain *p) {
  board b = {0};
  for (int c = 0; c < COLUMNS; c++) {
    for (int r = 0; r < p->heights[c]; r++) {
      b.all |= UINT64_C(1) << (7 * c + r);
      if (p->cells[c][r] == 1 + p->moves % 2) b.mine |= UINT64_C(1) << (7 * c + r);
    }
  }
  return b;
}

/* Columns from 1, as such positions are usually written down. */
static board position(const char *columns) {
  board b = {0};
  for (; *columns; columns++) b = mz_connect_four_play(b, *columns - '1');
  return b;
}

/* An unfinished game after this many random moves; its mirror image too. */
static plain random_position(mz_rng *rng, int moves, plain *mirrored) {
  for (;;) {
    plain p = {0};
    *mirrored = (plain){0};
    bool ended = false;
    while (p.moves < moves && !ended) {
      const int c = (int)mz_rng_below(rng, COLUMNS);
      if (p.heights[c] == ROWS) continue;
      ended = plain_play(&p, c);
      plain_play(mirrored, COLUMNS - 1 - c);
    }
    if (!ended) return p;
  }
}

static mz_connect_four_solver *solver_new(size_t table_bytes) {
  mz_connect_four_solver *solver;
  assert_int_equal(mz_connect_four_solver_create(&solver, table_bytes), MZ_OK);
  return solver;
}

static int score_of(mz_connect_four_solver *solver, board b) {
  int score, outcome;
  assert_true(mz_connect_four_score(solver, b, 0, &score));
  assert_true(mz_connect_four_outcome(solver, b, 0, &outcome));
  assert_int_equal(outcome, sign(score));
  return score;
}

static unsigned optimal_of(mz_connect_four_solver *solver, board b) {
  unsigned columns;
  int outcome, same;
  assert_true(mz_connect_four_optimal(solver, b, 0, &columns, &outcome));
  assert_true(mz_connect_four_outcome(solver, b, 0, &same));
  assert_int_equal(outcome, same);
  return columns;
}

static void test_rules(void **unused) {
  (void)unused;
  mz_rng rng = mz_rng_at(1, MZ_RNG_TEST, 0, 0);
  for (int game = 0; game < 2000; game++) {
    plain p = {0};
    board b = {0};
    for (bool won = false; !won && p.moves < CELLS;) {
      const int column = (int)mz_rng_below(&rng, COLUMNS);
      assert_int_equal(mz_connect_four_playable(b, column), p.heights[column] < ROWS);
      if (p.heights[column] == ROWS) continue;
      const bool wins = mz_connect_four_wins(b, column);
      won = plain_play(&p, column);
      assert_int_equal(wins, won);
      b = mz_connect_four_play(b, column);
      const board expected = board_of(&p);
      assert_memory_equal(&b, &expected, sizeof b);
    }
  }
}

/* Late positions, outcome, score and optimal moves: with a table that holds everything and with one that holds two entries. */
static void test_against_plain_search(void **unused) {
  (void)unused;
  mz_connect_four_solver *large = solver_new(TABLE_BYTES), *small = solver_new(1);
  mz_rng rng = mz_rng_at(2, MZ_RNG_TEST, 0, 0);
  for (int n = 0; n < 400; n++) {
    plain mirrored;
    const plain p = random_position(&rng, 27 + n % 15, &mirrored);
    const int score = plain_score(&p, -CELLS, CELLS);
    unsigned optimal = 0;
    for (int c = 0; c < COLUMNS; c++) {
      if (p.heights[c] == ROWS) continue;
      plain next = p;
      const int after = plain_play(&next, c) ? 1 : -plain_score(&next, -CELLS, CELLS);
      optimal |= (unsigned)(sign(after) == sign(score)) << c;
    }
    assert_int_equal(score_of(large, board_of(&p)), score);
    assert_int_equal(score_of(small, board_of(&p)), score);
    assert_int_equal(optimal_of(large, board_of(&p)), optimal);
    assert_int_equal(optimal_of(small, board_of(&p)), optimal);
  }
  mz_connect_four_solver_free(large);
  mz_connect_four_solver_free(small);
}

static unsigned mirrored_columns(unsigned columns) {
  unsigned mirrored = 0;
  for (int c = 0; c < COLUMNS; c++) mirrored |= (columns >> c & 1) << (COLUMNS - 1 - c);
  return mirrored;
}

/* Earlier positions, where nothing simpler answers: the mirror image is worth as much, and so are the best of the positions that
 * follow. */
static void test_mirror_images_and_successors(void **unused) {
  (void)unused;
  mz_connect_four_solver *solver = solver_new(TABLE_BYTES);
  mz_rng rng = mz_rng_at(3, MZ_RNG_TEST, 0, 0);
  for (int n = 0; n < 60; n++) {
    plain mirrored;
    const plain p = random_position(&rng, 16 + n % 11, &mirrored);
    const board b = board_of(&p);
    const int score = score_of(solver, b);
    const unsigned optimal = optimal_of(solver, b);
    mz_connect_four_solver_forget(solver);
    assert_int_equal(score_of(solver, board_of(&mirrored)), score);
    assert_int_equal(optimal_of(solver, board_of(&mirrored)), mirrored_columns(optimal));
    int best = -CELLS;
    for (int c = 0; c < COLUMNS; c++) {
      if (!mz_connect_four_playable(b, c)) continue;
      const int after = mz_connect_four_wins(b, c) ? (CELLS + 1 - p.moves) / 2 : -score_of(solver, mz_connect_four_play(b, c));
      if (after > best) best = after;
      assert_int_equal(optimal >> c & 1, sign(after) == sign(score));
    }
    assert_int_equal(best, score);
  }
  mz_connect_four_solver_free(solver);
}

/* Allis 1988 and Allen 1988: whoever begins wins in the middle column only; beside it both draw; from the outer
 * columns the other side wins. Scores of later positions: P. Pons's published test sets. */
static void test_known_values(void **unused) {
  (void)unused;
  mz_connect_four_solver *solver = solver_new(TABLE_BYTES);
  const struct {
    const char *columns;
    int outcome;
    unsigned optimal; /* 0: not looked at, for that takes a search */
  } openings[] = {{"", 1, 1 << 3}, {"1", 1, 0}, {"2", 1, 0}, {"3", 0, 0}, {"4", -1, 0x7f}, {"5", 0, 0}, {"6", 1, 0}, {"7", 1, 0}};
  for (size_t i = 0; i < sizeof openings / sizeof openings[0]; i++) {
    int outcome;
    assert_true(mz_connect_four_outcome(solver, position(openings[i].columns), 0, &outcome));
    assert_int_equal(mz_connect_four_nodes(solver), 0);
    assert_int_equal(outcome, openings[i].outcome);
    if (openings[i].optimal) assert_int_equal(optimal_of(solver, position(openings[i].columns)), openings[i].optimal);
  }
  const struct {
    const char *columns;
    int score;
  } scores[] = {{"2252576253462244111563365343671351441", -1},
                {"7422341735647741166133573473242566", 1},
                {"23163416124767223154467471272416755633", 0},
                {"274552224131661", 0},
                {"32164625", 11}};
  for (size_t i = 0; i < sizeof scores / sizeof scores[0]; i++)
    assert_int_equal(score_of(solver, position(scores[i].columns)), scores[i].score);
  mz_connect_four_solver_free(solver);
}

/* The best of the moves from an opening, by the outcomes of the positions after it. */
static int best_reply(board b, const int *outcomes) {
  int best = -1;
  for (int c = 0; c < COLUMNS; c++) {
    if (mz_connect_four_wins(b, c)) return 1;
    if (!mz_connect_four_playable(b, c)) continue;
    const int outcome = -outcomes[mz_connect_four_opening_index(mz_connect_four_play(b, c))];
    if (outcome > best) best = outcome;
  }
  return best;
}

/* The table of openings: every value but the last moves' follows from those after it; of the last ones some are searched again. */
static void test_openings(void **unused) {
  (void)unused;
  mz_connect_four_solver *solver = solver_new(1 << 24);
  const board *boards;
  const int count = mz_connect_four_openings(&boards);
  int outcomes[4096];
  assert_true(count <= 4096);
  for (int i = 0; i < count; i++) assert_true(mz_connect_four_opening(boards[i], &outcomes[i]));
  int searched = 0;
  for (int i = 0; i < count; i++) {
    int found;
    assert_int_equal(mz_connect_four_opening_index(boards[i]), i);
    if (__builtin_popcountll(boards[i].all) < MZ_CONNECT_FOUR_OPENING_MOVES) {
      assert_int_equal(outcomes[i], best_reply(boards[i], outcomes));
    } else if (mz_connect_four_outcome_by_search(solver, boards[i], 100000, &found)) { /* the easy ones */
      assert_int_equal(outcomes[i], found);
      searched++;
    }
  }
  assert_true(searched >= count / 20);
  assert_int_equal(mz_connect_four_opening_index(position("12345671")), -1);
  mz_connect_four_solver_free(solver);
}

static void test_limit(void **unused) {
  (void)unused;
  mz_connect_four_solver *solver = solver_new(TABLE_BYTES);
  const board b = position("274552224131661");
  int outcome, score;
  unsigned columns;
  assert_false(mz_connect_four_outcome(solver, b, 1000, &outcome));
  assert_int_equal(mz_connect_four_nodes(solver), 1000);
  assert_false(mz_connect_four_score(solver, b, 10, &score));
  assert_false(mz_connect_four_optimal(solver, b, 10, &columns, &outcome));
  mz_connect_four_solver_forget(solver);
  assert_true(mz_connect_four_outcome(solver, b, 0, &outcome));
  const int64_t nodes = mz_connect_four_nodes(solver);
  assert_true(nodes > 1000);
  assert_true(mz_connect_four_outcome(solver, b, 0, &outcome)); /* what was found is remembered … */
  assert_true(mz_connect_four_nodes(solver) < nodes / 10);
  mz_connect_four_solver_forget(solver); /* … and forgotten: then the same work, to the node */
  assert_false(mz_connect_four_outcome(solver, b, nodes - 1, &outcome));
  mz_connect_four_solver_forget(solver);
  assert_true(mz_connect_four_outcome(solver, b, nodes, &outcome));
  assert_int_equal(mz_connect_four_nodes(solver), nodes);
  assert_int_equal(outcome, 0);
  mz_connect_four_solver_free(solver);
}

static void test_memory_that_cannot_be_had(void **unused) {
  (void)unused;
  mz_connect_four_solver *solver;
  for (int n = 1; n <= 2; n++) {
    mz_alloc_fail_after(n);
    assert_int_equal(mz_connect_four_solver_create(&solver, TABLE_BYTES), MZ_E_MEMORY);
    mz_alloc_fail_after(0);
  }
}

/* --- the table of openings, written --- */

enum { PER_CHARACTER = 3, PER_LINE = 120 };

/* The positions after the last moves are searched, about a second each; the others follow from them. */
static int print_openings(void) {
  mz_connect_four_solver *solver = solver_new(1 << 28);
  const board *boards;
  const int count = mz_connect_four_openings(&boards);
  int *outcomes = calloc((size_t)count + PER_CHARACTER, sizeof *outcomes);
  if (!outcomes) return 1;
  for (int i = count - 1; i >= 0; i--) {
    if (__builtin_popcountll(boards[i].all) == MZ_CONNECT_FOUR_OPENING_MOVES)
      mz_connect_four_outcome_by_search(solver, boards[i], 0, &outcomes[i]);
    else
      outcomes[i] = best_reply(boards[i], outcomes);
    if (i % 50 == 0) fprintf(stderr, "%d left\n", i);
  }
  for (int i = 0; i < count; i += PER_CHARACTER) {
    if (i % (PER_CHARACTER * PER_LINE) == 0) printf("%s\"", i ? "\"\n" : "");
    printf("%c", 'A' + (outcomes[i] + 1) + 3 * (outcomes[i + 1] + 1) + 9 * (outcomes[i + 2] + 1));
  }
  printf("\"\n");
  free(outcomes);
  mz_connect_four_solver_free(solver);
  return 0;
}

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "--openings") == 0) return print_openings();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rules),
      cmocka_unit_test(test_against_plain_search),
      cmocka_unit_test(test_mirror_images_and_successors),
      cmocka_unit_test(test_known_values),
      cmocka_unit_test(test_openings),
      cmocka_unit_test(test_limit),
      cmocka_unit_test(test_memory_that_cannot_be_had),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
