/* The presets learn: CartPole-v1 to a mean of 475 over 100 fresh games and tic-tac-toe until no line that any opponent can play
 * beats it, with five seeds each; larger boards, with one, to most of the points against the searchers that their presets name.
 * Bounds are in updates, not in seconds: no test depends on the machine's speed. */
#include "muzero/trainer.h"
#include "testing.h"

static void learns(const char *env, double target, int64_t updates_max, uint64_t seeds) {
  char folder[64], dir[96];
  make_folder(folder);
  for (uint64_t seed = 1; seed <= seeds; seed++) {
    snprintf(dir, sizeof dir, "%s/%s%d", folder, env, (int)seed);
    mz_run *run;
    const mz_run_options options = {.env = env, .dir = dir, .seed = seed, .seed_given = true};
    const mz_limits limits = {.updates = updates_max, .until = true, .score = target};
    mz_phase phase;
    mz_reason reason = MZ_GOES_ON;
    expect_ok(mz_run_open(&run, &options));
    while (reason == MZ_GOES_ON) expect_ok(mz_run_phase(run, &limits, NULL, NULL, &phase, &reason));
    print_message("%s, seed %d: score %g after %lld updates, %lld environment steps\n", env, (int)seed, phase.score,
                  (long long)phase.counters.updates, (long long)phase.counters.env_steps);
    assert_int_equal(reason, MZ_REASON_SCORE);
    assert_true(phase.score >= target);
    mz_run_close(run);
  }
  drop_folder(folder);
}

static void cartpole_balances(void **unused) {
  (void)unused;
  learns("cartpole", 475, 8000, 5);
}

static void tictactoe_is_not_beaten(void **unused) {
  (void)unused;
  learns("tictactoe", 1, 40000, 5);
}

static void connect4_beats_a_searcher(void **unused) {
  (void)unused;
  learns("connect4", 0.6, 12000, 1);
}

static void othello6_beats_a_searcher(void **unused) {
  (void)unused;
  learns("othello6", 0.6, 6000, 1);
}

static void gomoku_beats_a_searcher(void **unused) {
  (void)unused;
  learns("gomoku:size=9", 0.9, 4000, 1);
}

static void hex_beats_a_searcher(void **unused) {
  (void)unused;
  learns("hex:size=7", 0.9, 6000, 1);
}

/* Random play has half a point in either. */
static void minatar_is_learned(void **unused) {
  (void)unused;
  learns("breakout", 5, 6000, 1);
  learns("asterix", 4, 9000, 1);
}

/* Random play has about 1,100 points. */
static void tiles_of_2048_grow(void **unused) {
  (void)unused;
  learns("2048", 3000, 10000, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(cartpole_balances),         cmocka_unit_test(tictactoe_is_not_beaten),
                                     cmocka_unit_test(connect4_beats_a_searcher), cmocka_unit_test(othello6_beats_a_searcher),
                                     cmocka_unit_test(gomoku_beats_a_searcher),   cmocka_unit_test(hex_beats_a_searcher),
                                     cmocka_unit_test(minatar_is_learned),        cmocka_unit_test(tiles_of_2048_grow)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
