/* Planning for up to so many states with up to so many simulations, and what is refused. */
#include "tests/selfplay/agents.h"
#include <math.h>

static void test_more_simulations_than_room(void **unused) {
  (void)unused;
  test_agent agent;
  mz_planner planner;
  test_agent_init(&agent, &mz_env_tictactoe, MZ_GUMBEL, 5);
  assert_int_equal(mz_agent_planner(&agent.agent, 1, &planner), MZ_OK);
  uint8_t state[256];
  assert_true(planner.env->state_size <= sizeof state);
  assert_int_equal(planner.env->reset(planner.env, state, NULL), MZ_OK);
  assert_int_equal(mz_planner_observe(&planner, 0, 1, state), MZ_OK);
  assert_int_equal(mz_planner_search(&planner, 1, agent.weights, 9), MZ_E_CONFIG);
  assert_string_equal(mz_message(), "search: 9 simulations a move; the planner was made for at most 8");
  assert_int_equal(mz_planner_search(&planner, 1, agent.weights, -1), MZ_E_CONFIG);
  assert_int_equal(mz_planner_search(&planner, 1, agent.weights, 8), MZ_OK); /* and is as good as new */
  mz_planner_deinit(&planner);
  test_agent_deinit(&agent);
}

/* The prior is the network's policy over legal actions, whatever the search finds and whatever noise there is. */
static void test_prior(void **unused) {
  (void)unused;
  for (int algorithm = MZ_PUCT; algorithm <= MZ_GUMBEL; algorithm++) {
    test_agent agent;
    mz_planner planner;
    float prior[2][9];
    test_agent_init(&agent, &mz_env_tictactoe, (mz_algorithm)algorithm, 5);
    assert_int_equal(mz_agent_planner(&agent.agent, 1, &planner), MZ_OK);
    uint8_t state[256];
    mz_rng rng = mz_rng_at(1, MZ_RNG_TEST, 0, 0);
    assert_int_equal(planner.env->reset(planner.env, state, NULL), MZ_OK);
    assert_int_equal(mz_planner_observe(&planner, 0, 1, state), MZ_OK);
    planner.legal[4] = 0;
    for (int i = 0; i < 2; i++) {
      planner.roots[0].noise = i == 1;
      planner.roots[0].rng = rng;
      planner.results[0].prior = prior[i];
      assert_int_equal(mz_planner_search(&planner, 1, agent.weights, i == 0 ? 1 : 8), MZ_OK);
    }
    float sum = 0;
    for (int a = 0; a < 9; a++) sum += prior[0][a];
    assert_true(fabsf(sum - 1) < 1e-5f);
    assert_true(prior[0][4] == 0);
    assert_memory_equal(prior[0], prior[1], sizeof prior[0]);
    mz_planner_deinit(&planner);
    test_agent_deinit(&agent);
  }
}

/* A policy that is sure leaves every legal move the least share of its favourite's prior, and the order is as before. */
static void test_least_prior(void **unused) {
  (void)unused;
  for (int algorithm = MZ_PUCT; algorithm <= MZ_GUMBEL; algorithm++) {
    const double shares[] = {0, 0.5, 1};
    float prior[3][9];
    for (int i = 0; i < 3; i++) {
      test_agent agent;
      mz_planner planner;
      test_agent_init(&agent, &mz_env_tictactoe, (mz_algorithm)algorithm, 5);
      mz_search_settings search = *agent.agent.search;
      search.prior_min = shares[i];
      agent.agent.search = &search;
      assert_int_equal(mz_agent_planner(&agent.agent, 1, &planner), MZ_OK);
      uint8_t state[256];
      assert_int_equal(planner.env->reset(planner.env, state, NULL), MZ_OK);
      assert_int_equal(mz_planner_observe(&planner, 0, 1, state), MZ_OK);
      planner.legal[4] = 0;
      planner.results[0].prior = prior[i];
      assert_int_equal(mz_planner_search(&planner, 1, agent.weights, 8), MZ_OK);
      mz_planner_deinit(&planner);
      test_agent_deinit(&agent);
    }
    float top = 0, raised_top = 0, least = 1;
    for (int a = 0; a < 9; a++) {
      top = fmaxf(top, prior[0][a]);
      raised_top = fmaxf(raised_top, prior[1][a]);
      if (a != 4) least = fminf(least, prior[0][a]);
    }
    assert_true(least < 0.4f * top); /* so that there is something to raise */
    for (int a = 0; a < 9; a++) {
      if (a == 4) {
        assert_true(prior[0][a] == 0 && prior[1][a] == 0 && prior[2][a] == 0);
        continue;
      }
      assert_float_equal(prior[1][a] / raised_top, fmaxf(prior[0][a] / top, 0.5f), 1e-5f);
      assert_float_equal(prior[2][a], 1.0f / 8, 1e-6f);
    }
  }
}

static int nothing_is_legal(const mz_env *env, const void *state, uint8_t *mask) {
  (void)state;
  memset(mask, 0, (size_t)env->spec.actions);
  return 0;
}

/* An environment's mistake is an error, and the planner stays good for other states. */
static void test_no_legal_action(void **unused) {
  (void)unused;
  mz_env stuck = mz_env_tictactoe;
  stuck.legal = nothing_is_legal;
  test_agent agent;
  mz_planner planner;
  test_agent_init(&agent, &stuck, MZ_GUMBEL, 5);
  assert_int_equal(mz_agent_planner(&agent.agent, 1, &planner), MZ_OK);
  uint8_t state[256];
  assert_int_equal(stuck.reset(&stuck, state, NULL), MZ_OK);
  assert_int_equal(mz_planner_observe(&planner, 0, 1, state), MZ_E_CONFIG);
  assert_string_equal(mz_message(), "search: tictactoe: no action is legal in a game that has not ended");
  stuck.legal = mz_env_tictactoe.legal;
  assert_int_equal(mz_planner_observe(&planner, 0, 1, state), MZ_OK);
  assert_int_equal(mz_planner_search(&planner, 1, agent.weights, 8), MZ_OK);
  mz_planner_deinit(&planner);
  test_agent_deinit(&agent);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_more_simulations_than_room), cmocka_unit_test(test_prior),
                                     cmocka_unit_test(test_least_prior), cmocka_unit_test(test_no_legal_action)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
