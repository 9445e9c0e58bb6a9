/* How moves are drawn: chance, temperature, playout caps, noise. */
#include "tests/selfplay/games_cases.h"

/* The die falls anew at every move, in every game. */
static void test_chance(void **unused) {
  (void)unused;
  setup s;
  setup_init(&s, &test_dice, MZ_PUCT, (mz_cut){0, 2});
  mz_games *games = new_games(&s);
  mz_selfplay_result result = {0};
  advance(&s, games, GAMES, 60, 1, 0, &result);
  assert_int_equal(result.segment_count, 10 * GAMES);
  int faces[6] = {0}, repeats = 0, alike = 0;
  for (int i = 0; i < result.segment_count; i++) {
    const mz_segment *segment = result.segments[i];
    int last = -1;
    for (int t = 0; t < segment->moves; t++) {
      const int face = (int)segment->reward[t] >> segment->action[t];
      faces[face]++;
      repeats += face == last;
      if (i >= 10)
        alike += face == (int)result.segments[i - 10]->reward[t] >> result.segments[i - 10]->action[t]; /* the game before */
      last = face;
    }
  }
  const int throws = 60 * GAMES;
  for (int f = 0; f < 6; f++) assert_in_range(faces[f], throws / 10, throws / 4);
  assert_in_range(repeats, throws / 12, throws / 5); /* five pairs in six throws, one in six of them equal */
  assert_in_range(alike, throws / 12, throws / 4);   /* a sixth of six games in seven */
  mz_selfplay_result_deinit(&result);
  mz_games_free(games);
  test_agent_deinit(&s.agent);
}

/* Share of the moves that were the most probable one of their policy (first index on ties). */
static double greedy_share(const mz_selfplay_result *result) {
  int greedy = 0, total = 0;
  for (int i = 0; i < result->segment_count; i++) {
    const mz_segment *segment = result->segments[i];
    for (int t = 0; t < segment->moves; t++) {
      uint32_t best = segment->policy_start[t];
      for (uint32_t e = best + 1; e < segment->policy_start[t + 1]; e++) {
        if (segment->policy_weight[e] > segment->policy_weight[best]) best = e;
      }
      greedy += segment->policy_action[best] == segment->action[t];
      total++;
    }
  }
  return (double)greedy / total;
}

static double play_greedy_share(setup *s, double temperature, double final, double progress) {
  s->settings.temperature = temperature;
  s->settings.temperature_final = final;
  mz_games *games = new_games(s);
  mz_selfplay_result result = {0};
  advance(s, games, GAMES, 60, 1, progress, &result);
  const double share = greedy_share(&result);
  mz_selfplay_result_deinit(&result);
  mz_games_free(games);
  return share;
}

static void test_temperature(void **unused) {
  (void)unused;
  setup s;
  setup_init(&s, &mz_env_tictactoe, MZ_PUCT, (mz_cut){0, 6});
  const double cold = play_greedy_share(&s, 0, 0, 0);
  const double warm = play_greedy_share(&s, 0.5, 0.5, 0);
  const double hot = play_greedy_share(&s, 2, 2, 0);
  assert_true(cold == 1);
  assert_true(warm < 1);
  assert_true(hot < warm - 0.1);
  /* The schedule: at temperature_until, and past it, the final temperature holds; half-way, the mean. */
  assert_true(play_greedy_share(&s, 2, 0, s.settings.temperature_until) == 1);
  assert_true(play_greedy_share(&s, 2, 0, 1) == 1);
  assert_true(play_greedy_share(&s, 2, 0, 0) == hot);
  assert_true(play_greedy_share(&s, 1, 0, s.settings.temperature_until / 2) == warm);
  test_agent_deinit(&s.agent);
}

/* The move is drawn in proportion to visits^(1/T): over many games' first moves the frequencies follow the root's policy. */
static void test_draws_follow_the_visits(void **unused) {
  (void)unused;
  setup s;
  setup_init(&s, &mz_env_tictactoe, MZ_PUCT, (mz_cut){0, 6});
  s.settings.noise = false; /* so that every first position has one policy */
  s.agent.search.simulations = 40;
  mz_games *games = new_games(&s);
  mz_selfplay_result result = {0};
  advance(&s, games, GAMES, 400, 1, 0, &result);
  double drawn[9] = {0};
  const float *policy = result.segments[0]->policy_weight;
  for (int i = 0; i < result.segment_count; i++) {
    drawn[result.segments[i]->action[0]] += 1.0 / result.segment_count;
    assert_memory_equal(result.segments[i]->policy_weight, policy, 9 * sizeof *policy);
  }
  for (int a = 0; a < 9; a++) assert_true(drawn[a] - (double)policy[a] < 0.1 && (double)policy[a] - drawn[a] < 0.1);
  mz_selfplay_result_deinit(&result);
  mz_games_free(games);
  test_agent_deinit(&s.agent);
}

static bool has_policy(const mz_segment *segment, int t) {
  float sum = 0;
  for (uint32_t e = segment->policy_start[t]; e < segment->policy_start[t + 1]; e++) sum += segment->policy_weight[e];
  return sum > 0;
}

/* A share of the moves is searched in full and has a policy; the others cost less and have none. Which moves, all games alike, does
 * not depend on the groups. */
static void test_playout_cap_randomization(void **unused) {
  (void)unused;
  enum { MOVES = 60, ALL = 6, FAST = 2 };
  for (int algorithm = MZ_PUCT; algorithm <= MZ_GUMBEL; algorithm++) {
    setup s;
    setup_init(&s, &mz_env_cartpole, (mz_algorithm)algorithm, (mz_cut){1, 0}); /* a segment a move */
    s.agent.search.simulations = ALL;
    s.settings.full_share = 0.4;
    s.settings.fast_simulations = FAST;
    mz_games *games = new_games(&s), *others = new_games(&s);
    mz_selfplay_result result = {0}, other = {0};
    advance(&s, games, GAMES, MOVES, 1, 0, &result);
    advance(&s, others, 2, MOVES, 1, 0, &other);
    assert_same_games(games, others);
    assert_same_harvest(&result, &other);
    assert_int_equal(result.segment_count, GAMES * MOVES);
    int full = 0;
    for (int i = 0; i < result.segment_count; i++) {
      assert_int_equal(has_policy(result.segments[i], 0), has_policy(result.segments[i % MOVES], 0));
      full += has_policy(result.segments[i], 0);
    }
    assert_in_range(full, GAMES * MOVES / 5, GAMES * MOVES * 3 / 5);
    assert_int_equal(result.simulations, full * ALL + (GAMES * MOVES - full) * FAST);
    mz_selfplay_result_deinit(&result);
    mz_selfplay_result_deinit(&other);
    mz_games_free(games);
    mz_games_free(others);
    test_agent_deinit(&s.agent);
  }
}

static void test_noise_and_gumbel_temperature(void **unused) {
  (void)unused;
  for (int algorithm = MZ_PUCT; algorithm <= MZ_GUMBEL; algorithm++) {
    mz_games *games[3];
    for (int i = 0; i < 3; i++) {
      setup s;
      setup_init(&s, &mz_env_tictactoe, (mz_algorithm)algorithm, (mz_cut){0, 6});
      s.settings.noise = i != 1;
      s.settings.temperature = s.settings.temperature_final = i == 2 ? 1 : 0;
      games[i] = new_games(&s);
      mz_selfplay_result result = {0};
      advance(&s, games[i], GAMES, 13, 1, 0, &result);
      mz_selfplay_result_deinit(&result);
      test_agent_deinit(&s.agent);
    }
    mz_writer bytes[3];
    for (int i = 0; i < 3; i++) bytes[i] = written(games[i]);
    const bool noise_matters = bytes[0].size != bytes[1].size || memcmp(bytes[0].data, bytes[1].data, bytes[0].size) != 0;
    const bool temperature_matters = bytes[0].size != bytes[2].size || memcmp(bytes[0].data, bytes[2].data, bytes[0].size) != 0;
    assert_true(noise_matters);
    assert_int_equal(temperature_matters, algorithm == MZ_PUCT);
    for (int i = 0; i < 3; i++) {
      mz_writer_free(&bytes[i]);
      mz_games_free(games[i]);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_chance), cmocka_unit_test(test_temperature), cmocka_unit_test(test_draws_follow_the_visits),
      cmocka_unit_test(test_playout_cap_randomization), cmocka_unit_test(test_noise_and_gumbel_temperature)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
