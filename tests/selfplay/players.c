/* Opponents: their names, what they must and must not play. */
#include "tests/selfplay/agents.h"
#include "envs/connect_four/connect_four_solver.h"
#include "selfplay/evaluation/opening.h"
#include "selfplay/players/player_memory.h"
#include "selfplay/players/players.h"
#include <pthread.h>

enum { SEEDS = 300 };

static mz_player parse(const char *text, const mz_env *env) {
  mz_player player;
  assert_int_equal(mz_player_parse(text, env, &player), MZ_OK);
  assert_string_equal(player.name, text);
  return player;
}

static mz_rng stream(int n) { return mz_rng_at(11, MZ_RNG_TEST, (uint32_t)n, 0); }

static int move(const mz_player *player, const mz_env *env, const void *state, mz_rng *rng) {
  int action = -1;
  assert_int_equal(mz_player_move(player, env, state, rng, &action), MZ_OK);
  return action;
}

/* A tic-tac-toe position by the moves that lead to it: "04" is x in the corner, o in the centre. */
typedef struct board {
  _Alignas(8) uint8_t bytes[192];
} board;
static board position(const char *moves) {
  board b = {0};
  mz_step step = {0};
  assert_true(mz_env_tictactoe.state_size <= sizeof b.bytes);
  assert_int_equal(mz_env_tictactoe.reset(&mz_env_tictactoe, b.bytes, NULL), MZ_OK);
  for (; *moves; moves++) {
    assert_false(step.terminated);
    assert_int_equal(mz_env_tictactoe.step(&mz_env_tictactoe, b.bytes, 1, &(int32_t){*moves - '0'}, NULL, &step), MZ_OK);
  }
  return b;
}

/* The set of moves a player makes here over many streams, as a bit mask. */
static unsigned moves_made(const char *name, const char *moves) {
  const mz_player player = parse(name, &mz_env_tictactoe);
  const board b = position(moves);
  unsigned made = 0;
  for (int n = 0; n < SEEDS; n++) {
    mz_rng rng = stream(n);
    made |= 1u << move(&player, &mz_env_tictactoe, b.bytes, &rng);
  }
  return made;
}

static unsigned cells(const char *list) {
  unsigned mask = 0;
  for (; *list; list++) mask |= 1u << (*list - '0');
  return mask;
}

static void assert_refused(const char *text, const mz_env *env, mz_status code, const char *hint) {
  mz_player player;
  assert_int_equal(mz_player_parse(text, env, &player), code);
  if (!strstr(mz_message(), hint)) fail_msg("\"%s\" does not say \"%s\"", mz_message(), hint);
}

static void test_names(void **unused) {
  (void)unused;
  assert_int_equal(parse("mcts:250", &mz_env_cartpole).simulations, 250);
  assert_int_equal(parse("mcts:100000", &mz_env_tictactoe).simulations, 100000);
  assert_int_equal(parse("random", &mz_env_tictactoe).kind, MZ_PLAYER_RANDOM);
  assert_refused("radnom", &mz_env_tictactoe, MZ_E_USAGE, "random");
  assert_refused("perfetc", &mz_env_tictactoe, MZ_E_USAGE, "perfect");
  assert_refused("mtcs:50", &mz_env_tictactoe, MZ_E_USAGE, "mcts:SIMS");
  assert_refused("random:3", &mz_env_tictactoe, MZ_E_USAGE, "random");
  assert_refused("", &mz_env_tictactoe, MZ_E_USAGE, "mcts:SIMS");
  assert_refused("a-very-long-opponent-that-nobody-knows", &mz_env_tictactoe, MZ_E_USAGE, "unknown");
  assert_refused("mcts", &mz_env_tictactoe, MZ_E_USAGE, "mcts:100");
  assert_refused("mcts:", &mz_env_tictactoe, MZ_E_USAGE, "100000");
  assert_refused("mcts:0", &mz_env_tictactoe, MZ_E_USAGE, "100000");
  assert_refused("mcts:12x", &mz_env_tictactoe, MZ_E_USAGE, "100000");
  assert_refused("mcts:-4", &mz_env_tictactoe, MZ_E_USAGE, "100000");
  assert_refused("mcts:100001", &mz_env_tictactoe, MZ_E_USAGE, "100000");
  assert_refused("mcts:99999999999999999999999", &mz_env_tictactoe, MZ_E_USAGE, "100000");
  assert_refused("perfect", &mz_env_cartpole, MZ_E_CONFIG, "cartpole");
  assert_refused("perfect", &mz_env_gomoku, MZ_E_CONFIG, "gomoku");
  assert_refused("rule", &mz_env_cartpole, MZ_E_CONFIG, "cartpole");
  assert_int_equal(parse("perfect", &mz_env_connect_four).kind, MZ_PLAYER_PERFECT);

  mz_env elsewhere = mz_env_tictactoe;
  elsewhere.copies = false;
  const char *hint = "not for tictactoe, whose states cannot be copied; nearest valid value: random";
  assert_refused("mcts:20", &elsewhere, MZ_E_CONFIG, hint);
  assert_refused("rule", &elsewhere, MZ_E_CONFIG, hint);
  assert_int_equal(parse("random", &elsewhere).kind, MZ_PLAYER_RANDOM);
}

static void test_random_plays_every_legal_move(void **unused) {
  (void)unused;
  assert_int_equal(moves_made("random", ""), 0x1ff);
  assert_int_equal(moves_made("random", "0482"), cells("13567"));
  /* Uniformly: 9000 draws of 9 cells; six standard deviations around 1000. */
  const mz_player player = parse("random", &mz_env_tictactoe);
  const board empty = position("");
  int counts[9] = {0};
  mz_rng rng = stream(0);
  for (int n = 0; n < 9000; n++) counts[move(&player, &mz_env_tictactoe, empty.bytes, &rng)]++;
  for (int c = 0; c < 9; c++) assert_in_range(counts[c], 1000 - 180, 1000 + 180);
}

static void test_rule(void **unused) {
  (void)unused;
  assert_int_equal(moves_made("rule", ""), 0x1ff);
  assert_int_equal(moves_made("rule", "0314"), cells("2"));     /* wins, though o threatens 5 */
  assert_int_equal(moves_made("rule", "031"), cells("2"));      /* blocks */
  assert_int_equal(moves_made("rule", "031546"), cells("278")); /* wins any way it can */
  assert_int_equal(moves_made("rule", "03154"), cells("2678")); /* three threats: nothing helps, so anything */
}

static void test_perfect(void **unused) {
  (void)unused;
  assert_int_equal(moves_made("perfect", ""), 0x1ff);       /* every opening draws */
  assert_int_equal(moves_made("perfect", "0"), cells("4")); /* only the centre answers a corner */
  const mz_player perfect = parse("perfect", &mz_env_tictactoe), random = parse("random", &mz_env_tictactoe);
  for (int game = 0; game < SEEDS; game++) {
    mz_rng rng = stream(game);
    board b = position("");
    mz_step step = {0};
    for (int ply = 0; !step.terminated; ply++) {
      const bool own = ply % 2 == game % 2;
      const int32_t action = move(own ? &perfect : &random, &mz_env_tictactoe, b.bytes, &rng);
      assert_int_equal(mz_env_tictactoe.step(&mz_env_tictactoe, b.bytes, 1, &action, NULL, &step), MZ_OK);
      assert_true(own || step.reward == 0); /* random never wins */
    }
  }
}

/* Connect Four, some moves into the game: all the optimal moves are made, and no other. */
static void test_perfect_connect_four(void **unused) {
  (void)unused;
  const mz_env *env = &mz_env_connect_four;
  const mz_player perfect = parse("perfect", env);
  mz_connect_four_solver *solver;
  assert_int_equal(mz_connect_four_solver_create(&solver, 1 << 20), MZ_OK);
  for (int n = 0; n < 12; n++) {
    board b = {0};
    mz_rng rng = stream(n);
    uint8_t mask[9];
    int opening;
    assert_int_equal(mz_opening_play(env, b.bytes, 18 + n, mask, &rng, NULL, NULL, &opening), MZ_OK);
    double cells[MZ_CONNECT_FOUR_CELLS];
    assert_int_equal(env->numbers(env, b.bytes, cells), MZ_CONNECT_FOUR_CELLS);
    mz_connect_four_board same = {0};
    for (int row = MZ_CONNECT_FOUR_ROWS - 1; row >= 0; row--) { /* from the floor up */
      for (int column = 0; column < MZ_CONNECT_FOUR_COLUMNS; column++) {
        const double stone = cells[MZ_CONNECT_FOUR_COLUMNS * row + column];
        const uint64_t cell = UINT64_C(1) << (7 * column + MZ_CONNECT_FOUR_ROWS - 1 - row);
        if (stone != 0) same.all |= cell;
        if (stone == (env->to_play(env, b.bytes) == 0 ? 1 : -1)) same.mine |= cell;
      }
    }
    unsigned optimal, made = 0;
    int outcome;
    assert_true(mz_connect_four_optimal(solver, same, 0, &optimal, &outcome));
    for (int draw = 0; draw < 200; draw++) made |= 1u << move(&perfect, env, b.bytes, &rng);
    assert_int_equal(made, optimal);
  }
  mz_connect_four_solver_free(solver);
}

/* Whoever begins wins, if perfect; the other side is left what it gets. */
static void test_perfect_connect_four_wins(void **unused) {
  (void)unused;
  const mz_env *env = &mz_env_connect_four;
  const mz_player perfect = parse("perfect", env), rule = parse("rule", env);
  for (int game = 0; game < 3; game++) {
    mz_rng rng = stream(game);
    board b = {0};
    mz_step step = {0};
    int ply = 0;
    assert_int_equal(env->reset(env, b.bytes, NULL), MZ_OK);
    for (; !step.terminated; ply++) {
      const int32_t action = move(ply % 2 == 0 ? &perfect : &rule, env, b.bytes, &rng);
      if (ply == 0) assert_int_equal(action, 3);
      assert_int_equal(env->step(env, b.bytes, 1, &action, NULL, &step), MZ_OK);
    }
    assert_true(ply % 2 == 1 && step.reward == 1);
  }
}

/* Two plies ahead in a game with many moves. */
static void test_rule_on_a_large_board(void **unused) {
  (void)unused;
  const mz_env *env = &mz_env_gomoku; /* 15 × 15: cell = 15 · row + column */
  const mz_player rule = parse("rule", env);
  static const int32_t moves[] = {112, 0, 113, 1, 114, 2, 115};
  board b = {0};
  assert_true(env->state_size <= sizeof b.bytes);
  assert_int_equal(env->reset(env, b.bytes, NULL), MZ_OK);
  mz_step step;
  for (size_t i = 0; i < sizeof moves / sizeof moves[0]; i++)
    assert_int_equal(env->step(env, b.bytes, 1, &moves[i], NULL, &step), MZ_OK);
  mz_rng rng = stream(0);
  assert_int_equal(env->step(env, b.bytes, 1, &(int32_t){111}, NULL, &step), MZ_OK); /* one end of the four is blocked */
  assert_int_equal(env->step(env, b.bytes, 1, &(int32_t){50}, NULL, &step), MZ_OK);
  assert_int_equal(move(&rule, env, b.bytes, &rng), 116);
}

static void test_mcts_finds_what_is_near(void **unused) {
  (void)unused;
  const mz_player player = parse("mcts:400", &mz_env_tictactoe);
  const struct {
    const char *moves;
    int best;
  } cases[] = {{"0314", 2}, {"031", 2}, {"041", 2}, {"0415", 2}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const board b = position(cases[i].moves);
    for (int n = 0; n < 20; n++) {
      mz_rng rng = stream(n), same = stream(n);
      const int action = move(&player, &mz_env_tictactoe, b.bytes, &rng);
      assert_int_equal(action, cases[i].best);
      assert_int_equal(action, move(&player, &mz_env_tictactoe, b.bytes, &same));
      assert_memory_equal(&rng, &same, sizeof rng);
    }
  }
}

/* One player: 60 simulations a move balance the pole far longer than chance, whose mean is 22 moves. */
static void test_mcts_alone(void **unused) {
  (void)unused;
  const mz_player player = parse("mcts:60", &mz_env_cartpole);
  _Alignas(8) uint8_t state[64];
  assert_true(mz_env_cartpole.state_size <= sizeof state);
  mz_rng rng = stream(0);
  const mz_generator generator = mz_generator_from_rng(&rng);
  assert_int_equal(mz_env_cartpole.reset(&mz_env_cartpole, state, &generator), MZ_OK);
  mz_step step = {0};
  for (int moves = 0; moves < 150; moves++) {
    assert_false(step.terminated);
    const int32_t action = move(&player, &mz_env_cartpole, state, &rng);
    assert_int_equal(mz_env_cartpole.step(&mz_env_cartpole, state, 1, &action, NULL, &step), MZ_OK);
  }
}

/* Chance in the steps: doubling every throw is better, whatever the die shows. */
static void test_mcts_with_chance(void **unused) {
  (void)unused;
  const mz_player player = parse("mcts:2000", &test_dice);
  mz_rng rng = stream(0);
  const mz_generator generator = mz_generator_from_rng(&rng);
  dice_state state;
  assert_int_equal(test_dice.reset(&test_dice, &state, &generator), MZ_OK);
  assert_int_equal(move(&player, &test_dice, &state, &rng), 1);
}

/* On a thread of its own, which has no memory yet: the first move fails for want of it, the next goes well, and one more like it
 * needs none. */
static void *move_without_memory(void *name) {
  const board b = position("0");
  const mz_player player = parse(name, &mz_env_tictactoe);
  for (int attempt = 0; attempt < 3; attempt++) {
    mz_rng rng = stream(0);
    int action = -1;
    mz_alloc_fail_after(attempt == 1 ? 0 : 1);
    const mz_status status = mz_player_move(&player, &mz_env_tictactoe, b.bytes, &rng, &action);
    mz_alloc_fail_after(0);
    assert_int_equal(status, attempt == 0 ? MZ_E_MEMORY : MZ_OK);
  }
  return NULL;
}

static void test_memory_that_cannot_be_had(void **unused) {
  (void)unused;
  char *opponents[] = {"rule", "mcts:20"};
  for (int i = 0; i < 2; i++) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, move_without_memory, opponents[i]), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
  }
}

/* Threads have memory of their own, and make the same moves. */
typedef struct played {
  int searched[SEEDS], ruled[SEEDS];
} played;

static void *play_alone(void *out) {
  played *made = out;
  const mz_player mcts = parse("mcts:50", &mz_env_tictactoe), rule = parse("rule", &mz_env_tictactoe);
  const board late = position("04"), empty = position("");
  for (int n = 0; n < SEEDS; n++) {
    mz_rng rng = stream(n);
    made->searched[n] = move(&mcts, &mz_env_tictactoe, late.bytes, &rng);
    made->ruled[n] = move(&rule, &mz_env_tictactoe, empty.bytes, &rng);
  }
  return NULL;
}

static void test_threads(void **unused) {
  (void)unused;
  enum { THREADS = 3 };
  pthread_t threads[THREADS];
  static played made[THREADS], expected;
  play_alone(&expected);
  for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, play_alone, &made[i]), 0);
  for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
  for (int i = 0; i < THREADS; i++) assert_memory_equal(&made[i], &expected, sizeof expected);
}

/* Memory that cannot be had leaves what there was, which is not lost. */
static void test_scratch_that_cannot_grow(void **unused) {
  (void)unused;
  mz_env large = mz_env_tictactoe;
  mz_player_memory *memory, *again;
  assert_int_equal(mz_player_memory_of_thread(&mz_env_tictactoe, &memory), MZ_OK);
  const void *block = memory->block;
  large.state_size = memory->state_size + (1 << 20);
  mz_alloc_fail_after(1);
  const mz_status status = mz_player_memory_of_thread(&large, &again);
  mz_alloc_fail_after(0);
  assert_int_equal(status, MZ_E_MEMORY);
  assert_ptr_equal(memory->block, block);
  assert_int_equal(mz_player_memory_of_thread(&large, &again), MZ_OK);
  assert_ptr_equal(again, memory);
  assert_int_equal(memory->state_size, large.state_size);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_names),
      cmocka_unit_test(test_random_plays_every_legal_move),
      cmocka_unit_test(test_rule),
      cmocka_unit_test(test_perfect),
      cmocka_unit_test(test_perfect_connect_four),
      cmocka_unit_test(test_perfect_connect_four_wins),
      cmocka_unit_test(test_rule_on_a_large_board),
      cmocka_unit_test(test_mcts_finds_what_is_near),
      cmocka_unit_test(test_mcts_alone),
      cmocka_unit_test(test_mcts_with_chance),
      cmocka_unit_test(test_memory_that_cannot_be_had),
      cmocka_unit_test(test_scratch_that_cannot_grow),
      cmocka_unit_test(test_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
