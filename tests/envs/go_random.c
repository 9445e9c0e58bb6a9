/* Go, random games: as by a plain implementation of its rules, and what holds of every position. */
#include "base/symmetry.h"
#include "tests/envs/go_game.h"
#include "tests/envs/naive_go.h"

/* --- beside the plain implementation --- */

/* Chains, liberties and hash of the board are what they are from scratch. */
static void expect_consistent_board(const mz_go_board *board, const naive_go *naive) {
  const int side = board->side;
  _Alignas(8) uint8_t room[MZ_GO_BOARD_BYTES(NAIVE_SIDE_MAX)];
  mz_go_board *fresh = (mz_go_board *)room;
  mz_go_board_init(fresh, side);
  for (int cell = 0; cell < side * side; cell++) {
    const int point = mz_go_point_of(side, cell);
    assert_int_equal(mz_go_cell_of(side, point), cell);
    const int8_t stone = naive->cells[cell];
    assert_int_equal(board->points[point].colour, stone > 0 ? MZ_GO_BLACK : stone < 0 ? MZ_GO_WHITE : MZ_GO_EMPTY);
    if (stone == 0) continue;
    uint16_t captured[MZ_GO_CELLS_MAX];
    assert_int_equal(mz_go_board_play(fresh, point, stone > 0 ? MZ_GO_BLACK : MZ_GO_WHITE, captured), 0);
    bool inside[NAIVE_CELLS_MAX] = {false}, touched[NAIVE_CELLS_MAX] = {false};
    naive_fill(naive, cell, inside, touched);
    uint32_t stones = 0, liberties = 0, sum = 0, squares = 0;
    for (int c = 0; c < side * side; c++) {
      const uint32_t p = (uint32_t)mz_go_point_of(side, c);
      stones += inside[c];
      if (inside[c]) assert_int_equal(board->points[p].head, board->points[point].head);
      if (!touched[c] || naive->cells[c] != 0) continue;
      int around[4];
      const int count = naive_neighbours(naive, c, around);
      for (int i = 0; i < count; i++) { /* a pseudo-liberty for each stone of the chain it touches */
        if (!inside[around[i]]) continue;
        liberties++;
        sum += p;
        squares += p * p;
      }
    }
    const mz_go_point *head = &board->points[board->points[point].head];
    assert_true(head->liberties == liberties && head->sum == sum && head->squares == squares);
    for (int at = point; stones > 0; stones--) { /* the circle has as many stones and comes back */
      at = board->points[at].next;
      assert_true(inside[mz_go_cell_of(side, at)] && (stones > 1) == (at != point));
    }
  }
  assert_int_equal(fresh->hash, board->hash);
  assert_int_equal(mz_go_board_area(board), naive_area(naive));
}

typedef struct endings {
  int passes, limit, repetition, forbidden, marked;
} endings;

enum { FORBID, LOSS, DRAW, NONE };

/* Three planes for the mover's stones, three for the others: one liberty, two, more. */
static void expect_liberties(const naive_go *naive, int cell, const uint8_t planes[6]) {
  const int stone = naive->cells[cell], liberties = stone ? naive_liberties(naive, cell) : 0;
  for (int plane = 0; plane < 6; plane++) {
    const bool of_owner = stone == (plane < 3 ? naive_mover(naive) : -naive_mover(naive));
    const int count = liberties < 3 ? liberties : 3;
    assert_int_equal(planes[plane], of_owner && count == plane % 3 + 1);
  }
}

/* What is legal, and what the observation marks as repetition; returns a random legal action. */
static int32_t compare_moves(const go_game *g, const naive_go *naive, int superko, mz_rng *rng, endings *seen) {
  const int cells = g->side * g->side;
  uint8_t mask[GO_ACTIONS_MAX], observation[NAIVE_CELLS_MAX * GO_CHANNELS];
  int count = 1, chosen = cells;
  assert_int_equal(g->env->to_play(g->env, g->state), naive->moves % 2);
  const int said = g->env->legal(g->env, g->state, mask);
  g->env->observe(g->env, g->state, 1, observation);
  for (int cell = 0; cell < cells; cell++) {
    const naive_verdict v = naive_judge(naive, cell);
    const bool expected = v.possible && !v.ko && !(superko == FORBID && v.repeats);
    assert_int_equal(mask[cell], expected);
    assert_int_equal(observation[cell * GO_CHANNELS + 8], superko == NONE ? v.ko : v.repeats);
    expect_liberties(naive, cell, observation + cell * GO_CHANNELS + 10);
    seen->forbidden += superko == FORBID && v.repeats && !v.ko;
    seen->marked += v.repeats;
    if (!expected) continue;
    count++;
    if (mz_rng_below(rng, (uint32_t)count) == 0 || (v.repeats && mz_rng_below(rng, 2) == 0)) chosen = cell;
  }
  assert_int_equal(mask[cells], 1);
  assert_int_equal(said, count);
  return chosen;
}

static void play_beside_naive_go(const char *name, int superko, double komi, mz_rng *rng, endings *seen) {
  static go_game g;
  static naive_go naive;
  go_begin(&g, name);
  naive_reset(&naive, g.side);
  while (!g.last.terminated) {
    const int32_t action = compare_moves(&g, &naive, superko, rng, seen);
    const bool pass = action == g.side * g.side;
    const bool repeats = !pass && naive_judge(&naive, action).repeats;
    const int mover = naive_mover(&naive);
    go_step(&g, action);
    naive_play(&naive, action);
    const bool repetition = repeats && (superko == LOSS || superko == DRAW), limit = naive.moves == 2 * g.side * g.side;
    assert_int_equal(g.last.terminated, repetition || limit || naive.passes == 2);
    assert_false(g.last.truncated);
    seen->repetition += repetition;
    seen->limit += limit && !repetition;
    seen->passes += naive.passes == 2;
    const double margin = (naive_area(&naive) - komi) * mover;
    const float outcome = margin > 0 ? 1 : margin < 0 ? -1 : 0;
    assert_true(g.last.reward == (repetition ? (superko == LOSS ? -1.0f : 0.0f) : g.last.terminated ? outcome : 0.0f));
  }
  uint8_t mask[GO_ACTIONS_MAX];
  assert_int_equal(g.env->legal(g.env, g.state, mask), 0);
  for (int a = 0; a < g.env->spec.actions; a++) assert_int_equal(mask[a], 0);
}

static void random_games_go_as_by_plain_rules(void **unused) {
  (void)unused;
  static const struct {
    const char *name;
    int superko, games;
    double komi;
  } cases[] = {{"go:size=5,komi=1,superko=forbid", FORBID, 150, 1},
               {"go:size=5,komi=1", LOSS, 150, 1},
               {"go:size=5,komi=1,superko=draw", DRAW, 150, 1},
               {"go:size=5,komi=1,superko=none", NONE, 150, 1},
               {"go:superko=forbid", FORBID, 6, 7.5},
               {"go", LOSS, 6, 7.5}};
  for (int i = 0; i < 6; i++) {
    endings seen = {0};
    mz_rng rng = mz_rng_at(3, MZ_RNG_TEST, (uint32_t)i, 0);
    for (int n = 0; n < cases[i].games; n++) play_beside_naive_go(cases[i].name, cases[i].superko, cases[i].komi, &rng, &seen);
    if (cases[i].games < 100) continue;
    assert_true(seen.passes > 0 && seen.limit > 0 && seen.marked > 0);
    assert_int_equal(seen.repetition > 0, cases[i].superko == LOSS || cases[i].superko == DRAW);
    assert_int_equal(seen.forbidden > 0, cases[i].superko == FORBID);
  }
}

static void boards_are_what_they_are_from_scratch(void **unused) {
  (void)unused;
  mz_rng rng = mz_rng_at(5, MZ_RNG_TEST, 0, 0);
  for (int n = 0; n < 60; n++) {
    const int side = 5 + n % 5;
    _Alignas(8) uint8_t room[MZ_GO_BOARD_BYTES(NAIVE_SIDE_MAX)];
    mz_go_board *board = (mz_go_board *)room;
    static naive_go naive;
    mz_go_board_init(board, side);
    naive_reset(&naive, side);
    for (int move = 0; move < 2 * side * side; move++) {
      const int cell = (int)mz_rng_below(&rng, (uint32_t)(side * side)), point = mz_go_point_of(side, cell);
      if (!mz_go_board_legal(board, point, move % 2)) {
        naive_play(&naive, side * side);
        board->ko = 0;
        continue;
      }
      uint16_t captured[MZ_GO_CELLS_MAX];
      const uint64_t after = mz_go_board_hash_after(board, point, move % 2);
      int before = 1, now = 0;
      for (int c = 0; c < side * side; c++) before += naive.cells[c] != 0;
      naive_play(&naive, cell);
      for (int c = 0; c < side * side; c++) now += naive.cells[c] != 0;
      assert_int_equal(mz_go_board_play(board, point, move % 2, captured), before - now);
      assert_int_equal(board->hash, after);
      expect_consistent_board(board, &naive);
    }
  }
}

/* --- symmetries, observations, batches --- */

/* A random game and its images, move by move. */
static void symmetries_commute_with_the_game(void **unused) {
  (void)unused;
  static go_game g, image;
  static uint8_t observation[GO_OBSERVATION_MAX], mapped[GO_OBSERVATION_MAX], expected[GO_OBSERVATION_MAX];
  static const char *const names[] = {"go:size=5,superko=forbid", "go:size=6", "go"};
  for (int n = 0; n < 3; n++) {
    for (int s = 0; s < 8; s++) {
      mz_rng rng = mz_rng_at(4, MZ_RNG_TEST, (uint32_t)n, 0);
      go_begin(&g, names[n]);
      go_begin(&image, names[n]);
      const mz_spec *spec = &g.env->spec;
      assert_int_equal(spec->symmetries, 8);
      while (!g.last.terminated) {
        uint8_t mask[GO_ACTIONS_MAX], image_mask[GO_ACTIONS_MAX];
        const int count = g.env->legal(g.env, g.state, mask);
        assert_int_equal(g.env->legal(g.env, image.state, image_mask), count);
        for (int a = 0; a < spec->actions; a++) assert_int_equal(mask[a], image_mask[mz_symmetry_action(spec, s, a)]);
        g.env->observe(g.env, g.state, 1, observation);
        g.env->observe(g.env, image.state, 1, expected);
        mz_symmetry_observe(spec, s, observation, mapped);
        assert_memory_equal(mapped, expected, mz_spec_obs_bytes(spec));
        int action = (int)mz_rng_below(&rng, (uint32_t)spec->actions);
        while (!mask[action]) action = (action + 1) % spec->actions;
        go_step(&g, action);
        go_step(&image, mz_symmetry_action(spec, s, action));
        assert_true(g.last.reward == image.last.reward && g.last.terminated == image.last.terminated);
      }
    }
  }
}

/* Planes 2 to 7 are planes 0 and 1 of one, two and three moves ago, from the view of who is to move now. */
static void observations_look_back(void **unused) {
  (void)unused;
  static go_game g;
  static uint8_t observation[81 * GO_CHANNELS], past[3][81 * GO_CHANNELS];
  mz_rng rng = mz_rng_at(6, MZ_RNG_TEST, 0, 0);
  go_begin(&g, "go");
  for (int move = 0; !g.last.terminated; move++) {
    g.env->observe(g.env, g.state, 1, observation);
    double numbers[MZ_ENV_NUMBERS_MAX];
    g.env->numbers(g.env, g.state, numbers);
    for (int cell = 0; cell < 81; cell++) {
      const uint8_t *now = observation + cell * GO_CHANNELS;
      const double own = move % 2 ? -numbers[cell] : numbers[cell];
      assert_true(now[0] == (own > 0) && now[1] == (own < 0) && now[9] == (move % 2 == 0));
      for (int ago = 1; ago <= 3; ago++) {
        const uint8_t *then = past[(move + 3 - ago) % 3] + cell * GO_CHANNELS;
        for (int side = 0; side < 2; side++)
          assert_int_equal(now[2 * ago + side], move >= ago ? then[ago % 2 ? 1 - side : side] : 0);
      }
    }
    memcpy(past[move % 3], observation, sizeof observation);
    uint8_t mask[GO_ACTIONS_MAX];
    g.env->legal(g.env, g.state, mask);
    int action = (int)mz_rng_below(&rng, 81); /* passes only where it must */
    for (int tries = 0; !mask[action] && tries < 82; tries++) action = (action + 1) % 82;
    go_step(&g, action);
  }
}

static void a_batch_equals_single_steps(void **unused) {
  (void)unused;
  enum { GAMES = 20, OBSERVATION = 25 * GO_CHANNELS };
  const mz_env *env = go_env("go:size=5");
  static uint64_t together[GAMES * GO_STATE_MAX / 8], alone[GAMES][GO_STATE_MAX / 8];
  static uint8_t observations[GAMES * OBSERVATION], observation[OBSERVATION];
  uint8_t *const batch = (uint8_t *)together;
  mz_rng rng = mz_rng_at(8, MZ_RNG_TEST, 0, 0);
  for (int i = 0; i < GAMES; i++) {
    assert_int_equal(env->reset(env, batch + (size_t)i * env->state_size, NULL), MZ_OK);
    assert_int_equal(env->reset(env, alone[i], NULL), MZ_OK);
  }
  for (int move = 0; move < 12; move++) {
    int32_t actions[GAMES];
    mz_step results[GAMES], result;
    for (int i = 0; i < GAMES; i++) {
      uint8_t mask[26];
      env->legal(env, alone[i], mask);
      actions[i] = (int32_t)mz_rng_below(&rng, 25);
      while (!mask[actions[i]]) actions[i] = (actions[i] + 1) % 25;
    }
    assert_int_equal(env->step(env, together, GAMES, actions, NULL, results), MZ_OK);
    env->observe(env, together, GAMES, observations);
    for (int i = 0; i < GAMES; i++) {
      assert_int_equal(env->step(env, alone[i], 1, &actions[i], NULL, &result), MZ_OK);
      env->observe(env, alone[i], 1, observation);
      assert_true(result.reward == results[i].reward && result.terminated == results[i].terminated);
      assert_memory_equal(alone[i], batch + (size_t)i * env->state_size, env->state_size);
      assert_memory_equal(observation, observations + i * OBSERVATION, OBSERVATION);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_games_go_as_by_plain_rules), cmocka_unit_test(boards_are_what_they_are_from_scratch),
      cmocka_unit_test(symmetries_commute_with_the_game),  cmocka_unit_test(observations_look_back),
      cmocka_unit_test(a_batch_equals_single_steps),
  };
  return cmocka_run_group_tests_name("go_random", tests, NULL, NULL);
}
