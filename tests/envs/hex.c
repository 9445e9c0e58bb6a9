/* Hex: OpenSpiel's games, connections found beside a search of the whole board, and what every board game keeps. */
#include "tests/envs/board_game.h"
#include "tests/envs/recorded_games.h"
#include <math.h>

enum { SIDE_MAX = 19, CELLS_MAX = SIDE_MAX * SIDE_MAX };

static const mz_env *env_named(const char *name) {
  const mz_env *env = NULL;
  assert_int_equal(mz_env_find(name, &env), MZ_OK);
  return env;
}

static void replays_openspiels_random_games(void **unused) {
  (void)unused;
  assert_int_equal(recorded_games_replay(env_named("hex"), NULL, "hex_games.txt"), 300);
  assert_int_equal(recorded_games_replay(env_named("hex:size=5"), NULL, "hex5_games.txt"), 1000);
}

/* Marks the stones that are connected to the player's first or last edge, by a search from there; true when they connect both. */
static bool reach(const double *stones, int size, int player, bool last, bool *seen) {
  static const int ways[6][2] = {{-1, 0}, {-1, 1}, {0, -1}, {0, 1}, {1, -1}, {1, 0}};
  const double own = player == 0 ? 1 : -1;
  const int begin = last ? size - 1 : 0;
  int waiting[CELLS_MAX], count = 0;
  bool both = false;
  memset(seen, 0, CELLS_MAX * sizeof *seen);
  for (int i = 0; i < size; i++) {
    const int cell = player == 0 ? begin * size + i : i * size + begin;
    if (stones[cell] * own > 0) seen[cell] = true, waiting[count++] = cell;
  }
  while (count > 0) {
    const int cell = waiting[--count], row = cell / size, column = cell % size;
    both |= (player == 0 ? row : column) == size - 1 - begin;
    for (int w = 0; w < 6; w++) {
      const int r = row + ways[w][0], c = column + ways[w][1];
      if (r < 0 || c < 0 || r >= size || c >= size || seen[r * size + c] || !(stones[r * size + c] * own > 0)) continue;
      seen[r * size + c] = true;
      waiting[count++] = r * size + c;
    }
  }
  return both;
}

static bool connects(const double *stones, int size, int player) {
  bool seen[CELLS_MAX];
  return reach(stones, size, player, false, seen);
}

/* Plane 3 has the mover's stones that are connected to an edge of theirs, plane 4 the opponent's. */
static void check_connections(const mz_env *env, const board_state *state, const double *stones, int size) {
  bool first[CELLS_MAX], last[CELLS_MAX];
  uint8_t observation[BOARD_OBSERVATION_MAX];
  env->observe(env, state, 1, observation);
  for (int other = 0; other < 2; other++) {
    const int player = (env->to_play(env, state) + other) % 2;
    reach(stones, size, player, false, first);
    reach(stones, size, player, true, last);
    for (int cell = 0; cell < size * size; cell++) assert_int_equal(observation[5 * cell + 3 + other], first[cell] || last[cell]);
  }
}

/* Random games of every size end with the first connection; what is seen and loaded is what was played, turned by half as well. */
static void games_end_with_the_first_connection(void **unused) {
  (void)unused;
  mz_rng rng = mz_rng_at(1, MZ_RNG_TEST, 0, 0);
  for (int size = 3; size <= SIDE_MAX; size += 2) {
    char name[32];
    snprintf(name, sizeof name, "hex:size=%d", size);
    const mz_env *env = env_named(name);
    assert_int_equal(env->spec.symmetries, 2);
    for (int game = 0; game < 20; game++) {
      board_state state;
      double stones[CELLS_MAX];
      mz_step last = {0};
      assert_int_equal(env->reset(env, &state, NULL), MZ_OK);
      for (int moves = 1; !last.terminated; moves++) {
        uint8_t mask[CELLS_MAX];
        const board_state before = state;
        const int count = env->legal(env, &state, mask), mover = env->to_play(env, &state);
        assert_int_equal(count, size * size - moves + 1);
        const int32_t action = mz_env_nth_legal(mask, env->spec.actions, mz_rng_below(&rng, (uint32_t)count));
        assert_int_equal(env->step(env, &state, 1, &action, NULL, &last), MZ_OK);
        assert_int_equal(env->numbers(env, &state, stones), size * size);
        assert_int_equal(last.terminated, connects(stones, size, mover));
        assert_int_equal(connects(stones, size, 1 - mover), false);
        assert_true(last.reward == (last.terminated ? 1 : 0));
        if (last.terminated) continue;
        board_game_check_views(env, &state, moves);
        check_connections(env, &state, stones, size);
        board_game_check_symmetries(env, &before, moves - 1, action, &state, &last);
      }
      assert_int_equal(env->legal(env, &state, (uint8_t[CELLS_MAX]){0}), 0);
    }
  }
}

/* A rollout decides as random play on the true rules, by the player to move: from the empty board 2/3 of the games are won, after the
 * centre 18 of 70, as counting all fillings shows. */
static void rollouts_are_random_games(void **unused) {
  (void)unused;
  enum { GAMES = 4000, CENTRE = 4 };
  static const double wins[] = {2.0 / 3, 18.0 / 70};
  const mz_env *env = env_named("hex:size=3");
  board_state state;
  assert_int_equal(env->reset(env, &state, NULL), MZ_OK);
  mz_rng rng = mz_rng_at(2, MZ_RNG_TEST, 0, 0);
  uint64_t random = 12345;
  for (int moves = 0; moves < 2; moves++) {
    mz_step last = {0};
    if (moves) assert_int_equal(env->step(env, &state, 1, &(int32_t){CENTRE}, NULL, &last), MZ_OK);
    const int me = env->to_play(env, &state);
    int won = 0, rolled = 0;
    for (int game = 0; game < GAMES; game++) {
      board_state copy = state;
      int mover = 0;
      for (last.terminated = false; !last.terminated;) {
        uint8_t mask[CELLS_MAX];
        const int count = env->legal(env, &copy, mask);
        const int32_t action = mz_env_nth_legal(mask, env->spec.actions, mz_rng_below(&rng, (uint32_t)count));
        mover = env->to_play(env, &copy);
        assert_int_equal(env->step(env, &copy, 1, &action, NULL, &last), MZ_OK);
      }
      won += mover == me;
      rolled += env->rollout(env, &state, &random) > 0;
    }
    const double five_sigma = 5 * sqrt(wins[moves] * (1 - wins[moves]) / GAMES);
    assert_true(fabs((double)won / GAMES - wins[moves]) < five_sigma);
    assert_true(fabs((double)rolled / GAMES - wins[moves]) < five_sigma);
  }
}

static void text_is_a_parallelogram(void **unused) {
  (void)unused;
  const mz_env *env = env_named("hex:size=3");
  board_state state;
  mz_step step;
  assert_int_equal(env->reset(env, &state, NULL), MZ_OK);
  assert_int_equal(env->step(env, &state, 1, &(int32_t){4}, NULL, &step), MZ_OK);
  assert_int_equal(env->step(env, &state, 1, &(int32_t){2}, NULL, &step), MZ_OK);
  board_game_check_text(env, &state, "   a b c\n 1 . . o\n  2 . x .\n   3 . . .\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(replays_openspiels_random_games),
      cmocka_unit_test(games_end_with_the_first_connection),
      cmocka_unit_test(rollouts_are_random_games),
      cmocka_unit_test(text_is_a_parallelogram),
  };
  return cmocka_run_group_tests_name("hex", tests, NULL, NULL);
}
