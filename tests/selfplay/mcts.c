/* Tree search without a network: what it must find, and that memory, and its history, change nothing. */
#include "selfplay/players/mcts.h"
#include "tests/selfplay/agents.h"
#include <math.h>

static mz_mcts *mcts_new(void) {
  mz_mcts *mcts;
  assert_int_equal(mz_mcts_create(&mcts), MZ_OK);
  return mcts;
}

static mz_rng stream(int n) { return mz_rng_at(5, MZ_RNG_TEST, (uint32_t)n, 0); }

static int move(mz_mcts *mcts, const mz_env *env, const void *state, int simulations, mz_rng *rng) {
  int action = -1;
  assert_int_equal(mz_mcts_move(mcts, env, state, simulations, rng, &action), MZ_OK);
  return action;
}

typedef struct any_state {
  _Alignas(8) uint8_t bytes[1 << 14];
} any_state;

static any_state after(const mz_env *env, const int32_t *actions, int count) {
  any_state state = {0};
  mz_step step = {0};
  assert_true(env->state_size <= sizeof state);
  assert_int_equal(env->reset(env, state.bytes, NULL), MZ_OK);
  for (int i = 0; i < count; i++) {
    assert_false(step.terminated);
    assert_int_equal(env->step(env, state.bytes, 1, &actions[i], NULL, &step), MZ_OK);
  }
  return state;
}

/* A bandit: four arms, paid at once; then many moves without a choice, so that every simulation ends in a rollout, which counts
 * for its arm. */
enum { ARMS = 4 };
typedef struct bandit {
  int32_t arm, moves;
} bandit;
static float pay[ARMS];
static int pulls[ARMS];

static mz_status bandit_reset(const mz_env *env, void *state, const mz_generator *generator) {
  (void)env, (void)generator;
  *(bandit *)state = (bandit){0};
  return MZ_OK;
}
static mz_status bandit_step(const mz_env *env, void *states, int n, const int32_t *actions, const mz_generator *generators,
                             mz_step *results) {
  (void)env, (void)generators;
  bandit *b = states;
  for (int i = 0; i < n; i++) {
    results[i] = (mz_step){0};
    if (b[i].moves++ == 0) {
      b[i].arm = actions[i];
      results[i].reward = pay[actions[i]];
    }
  }
  return MZ_OK;
}
static int bandit_legal(const mz_env *env, const void *state, uint8_t *mask) {
  (void)env;
  const int count = ((const bandit *)state)->moves == 0 ? ARMS : 1;
  for (int a = 0; a < ARMS; a++) mask[a] = a < count;
  return count;
}
static float bandit_rollout(const mz_env *env, const void *state, uint64_t *random) {
  (void)env, (void)random;
  pulls[((const bandit *)state)->arm]++;
  return 0;
}
static const mz_env test_bandit = {.name = "bandit",
                                   .spec = {.actions = ARMS, .players = 1, .symmetries = 1, .reward_max = 1, .return_max = 1},
                                   .state_size = sizeof(bandit),
                                   .copies = true,
                                   .reset = bandit_reset,
                                   .step = bandit_step,
                                   .legal = bandit_legal,
                                   .rollout = bandit_rollout};

/* Visits first, then the mean, then the lower index: with one visit each, and with the two best again. */
static void test_choice(void **unused) {
  (void)unused;
  mz_mcts *mcts = mcts_new();
  memcpy(pay, (float[]){0.25f, 1, 0, 1}, sizeof pay);
  const any_state state = after(&test_bandit, NULL, 0);
  for (int n = 0; n < 50; n++) {
    mz_rng rng = stream(n);
    assert_int_equal(move(mcts, &test_bandit, state.bytes, 4, &rng), 1);
    rng = stream(n);
    assert_int_equal(move(mcts, &test_bandit, state.bytes, 6, &rng), 1);
    rng = stream(n);
    const int best = move(mcts, &test_bandit, state.bytes, 1001, &rng);
    assert_true(best == 1 || best == 3);
  }
  mz_mcts_free(mcts);
}

/* UCT visits every arm as often as its definition says. */
static void test_visits(void **unused) {
  (void)unused;
  mz_mcts *mcts = mcts_new();
  memcpy(pay, (float[]){0.25f, 1, 0, 0.9f}, sizeof pay);
  const any_state state = after(&test_bandit, NULL, 0);
  int visits[ARMS] = {1, 1, 1, 1};
  for (int simulations = ARMS; simulations < 300; simulations++) {
    memset(pulls, 0, sizeof pulls);
    mz_rng rng = stream(simulations);
    assert_int_equal(move(mcts, &test_bandit, state.bytes, simulations, &rng), visits[3] > visits[1] ? 3 : 1);
    assert_memory_equal(pulls, visits, sizeof visits);
    int next = 0;
    double best = -1;
    for (int a = 0; a < ARMS; a++) {
      const double bound = (double)pay[a] + sqrt(2 * log(simulations) / visits[a]);
      if (bound > best) best = bound, next = a;
    }
    visits[next]++;
  }
  mz_mcts_free(mcts);
}

static void test_wins_and_blocks(void **unused) {
  (void)unused;
  const struct {
    const mz_env *env;
    int32_t actions[8];
    int count, best;
  } cases[] = {
      {&mz_env_connect_four, {0, 1, 0, 1, 0, 1}, 6, 0}, /* three in a column: win … */
      {&mz_env_connect_four, {0, 1, 0, 1, 0}, 5, 0},    /* … or block */
      {&mz_env_connect_four, {2, 2, 3, 3, 4, 1}, 6, 5}, /* three in a row, closed on one side */
      {&mz_env_tictactoe, {0, 3, 1, 4}, 4, 2},          {&mz_env_tictactoe, {0, 3, 1}, 3, 2},
  };
  mz_mcts *mcts = mcts_new();
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const any_state state = after(cases[i].env, cases[i].actions, cases[i].count);
    for (int n = 0; n < 20; n++) {
      mz_rng rng = stream(n);
      assert_int_equal(move(mcts, cases[i].env, state.bytes, 1000, &rng), cases[i].best);
    }
  }
  mz_mcts_free(mcts);
}

/* The same stream, the same move, and the stream moves on alike: whatever the memory was used for before. */
static void test_memory_has_no_history(void **unused) {
  (void)unused;
  mz_mcts *used = mcts_new();
  for (int i = 0; i < mz_env_count(); i++) {
    const mz_env *env = mz_env_at(i);
    mz_rng start = stream(i);
    const mz_generator generator = mz_generator_from_rng(&start);
    any_state state = {0};
    assert_true(env->state_size <= sizeof state);
    assert_int_equal(env->reset(env, state.bytes, &generator), MZ_OK);
    for (int n = 0; n < 6; n++) {
      const int simulations = (const int[]){30, 300, 1, 80, 2000, 300}[n];
      if (simulations > 300 && env->spec.actions > 9) continue;
      mz_mcts *fresh = mcts_new();
      mz_rng rng = stream(n), same = stream(n);
      const int action = move(used, env, state.bytes, simulations, &rng);
      assert_int_equal(action, move(fresh, env, state.bytes, simulations, &same));
      assert_memory_equal(&rng, &same, sizeof rng);
      mz_mcts_free(fresh);
    }
  }
  mz_mcts_free(used);
}

/* A search fails cleanly at each of its allocations, and goes well afterwards; one like it needs none. */
static void test_memory_that_cannot_be_had(void **unused) {
  (void)unused;
  const any_state state = after(&mz_env_connect_four, (const int32_t[]){3, 3}, 2);
  mz_mcts *plenty = mcts_new(), *mcts = mcts_new();
  mz_rng rng = stream(0);
  const int expected = move(plenty, &mz_env_connect_four, state.bytes, 5000, &rng);
  int failures = 0, action = -1;
  for (mz_status status = MZ_E_MEMORY; status != MZ_OK; failures++) {
    mz_mcts_free(mcts);
    mcts = mcts_new();
    rng = stream(0);
    mz_alloc_fail_after(failures + 1);
    status = mz_mcts_move(mcts, &mz_env_connect_four, state.bytes, 5000, &rng, &action);
    mz_alloc_fail_after(0);
    if (status == MZ_OK) break;
    assert_int_equal(status, MZ_E_MEMORY);
    rng = stream(0);
    assert_int_equal(move(mcts, &mz_env_connect_four, state.bytes, 5000, &rng), expected);
  }
  assert_true(failures > 5);
  assert_int_equal(action, expected);
  rng = stream(0);
  mz_alloc_fail_after(1);
  assert_int_equal(mz_mcts_move(mcts, &mz_env_connect_four, state.bytes, 5000, &rng, &action), MZ_OK);
  mz_alloc_fail_after(0);
  assert_int_equal(action, expected);
  mz_mcts_free(plenty);
  mz_mcts_free(mcts);

  mz_alloc_fail_after(1);
  mz_mcts *none;
  assert_int_equal(mz_mcts_create(&none), MZ_E_MEMORY);
  mz_alloc_fail_after(0);
}

/* Where chance draws, the tree is open-loop; its memory is its own and can fail, too. */
static void test_chance_without_memory(void **unused) {
  (void)unused;
  mz_mcts *mcts = mcts_new();
  mz_rng rng = stream(0);
  const mz_generator generator = mz_generator_from_rng(&rng);
  dice_state state;
  assert_int_equal(test_dice.reset(&test_dice, &state, &generator), MZ_OK);
  int action = -1;
  mz_alloc_fail_after(1);
  assert_int_equal(mz_mcts_move(mcts, &test_dice, &state, 100, &rng, &action), MZ_E_MEMORY);
  mz_alloc_fail_after(0);
  assert_int_equal(move(mcts, &test_dice, &state, 2000, &rng), 1);
  mz_mcts_free(mcts);
}

/* Twenty games of 300 simulations against 10, seats in turn: chance would win half. */
static void test_more_simulations_play_better(void **unused) {
  (void)unused;
  const mz_env *env = &mz_env_connect_four;
  mz_mcts *mcts = mcts_new();
  mz_rng rng = stream(0);
  int won = 0;
  for (int game = 0; game < 20; game++) {
    any_state state = after(env, NULL, 0);
    mz_step step = {0};
    for (int ply = 0; !step.terminated; ply++) {
      const bool strong = ply % 2 == game % 2;
      const int32_t action = move(mcts, env, state.bytes, strong ? 300 : 10, &rng);
      assert_int_equal(env->step(env, state.bytes, 1, &action, NULL, &step), MZ_OK);
      won += strong && step.reward > 0;
    }
  }
  assert_true(won >= 18);
  mz_mcts_free(mcts);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_choice),
      cmocka_unit_test(test_visits),
      cmocka_unit_test(test_wins_and_blocks),
      cmocka_unit_test(test_memory_has_no_history),
      cmocka_unit_test(test_memory_that_cannot_be_had),
      cmocka_unit_test(test_chance_without_memory),
      cmocka_unit_test(test_more_simulations_play_better),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
