/* Othello: OpenSpiel's games, perft, the plain rules on an array of cells on both boards, and what every board game keeps. */
#include "tests/envs/board_game.h"
#include "tests/envs/playthrough.h"
#include "tests/envs/recorded_games.h"

static const mz_env *env, *small;

static int find_envs(void **unused) {
  (void)unused;
  return mz_env_find("othello", &env) != MZ_OK || mz_env_find("othello6", &small) != MZ_OK;
}

static void follows_a_playthrough_of_openspiel(void **unused) {
  (void)unused;
  assert_int_equal(playthrough_follow(env, "othello", "xo-", NULL), 61);
}

static void replays_random_games_of_openspiel(void **unused) {
  (void)unused;
  assert_int_equal(recorded_games_replay(env, NULL, "othello_games.txt"), 10000);
}

static void perft(void **unused) {
  (void)unused;
  static const uint64_t expected[] = {1, 4, 12, 56, 244, 1396, 8200, 55092, 390216, 3005288};
  board_state state = {{0}};
  assert_int_equal(env->reset(env, &state, NULL), MZ_OK);
  for (int depth = 0; depth <= 9; depth++) assert_true(board_game_perft(env, &state, depth) == expected[depth]);
}

/* --- the plain rules --- */

typedef struct plain_board {
  int size, mover; /* 1 black, -1 white */
  int cells[64];
} plain_board;

/* Turns over what `mover` encloses by placing a disc on the cell; returns how many discs that are. Only counts unless `apply`. */
static int enclose(plain_board *b, int mover, int cell, bool apply) {
  int turned = 0;
  if (b->cells[cell]) return 0;
  for (int down = -1; down <= 1; down++) {
    for (int right = -1; right <= 1; right++) {
      int row = cell / b->size + down, column = cell % b->size + right, length = 0;
      if (!down && !right) continue;
      while (row >= 0 && row < b->size && column >= 0 && column < b->size && b->cells[row * b->size + column] == -mover)
        row += down, column += right, length++;
      if (row < 0 || row >= b->size || column < 0 || column >= b->size || b->cells[row * b->size + column] != mover) continue;
      turned += length;
      for (; apply && length > 0; length--) b->cells[(row -= down) * b->size + (column -= right)] = mover;
    }
  }
  if (apply) b->cells[cell] = mover;
  return turned;
}

static int count_moves(plain_board *b, int mover, uint8_t *mask) {
  int count = 0;
  for (int cell = 0; cell < b->size * b->size; cell++) count += mask[cell] = enclose(b, mover, cell, false) > 0;
  return count;
}

static void check_board(const mz_env *game, const board_state *state, const plain_board *b) {
  double numbers[BOARD_CELLS_MAX];
  assert_int_equal(game->numbers(game, state, numbers), b->size * b->size);
  for (int cell = 0; cell < b->size * b->size; cell++) assert_true(numbers[cell] == b->cells[cell]);
  assert_int_equal(game->to_play(game, state), b->mover < 0);
}

typedef struct tally {
  int passes, early_ends, wins[3]; /* white's, draws, black's */
} tally;

static void play_beside_the_plain_rules(const mz_env *game, int size, mz_rng *rng, tally *t) {
  const int cells = size * size, middle = size / 2;
  plain_board b = {.size = size, .mover = 1};
  b.cells[(middle - 1) * size + middle - 1] = b.cells[middle * size + middle] = -1;
  b.cells[(middle - 1) * size + middle] = b.cells[middle * size + middle - 1] = 1;
  board_state state = {{0}};
  assert_int_equal(game->reset(game, &state, NULL), MZ_OK);
  for (;;) {
    uint8_t expected[BOARD_ACTIONS_MAX], theirs[BOARD_ACTIONS_MAX], mask[BOARD_ACTIONS_MAX];
    int count = count_moves(&b, b.mover, expected);
    expected[cells] = count == 0;
    count += expected[cells];
    check_board(game, &state, &b);
    assert_int_equal(game->legal(game, &state, mask), count);
    assert_memory_equal(mask, expected, (size_t)cells + 1);

    const int32_t action = board_game_nth(mask, mz_rng_below(rng, (uint32_t)count));
    const int mover = b.mover;
    mz_step result;
    assert_int_equal(game->step(game, &state, 1, &action, NULL, &result), MZ_OK);
    if (action < cells) enclose(&b, mover, action, true);
    t->passes += action == cells;
    b.mover = -mover;
    assert_int_equal(result.terminated, count_moves(&b, 1, theirs) + count_moves(&b, -1, theirs) == 0);
    if (!result.terminated) {
      assert_true(result.reward == 0);
      continue;
    }
    int lead = 0, empty = 0;
    for (int cell = 0; cell < cells; cell++) lead += b.cells[cell], empty += !b.cells[cell];
    const int winner = (lead > 0) - (lead < 0);
    assert_true(result.reward == (float)(winner * mover));
    check_board(game, &state, &b);
    t->wins[winner + 1]++;
    t->early_ends += empty > 0;
    return;
  }
}

static void plays_by_the_plain_rules(void **unused) {
  (void)unused;
  for (int size = 6; size <= 8; size += 2) {
    const mz_env *game = size == 6 ? small : env;
    mz_rng rng = mz_rng_at(3, MZ_RNG_TEST, (uint32_t)size, 0);
    tally t = {0};
    for (int i = 0; i < 2000; i++) play_beside_the_plain_rules(game, size, &rng, &t);
    assert_true(t.passes > 100 && t.early_ends > 20 && t.wins[0] > 500 && t.wins[1] > 10 && t.wins[2] > 500);
  }
}

/* --- single positions --- */

/* Plays "e6 f4 …"; no move but the last ends the game. */
static void play(const mz_env *game, board_state *state, const char *moves, mz_step *last) {
  const int size = game->spec.obs_shape[1];
  *last = (mz_step){0};
  for (; *moves; moves += moves[2] ? 3 : 2) {
    assert_false(last->terminated);
    const int32_t action = (moves[1] - '1') * size + moves[0] - 'a';
    assert_int_equal(game->step(game, state, 1, &action, NULL, last), MZ_OK);
  }
}

static void a_wipe_out_ends_the_game(void **unused) {
  (void)unused;
  board_state state = {{0}};
  mz_step last;
  assert_int_equal(env->reset(env, &state, NULL), MZ_OK);
  play(env, &state, "e6 f4 e3 f6 g5 d6 e7 f5 c5", &last);
  assert_true(last.terminated && last.reward == 1);
  double board[BOARD_CELLS_MAX];
  int discs = 0;
  env->numbers(env, &state, board);
  for (int cell = 0; cell < 64; cell++) {
    assert_true(board[cell] >= 0);
    discs += board[cell] > 0;
  }
  assert_int_equal(discs, 13);
}

/* Black has one disc and fills the last cell. */
static void who_moves_last_may_lose(void **unused) {
  (void)unused;
  double board[BOARD_CELLS_MAX];
  for (int cell = 0; cell < 64; cell++) board[cell] = -1;
  board[0] = 0;
  board[2] = 1; /* a1 turns b1 only */
  board_state state = {{0}};
  uint8_t mask[BOARD_ACTIONS_MAX];
  mz_step last;
  env->load(env, &state, board, 0);
  assert_int_equal(env->legal(env, &state, mask), 1);
  play(env, &state, "a1", &last);
  assert_true(last.terminated && last.reward == -1);
}

static void a_pass_is_legal_where_nothing_else_is(void **unused) {
  (void)unused;
  double board[BOARD_CELLS_MAX] = {0};
  board[0] = 1; /* a1 black, b1 white: black may enclose it from c1, white may do nothing */
  board[1] = -1;
  board_state state = {{0}};
  uint8_t mask[BOARD_ACTIONS_MAX];
  mz_step last;
  env->load(env, &state, board, 1);
  assert_int_equal(env->legal(env, &state, mask), 1);
  assert_int_equal(mask[64], 1);
  const int32_t pass = 64;
  assert_int_equal(env->step(env, &state, 1, &pass, NULL, &last), MZ_OK);
  assert_true(!last.terminated && last.reward == 0);
  assert_int_equal(env->to_play(env, &state), 0);
  assert_int_equal(env->legal(env, &state, mask), 1);
  assert_int_equal(mask[2], 1);
  play(env, &state, "c1", &last);
  assert_true(last.terminated && last.reward == 1);
}

static void random_games_keep_what_is_promised(void **unused) {
  (void)unused;
  board_game_check_random_games(env, 200);
  board_game_check_random_games(small, 200);
}

static void a_batch_equals_single_steps(void **unused) {
  (void)unused;
  board_game_check_batches(env);
  board_game_check_batches(small);
}

static void text_and_names(void **unused) {
  (void)unused;
  board_state state = {{0}};
  mz_step last;
  char out[8];
  assert_int_equal(env->reset(env, &state, NULL), MZ_OK);
  play(env, &state, "d3", &last);
  board_game_check_text(env, &state,
                        "  a b c d e f g h\n1 . . . . . . . .\n2 . . . . . . . .\n3 . . . x . . . .\n4 . . . x x . . .\n"
                        "5 . . . x o . . .\n6 . . . . . . . .\n7 . . . . . . . .\n8 . . . . . . . .\nx 4  o 1\n");
  assert_int_equal(small->reset(small, &state, NULL), MZ_OK);
  board_game_check_text(
      small, &state,
      "  a b c d e f\n1 . . . . . .\n2 . . . . . .\n3 . . o x . .\n4 . . x o . .\n5 . . . . . .\n6 . . . . . .\n"
      "x 2  o 2\n");
  static const struct {
    int action;
    const char *name, *name6;
  } names[] = {{0, "a1", "a1"}, {7, "h1", "b2"}, {19, "d3", "b4"}, {35, "d5", "f6"}, {36, "e5", "pass"}};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    env->action_text(env, names[i].action, out, sizeof out);
    assert_string_equal(out, names[i].name);
    small->action_text(small, names[i].action, out, sizeof out);
    assert_string_equal(out, names[i].name6);
  }
  assert_int_equal(env->action_text(env, 64, out, sizeof out), 4);
  assert_string_equal(out, "pass");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(follows_a_playthrough_of_openspiel),
      cmocka_unit_test(replays_random_games_of_openspiel),
      cmocka_unit_test(perft),
      cmocka_unit_test(plays_by_the_plain_rules),
      cmocka_unit_test(a_wipe_out_ends_the_game),
      cmocka_unit_test(who_moves_last_may_lose),
      cmocka_unit_test(a_pass_is_legal_where_nothing_else_is),
      cmocka_unit_test(random_games_keep_what_is_promised),
      cmocka_unit_test(a_batch_equals_single_steps),
      cmocka_unit_test(text_and_names),
  };
  return cmocka_run_group_tests_name("othello", tests, find_envs, NULL);
}
