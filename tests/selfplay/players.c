/* Opponents: their names, what they must and must not play. */
#include "tests/selfplay/agents.h"
#include "selfplay/players.h"

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
  _Alignas(8) uint8_t bytes[64];
} board;
static board position(const char *moves) {
  board b = {0};
  mz_step step = {0};
  assert_true(mz_env_tictactoe.state_size <= sizeof b.bytes);
  mz_env_tictactoe.reset(&mz_env_tictactoe, b.bytes, NULL);
  for (; *moves; moves++) {
    assert_false(step.terminated);
    mz_env_tictactoe.step(b.bytes, 1, &(int32_t){*moves - '0'}, NULL, &step);
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
  assert_refused("rule", &mz_env_cartpole, MZ_E_CONFIG, "cartpole");
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
      mz_env_tictactoe.step(b.bytes, 1, &action, NULL, &step);
      assert_true(own || step.reward == 0); /* random never wins */
    }
  }
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
  mz_env_cartpole.reset(&mz_env_cartpole, state, &generator);
  mz_step step = {0};
  for (int moves = 0; moves < 150; moves++) {
    assert_false(step.terminated);
    const int32_t action = move(&player, &mz_env_cartpole, state, &rng);
    mz_env_cartpole.step(state, 1, &action, NULL, &step);
  }
}

/* Chance in the steps: doubling every throw is better, whatever the die shows. */
static void test_mcts_with_chance(void **unused) {
  (void)unused;
  const mz_player player = parse("mcts:2000", &test_dice);
  mz_rng rng = stream(0);
  const mz_generator generator = mz_generator_from_rng(&rng);
  dice_state state;
  test_dice.reset(&test_dice, &state, &generator);
  assert_int_equal(move(&player, &test_dice, &state, &rng), 1);
}

static void test_memory_that_cannot_be_had(void **unused) {
  (void)unused;
  const board b = position("0");
  const char *names[] = {"rule", "mcts:20"};
  for (int i = 0; i < 2; i++) {
    const mz_player player = parse(names[i], &mz_env_tictactoe);
    mz_rng rng = stream(0);
    int action = -1;
    mz_alloc_fail_after(1);
    assert_int_equal(mz_player_move(&player, &mz_env_tictactoe, b.bytes, &rng, &action), MZ_E_MEMORY);
    mz_alloc_fail_after(0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_names),
      cmocka_unit_test(test_random_plays_every_legal_move),
      cmocka_unit_test(test_rule),
      cmocka_unit_test(test_perfect),
      cmocka_unit_test(test_mcts_finds_what_is_near),
      cmocka_unit_test(test_mcts_alone),
      cmocka_unit_test(test_mcts_with_chance),
      cmocka_unit_test(test_memory_that_cannot_be_had),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
