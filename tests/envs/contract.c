/* Findings of `--check` in games that are tables of functions here: long ones, rewards at the edge, starts that look the same. */
#include "envs/own/contract.h"
#include "envs/own/declared.h"
#include "envs/own/mirrored.h"
#include "envs/own/watch.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

enum { GAMES = 8, SEED = 7 };

/* Two doors, of which one is opened. HIDDEN: a prize is behind one of them, and nobody sees which; LEFT: behind the left one; BOTH:
 * behind either. */
typedef struct doors {
  int32_t prize, opened, ended, padding; /* opened: 1 + the door; 0: none */
} doors;

static enum { HIDDEN, LEFT, BOTH } place;
static float prize = 1;
static bool is_endless; /* no door ends the game */

static bool has_prize(const doors *s, int32_t door) { return place == BOTH || door == (place == LEFT ? 0 : s->prize); }

static const char *reset(void *data, const muzero_env_random *random) {
  ((doors *)data)->prize = (int32_t)random->below(random->context, 2);
  return NULL;
}

static const char *step(void *data, size_t n, const int32_t *actions, const muzero_env_random *random, muzero_env_step *results) {
  (void)random;
  for (size_t i = 0; i < n; i++) {
    doors *s = (doors *)data + i;
    s->opened = 1 + actions[i];
    s->ended = !is_endless;
    results[i].terminated = s->ended;
    if (s->ended && has_prize(s, actions[i])) results[i].reward = prize;
  }
  return NULL;
}

static const char *observe(const void *data, size_t n, void *observations) {
  const doors *s = data;
  float *out = observations;
  for (size_t i = 0; i < n; i++)
    for (int door = 0; door < 2; door++) *out++ = s[i].opened == 1 + door;
  return NULL;
}

static const char *legal(const void *data, uint8_t *mask) {
  mask[0] = mask[1] = !((const doors *)data)->ended;
  return NULL;
}

/* ---- playing ---- */

static mz_findings findings;
static int32_t room[MZ_FINDINGS_MAX * MZ_FINDING_ACTIONS_MAX], moves[MZ_ENDLESS_MOVES + 1];
static mz_recorded_game games[GAMES];
static muzero_env_abi abi; /* as the check calls it */
static mz_spec spec;

/* Plays a number of games and returns the moves of the last one. */
static int play_games(int count, int max_moves) {
  static mz_watch watch;
  static muzero_env_abi declared;
  mz_contract *contract = NULL;
  int played = 0;
  declared = (muzero_env_abi){.version = MUZERO_ENV_ABI_VERSION,
                              .size = sizeof(muzero_env_abi),
                              .title = "doors",
                              .rules = "One of two doors is opened; a prize is behind one of them.",
                              .observation = "what was opened",
                              .state_size = sizeof(doors),
                              .observation_kind = MUZERO_ENV_F32,
                              .observation_shape = {1, 2, 1},
                              .actions = 2,
                              .action_kind = MUZERO_ENV_COLUMNS,
                              .players = 1,
                              .max_moves = max_moves,
                              .symmetries = 2,
                              .reward_max = 1,
                              .return_max = 1,
                              .reset = reset,
                              .step = step,
                              .observe = observe,
                              .legal = legal};
  findings = (mz_findings){.room = room};
  if (mz_own_declared_check(&declared, "doors", &spec) != MZ_OK) fail_msg("%s", mz_message());
  mz_watch_begin(&watch, &declared, &abi);
  assert_int_equal(mz_contract_create(&contract, &abi, &spec, moves, &findings), MZ_OK);
  for (int i = 0; i < count; i++) mz_contract_play(contract, SEED + (uint64_t)i, &games[i], &played);
  mz_contract_free(contract);
  return played;
}

static int begin(void **state) {
  (void)state;
  is_endless = false;
  place = HIDDEN;
  prize = 1;
  return 0;
}

static void assert_found(const char *function, const char *kind) {
  assert_int_equal(findings.count, 1);
  assert_string_equal(findings.items[0].function, function);
  assert_string_equal(findings.items[0].kind, kind);
}

/* ---- the tests ---- */

/* The check plays no further than MZ_ENDLESS_MOVES, and a limit may lie behind them. */
static void test_a_game_is_endless_only_without_a_limit(void **state) {
  (void)state;
  is_endless = true;
  assert_int_equal(play_games(1, MZ_ENDLESS_MOVES + 5000), MZ_ENDLESS_MOVES);
  if (findings.count > 0) fail_msg("%s: %s", findings.items[0].function, findings.items[0].what);
  assert_int_equal(play_games(1, 0), MZ_ENDLESS_MOVES);
  assert_found("step", "endless");
  assert_int_equal(play_games(1, 30), 30);
  assert_found("step", "limit");
}

/* The check takes the rewards that a run takes: one in a million above the range is rounding, five are not. */
static void test_rewards_have_the_slack_of_a_run(void **state) {
  (void)state;
  place = BOTH;
  prize = 1 + 5e-7f;
  play_games(1, 0);
  assert_int_equal(findings.count, 0);
  prize = 1 + 5e-6f;
  play_games(1, 0);
  assert_found("step", "range");
}

/* All starts look the same, and half of them are the image of a game. */
static void test_starts_that_look_the_same_may_differ(void **state) {
  (void)state;
  const mz_repeats repeats = {.abi = &abi, .spec = &spec, .findings = &findings, .games = games, .count = GAMES};
  int checked = 0;
  play_games(GAMES, 0);
  assert_int_equal(mz_mirrored_check(&repeats, &checked), MZ_OK);
  if (findings.count > 0) fail_msg("%s: %s", findings.items[0].function, findings.items[0].what);
  assert_int_equal(checked, 1);
  place = LEFT;
  play_games(GAMES, 0);
  assert_int_equal(mz_mirrored_check(&repeats, &checked), MZ_OK);
  assert_found("symmetries", "image");
  assert_int_equal(findings.items[0].action_count, 1);
  assert_int_equal(checked, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(test_a_game_is_endless_only_without_a_limit, begin),
      cmocka_unit_test_setup(test_rewards_have_the_slack_of_a_run, begin),
      cmocka_unit_test_setup(test_starts_that_look_the_same_may_differ, begin),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
