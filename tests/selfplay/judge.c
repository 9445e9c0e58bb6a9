/* Judging single moves by perfect play: the positions are decisive and the same for everybody, threads change nothing. */
#include "selfplay/evaluation/judge.h"
#include "tests/selfplay/agents.h"

enum { POSITIONS = 70, SEED = 3 };

static mz_judgement judge_player(const char *name, const mz_env *env, int positions) {
  const mz_player player = test_player(name, env);
  const mz_side side = {.player = &player};
  mz_judgement out;
  assert_int_equal(mz_judge(env, &side, 1, positions, SEED, NULL, &out), MZ_OK);
  assert_int_equal(out.positions, positions);
  assert_true(out.share.estimate == (double)out.kept / positions);
  assert_true(out.share.low <= out.share.estimate && out.share.estimate <= out.share.high);
  return out;
}

/* In every position asked about some moves keep the outcome, which perfect play finds, and some do not, which chance finds. */
static void test_strength_shows(void **unused) {
  (void)unused;
  assert_int_equal(judge_player("perfect", &mz_env_tictactoe, 500).kept, 500);
  const mz_judgement random = judge_player("random", &mz_env_tictactoe, 500), rule = judge_player("rule", &mz_env_tictactoe, 500),
                     searcher = judge_player("mcts:300", &mz_env_tictactoe, 500);
  assert_true(random.share.low > 0.2 && random.share.high < 0.7); /* a third or two of the moves are right */
  assert_true(random.share.high < rule.share.low && rule.share.high < searcher.share.low);
}

static void test_connect_four(void **unused) {
  (void)unused;
  assert_int_equal(judge_player("perfect", &mz_env_connect_four, 6).kept, 6);
}

static void test_who_else_is_asked_changes_nothing(void **unused) {
  (void)unused;
  const mz_env *env = &mz_env_tictactoe;
  test_agent agent;
  test_agent_init(&agent, env, MZ_GUMBEL, 1);
  const mz_player random = test_player("random", env);
  const mz_side sides[2] = {{.player = &random}, {.agent = &agent.agent}};
  mz_judgement expected[2], out[2], less;
  assert_int_equal(mz_judge(env, sides, 2, POSITIONS, SEED, NULL, expected), MZ_OK);
  assert_true(expected[1].kept > 0 && expected[1].kept < POSITIONS);
  for (int threads = 1; threads <= 3; threads++) {
    mz_pool *pool;
    assert_int_equal(mz_pool_create(&pool, "test", threads, NULL), MZ_OK);
    assert_int_equal(mz_judge(env, sides, 2, POSITIONS, SEED, pool, out), MZ_OK);
    assert_memory_equal(out, expected, sizeof out);
    mz_pool_free(pool);
  }
  for (int i = 0; i < 2; i++) { /* alone; the first positions stay what they are */
    assert_int_equal(mz_judge(env, &sides[i], 1, POSITIONS, SEED, NULL, out), MZ_OK);
    if (i == 1) assert_memory_equal(out, &expected[1], sizeof *out);
    assert_int_equal(mz_judge(env, &sides[i], 1, POSITIONS - 1, SEED, NULL, &less), MZ_OK);
    assert_true(out[0].kept - less.kept == 0 || out[0].kept - less.kept == 1);
  }
  assert_int_equal(mz_judge(env, sides, 1, POSITIONS, SEED + 1, NULL, &less), MZ_OK);
  assert_int_not_equal(less.kept, expected[0].kept);
  test_agent_deinit(&agent);
}

static void test_refuses_games_nobody_has_solved(void **unused) {
  (void)unused;
  const mz_env *const unsolved[] = {&mz_env_gomoku, &mz_env_cartpole};
  for (int i = 0; i < 2; i++) {
    const mz_player random = {.kind = MZ_PLAYER_RANDOM};
    const mz_side side = {.player = &random};
    mz_judgement out;
    assert_int_equal(mz_judge(unsolved[i], &side, 1, 5, SEED, NULL, &out), MZ_E_CONFIG);
    assert_non_null(strstr(mz_message(), unsolved[i]->name));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_strength_shows),
      cmocka_unit_test(test_connect_four),
      cmocka_unit_test(test_who_else_is_asked_changes_nothing),
      cmocka_unit_test(test_refuses_games_nobody_has_solved),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
