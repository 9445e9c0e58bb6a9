/* Evaluation: threads change nothing, the counts add up, and the enumeration agrees with a naive one. */
#include "tests/selfplay/evaluate_cases.h"

static mz_match match_of(const mz_agent *agent, const mz_player *opponent, const mz_agent *rival, int games) {
  return (mz_match){.env = agent->env,
                    .sides = {{.agent = agent}, {.player = opponent, .agent = rival}},
                    .games = games,
                    .seed = SEED,
                    .round = ROUND};
}

static mz_evaluation played(const mz_match *match, double *returns) {
  mz_evaluation out;
  assert_int_equal(mz_evaluate(match, NULL, &out, returns), MZ_OK);
  return out;
}

static mz_evaluation evaluate(const mz_agent *agent, const mz_player *opponent, const mz_agent *rival, int games,
                              double *returns) {
  const mz_match match = match_of(agent, opponent, rival, games);
  return played(&match, returns);
}

static void test_threads_change_nothing(void **unused) {
  (void)unused;
  const struct {
    const mz_env *env;
    const char *opponent;
    mz_algorithm algorithm;
    int openings;
  } cases[] = {{&mz_env_tictactoe, "random", MZ_PUCT, 0},  {&mz_env_tictactoe, "perfect", MZ_GUMBEL, 0},
               {&mz_env_tictactoe, "mcts:30", MZ_PUCT, 3}, {&mz_env_tictactoe, NULL, MZ_GUMBEL, 4},
               {&mz_env_cartpole, NULL, MZ_GUMBEL, 0},     {&test_dice, NULL, MZ_PUCT, 2}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    test_agent agent;
    test_agent_init(&agent, cases[i].env, cases[i].algorithm, 1);
    mz_player player, *opponent = NULL;
    if (cases[i].opponent) {
      player = test_player(cases[i].opponent, cases[i].env);
      opponent = &player;
    }
    double expected_returns[GAMES], returns[GAMES];
    mz_match match = match_of(&agent.agent, opponent, NULL, GAMES);
    match.openings = cases[i].openings;
    const mz_evaluation expected = played(&match, expected_returns);
    for (int threads = 1; threads <= 3; threads++) {
      mz_pool *pool;
      mz_evaluation out;
      assert_int_equal(mz_pool_create(&pool, "test", threads, NULL), MZ_OK);
      assert_int_equal(mz_evaluate(&match, pool, &out, returns), MZ_OK);
      assert_same(&expected, &out);
      assert_memory_equal(expected_returns, returns, sizeof returns);
      mz_pool_free(pool);
    }
    /* A game does not know how many are played beside it, nor its place in a group. */
    for (int few = 1; few <= 41; few += 20) {
      match.games = few;
      played(&match, returns);
      assert_memory_equal(expected_returns, returns, (size_t)few * sizeof *returns);
    }
    test_agent_deinit(&agent);
  }
}

static void test_counts_of_a_board_game(void **unused) {
  (void)unused;
  test_agent agent;
  test_agent_init(&agent, &mz_env_tictactoe, MZ_PUCT, 2);
  const mz_player random = test_player("random", &mz_env_tictactoe);
  double returns[GAMES], others[GAMES], sum = 0, squares = 0;
  const mz_evaluation e = evaluate(&agent.agent, &random, NULL, GAMES, returns);
  int64_t win = 0, loss = 0, win_first = 0;
  for (int i = 0; i < GAMES; i++) {
    assert_true(returns[i] == 1 || returns[i] == 0 || returns[i] == -1);
    win += returns[i] == 1;
    loss += returns[i] == -1;
    win_first += returns[i] == 1 && i % 2 == 0;
    sum += returns[i];
  }
  for (int i = 0; i < GAMES; i++) squares += (returns[i] - sum / GAMES) * (returns[i] - sum / GAMES);
  assert_int_equal(e.games, GAMES);
  assert_int_equal(e.win, win);
  assert_int_equal(e.loss, loss);
  assert_int_equal(e.win + e.draw + e.loss, GAMES);
  assert_int_equal(e.by_seat[0].games, GAMES / 2);
  assert_int_equal(e.by_seat[1].games, GAMES / 2);
  assert_int_equal(e.by_seat[0].win, win_first);
  assert_int_equal(e.by_seat[0].win + e.by_seat[1].win, win);
  assert_true(fabs(e.mean_return - sum / GAMES) < 1e-12);
  assert_true(fabs(e.std - sqrt(squares / (GAMES - 1))) < 1e-12);
  assert_true(fabs(e.ci95 - 1.96 * e.std / sqrt(GAMES)) < 1e-12);
  assert_true(fabs(e.points.estimate - (sum / GAMES + 1) / 2) < 1e-12);
  for (int i = 0; i < GAMES; i++) others[i] = (returns[i] + 1) / 2; /* the opponent draws: every game is a unit */
  const mz_interval expected = mz_points_interval(others, GAMES);
  assert_true(e.points.low == expected.low && e.points.high == expected.high && expected.low > 0 && expected.high < 1);
  assert_true(e.moves >= 5 * GAMES && e.moves <= 9 * GAMES);
  assert_true(e.win > 0 && e.loss > 0); /* an untrained agent does both */

  /* Another round or seed is another set of games; a perfect opponent never loses. */
  mz_match other = match_of(&agent.agent, &random, NULL, GAMES);
  other.round++;
  played(&other, others);
  assert_true(memcmp(returns, others, sizeof returns) != 0);
  other = match_of(&agent.agent, &random, NULL, GAMES);
  other.seed++;
  played(&other, others);
  assert_true(memcmp(returns, others, sizeof returns) != 0);
  const mz_player perfect = test_player("perfect", &mz_env_tictactoe);
  assert_int_equal(evaluate(&agent.agent, &perfect, NULL, GAMES, NULL).win, 0);
  test_agent_deinit(&agent);
}

static void test_counts_of_a_game_for_one(void **unused) {
  (void)unused;
  test_agent agent;
  test_agent_init(&agent, &mz_env_cartpole, MZ_PUCT, 3);
  double returns[GAMES];
  mz_evaluation e = evaluate(&agent.agent, NULL, NULL, GAMES, returns);
  assert_int_equal(e.win + e.draw + e.loss, 0);
  assert_int_equal(e.by_seat[0].games, GAMES);
  assert_int_equal(e.by_seat[1].games, 0);
  assert_true((double)e.moves == e.mean_return * GAMES); /* one point a move */
  assert_int_equal(e.simulations, e.moves * agent.search.simulations);
  agent.agent.simulations = 3;
  e = evaluate(&agent.agent, NULL, NULL, GAMES, returns);
  assert_int_equal(e.simulations, e.moves * 3);
  e = evaluate(&agent.agent, NULL, NULL, 1, returns);
  assert_true(e.std == 0 && isnan(e.ci95) && e.mean_return == returns[0]);

  const mz_player random = test_player("random", &mz_env_cartpole);
  const mz_match matches[] = {match_of(&agent.agent, &random, NULL, 2), match_of(&agent.agent, NULL, &agent.agent, 2)};
  for (int i = 0; i < 2; i++) assert_int_equal(mz_evaluate(&matches[i], NULL, &e, NULL), MZ_E_CONFIG);
  assert_int_equal(mz_evaluate_all(&agent.agent, NULL, &e), MZ_E_CONFIG);
  test_agent_deinit(&agent);

  mz_env elsewhere = mz_env_tictactoe;
  elsewhere.copies = false;
  test_agent_init(&agent, &elsewhere, MZ_PUCT, 5);
  assert_int_equal(mz_evaluate_all(&agent.agent, NULL, &e), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "opponent: all: not for tictactoe, whose states cannot be copied"));
  test_agent_deinit(&agent);
}

/* A position's outcome, under a discount of 1, is what its game still pays. */
static void test_values_are_compared_with_what_followed(void **unused) {
  (void)unused;
  test_agent agent;
  test_agent_init(&agent, &mz_env_cartpole, MZ_PUCT, 3);
  agent.agent.discount = 1;
  double returns[GAMES], outcomes = 0;
  mz_evaluation e = evaluate(&agent.agent, NULL, NULL, GAMES, returns);
  for (int i = 0; i < GAMES; i++) outcomes += returns[i] * (returns[i] + 1) / 2; /* one point a move */
  assert_int_equal(e.values.positions, e.moves);
  assert_true(fabs(e.values.outcome - outcomes) < 1e-9 * outcomes && e.values.value != 0);
  test_agent_deinit(&agent);

  test_agent_init(&agent, &mz_env_mountain_car, MZ_PUCT, 3); /* stays in its valley until it is truncated */
  e = evaluate(&agent.agent, NULL, NULL, 2, returns);
  assert_true(returns[0] == -200 && returns[1] == -200);
  assert_int_equal(e.values.positions, 0);
  test_agent_deinit(&agent);

  test_agent_init(&agent, &mz_env_tictactoe, MZ_PUCT, 2);
  const mz_player perfect = test_player("perfect", &mz_env_tictactoe);
  e = evaluate(&agent.agent, &perfect, NULL, GAMES, NULL);
  assert_true(e.loss > 0 && e.values.outcome < 0 && e.values.positions < e.moves);
  const mz_match theirs = {
      .env = &mz_env_tictactoe, .sides = {{.player = &perfect}, {.agent = &agent.agent}}, .games = 2, .seed = SEED};
  assert_int_equal(played(&theirs, NULL).values.positions, 0); /* a player foretells nothing */
  test_agent_deinit(&agent);
}

/* Two agents without noise repeat one game for each seat; a rival equal to the agent is the agent itself. */
static void test_rivals(void **unused) {
  (void)unused;
  test_agent one, two;
  test_agent_init(&one, &mz_env_tictactoe, MZ_PUCT, 2);
  test_agent_init(&two, &mz_env_tictactoe, MZ_GUMBEL, 7);
  double self[6], equal[6], there[6], back[6];
  const mz_evaluation alone = evaluate(&one.agent, NULL, NULL, 6, self);
  const mz_evaluation same = evaluate(&one.agent, NULL, &one.agent, 6, equal);
  assert_same(&alone, &same);
  assert_true(self[0] == -self[1]);
  evaluate(&one.agent, NULL, &two.agent, 6, there);
  evaluate(&two.agent, NULL, &one.agent, 6, back);
  for (int i = 0; i < 6; i++) {
    assert_true(there[i] == there[i % 2]);
    assert_true(there[i] == -back[i ^ 1]); /* the same game, seen from the other side */
  }
  /* Two games are all that was seen, however many were played. */
  const double seats[2] = {(there[0] + 1) / 2, (there[1] + 1) / 2};
  const mz_evaluation sixty = evaluate(&one.agent, NULL, &two.agent, 60, NULL);
  const mz_interval expected = mz_points_interval(seats, 2), points = sixty.points;
  assert_true(points.low == expected.low && points.high == expected.high && points.high - points.low > 0.5);
  assert_true(fabs(sixty.ci95 - 1.96 * fabs(there[0] - there[1]) / 2) < 1e-12);
  test_agent_deinit(&one);
  test_agent_deinit(&two);
}

/* Two agents who draw nothing play as many different games as there are starts: games are the units. */
static void test_rivals_from_drawn_starts(void **unused) {
  (void)unused;
  mz_env env = drawn_starts();
  test_agent one, two;
  test_agent_init(&one, &env, MZ_PUCT, 2);
  test_agent_init(&two, &env, MZ_GUMBEL, 7);
  double returns[GAMES], units[GAMES];
  for (int copies = 0; copies < 2; copies++) {
    env.copies = copies;
    const mz_evaluation e = evaluate(&one.agent, NULL, &two.agent, GAMES, returns);
    for (int i = 0; i < GAMES; i++) units[i] = (returns[i] + 1) / 2;
    const mz_interval expected = mz_points_interval(units, GAMES);
    assert_true(e.points.low == expected.low && e.points.high == expected.high);
  }
  test_agent_deinit(&one);
  test_agent_deinit(&two);
}

/* An agent against itself plays both seats of an opening alike: what a seat wins the other loses. Pairs are the units. */
static void test_openings_come_in_pairs(void **unused) {
  (void)unused;
  test_agent one, two;
  test_agent_init(&one, &mz_env_tictactoe, MZ_PUCT, 2);
  test_agent_init(&two, &mz_env_tictactoe, MZ_GUMBEL, 7);
  double self[GAMES], there[GAMES], back[GAMES];
  mz_match match = match_of(&one.agent, NULL, &one.agent, GAMES);
  match.openings = 3;
  mz_evaluation e = played(&match, self);
  bool differ = false;
  for (int i = 0; i < GAMES; i += 2) {
    assert_true(self[i] == -self[i + 1]);
    differ |= self[i] != self[0];
  }
  assert_true(differ);
  assert_true(e.points.estimate == 0.5);
  const mz_interval nothing_but_draws = mz_points_interval((double[GAMES / 2]){[0 ... GAMES / 2 - 1] = 0.5}, GAMES / 2);
  assert_true(e.points.low == nothing_but_draws.low && e.points.high == nothing_but_draws.high);
  assert_true(e.ci95 == 0); /* no opening gives anything else than 0 */

  match.sides[1].agent = &two.agent;
  e = played(&match, there);
  assert_true(memcmp(there, self, sizeof there) != 0);
  const mz_match reverse = {match.env, {match.sides[1], match.sides[0]}, match.games, match.openings, match.seed, match.round};
  played(&reverse, back);
  for (int i = 0; i < GAMES; i++) assert_true(there[i] == -back[i ^ 1]);
  double units[GAMES / 2 + 1];
  for (int i = 0; i < GAMES / 2; i++) units[i] = (there[2 * i] + there[2 * i + 1] + 2) / 4;
  mz_interval expected = mz_points_interval(units, GAMES / 2);
  assert_true(e.points.low == expected.low && e.points.high == expected.high);
  const double pairs = 0.5 * GAMES;
  double squares = 0;
  for (int i = 0; i < GAMES / 2; i++) squares += pow(there[2 * i] + there[2 * i + 1] - 2 * e.mean_return, 2) / 4;
  assert_true(fabs(e.ci95 - 1.96 * sqrt(squares / (pairs - 1) / pairs)) < 1e-12);
  match.games = 2;
  assert_true(isnan(played(&match, NULL).ci95)); /* one opening tells nothing of how they differ */
  match.games = GAMES - 1;                       /* the last opening from one seat only */
  units[GAMES / 2 - 1] = (there[GAMES - 2] + 1) / 2;
  expected = mz_points_interval(units, GAMES / 2);
  e = played(&match, NULL);
  assert_true(e.points.low == expected.low && e.points.high == expected.high);

  /* Moves of the opening are nobody's: with 3 of them, no game lasts longer than the 6 that are left. */
  assert_true(e.moves <= 6 * (GAMES - 1));
  /* More moves than a game has: it then begins short of its end, and is never a finished one. */
  match.openings = 1000;
  e = played(&match, NULL);
  assert_true(e.moves >= GAMES - 1);
  test_agent_deinit(&one);
  test_agent_deinit(&two);
}

static void test_players_without_an_agent(void **unused) {
  (void)unused;
  const mz_player random = test_player("random", &mz_env_tictactoe), perfect = test_player("perfect", &mz_env_tictactoe);
  const mz_match match = {.env = &mz_env_tictactoe,
                          .sides = {{.player = &perfect}, {.player = &random}},
                          .games = GAMES,
                          .seed = SEED,
                          .round = ROUND};
  const mz_evaluation e = played(&match, NULL);
  assert_int_equal(e.games, GAMES);
  assert_int_equal(e.loss, 0);
  assert_true(e.by_seat[0].win > e.by_seat[1].win && e.by_seat[1].win > 0);
  assert_int_equal(e.simulations, 0);
}

/* --- every line --- */

static void test_memory_that_cannot_be_had(void **unused) {
  (void)unused;
  test_agent agent;
  test_agent_init(&agent, &mz_env_tictactoe, MZ_PUCT, 5);
  const mz_player random = test_player("random", &mz_env_tictactoe);
  const mz_match match = match_of(&agent.agent, &random, NULL, 3);
  mz_evaluation out;
  for (int every_line = 0; every_line < 2; every_line++) {
    mz_status status = MZ_E_MEMORY;
    int n = 0;
    while (status != MZ_OK) {
      mz_alloc_fail_after(++n);
      status = every_line ? mz_evaluate_all(&agent.agent, NULL, &out) : mz_evaluate(&match, NULL, &out, NULL);
      mz_alloc_fail_after(0);
      assert_true(status == MZ_OK || status == MZ_E_MEMORY);
    }
    assert_true(n > 5);
  }
  test_agent_deinit(&agent);
}

static void test_a_network_that_diverged(void **unused) {
  (void)unused;
  const mz_env *const envs[] = {&mz_env_tictactoe, &mz_env_cartpole};
  for (int i = 0; i < 2; i++) {
    for (int algorithm = MZ_PUCT; algorithm <= MZ_GUMBEL; algorithm++) {
      test_agent agent;
      test_agent_init(&agent, envs[i], (mz_algorithm)algorithm, 5);
      test_agent_spoil(&agent);
      mz_evaluation out;
      const mz_match match = match_of(&agent.agent, NULL, NULL, 3);
      assert_int_equal(mz_evaluate(&match, NULL, &out, NULL), MZ_E_DIVERGED);
      if (i == 0) assert_int_equal(mz_evaluate_all(&agent.agent, NULL, &out), MZ_E_DIVERGED);
      test_agent_deinit(&agent);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_threads_change_nothing),
                                     cmocka_unit_test(test_counts_of_a_board_game),
                                     cmocka_unit_test(test_counts_of_a_game_for_one),
                                     cmocka_unit_test(test_values_are_compared_with_what_followed),
                                     cmocka_unit_test(test_rivals),
                                     cmocka_unit_test(test_rivals_from_drawn_starts),
                                     cmocka_unit_test(test_openings_come_in_pairs),
                                     cmocka_unit_test(test_players_without_an_agent),
                                     cmocka_unit_test(test_a_network_that_diverged),
                                     cmocka_unit_test(test_memory_that_cannot_be_had)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
