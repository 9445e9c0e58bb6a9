/* Connect Four: OpenSpiel's games, perft, every line there is, and what every board game keeps. */
#include "tests/envs/board_game.h"
#include "tests/envs/playthrough.h"
#include "tests/envs/recorded_games.h"

enum { ROWS = 6, COLUMNS = 7, CELLS = 42 };

static const mz_env *env;

static int find_env(void **unused) {
  (void)unused;
  return mz_env_find("connect4", &env) != MZ_OK;
}

static void follows_a_playthrough_of_openspiel(void **unused) {
  (void)unused;
  assert_int_equal(playthrough_follow(env, "connect_four", "xo.", NULL), 18);
}

static void replays_random_games_of_openspiel(void **unused) {
  (void)unused;
  assert_int_equal(recorded_games_replay(env, NULL, "connect_four_games.txt"), 10000);
}

static void perft(void **unused) {
  (void)unused;
  static const uint64_t expected[] = {1, 7, 49, 343, 2401, 16807, 117649, 823536, 5673234};
  board_state state = {{0}};
  assert_int_equal(env->reset(env, &state, NULL), MZ_OK);
  for (int depth = 0; depth <= 8; depth++) assert_true(board_game_perft(env, &state, depth) == expected[depth]);
}

/* Cells a < b < c < d are equally far apart, in one direction, within the board. */
static bool is_line(int a, int b, int c, int d) {
  const int down = b / COLUMNS - a / COLUMNS, right = b % COLUMNS - a % COLUMNS;
  if (down > 1 || right > 1 || right < -1) return false;
  const int cells[] = {a, b, c, d};
  for (int i = 1; i < 4; i++) {
    if (cells[i] / COLUMNS != a / COLUMNS + i * down || cells[i] % COLUMNS != a % COLUMNS + i * right) return false;
  }
  return true;
}

/* 69 of all sets of four cells are lines; each wins for either player, and no other. */
static void four_cells_win_where_they_are_a_line(void **unused) {
  (void)unused;
  int lines = 0;
  for (int a = 0; a < CELLS; a++) {
    for (int b = a + 1; b < CELLS; b++) {
      for (int c = b + 1; c < CELLS; c++) {
        for (int d = c + 1; d < CELLS; d++) {
          double board[CELLS] = {0};
          board_state state = {{0}};
          uint8_t mask[COLUMNS];
          const bool line = is_line(a, b, c, d);
          board[a] = board[b] = board[c] = board[d] = (a + d) % 2 ? 1 : -1;
          env->load(env, &state, board, 8);
          assert_int_equal(env->legal(env, &state, mask) == 0, line);
          lines += line;
        }
      }
    }
  }
  assert_int_equal(lines, 69);
}

/* Plays a column a letter; no move but the last ends the game. */
static void play(board_state *state, const char *columns, mz_step *last) {
  for (; *columns; columns++) {
    assert_false(last->terminated);
    const int32_t action = *columns - 'a';
    assert_int_equal(env->step(env, state, 1, &action, NULL, last), MZ_OK);
  }
}

static void a_win_ends_the_game(void **unused) {
  (void)unused;
  board_state state = {{0}};
  mz_step last = {0};
  assert_int_equal(env->reset(env, &state, NULL), MZ_OK);
  play(&state, "abacada", &last);
  assert_true(last.terminated && last.reward == 1);
}

static void the_last_cell_draws_or_wins(void **unused) {
  (void)unused;
  static const struct {
    const char *moves;
    float reward;
  } games[] = {{"ddbgfabbecggbebcdbedeefcdgdagecgaffffcacaa", 0}, {"dgcgbecdgabccdagabeaaabdfgeefgdffdffbcebce", 1}};
  for (int i = 0; i < 2; i++) {
    board_state state = {{0}};
    mz_step last = {0};
    assert_int_equal(env->reset(env, &state, NULL), MZ_OK);
    assert_int_equal(strlen(games[i].moves), CELLS);
    play(&state, games[i].moves, &last);
    assert_true(last.terminated && last.reward == games[i].reward);
  }
}

static void a_full_column_is_closed(void **unused) {
  (void)unused;
  board_state state = {{0}};
  mz_step last = {0};
  uint8_t mask[COLUMNS];
  assert_int_equal(env->reset(env, &state, NULL), MZ_OK);
  play(&state, "dddddd", &last);
  assert_int_equal(env->legal(env, &state, mask), COLUMNS - 1);
  for (int column = 0; column < COLUMNS; column++) assert_int_equal(mask[column], column != 3);
}

static void random_games_keep_what_is_promised(void **unused) {
  (void)unused;
  board_game_check_random_games(env, 1000);
}

static void a_batch_equals_single_steps(void **unused) {
  (void)unused;
  board_game_check_batches(env);
}

/* What rollouts draw: each number within 5 standard deviations of n/7. */
static void draws_are_uniform(void **unused) {
  (void)unused;
  enum { DRAWS = 70000, MEAN = DRAWS / COLUMNS, FIVE_DEVIATIONS = 463 }; /* 5 √(n · 1/7 · 6/7) */
  int counts[COLUMNS] = {0};
  uint64_t random = 1;
  for (int i = 0; i < DRAWS; i++) counts[mz_fast_below(&random, COLUMNS)]++;
  for (int column = 0; column < COLUMNS; column++)
    assert_in_range(counts[column], MEAN - FIVE_DEVIATIONS, MEAN + FIVE_DEVIATIONS);
}

static void text_and_names(void **unused) {
  (void)unused;
  board_state state = {{0}};
  mz_step last = {0};
  char out[8];
  assert_int_equal(env->reset(env, &state, NULL), MZ_OK);
  play(&state, "ddcg", &last);
  board_game_check_text(
      env, &state, ". . . . . . .\n. . . . . . .\n. . . . . . .\n. . . . . . .\n. . . o . . .\n. . x x . . o\na b c d e f g\n");
  for (int column = 0; column < COLUMNS; column++) {
    assert_int_equal(env->action_text(env, column, out, sizeof out), 1);
    assert_int_equal(out[0], "abcdefg"[column]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(follows_a_playthrough_of_openspiel),
      cmocka_unit_test(replays_random_games_of_openspiel),
      cmocka_unit_test(perft),
      cmocka_unit_test(four_cells_win_where_they_are_a_line),
      cmocka_unit_test(a_win_ends_the_game),
      cmocka_unit_test(the_last_cell_draws_or_wins),
      cmocka_unit_test(a_full_column_is_closed),
      cmocka_unit_test(random_games_keep_what_is_promised),
      cmocka_unit_test(a_batch_equals_single_steps),
      cmocka_unit_test(draws_are_uniform),
      cmocka_unit_test(text_and_names),
  };
  return cmocka_run_group_tests_name("connect_four", tests, find_env, NULL);
}
