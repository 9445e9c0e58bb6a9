/* Checks, along random games, of games of two players whose observation begins with {own stone, opponent's stone, the side to move
 * began} for every cell. */
#pragma once
#include "envs/env.h"
#include "envs/fast_random.h"
#include "base/symmetry.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

enum { BOARD_STATE_MAX = 384, BOARD_CELLS_MAX = 361, BOARD_ACTIONS_MAX = 362, BOARD_PLIES_MAX = 362, BOARD_CHANNELS_MAX = 5 };
enum { BOARD_OBSERVATION_MAX = BOARD_CHANNELS_MAX * BOARD_CELLS_MAX };

typedef struct board_state {
  uint64_t bytes[BOARD_STATE_MAX / 8];
} board_state;

/* The nth legal action. */
static inline int32_t board_game_nth(const uint8_t *mask, uint32_t nth) {
  int32_t action = 0;
  while (!mask[action] || nth-- > 0) action++;
  return action;
}

/* The number of sequences of `depth` moves. */
static inline uint64_t board_game_perft(const mz_env *env, const board_state *state, int depth) {
  uint8_t mask[BOARD_ACTIONS_MAX];
  uint64_t count = 0;
  if (depth == 0) return 1;
  env->legal(env, state, mask);
  for (int32_t action = 0; action < env->spec.actions; action++) {
    if (!mask[action]) continue;
    board_state next = *state;
    mz_step result;
    assert_int_equal(env->step(env, &next, 1, &action, NULL, &result), MZ_OK);
    if (!result.terminated || depth == 1) count += board_game_perft(env, &next, depth - 1);
  }
  return count;
}

/* The observation and the bytes of the state follow from the numbers. */
static inline void board_game_check_views(const mz_env *env, const board_state *state, int moves) {
  const int cells = env->spec.obs_shape[0] * env->spec.obs_shape[1];
  double board[BOARD_CELLS_MAX];
  uint8_t observation[BOARD_OBSERVATION_MAX];
  board_state loaded = {{0}};
  assert_int_equal(env->numbers(env, state, board), cells);
  memset(&loaded, 0xff, env->state_size);
  env->load(env, &loaded, board, moves);
  assert_memory_equal(&loaded, state, env->state_size);
  assert_int_equal(env->to_play(env, state), moves % 2);
  env->observe(env, state, 1, observation);
  const int own = moves % 2 == 0 ? 1 : -1;
  for (int cell = 0; cell < cells; cell++) {
    const uint8_t *seen = observation + env->spec.obs_shape[2] * cell;
    assert_int_equal(seen[0], board[cell] == own);
    assert_int_equal(seen[1], board[cell] == -own);
    assert_int_equal(seen[2], moves % 2 == 0);
  }
}

static inline void board_game_image(const mz_env *env, int s, const board_state *state, int moves, board_state *image) {
  const int cells = env->spec.obs_shape[0] * env->spec.obs_shape[1];
  double board[BOARD_CELLS_MAX], image_board[BOARD_CELLS_MAX];
  env->numbers(env, state, board);
  for (int cell = 0; cell < cells; cell++) image_board[mz_symmetry_cell(&env->spec, s, cell)] = board[cell];
  *image = (board_state){{0}};
  env->load(env, image, image_board, moves);
}

/* Moving and then mapping is mapping and then moving; what is legal and seen maps along. */
static inline void board_game_check_symmetries(const mz_env *env, const board_state *before, int moves, int32_t action,
                                               const board_state *after, const mz_step *result) {
  uint8_t legal[BOARD_ACTIONS_MAX], image_legal[BOARD_ACTIONS_MAX];
  uint8_t observation[BOARD_OBSERVATION_MAX], mapped[BOARD_OBSERVATION_MAX], expected[BOARD_OBSERVATION_MAX];
  env->legal(env, before, legal);
  for (int s = 0; s < env->spec.symmetries; s++) {
    board_state image, image_after;
    board_game_image(env, s, before, moves, &image);
    env->legal(env, &image, image_legal);
    for (int a = 0; a < env->spec.actions; a++) assert_int_equal(image_legal[mz_symmetry_action(&env->spec, s, a)], legal[a]);
    env->observe(env, before, 1, observation);
    env->observe(env, &image, 1, expected);
    mz_symmetry_observe(&env->spec, s, observation, mapped);
    assert_memory_equal(mapped, expected, mz_spec_obs_bytes(&env->spec));

    const int32_t image_action = mz_symmetry_action(&env->spec, s, action);
    mz_step image_result;
    assert_int_equal(env->step(env, &image, 1, &image_action, NULL, &image_result), MZ_OK);
    board_game_image(env, s, after, moves + 1, &image_after);
    assert_memory_equal(&image, &image_after, env->state_size);
    assert_true(image_result.reward == result->reward && image_result.terminated == result->terminated);
  }
}

/* A rollout is what stepping makes of the same draws: one at every move, none at a pass that is forced. */
static inline void board_game_check_rollout(const mz_env *env, const board_state *state, uint64_t random) {
  const bool can_pass = env->spec.action_kind == MZ_ACTIONS_CELLS_PASS;
  const int player = env->to_play(env, state);
  uint64_t fast = random;
  board_state s = *state;
  float expected = 0;
  uint8_t mask[BOARD_ACTIONS_MAX];
  for (int count; (count = env->legal(env, &s, mask)) > 0;) {
    const bool forced = can_pass && count == 1 && mask[env->spec.actions - 1];
    const int32_t action = board_game_nth(mask, forced ? 0 : mz_fast_below(&random, (uint32_t)count));
    const int mover = env->to_play(env, &s);
    mz_step result;
    assert_int_equal(env->step(env, &s, 1, &action, NULL, &result), MZ_OK);
    expected += mover == player ? result.reward : -result.reward;
  }
  assert_true(env->rollout(env, state, &fast) == expected);
  assert_true(fast == random);
}

/* Random games, every state of which keeps all of the above. */
static inline void board_game_check_random_games(const mz_env *env, int games) {
  assert_true(env->state_size <= sizeof(board_state) && env->spec.actions <= BOARD_ACTIONS_MAX);
  mz_rng rng = mz_rng_at(1, MZ_RNG_TEST, 0, 0);
  for (int game = 0; game < games; game++) {
    board_state state = {{0}};
    assert_int_equal(env->reset(env, &state, NULL), MZ_OK);
    mz_step result = {0};
    for (int moves = 0; !result.terminated; moves++) {
      uint8_t mask[BOARD_ACTIONS_MAX];
      assert_in_range(moves, 0, BOARD_PLIES_MAX - 1);
      board_game_check_views(env, &state, moves);
      board_game_check_rollout(env, &state, mz_rng_u64(&rng) | 1);
      const int count = env->legal(env, &state, mask);
      assert_in_range(count, 1, env->spec.actions);
      const int32_t action = board_game_nth(mask, mz_rng_below(&rng, (uint32_t)count));
      const board_state before = state;
      assert_int_equal(env->step(env, &state, 1, &action, NULL, &result), MZ_OK);
      assert_false(result.truncated);
      assert_true(result.terminated || result.reward == 0);
      board_game_check_symmetries(env, &before, moves, action, &state, &result);
      if (result.terminated) board_game_check_views(env, &state, moves + 1);
    }
    uint8_t mask[BOARD_ACTIONS_MAX];
    memset(mask, 1, sizeof mask);
    assert_int_equal(env->legal(env, &state, mask), 0);
    for (int action = 0; action < env->spec.actions; action++) assert_int_equal(mask[action], 0);
    board_game_check_rollout(env, &state, 1);
  }
}

/* Games stepped and observed together are what they are one by one. */
static inline void board_game_check_batches(const mz_env *env) {
  enum { GAMES = 64 };
  const size_t size = env->state_size;
  const size_t observation_size = mz_spec_obs_bytes(&env->spec);
  static _Alignas(8) uint8_t together[GAMES * BOARD_STATE_MAX], alone[GAMES * BOARD_STATE_MAX];
  static uint8_t observations[GAMES * BOARD_OBSERVATION_MAX], observation[BOARD_OBSERVATION_MAX];
  mz_rng rng = mz_rng_at(2, MZ_RNG_TEST, 0, 0);
  for (int i = 0; i < GAMES; i++) assert_int_equal(env->reset(env, together + (size_t)i * size, NULL), MZ_OK);
  for (int move = 0; move < BOARD_PLIES_MAX; move++) {
    int32_t actions[GAMES];
    mz_step results[GAMES], result;
    memcpy(alone, together, sizeof alone);
    for (int i = 0; i < GAMES; i++) {
      uint8_t mask[BOARD_ACTIONS_MAX];
      const int count = env->legal(env, together + (size_t)i * size, mask);
      actions[i] = board_game_nth(mask, mz_rng_below(&rng, (uint32_t)count));
    }
    assert_int_equal(env->step(env, together, GAMES, actions, NULL, results), MZ_OK);
    env->observe(env, together, GAMES, observations);
    for (int i = 0; i < GAMES; i++) {
      assert_int_equal(env->step(env, alone + (size_t)i * size, 1, &actions[i], NULL, &result), MZ_OK);
      env->observe(env, alone + (size_t)i * size, 1, observation);
      assert_true(result.reward == results[i].reward && result.terminated == results[i].terminated && !results[i].truncated);
      assert_memory_equal(observation, observations + (size_t)i * observation_size, observation_size);
    }
    assert_memory_equal(together, alone, GAMES * size);
    for (int i = 0; i < GAMES; i++)
      if (results[i].terminated) assert_int_equal(env->reset(env, together + (size_t)i * size, NULL), MZ_OK);
  }
}

/* Also cut off, with its whole length. */
static inline void board_game_check_text(const mz_env *env, const board_state *state, const char *expected) {
  char out[512], small[8];
  assert_int_equal(env->text(env, state, out, sizeof out), (int)strlen(expected));
  assert_string_equal(out, expected);
  assert_int_equal(env->text(env, state, small, sizeof small), (int)strlen(expected));
}
