/* Agents through the library: moves of one position or many, with what the search found. */
#include "library.h"

enum { ACTIONS = 9, GAMES = 70 }; /* more games than are searched together */
static char folder[64], dir[128];

static int make(void **state) {
  (void)state;
  make_folder(folder);
  snprintf(dir, sizeof dir, "%s/run", folder);
  tiny_trained(dir);
  return 0;
}
static int drop(void **state) {
  (void)state;
  drop_folder(folder);
  return 0;
}

static muzero_agent *load(void) {
  muzero_agent *agent;
  expect_fine(muzero_agent_load(&agent, dir));
  return agent;
}

static void test_description(void **state) {
  (void)state;
  muzero_agent *agent = load();
  muzero_agent_info info = MUZERO_AGENT_INFO_INIT;
  expect_fine(muzero_agent_describe(agent, &info));
  assert_string_equal(info.env, "tictactoe");
  assert_true(info.actions == ACTIONS && info.simulations == 4 && info.rounds == 4 && info.seed == 1);
  expect_fine(muzero_agent_close(agent));
}

static void test_a_move(void **state) {
  (void)state;
  muzero_agent *agent = load();
  muzero_game *game;
  int32_t action, visits[ACTIONS], visited = 0;
  float value, policy[ACTIONS], sum = 0;
  expect_fine(muzero_game_create(&game, "tictactoe", 1));
  expect_fine(muzero_game_step(game, 4));
  expect_fine(muzero_agent_move(agent, &game, 1, 0, &action, &value, policy, visits));
  for (int a = 0; a < ACTIONS; a++) {
    sum += policy[a];
    visited += visits[a];
  }
  assert_true(sum > 0.999F && sum < 1.001F && policy[4] == 0 && visits[4] == 0);
  assert_int_equal(visited, 4);
  assert_true(value >= -1 && value <= 1);
  expect_fine(muzero_game_step(game, action));
  expect_fine(muzero_agent_move(agent, &game, 1, 30, NULL, NULL, NULL, visits));
  visited = 0;
  for (int a = 0; a < ACTIONS; a++) visited += visits[a];
  assert_int_equal(visited, 30);
  expect_fine(muzero_agent_move(agent, &game, 1, 1, NULL, NULL, NULL, NULL));
  expect_fine(muzero_game_close(game));
  expect_fine(muzero_agent_close(agent));
}

/* Positions after up to five random moves. */
static void make_games(muzero_game *games[GAMES]) {
  for (uint32_t i = 0; i < GAMES; i++) {
    mz_rng rng = mz_rng_at(1, MZ_RNG_TEST, i, 0);
    expect_fine(muzero_game_create(&games[i], "tictactoe", 1));
    for (uint32_t moves = mz_rng_below(&rng, 5); moves > 0; moves--)
      while (muzero_game_step(games[i], (int32_t)mz_rng_below(&rng, ACTIONS)) != MUZERO_OK) continue;
  }
}

static void test_many_are_as_one(void **state) {
  (void)state;
  muzero_agent *agent = load();
  muzero_game *games[GAMES];
  static int32_t actions[GAMES], visits[GAMES][ACTIONS];
  static float values[GAMES], policies[GAMES][ACTIONS];
  make_games(games);
  expect_fine(muzero_agent_move(agent, games, GAMES, 9, actions, values, policies[0], visits[0]));
  for (int i = 0; i < GAMES; i++) {
    int32_t action, visit[ACTIONS];
    float value, policy[ACTIONS];
    expect_fine(muzero_agent_move(agent, &games[i], 1, 9, &action, &value, policy, visit));
    assert_int_equal(action, actions[i]);
    assert_memory_equal(&value, &values[i], sizeof value);
    assert_memory_equal(policy, policies[i], sizeof policy);
    assert_memory_equal(visit, visits[i], sizeof visit);
  }
  muzero_game *const twice[] = {games[0], games[0]};
  expect_fine(muzero_agent_move(agent, twice, 2, 0, actions, NULL, NULL, NULL));
  assert_int_equal(actions[0], actions[1]);
  for (int i = 0; i < GAMES; i++) expect_fine(muzero_game_close(games[i]));
  expect_fine(muzero_agent_close(agent));
}

static void test_wrong_games(void **state) {
  (void)state;
  muzero_agent *agent = load();
  muzero_game *game, *other;
  expect_fine(muzero_game_create(&game, "tictactoe", 1));
  expect_fine(muzero_game_create(&other, "connect4", 1));
  muzero_game *const games[] = {game, other}, *const missing[] = {game, NULL};
  int32_t actions[2];
  expect_status(MUZERO_E_USAGE, muzero_agent_move(agent, games, 2, 0, actions, NULL, NULL, NULL));
  expect_message("games[1] is of connect4; the agent plays tictactoe");
  expect_status(MUZERO_E_USAGE, muzero_agent_move(agent, missing, 2, 0, actions, NULL, NULL, NULL));
  expect_status(MUZERO_E_USAGE, muzero_agent_move(agent, games, 0, 0, actions, NULL, NULL, NULL));
  expect_status(MUZERO_E_USAGE, muzero_agent_move(agent, NULL, 1, 0, actions, NULL, NULL, NULL));
  expect_status(MUZERO_E_USAGE, muzero_agent_move(agent, games, 1, -1, actions, NULL, NULL, NULL));
  expect_status(MUZERO_E_USAGE, muzero_agent_move(agent, games, 1, 1000001, actions, NULL, NULL, NULL));
  const int32_t win[] = {0, 3, 1, 4, 2};
  for (int i = 0; i < 5; i++) expect_fine(muzero_game_step(game, win[i]));
  expect_status(MUZERO_E_USAGE, muzero_agent_move(agent, games, 1, 0, actions, NULL, NULL, NULL));
  expect_message("games[0] is over");
  expect_fine(muzero_game_close(game));
  expect_status(MUZERO_E_USAGE, muzero_agent_move(agent, games, 1, 0, actions, NULL, NULL, NULL));
  expect_message("closed");
  expect_fine(muzero_game_close(other));
  expect_fine(muzero_agent_close(agent));
}

static void test_files(void **state) {
  (void)state;
  muzero_agent *agent = NULL;
  char path[256];
  expect_status(MUZERO_E_CHECKPOINT, muzero_agent_load(&agent, folder));
  expect_status(MUZERO_E_USAGE, muzero_agent_load(&agent, NULL));
  expect_status(MUZERO_E_USAGE, muzero_agent_load(NULL, dir));
  assert_null(agent);
  snprintf(path, sizeof path, "%s/config.json", dir);
  assert_int_not_equal(muzero_agent_load(&agent, path), MUZERO_OK);
}

static void test_without_memory(void **state) {
  (void)state;
  muzero_agent *agent;
  muzero_game *game;
  bool failed = true;
  for (long n = 1; failed; n++) {
    agent = NULL;
    mz_alloc_fail_after(n);
    const muzero_status status = muzero_agent_load(&agent, dir);
    failed = mz_alloc_fail_after(0) == 0;
    assert_true((status == MUZERO_OK) == (agent != NULL));
    if (failed && agent) expect_fine(muzero_agent_close(agent));
  }
  expect_fine(muzero_game_create(&game, "tictactoe", 1));
  failed = true;
  for (long n = 1; failed; n++) { /* after a first move some of the memory stays */
    if (n > 1) expect_fine(muzero_agent_close(agent));
    if (n > 1) expect_fine(muzero_agent_load(&agent, dir));
    mz_alloc_fail_after(n);
    const muzero_status status = muzero_agent_move(agent, &game, 1, 0, NULL, NULL, NULL, NULL);
    failed = mz_alloc_fail_after(0) == 0;
    assert_int_equal(status, failed ? MUZERO_E_MEMORY : MUZERO_OK);
  }
  expect_fine(muzero_game_close(game));
  expect_fine(muzero_agent_close(agent));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_description), cmocka_unit_test(test_a_move), cmocka_unit_test(test_many_are_as_one),
      cmocka_unit_test(test_wrong_games), cmocka_unit_test(test_files),  cmocka_unit_test(test_without_memory),
  };
  return cmocka_run_group_tests(tests, make, drop);
}
