/* Games in play: grouping and resuming change nothing; what is harvested is what was played. */
#include "tests/selfplay/in_play.h"
#include <math.h>

static void assert_same_games(const mz_games *a, const mz_games *b) {
  mz_writer x = written(a), y = written(b);
  assert_int_equal(x.size, y.size);
  assert_memory_equal(x.data, y.data, x.size);
  mz_writer_free(&x);
  mz_writer_free(&y);
}

static void assert_same_harvest(const mz_selfplay_result *a, const mz_selfplay_result *b) {
  assert_int_equal(a->segment_count, b->segment_count);
  for (int i = 0; i < a->segment_count; i++) {
    assert_int_equal(a->segments[i]->game, b->segments[i]->game);
    assert_int_equal(a->segments[i]->ordinal, b->segments[i]->ordinal);
    assert_int_equal(a->segments[i]->hash, b->segments[i]->hash);
  }
  assert_int_equal(a->moves, b->moves);
  assert_int_equal(a->simulations, b->simulations);
  assert_int_equal(a->episodes, b->episodes);
  assert_int_equal(a->length_sum, b->length_sum);
  assert_memory_equal(&a->return_sum, &b->return_sum, sizeof(double));
  assert_memory_equal(&a->policy_entropy_sum, &b->policy_entropy_sum, sizeof(double));
  assert_memory_equal(&a->root_value_sum, &b->root_value_sum, sizeof(double));
}

/* Two rounds in one piece; the same two rounds in groups of 1 and 3, written and read between them. */
static void check_grouping_and_resuming(setup *s) {
  mz_games *whole = new_games(s);
  mz_selfplay_result expected[2] = {0};
  advance(s, whole, GAMES, 9, 1, 0.2, &expected[0]);
  advance(s, whole, GAMES, 11, 2, 0.6, &expected[1]);
  assert_true(expected[1].segment_count > GAMES);
  for (int group = 1; group <= 5; group += 2) {
    mz_games *before = new_games(s), *after = new_games(s);
    mz_selfplay_result got[2] = {0};
    advance(s, before, group, 9, 1, 0.2, &got[0]);
    mz_writer saved = written(before);
    mz_reader reader = mz_reader_over(saved.data, saved.size);
    assert_int_equal(mz_games_read(after, &reader), MZ_OK);
    assert_int_equal(mz_reader_left(&reader), 0);
    assert_same_games(before, after);
    mz_games_free(before);
    advance(s, after, group % 3 + 1, 11, 2, 0.6, &got[1]);
    assert_same_games(whole, after);
    for (int r = 0; r < 2; r++) {
      assert_same_harvest(&expected[r], &got[r]);
      mz_selfplay_result_deinit(&got[r]);
    }
    mz_writer_free(&saved);
    mz_games_free(after);
  }
  for (int r = 0; r < 2; r++) mz_selfplay_result_deinit(&expected[r]);
  mz_games_free(whole);
}

static void test_grouping_and_resuming(void **unused) {
  (void)unused;
  const struct {
    const mz_env *env;
    mz_cut cut;
    int opening_plies;
    double fork_share;
  } cases[] = {{&mz_env_tictactoe, {0, 6}, 4, 0}, {&mz_env_cartpole, {4, 3}, 0, 0},    {&mz_env_cartpole, {2, 3}, 6, 0},
               {&test_dice, {2, 2}, 2, 0},        {&mz_env_tictactoe, {0, 6}, 2, 0.5}, {&test_dice, {2, 2}, 0, 0.8}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    for (int algorithm = MZ_PUCT; algorithm <= MZ_GUMBEL; algorithm++) {
      setup s;
      setup_init(&s, cases[i].env, (mz_algorithm)algorithm, cases[i].cut);
      s.settings.opening_plies = cases[i].opening_plies;
      s.settings.fork_share = cases[i].fork_share;
      check_grouping_and_resuming(&s);
      test_agent_deinit(&s.agent);
    }
  }
}

typedef struct ranges { /* task i: the games of range i, with its own actor and result */
  const setup *setup;
  mz_games *games;
  mz_selfplay_result result[3];
} ranges;

static mz_status advance_range(void *context, int task, int worker) {
  (void)worker;
  ranges *r = context;
  const mz_agent *a = &r->setup->agent.agent;
  const int first = GAMES * task / 3, count = GAMES * (task + 1) / 3 - first;
  mz_actor *actor;
  MZ_TRY(mz_actor_create(&actor, r->setup->env, a->search, a->model, a->backend, a->discount, count));
  const mz_status status = mz_games_advance(r->games, actor, first, count, 20, a->weights, 1, 0, &r->result[task]);
  mz_actor_free(actor);
  return status;
}

static void test_ranges_at_once(void **unused) {
  (void)unused;
  setup s;
  setup_init(&s, &mz_env_tictactoe, MZ_GUMBEL, (mz_cut){0, 6});
  mz_games *alone = new_games(&s);
  mz_selfplay_result expected = {0}, got = {0};
  advance(&s, alone, GAMES, 20, 1, 0, &expected);
  ranges r = {.setup = &s, .games = new_games(&s)};
  mz_pool *pool;
  assert_int_equal(mz_pool_create(&pool, "test", 3, NULL), MZ_OK);
  assert_int_equal(mz_pool_run(pool, advance_range, &r, 3), MZ_OK);
  assert_same_games(alone, r.games);
  for (int i = 0, at = 0; i < 3; i++) {
    for (int k = 0; k < r.result[i].segment_count; k++) {
      assert_int_equal(r.result[i].segments[k]->hash, expected.segments[at++]->hash);
    }
    got.root_value_sum += r.result[i].root_value_sum;
    got.policy_entropy_sum += r.result[i].policy_entropy_sum;
    mz_selfplay_result_deinit(&r.result[i]);
  }
  assert_true(got.root_value_sum == expected.root_value_sum && got.policy_entropy_sum == expected.policy_entropy_sum);
  mz_pool_free(pool);
  mz_selfplay_result_deinit(&expected);
  mz_games_free(alone);
  mz_games_free(r.games);
  test_agent_deinit(&s.agent);
}

static void test_a_network_that_diverged(void **unused) {
  (void)unused;
  for (int algorithm = MZ_PUCT; algorithm <= MZ_GUMBEL; algorithm++) {
    setup s;
    setup_init(&s, &mz_env_tictactoe, (mz_algorithm)algorithm, (mz_cut){0, 6});
    const mz_agent *a = &s.agent.agent;
    for (int64_t k = 0; k < a->model->params.size; k++) s.agent.weights[k] = NAN;
    mz_games *games = new_games(&s);
    mz_selfplay_result result = {0};
    mz_actor *actor;
    assert_int_equal(mz_actor_create(&actor, s.env, a->search, a->model, a->backend, a->discount, GAMES), MZ_OK);
    assert_int_equal(mz_games_advance(games, actor, 0, GAMES, 3, a->weights, 1, 0, &result), MZ_E_DIVERGED);
    assert_int_equal(result.moves, 0);
    mz_actor_free(actor);
    mz_selfplay_result_deinit(&result);
    mz_games_free(games);
    test_agent_deinit(&s.agent);
  }
}

static void test_memory_that_cannot_be_had(void **unused) {
  (void)unused;
  setup s;
  setup_init(&s, &mz_env_tictactoe, MZ_PUCT, (mz_cut){0, 6});
  const mz_agent *a = &s.agent.agent;
  mz_games *games = NULL;
  mz_actor *actor = NULL;
  for (int n = 1; !games; n++) {
    mz_alloc_fail_after(n);
    const mz_status status = mz_games_create(&games, s.env, &s.settings, s.cut, SEED);
    mz_alloc_fail_after(0);
    assert_int_equal(status, games ? MZ_OK : MZ_E_MEMORY);
  }
  for (int n = 1; !actor; n++) {
    mz_alloc_fail_after(n);
    const mz_status status = mz_actor_create(&actor, s.env, a->search, a->model, a->backend, a->discount, GAMES);
    mz_alloc_fail_after(0);
    assert_int_equal(status, actor ? MZ_OK : MZ_E_MEMORY);
  }
  mz_actor_free(actor);
  mz_games_free(games);
  test_agent_deinit(&s.agent);
}

/* Segments of whole games tell everything that the counters say. */
static void test_harvest_counts_what_was_played(void **unused) {
  (void)unused;
  setup s;
  setup_init(&s, &mz_env_tictactoe, MZ_PUCT, (mz_cut){0, 6});
  mz_games *games = new_games(&s);
  mz_selfplay_result result = {0};
  advance(&s, games, GAMES, 40, 7, 0, &result);
  assert_int_equal(result.moves, 40 * GAMES);
  assert_int_equal(result.simulations, 40 * GAMES * s.agent.search.simulations);
  assert_int_equal(result.episodes, result.segment_count);
  int64_t length_sum = 0;
  double return_sum = 0;
  for (int i = 0; i < result.segment_count; i++) {
    const mz_segment *segment = result.segments[i];
    assert_int_equal(segment->end, MZ_END_TERMINATED);
    assert_int_equal(segment->version, 7);
    length_sum += segment->moves;
    for (int t = 0; t < segment->moves; t++) {
      assert_int_equal(segment->player[t], t % 2);
      return_sum += (double)(segment->player[t] ? -segment->reward[t] : segment->reward[t]);
    }
    const bool first_of_game = i == 0 || result.segments[i - 1]->game != segment->game;
    assert_int_equal(segment->ordinal, first_of_game ? 0 : result.segments[i - 1]->ordinal + 1);
    assert_true(i == 0 || result.segments[i - 1]->game <= segment->game);
  }
  assert_int_equal(result.length_sum, length_sum);
  assert_true(result.return_sum == return_sum);
  assert_true(result.policy_entropy_sum > 0);
  mz_selfplay_result_deinit(&result);
  mz_games_free(games);
  test_agent_deinit(&s.agent);
}

/* The die falls anew at every move, in every game. */
static void test_chance(void **unused) {
  (void)unused;
  setup s;
  setup_init(&s, &test_dice, MZ_PUCT, (mz_cut){0, 2});
  mz_games *games = new_games(&s);
  mz_selfplay_result result = {0};
  advance(&s, games, GAMES, 60, 1, 0, &result);
  assert_int_equal(result.segment_count, 10 * GAMES);
  int faces[6] = {0}, repeats = 0;
  for (int i = 0; i < result.segment_count; i++) {
    const mz_segment *segment = result.segments[i];
    int last = -1;
    for (int t = 0; t < segment->moves; t++) {
      const int face = (int)segment->reward[t] >> segment->action[t];
      faces[face]++;
      repeats += face == last;
      last = face;
    }
  }
  const int throws = 60 * GAMES;
  for (int f = 0; f < 6; f++) assert_in_range(faces[f], throws / 10, throws / 4);
  assert_in_range(repeats, throws / 12, throws / 5); /* five pairs in six throws, one in six of them equal */
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

static void test_damaged_state(void **unused) {
  (void)unused;
  setup s;
  setup_init(&s, &mz_env_tictactoe, MZ_PUCT, (mz_cut){0, 6});
  mz_games *games = new_games(&s);
  mz_selfplay_result result = {0};
  advance(&s, games, GAMES, 4, 1, 0, &result);
  mz_writer saved = written(games);
  for (size_t size = 0; size < saved.size; size += 1 + size / 9) {
    mz_reader reader = mz_reader_over(saved.data, size);
    assert_int_equal(mz_games_read(games, &reader), MZ_E_CHECKPOINT);
  }
  s.settings.games = GAMES + 1;
  mz_games *more = new_games(&s);
  mz_reader reader = mz_reader_over(saved.data, saved.size);
  assert_int_equal(mz_games_read(more, &reader), MZ_E_CHECKPOINT);
  mz_games_free(more);
  mz_writer_free(&saved);
  mz_selfplay_result_deinit(&result);
  mz_games_free(games);
  test_agent_deinit(&s.agent);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_grouping_and_resuming),
      cmocka_unit_test(test_ranges_at_once),
      cmocka_unit_test(test_a_network_that_diverged),
      cmocka_unit_test(test_memory_that_cannot_be_had),
      cmocka_unit_test(test_harvest_counts_what_was_played),
      cmocka_unit_test(test_chance),
      cmocka_unit_test(test_temperature),
      cmocka_unit_test(test_draws_follow_the_visits),
      cmocka_unit_test(test_playout_cap_randomization),
      cmocka_unit_test(test_noise_and_gumbel_temperature),
      cmocka_unit_test(test_damaged_state),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
