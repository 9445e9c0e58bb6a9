/* How games begin: after random moves, or where the slot's game before was. */
#include "selfplay/games/games_state.h"
#include "tests/selfplay/in_play.h"
#include <math.h>

static int stones(const uint8_t *observation) {
  int count = 0;
  for (int cell = 0; cell < 9; cell++) count += observation[3 * cell] + observation[3 * cell + 1];
  return count;
}

static void test_openings(void **unused) {
  (void)unused;
  for (int plies = 0; plies <= 9; plies += 3) {
    setup s;
    setup_init(&s, &mz_env_tictactoe, MZ_PUCT, (mz_cut){0, 6});
    s.settings.opening_plies = plies;
    mz_games *games = new_games(&s);
    mz_selfplay_result result = {0};
    advance(&s, games, GAMES, 60, 1, 0, &result);
    int seen[10] = {0}, total = 0;
    for (int i = 0; i < result.segment_count; i++) {
      const int first = stones(result.segments[i]->obs);
      assert_true(first <= plies && first < 9);
      assert_int_equal(result.segments[i]->player[0], first % 2);
      seen[first]++;
    }
    for (int n = 0; n <= plies && n < 9; n++) total += seen[n] > 0;
    assert_int_equal(total, plies < 9 ? plies + 1 : 9); /* every length occurs */
    /* A game that ends in its opening starts anew with a shorter one, not with none. */
    if (plies == 9) assert_true(seen[0] < result.segment_count / 5);
    mz_selfplay_result_deinit(&result);
    mz_games_free(games);
    test_agent_deinit(&s.agent);
  }
}

/* Whether `then` (its mover to move) is `now` after one stone of now's mover. */
static bool one_move_on(const uint8_t *now, const uint8_t *then) {
  int added = 0;
  for (int cell = 0; cell < 9; cell++) {
    const uint8_t *before = now + 3 * cell, *after = then + 3 * cell;
    if (after[0] != before[1] || after[1] < before[0]) return false;
    added += after[1] - before[0];
  }
  return added == 1;
}

/* The move of `game` after which `next` begins; −1: none. */
static int forked_at(const mz_segment *game, const mz_segment *next) {
  for (int t = 0; t < game->moves; t++) {
    if (one_move_on((const uint8_t *)game->obs + (size_t)t * 27, next->obs)) return t;
  }
  return -1;
}

static void check_forks(double share) {
  setup s;
  setup_init(&s, &mz_env_tictactoe, MZ_PUCT, (mz_cut){0, 6});
  s.settings.fork_share = share;
  mz_games *games = new_games(&s);
  mz_selfplay_result result = {0};
  advance(&s, games, GAMES, 600, 1, 0, &result);
  int at[9] = {0}, whole = 0, forks = 0, followers = 0;
  for (int i = 1; i < result.segment_count; i++) {
    const mz_segment *game = result.segments[i - 1], *next = result.segments[i];
    if (game->game != next->game) continue;
    followers++;
    if (stones(next->obs) == 0) continue; /* from the start, as there is no opening */
    const int t = forked_at(game, next);
    assert_true(t >= 0);
    assert_int_equal(next->player[0], stones(next->obs) % 2);
    forks++;
    if (stones(game->obs) > 0 || game->moves < 5) continue;
    at[t]++;
    whole++;
  }
  if (share == 0) {
    assert_int_equal(forks, 0);
  } else { /* a random move that ends the game makes no fork, so a few are missing, of late positions */
    assert_true(forks < share * followers && forks > 0.7 * share * followers);
    for (int t = 0; t < 4; t++) assert_true(9 * at[t] > whole); /* games of 5 to 9 moves */
  }
  mz_selfplay_result_deinit(&result);
  mz_games_free(games);
  test_agent_deinit(&s.agent);
}

static void test_forks(void **unused) {
  (void)unused;
  check_forks(0);
  check_forks(0.5);
}

/* Games that go on, by the settings of now, from what was saved. */
static mz_games *games_from(const setup *s, const mz_writer *saved) {
  mz_games *games = new_games(s);
  mz_reader reader = mz_reader_over(saved->data, saved->size);
  assert_int_equal(mz_games_read(games, &reader), MZ_OK);
  return games;
}

/* Games that were played without forks continue with them, from the positions in play. */
static void test_forks_from_games_without(void **unused) {
  (void)unused;
  setup s;
  setup_init(&s, &mz_env_tictactoe, MZ_PUCT, (mz_cut){0, 6});
  mz_games *without = new_games(&s);
  mz_selfplay_result result = {0};
  advance(&s, without, GAMES, 9, 1, 0, &result);
  mz_writer saved = written(without);
  s.settings.fork_share = 1;
  mz_games *with = games_from(&s, &saved);
  mz_writer more = written(with);
  assert_int_equal(more.size, saved.size + GAMES * mz_env_tictactoe.state_size);
  for (int i = 0; i < GAMES; i++) /* from where they stand now */
    assert_memory_equal(more.data + saved.size + (size_t)i * mz_env_tictactoe.state_size, mz_games_state(with, i),
                        mz_env_tictactoe.state_size);
  advance(&s, with, GAMES, 30, 1, 0, &result);
  int forks = 0;
  for (int i = 0; i < result.segment_count; i++) forks += stones(result.segments[i]->obs) > 0;
  assert_true(forks > GAMES); /* there are no openings */
  mz_reader reader = mz_reader_over(more.data, more.size);
  assert_int_equal(mz_games_read(without, &reader), MZ_OK); /* and back */
  assert_int_equal(mz_reader_left(&reader), 0);
  reader = mz_reader_over(more.data, more.size - 1);
  assert_int_equal(mz_games_read(without, &reader), MZ_E_CHECKPOINT);
  mz_writer_free(&saved);
  mz_writer_free(&more);
  mz_selfplay_result_deinit(&result);
  mz_games_free(with);
  mz_games_free(without);
  test_agent_deinit(&s.agent);
}

static void test_forks_need_copies(void **unused) {
  (void)unused;
  mz_env elsewhere = mz_env_tictactoe;
  elsewhere.copies = false;
  mz_games *games;
  const mz_selfplay_settings settings = {.games = GAMES, .moves = 1, .fork_share = 0.1};
  assert_int_equal(mz_games_create(&games, &elsewhere, &settings, (mz_cut){0, 6}, 1), MZ_E_CONFIG);
  assert_string_equal(mz_message(),
                      "selfplay.fork_share: not for tictactoe, whose states cannot be copied; nearest valid value: 0");
}

/* The first moves of a game that have no value: those that were random. */
static int explored(const mz_segment *game) {
  int count = 0;
  while (count < game->length && isnan(game->value[count])) count++;
  for (int t = count; t < game->length; t++) assert_true(isfinite(game->value[t]));
  return count;
}

/* Games begin with 0 to 4 random moves, each number as often, which are recorded with a policy and without a value. */
static void test_exploring_moves(void **unused) {
  (void)unused;
  setup s;
  setup_init(&s, &mz_env_tictactoe, MZ_GUMBEL, (mz_cut){0, 6});
  s.settings.exploring_moves = 4;
  s.settings.exploring_repeat = 0.7; /* no cell is taken twice */
  s.settings.noise = false;
  mz_games *games = new_games(&s);
  mz_selfplay_result result = {0};
  advance(&s, games, GAMES, 600, 1, 0, &result);
  int counts[5] = {0}, first[9] = {0}, random = 0;
  for (int i = 0; i < result.segment_count; i++) {
    const mz_segment *game = result.segments[i];
    const int n = explored(game);
    assert_true(n <= 4);
    counts[n]++;
    assert_int_equal(stones(game->obs), 0);
    for (int t = 0; t < game->length; t++) {
      float sum = 0;
      for (uint32_t e = game->policy_start[t]; e < game->policy_start[t + 1]; e++) sum += game->policy_weight[e];
      assert_true(fabsf(sum - 1) < 1e-3f);
    }
    if (n == 0) continue;
    first[game->action[0]]++;
    random++;
  }
  for (int n = 0; n <= 4; n++) assert_true(6 * counts[n] > result.segment_count && 4 * counts[n] < result.segment_count);
  for (int a = 0; a < 9; a++) assert_true(20 * first[a] > random && 5 * first[a] < random); /* a ninth of some 400 */
  mz_selfplay_result_deinit(&result);
  mz_games_free(games);
  test_agent_deinit(&s.agent);
}

/* Games that are under way when the setting comes go on as they were; the next ones explore. */
static void test_exploring_from_games_without(void **unused) {
  (void)unused;
  setup s;
  setup_init(&s, &mz_env_tictactoe, MZ_GUMBEL, (mz_cut){0, 6});
  mz_games *without = new_games(&s);
  mz_selfplay_result result = {0};
  advance(&s, without, GAMES, 2, 1, 0, &result);
  mz_writer saved = written(without);
  s.settings.exploring_moves = 9;
  mz_games *with = games_from(&s, &saved);
  advance(&s, with, GAMES, 60, 1, 0, &result);
  int before = 0, random = 0;
  for (int i = 0; i < result.segment_count; i++) {
    const int n = explored(result.segments[i]);
    if (result.segments[i]->ordinal == 0)
      before += n;
    else
      random += n;
  }
  assert_true(before == 0 && random > 50);
  mz_writer_free(&saved);
  mz_selfplay_result_deinit(&result);
  mz_games_free(with);
  mz_games_free(without);
  test_agent_deinit(&s.agent);
}

/* Where the last action is legal again, a random move may be the same; a new game has none to repeat. */
static void test_exploring_moves_repeat(void **unused) {
  (void)unused;
  for (int repeat = 0; repeat <= 1; repeat++) {
    setup s;
    setup_init(&s, &mz_env_cartpole, MZ_GUMBEL, (mz_cut){4, 2}); /* in pieces: what is repeated outlives a segment */
    s.settings.exploring_moves = 100;
    s.settings.exploring_repeat = repeat;
    mz_games *games = new_games(&s);
    mz_selfplay_result result = {0};
    advance(&s, games, GAMES, 200, 1, 0, &result);
    int same = 0, other = 0, firsts[2] = {0};
    for (int i = 0; i < result.segment_count; i++) {
      const mz_segment *piece = result.segments[i];
      const int n = explored(piece);
      for (int t = 1; t < n; t++) *(piece->action[t] == piece->action[t - 1] ? &same : &other) += 1;
      firsts[piece->action[0]] += n > 0;
    }
    assert_true(firsts[0] > 10 && firsts[1] > 10 && same > 100);
    assert_true(repeat ? other == 0 : 3 * other > same && 3 * same > other);
    mz_selfplay_result_deinit(&result);
    mz_games_free(games);
    test_agent_deinit(&s.agent);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_openings),
      cmocka_unit_test(test_exploring_moves),
      cmocka_unit_test(test_exploring_moves_repeat),
      cmocka_unit_test(test_exploring_from_games_without),
      cmocka_unit_test(test_forks),
      cmocka_unit_test(test_forks_need_copies),
      cmocka_unit_test(test_forks_from_games_without),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
