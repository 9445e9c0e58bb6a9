/* Games in play: grouping and resuming change nothing; what is harvested is what was played. */
#include "tests/selfplay/games_cases.h"

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
    int exploring_moves;
    double exploring_repeat;
  } cases[] = {{&mz_env_tictactoe, {0, 6}, 4, 0, 0, 0},   {&mz_env_cartpole, {4, 3}, 0, 0, 0, 0},
               {&mz_env_cartpole, {2, 3}, 6, 0, 0, 0},    {&test_dice, {2, 2}, 2, 0, 0, 0},
               {&mz_env_tictactoe, {0, 6}, 2, 0.5, 0, 0}, {&test_dice, {2, 2}, 0, 0.8, 0, 0},
               {&mz_env_cartpole, {4, 3}, 0, 0, 6, 0.7},  {&test_dice, {2, 2}, 0, 0, 3, 0.5}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    for (int algorithm = MZ_PUCT; algorithm <= MZ_GUMBEL; algorithm++) {
      setup s;
      setup_init(&s, cases[i].env, (mz_algorithm)algorithm, cases[i].cut);
      s.settings.opening_plies = cases[i].opening_plies;
      s.settings.fork_share = cases[i].fork_share;
      s.settings.exploring_moves = cases[i].exploring_moves;
      s.settings.exploring_repeat = cases[i].exploring_repeat;
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
  MZ_TRY(mz_actor_create(&actor, r->setup->env, a->search, a->model, a->where, a->discount, count));
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
    test_agent_spoil(&s.agent);
    mz_games *games = new_games(&s);
    mz_selfplay_result result = {0};
    mz_actor *actor;
    assert_int_equal(mz_actor_create(&actor, s.env, a->search, a->model, a->where, a->discount, GAMES), MZ_OK);
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
    const mz_status status = mz_actor_create(&actor, s.env, a->search, a->model, a->where, a->discount, GAMES);
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

/* Such games could be trained with, but their checkpoints not be read: unlike those that end by their limit. */
static void test_games_longer_than_their_limit(void **unused) {
  (void)unused;
  mz_env env = mz_env_tictactoe;
  for (env.spec.max_moves = 4; env.spec.max_moves <= 9; env.spec.max_moves += 5) { /* a game lasts 5 … 9 moves */
    setup s;
    setup_init(&s, &env, MZ_PUCT, (mz_cut){0, 6});
    const mz_agent *a = &s.agent.agent;
    mz_games *games = new_games(&s);
    mz_selfplay_result result = {0};
    mz_actor *actor;
    assert_int_equal(mz_actor_create(&actor, s.env, a->search, a->model, a->where, a->discount, GAMES), MZ_OK);
    const mz_status status = mz_games_advance(games, actor, 0, GAMES, 30, a->weights, 1, 0, &result);
    assert_int_equal(status, env.spec.max_moves == 4 ? MZ_E_CONFIG : MZ_OK);
    if (status != MZ_OK) assert_non_null(strstr(mz_message(), "tictactoe: a game has not ended after its max_moves of 4 moves"));
    mz_actor_free(actor);
    mz_selfplay_result_deinit(&result);
    mz_games_free(games);
    test_agent_deinit(&s.agent);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_grouping_and_resuming),          cmocka_unit_test(test_ranges_at_once),
      cmocka_unit_test(test_a_network_that_diverged),        cmocka_unit_test(test_memory_that_cannot_be_had),
      cmocka_unit_test(test_harvest_counts_what_was_played), cmocka_unit_test(test_damaged_state),
      cmocka_unit_test(test_games_longer_than_their_limit)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
