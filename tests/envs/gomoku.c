/* Gomoku: OpenSpiel's games, lines found beside a search of the whole board, and what every board game keeps. */
#include "tests/envs/board_game.h"
#include "tests/envs/playthrough.h"
#include "tests/envs/recorded_games.h"

enum { SIDE = 15, CELLS = SIDE * SIDE };

static const mz_env *env_named(const char *name) {
  const mz_env *env = NULL;
  assert_int_equal(mz_env_find(name, &env), MZ_OK);
  return env;
}

/* --- OpenSpiel, whose cells are numbered as ours --- */

static void expect_full_state(const mz_env *env, const board_state *state, const mz_step *last, const playthrough_state *s) {
  double expected[CELLS], got[CELLS];
  uint8_t mask[CELLS];
  assert_int_equal(playthrough_board(s->picture, 'b', 'w', '.', SIDE, SIDE, expected), SIDE);
  env->numbers(env, state, got);
  assert_memory_equal(got, expected, sizeof got);
  assert_int_equal(last->terminated, s->terminal);
  const int count = env->legal(env, state, mask), mover = 1 - env->to_play(env, state);
  assert_true((double)last->reward == s->rewards[mover]);
  if (s->terminal) {
    assert_int_equal(count, 0);
    return;
  }
  assert_int_equal(env->to_play(env, state), s->player);
  assert_int_equal(count, s->legal_count);
  for (int i = 0; i < s->legal_count; i++) assert_int_equal(mask[s->legal[i]], 1);
}

static void follows_openspiels_playthrough(void **unused) {
  (void)unused;
  static playthrough_state s;
  const mz_env *env = env_named("gomoku");
  board_state state;
  mz_step last = {0};
  FILE *file = playthrough_open("gomoku");
  assert_int_equal(env->reset(env, &state, NULL), MZ_OK);
  int states = 0, full = 0;
  for (; playthrough_next(file, &s); states++) {
    if (s.full) expect_full_state(env, &state, &last, &s);
    full += s.full;
    const int32_t action = s.action;
    if (action >= 0) assert_int_equal(env->step(env, &state, 1, &action, NULL, &last), MZ_OK);
  }
  assert_int_equal(fclose(file), 0);
  assert_int_equal(states, 116);
  assert_true(full >= 2 && last.terminated);
}

static void replays_openspiels_random_games(void **unused) {
  (void)unused;
  assert_int_equal(recorded_games_replay(env_named("gomoku"), NULL, "gomoku_games.txt"), 2000);
  assert_int_equal(recorded_games_replay(env_named("gomoku:size=9"), NULL, "gomoku9_games.txt"), 6000);
  assert_int_equal(recorded_games_replay(env_named("gomoku:size=7,k=4"), NULL, "gomoku7_games.txt"), 3000);
}

/* --- lines --- */

static const int directions[4][2] = {{0, 1}, {1, 0}, {1, 1}, {1, -1}};

/* The cell `distance` further in a direction; -1: off the board. */
static int cell_along(int side, int cell, int direction, int distance) {
  const int row = cell / side + directions[direction][0] * distance, column = cell % side + directions[direction][1] * distance;
  return row >= 0 && row < side && column >= 0 && column < side ? row * side + column : -1;
}

static int length_along(const double *board, int side, int cell, int direction) {
  int length = 0;
  for (int at = cell; at >= 0 && board[at] == board[cell]; at = cell_along(side, cell, direction, length)) length++;
  return length;
}

/* The colour that has k in a row anywhere; 0: none. */
static double find_line(const double *board, int side, int k) {
  for (int cell = 0; cell < side * side; cell++)
    for (int d = 0; d < 4; d++)
      if (board[cell] != 0 && length_along(board, side, cell, d) >= k) return board[cell];
  return 0;
}

/* A line of k wins wherever it lies and whichever of its stones comes last; one of k-1 does not. */
static void expect_lines_everywhere(const char *name, int side, int k) {
  const mz_env *env = env_named(name);
  int lines = 0;
  for (int cell = 0; cell < side * side; cell++) {
    for (int d = 0; d < 4; d++) {
      if (cell_along(side, cell, d, k - 1) < 0) continue;
      lines++;
      for (int last = 0; last < k; last++) {
        double board[BOARD_CELLS_MAX] = {0};
        for (int i = 0; i < k; i++)
          if (i != last) board[cell_along(side, cell, d, i)] = 1;
        board_state state;
        env->load(env, &state, board, 2 * (k - 1));
        const int32_t action = cell_along(side, cell, d, last);
        uint8_t mask[BOARD_ACTIONS_MAX];
        assert_int_equal(env->legal(env, &state, mask),
                         side * side - 2 * (k - 1)); /* the other player's stones are not on this board */
        mz_step result;
        assert_int_equal(env->step(env, &state, 1, &action, NULL, &result), MZ_OK);
        assert_true(result.terminated && result.reward == 1);
      }
    }
  }
  assert_int_equal(lines, 2 * side * (side - k + 1) + 2 * (side - k + 1) * (side - k + 1));
}

static void lines_win_everywhere(void **unused) {
  (void)unused;
  expect_lines_everywhere("gomoku", 15, 5);
  expect_lines_everywhere("gomoku:size=19,k=6", 19, 6);
  expect_lines_everywhere("gomoku:size=5,k=3", 5, 3);
  expect_lines_everywhere("gomoku:size=6,k=6", 6, 6);
}

static void longer_lines_win_too(void **unused) {
  (void)unused;
  const mz_env *env = env_named("gomoku");
  double board[CELLS] = {0};
  for (int i = 0; i < 7; i++) board[16 + i] = i == 3 ? 0 : 1;
  board_state state;
  env->load(env, &state, board, 12);
  mz_step result;
  assert_int_equal(env->step(env, &state, 1, &(const int32_t){19}, NULL, &result), MZ_OK);
  assert_true(result.terminated && result.reward == 1);
}

/* Games end where a search of the whole board finds a line or no free cell. */
static void random_games_end_with_the_first_line(void **unused) {
  (void)unused;
  static const struct {
    const char *name;
    int side, k, games;
  } cases[] = {
      {"gomoku:size=5", 5, 5, 300}, {"gomoku:size=7,k=3", 7, 3, 200}, {"gomoku:size=9", 9, 5, 100}, {"gomoku:size=19", 19, 5, 8}};
  int draws = 0;
  for (int i = 0; i < 4; i++) {
    const mz_env *env = env_named(cases[i].name);
    mz_rng rng = mz_rng_at(2, MZ_RNG_TEST, (uint32_t)i, 0);
    for (int game = 0; game < cases[i].games; game++) {
      board_state state;
      mz_step result = {0};
      assert_int_equal(env->reset(env, &state, NULL), MZ_OK);
      for (int moves = 1; !result.terminated; moves++) {
        uint8_t mask[BOARD_ACTIONS_MAX];
        const int32_t action = board_game_nth(mask, mz_rng_below(&rng, (uint32_t)env->legal(env, &state, mask)));
        const int mover = env->to_play(env, &state);
        assert_int_equal(env->step(env, &state, 1, &action, NULL, &result), MZ_OK);
        double board[BOARD_CELLS_MAX];
        env->numbers(env, &state, board);
        const double line = find_line(board, cases[i].side, cases[i].k);
        assert_int_equal(result.terminated, line != 0 || moves == cases[i].side * cases[i].side);
        assert_true(result.reward == (line != 0 ? 1 : 0) && (line == 0 || line == (mover == 0 ? 1 : -1)));
        draws += result.terminated && line == 0;
      }
    }
  }
  assert_true(draws > 0);
}

/* --- as every board game --- */

static void random_games_keep_the_promises(void **unused) {
  (void)unused;
  board_game_check_random_games(env_named("gomoku"), 2);
  board_game_check_random_games(env_named("gomoku:size=6,k=4"), 40);
  board_game_check_random_games(env_named("gomoku:size=19"), 1);
}

static void a_batch_equals_single_steps(void **unused) {
  (void)unused;
  board_game_check_batches(env_named("gomoku:size=9"));
}

static void text_and_names(void **unused) {
  (void)unused;
  const mz_env *env = env_named("gomoku:size=10");
  board_state state;
  mz_step result;
  char name[8];
  assert_int_equal(env->reset(env, &state, NULL), MZ_OK);
  assert_int_equal(env->step(env, &state, 1, &(const int32_t){8}, NULL, &result), MZ_OK);
  assert_int_equal(env->step(env, &state, 1, &(const int32_t){90}, NULL, &result), MZ_OK);
  board_game_check_text(env, &state,
                        "   A B C D E F G H J K\n"
                        "10 O . . . . . . . . .\n"
                        " 9 . . . . . . . . . .\n"
                        " 8 . . . . . . . . . .\n"
                        " 7 . . . . . . . . . .\n"
                        " 6 . . . . . . . . . .\n"
                        " 5 . . . . . . . . . .\n"
                        " 4 . . . . . . . . . .\n"
                        " 3 . . . . . . . . . .\n"
                        " 2 . . . . . . . . . .\n"
                        " 1 . . . . . . . . X .\n");
  env->action_text(env, 8, name, sizeof name);
  assert_string_equal(name, "J1");
  env->action_text(env, 99, name, sizeof name);
  assert_string_equal(name, "K10");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(follows_openspiels_playthrough),
      cmocka_unit_test(replays_openspiels_random_games),
      cmocka_unit_test(lines_win_everywhere),
      cmocka_unit_test(longer_lines_win_too),
      cmocka_unit_test(random_games_end_with_the_first_line),
      cmocka_unit_test(random_games_keep_the_promises),
      cmocka_unit_test(a_batch_equals_single_steps),
      cmocka_unit_test(text_and_names),
  };
  return cmocka_run_group_tests_name("gomoku", tests, NULL, NULL);
}
