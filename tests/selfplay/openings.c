/* How games begin: after random moves, or where the slot's game before was. */
#include "tests/selfplay/in_play.h"

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
  mz_games *with = new_games(&s);
  mz_reader reader = mz_reader_over(saved.data, saved.size);
  assert_int_equal(mz_games_read(with, &reader), MZ_OK);
  mz_writer more = written(with);
  assert_int_equal(more.size, saved.size + GAMES * mz_env_tictactoe.state_size);
  advance(&s, with, GAMES, 9, 1, 0, &result);
  reader = mz_reader_over(more.data, more.size);
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_openings),
      cmocka_unit_test(test_forks),
      cmocka_unit_test(test_forks_need_copies),
      cmocka_unit_test(test_forks_from_games_without),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
