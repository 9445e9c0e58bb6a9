/* Environments and games through the library: whole games of every environment, by legal actions only. */
#include "library.h"

enum { ACTIONS_MAX = 400, ENTRIES_MAX = 19 * 19 * 40 };

/* The nth legal action, n drawn. */
static int32_t draw(muzero_game *game, int32_t actions, int32_t legal, mz_rng *rng) {
  uint8_t mask[ACTIONS_MAX];
  expect_fine(muzero_game_legal(game, mask, (size_t)actions));
  int32_t counted = 0;
  for (int32_t a = 0; a < actions; a++) counted += mask[a];
  assert_int_equal(counted, legal);
  return mz_env_nth_legal(mask, actions, mz_rng_below(rng, (uint32_t)legal));
}

static void expect_equal(muzero_game *a, muzero_game *b, const muzero_env_info *info) {
  static float x[ENTRIES_MAX], y[ENTRIES_MAX];
  const muzero_game_state s = state_of(a), t = state_of(b);
  assert_true(s.to_play == t.to_play && s.legal == t.legal && s.moves == t.moves && s.terminated == t.terminated &&
              s.truncated == t.truncated && s.reward == t.reward);
  expect_fine(muzero_game_observe(a, x, (size_t)info->observation_size));
  expect_fine(muzero_game_observe(b, y, (size_t)info->observation_size));
  assert_memory_equal(x, y, (size_t)info->observation_size * sizeof *x);
}

static void play(const char *env, uint64_t seed) {
  muzero_env_info info = MUZERO_ENV_INFO_INIT;
  muzero_game *game, *twin, *copy = NULL;
  char text[8192], name[32];
  expect_fine(muzero_env_describe(env, &info));
  assert_true(info.actions <= ACTIONS_MAX && info.observation_size <= ENTRIES_MAX);
  expect_fine(muzero_game_create(&game, env, seed));
  expect_fine(muzero_game_create(&twin, env, seed));
  mz_rng rng = mz_rng_at(seed, MZ_RNG_TEST, 0, 0);
  muzero_game_state state = state_of(game);
  while (state.legal > 0) {
    const int32_t action = draw(game, info.actions, state.legal, &rng);
    expect_fine(muzero_game_text(game, text, sizeof text));
    expect_fine(muzero_game_action_text(game, action, name, sizeof name));
    assert_true(text[0] && name[0]);
    if (copy) expect_fine(muzero_game_step(copy, action));
    expect_fine(muzero_game_step(game, action));
    expect_fine(muzero_game_step(twin, action));
    expect_equal(game, twin, &info);
    if (copy) expect_equal(game, copy, &info);
    state = state_of(game);
    if (state.moves == 4) expect_fine(muzero_game_copy(&copy, game));
  }
  assert_true(state.terminated || state.truncated);
  expect_status(MUZERO_E_USAGE, muzero_game_step(game, 0));
  expect_message("the game is over");
  if (copy) expect_fine(muzero_game_close(copy));
  expect_fine(muzero_game_close(game));
  expect_fine(muzero_game_close(twin));
}

static void test_every_environment(void **state) {
  (void)state;
  const char *name;
  size_t count = 0;
  for (; (name = muzero_env_name(count)); count++)
    for (uint64_t seed = 1; seed <= 3; seed++) play(name, seed);
  assert_int_equal(count, mz_env_count());
  play("gomoku:size=7,k=4", 1);
  assert_null(muzero_env_name(count + 1));
  assert_null(muzero_env_name(SIZE_MAX));
}

static void test_description(void **state) {
  (void)state;
  muzero_env_info info = MUZERO_ENV_INFO_INIT;
  expect_fine(muzero_env_describe("gomoku:size=7", &info));
  assert_string_equal(info.name, "gomoku:size=7");
  assert_true(info.size == sizeof info && info.actions == 49 && info.players == 2 && info.observation_shape[0] == 7);
  expect_status(MUZERO_E_CONFIG, muzero_env_describe("gomku", &info));
  expect_message("gomoku");
  expect_status(MUZERO_E_CONFIG, muzero_env_describe("", &info));
  expect_status(MUZERO_E_USAGE, muzero_env_describe(NULL, &info));
  expect_status(MUZERO_E_USAGE, muzero_env_describe("gomoku", NULL));
}

/* A program made for another version has structs of another length. */
static void test_sizes(void **state) {
  (void)state;
  struct {
    muzero_env_info info;
    char more[16];
  } longer;
  memset(&longer, 0xff, sizeof longer);
  longer.info.size = sizeof longer;
  expect_fine(muzero_env_describe("tictactoe", &longer.info));
  assert_true(longer.info.actions == 9 && longer.more[0] == 0 && longer.more[15] == 0);
  muzero_env_info info = MUZERO_ENV_INFO_INIT;
  info.size = 0;
  expect_status(MUZERO_E_USAGE, muzero_env_describe("tictactoe", &info));
  expect_message("sizeof(muzero_env_info)");
  info.size = (size_t)-1;
  expect_status(MUZERO_E_USAGE, muzero_env_describe("tictactoe", &info));
  struct {
    muzero_limits limits;
    char more[8];
  } limits = {.limits = MUZERO_LIMITS_INIT};
  limits.limits.size = sizeof limits;
  char folder[64];
  make_folder(folder);
  char dir[128];
  snprintf(dir, sizeof dir, "%s/run", folder);
  muzero_run *run = tiny_run(dir);
  limits.limits.rounds = 1;
  expect_fine(muzero_run_train(run, &limits.limits, NULL));
  limits.more[3] = 1;
  expect_status(MUZERO_E_USAGE, muzero_run_train(run, &limits.limits, NULL));
  expect_message("does not know");
  expect_fine(muzero_run_close(run));
  drop_folder(folder);
}

static void test_wrong_actions_and_buffers(void **state) {
  (void)state;
  muzero_game *game;
  uint8_t mask[9];
  float observation[27];
  char text[32];
  expect_fine(muzero_game_create(&game, "tictactoe", 1));
  expect_fine(muzero_game_step(game, 4));
  expect_status(MUZERO_E_USAGE, muzero_game_step(game, 4));
  expect_message("not legal");
  expect_status(MUZERO_E_USAGE, muzero_game_step(game, -1));
  expect_status(MUZERO_E_USAGE, muzero_game_step(game, 9));
  expect_message("0 … 8");
  assert_int_equal(state_of(game).moves, 1);
  expect_status(MUZERO_E_USAGE, muzero_game_legal(game, mask, 8));
  expect_status(MUZERO_E_USAGE, muzero_game_legal(game, NULL, 9));
  expect_status(MUZERO_E_USAGE, muzero_game_observe(game, observation, 3));
  expect_status(MUZERO_E_USAGE, muzero_game_observe(game, NULL, 27));
  expect_status(MUZERO_E_USAGE, muzero_game_text(game, text, 1));
  expect_message("bytes");
  expect_status(MUZERO_E_USAGE, muzero_game_text(game, NULL, 100));
  expect_status(MUZERO_E_USAGE, muzero_game_action_text(game, 9, text, sizeof text));
  expect_status(MUZERO_E_USAGE, muzero_game_action_text(game, 0, text, 0));
  expect_fine(muzero_game_close(game));
}

/* A shared object of the user's by its path, sound and with mistakes (tests/envs/own/game.c). */
static void test_files(void **state) {
  (void)state;
  muzero_env_info info = MUZERO_ENV_INFO_INIT;
  muzero_game *game;
  float observation[10];
  expect_fine(muzero_env_describe(OWN_GAMES "/game_0.so", &info));
  assert_string_equal(info.name, OWN_GAMES "/game_0.so");
  play(info.name, 3);
  expect_fine(muzero_game_create(&game, OWN_GAMES "/game_7.so", 1));
  expect_fine(muzero_game_observe(game, observation, 10));
  expect_fine(muzero_game_step(game, 0));
  expect_fine(muzero_game_step(game, 1));
  expect_status(MUZERO_E_CONFIG, muzero_game_observe(game, observation, 10));
  expect_message("observe: entry 9 is nan");
  expect_fine(muzero_game_close(game));
  expect_status(MUZERO_E_CONFIG, muzero_game_create(&game, OWN_GAMES "/game_27.so", 1));
  expect_message("reset: the dice are gone");
  expect_status(MUZERO_E_CONFIG, muzero_game_create(&game, OWN_GAMES "/game_33.so", 1));
}

/* A game whose step fails is over, like any that nobody can go on with. */
static void expect_over_by_failure(muzero_game *game, int32_t action, int32_t actions, const char *message) {
  uint8_t mask[ACTIONS_MAX];
  const int32_t moves = state_of(game).moves;
  expect_status(MUZERO_E_CONFIG, muzero_game_step(game, action));
  expect_message(message);
  const muzero_game_state last = state_of(game);
  assert_true(last.truncated && !last.terminated && last.legal == 0 && last.to_play == 0 && last.reward == 0);
  assert_int_equal(last.moves, moves);
  expect_fine(muzero_game_legal(game, mask, (size_t)actions));
  for (int32_t a = 0; a < actions; a++) assert_int_equal(mask[a], 0);
  expect_status(MUZERO_E_USAGE, muzero_game_step(game, action));
  expect_message("the game is over");
  expect_fine(muzero_game_close(game));
}

static void test_a_step_that_fails_ends_the_game(void **state) {
  (void)state;
  enum { CELLS = 5 };
  muzero_game *game;
  expect_fine(muzero_game_create(&game, OWN_GAMES "/game_1.so", 1));
  for (int32_t action = 0; action < 2; action++) expect_fine(muzero_game_step(game, action));
  expect_over_by_failure(game, 2, CELLS, "step: reward nan after action 2 is not finite");
}

static void test_a_step_without_a_worker_ends_the_game(void **state) {
  (void)state;
  enum { ACTIONS = 2 };
  static const char env[] = "gym:Odd-v0,workers=1,reward_min=0,reward_max=1,return_min=0,return_max=10,late=1,fault=step_dies";
  muzero_game *game, *other;
  if (system("python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null") != 0) skip();
  setenv("MUZERO_PYTHON", "python3", 1);
  setenv("PYTHONPATH", STAND_INS, 1);
  setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
  expect_fine(muzero_game_create(&game, env, 1));
  while (muzero_game_create(&other, env, 1) == MUZERO_OK) { /* until the worker is not started again */
    expect_fine(muzero_game_step(other, 0));
    expect_fine(muzero_game_close(other));
  }
  expect_over_by_failure(game, 0, ACTIONS, "was lost 8 times in a row");
}

/* Who trained opened the file plainly; here a process plays it, and both stand side by side. */
static void test_an_agent_plays_games_that_were_opened_apart(void **state) {
  (void)state;
  enum { GAMES = 2, CELLS = 5 };
  muzero_run_options options = tiny_options();
  muzero_run *run;
  muzero_agent *agent;
  muzero_game *games[GAMES], *other;
  int32_t visits[GAMES][CELLS];
  float values[GAMES];
  char folder[64], dir[128];
  make_folder(folder);
  snprintf(dir, sizeof dir, "%s/run", folder);
  options.env = OWN_GAMES "/game_0.so";
  expect_fine(muzero_run_create(&run, dir, &options));
  expect_fine(muzero_run_train(run, NULL, NULL));
  expect_fine(muzero_run_close(run));
  expect_fine(muzero_agent_load(&agent, dir));
  expect_fine(muzero_game_create(&games[0], OWN_GAMES "/game_0.so", 1));
  expect_fine(muzero_game_create(&games[1], OWN_GAMES "/game_0.so:isolate=1,workers=1", 1));
  expect_fine(muzero_agent_move(agent, games, GAMES, 0, NULL, values, NULL, visits[0]));
  assert_memory_equal(visits[0], visits[1], sizeof visits[0]);
  assert_true(values[0] == values[1]);
  expect_fine(muzero_game_create(&other, OWN_GAMES "/game_42.so", 1));
  expect_status(MUZERO_E_USAGE, muzero_agent_move(agent, &other, 1, 0, NULL, values, NULL, NULL));
  expect_message("game_42.so; the agent plays ");
  expect_fine(muzero_game_close(other));
  for (int i = 0; i < GAMES; i++) expect_fine(muzero_game_close(games[i]));
  expect_fine(muzero_agent_close(agent));
  drop_folder(folder);
}

static void test_without_memory(void **state) {
  (void)state;
  muzero_game *game = NULL, *copy = NULL;
  for (long n = 1; !copy; n++) {
    mz_alloc_fail_after(n);
    const muzero_status status = game ? muzero_game_copy(&copy, game) : muzero_game_create(&game, "go", 1);
    mz_alloc_fail_after(0);
    if (status == MUZERO_OK)
      n = 0;
    else
      assert_int_equal(status, MUZERO_E_MEMORY);
  }
  expect_fine(muzero_game_close(game));
  expect_fine(muzero_game_close(copy));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_environment),
      cmocka_unit_test(test_description),
      cmocka_unit_test(test_sizes),
      cmocka_unit_test(test_wrong_actions_and_buffers),
      cmocka_unit_test(test_without_memory),
      cmocka_unit_test(test_files),
      cmocka_unit_test(test_a_step_that_fails_ends_the_game),
      cmocka_unit_test(test_a_step_without_a_worker_ends_the_game),
      cmocka_unit_test(test_an_agent_plays_games_that_were_opened_apart),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
