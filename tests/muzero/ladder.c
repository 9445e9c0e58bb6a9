/* The ladder of a small run: who plays whom, that threads change nothing, what is left out; and which checkpoints stay for it. */
#include "muzero/evaluation/ladder.h"
#include "base/log.h"
#include "muzero/trainer.h"
#include "testing.h"
#include <math.h>

enum { ROUNDS = 12, ANCHORS = 3 };

static char folder[64], run_dir[80];

/* A run with a checkpoint after every round, of which some stay. */
static void train(const char *env, const char *dir, int64_t rounds) {
  static const char *const sets[] = {"num_games=8",       "moves_per_round=4",   "loop_count=2",           "batch_size=16",
                                     "shards=2",          "simulations=4",       "network.width=16",       "replay.min_fill=30",
                                     "eval.games=2",      "eval.opponent=",      "eval.simulations=0",     "train.target=1e9",
                                     "checkpoint.keep=1", "checkpoint.spaced=1", "train.phase_rounds=100", "replay.capacity=120"};
  const mz_run_options options = {.env = env,
                                  .dir = dir,
                                  .sets = sets,
                                  .set_count = sizeof sets / sizeof sets[0],
                                  .seed = 5,
                                  .seed_given = true,
                                  .threads = 1};
  mz_run *run;
  expect_ok(mz_run_open(&run, &options));
  for (int64_t r = 1; r <= rounds; r++) play_to(run, r);
  mz_run_close(run);
}

static int make_run(void **unused) {
  (void)unused;
  make_folder(folder);
  snprintf(run_dir, sizeof run_dir, "%s/run", folder);
  train("tictactoe", run_dir, ROUNDS);
  return 0;
}
static int drop_run(void **unused) {
  (void)unused;
  drop_folder(folder);
  return 0;
}

static bool has_checkpoint(int rounds) {
  char path[160];
  snprintf(path, sizeof path, "%s/checkpoints/round-%09d.mzc", run_dir, rounds);
  return mz_file_exists(path);
}

/* The first of each doubling, the last, and the best; every one of them whole, with its segments. */
static void spaced_checkpoints_stay(void **unused) {
  (void)unused;
  int count = 0;
  for (int rounds = 0; rounds <= ROUNDS; rounds++) count += has_checkpoint(rounds);
  const int wanted[] = {0, 1, 2, 4, 8, ROUNDS};
  for (int i = 0; i < 6; i++) assert_true(has_checkpoint(wanted[i]));
  assert_in_range(count, 6, 7);

  for (int i = 0; i < 6; i++) { /* of the early ones' segments nothing is in the replay any more */
    char path[160], child[80];
    snprintf(path, sizeof path, "%s/checkpoints/round-%09d.mzc", run_dir, wanted[i]);
    snprintf(child, sizeof child, "%s/child%d", folder, i);
    mz_run *run;
    const mz_run_options options = {.env = "tictactoe", .dir = child, .from = path, .threads = 1};
    expect_ok(mz_run_open(&run, &options));
    assert_int_equal(mz_run_counters(run)->rounds, wanted[i]);
    mz_run_close(run);
  }
}

static mz_ladder play(const mz_ladder_options *options, mz_pool *pool) {
  mz_ladder ladder;
  expect_ok(mz_ladder_play(&ladder, run_dir, options, pool));
  return ladder;
}

static void everybody_is_rated(void **unused) {
  (void)unused;
  const mz_ladder_options options = {.games = 4, .openings = -1, .seed = 3};
  mz_ladder ladder = play(&options, NULL);
  const int n = ladder.count, checkpoints = n - ANCHORS;
  assert_in_range(checkpoints, 6, 7);
  assert_int_equal(ladder.games, 4);
  assert_int_equal(ladder.openings, 2);
  assert_int_equal(ladder.simulations, 4);
  const char *const anchors[ANCHORS] = {"random", "rule", "mcts:100"};
  for (int i = 0; i < ANCHORS; i++) {
    assert_string_equal(ladder.rungs[i].name, anchors[i]);
    assert_true(!ladder.rungs[i].checkpoint && isnan(ladder.rungs[i].gain));
    assert_int_equal(ladder.rungs[i].games, 4 * (n - 1)); /* they meet everybody */
  }
  assert_true(ladder.rungs[0].elo == 0 && ladder.rungs[0].elo_error == 0);
  assert_true(ladder.rungs[1].elo > 0 && ladder.rungs[2].elo > 0);
  assert_string_equal(ladder.rungs[ANCHORS].name, "round-000000000");
  assert_int_equal(ladder.rungs[n - 1].rounds, ROUNDS);
  double points = 0;
  int64_t games = 0;
  for (int i = 0; i < n; i++) {
    const mz_rung *rung = &ladder.rungs[i];
    points += rung->points;
    games += rung->games;
    assert_true(isfinite(rung->elo) && (i == 0 || rung->elo_error > 0));
    if (i < ANCHORS) continue;
    assert_true(rung->checkpoint && rung->wall_s > 0);
    assert_true(i == ANCHORS || (rung->rounds > rung[-1].rounds && rung->updates >= rung[-1].updates &&
                                 rung->env_steps > rung[-1].env_steps && rung->wall_s >= rung[-1].wall_s));
    assert_true(i == ANCHORS ? isnan(rung->gain) : rung->gain == rung->elo - rung[-1].elo && rung->gain_error > 0);
  }
  assert_true(points == (double)games / 2);
  assert_int_equal(games, 2 * 4 * ladder.result_count);
  /* Checkpoints meet 1, 2, 4 places further on: 6 + 5 + 3 of 7, 5 + 4 + 2 of 6. */
  assert_int_equal(ladder.result_count, 3 + 3 * checkpoints + (checkpoints == 7 ? 14 : 11));
  for (int i = 0; i < ladder.result_count; i++) {
    assert_true(ladder.results[i].a < ladder.results[i].b);
    assert_int_equal(ladder.results[i].evaluation.games, 4);
  }
  mz_ladder_deinit(&ladder);
}

static void threads_change_nothing(void **unused) {
  (void)unused;
  const mz_ladder_options options = {.games = 3, .openings = 1, .simulations = 2, .seed = 4};
  mz_ladder expected = play(&options, NULL);
  assert_int_equal(expected.simulations, 2);
  for (int threads = 1; threads <= 3; threads += 2) {
    mz_pool *pool;
    expect_ok(mz_pool_create(&pool, "test", threads, NULL));
    mz_ladder ladder = play(&options, pool);
    assert_int_equal(ladder.count, expected.count);
    for (int i = 0; i < ladder.count; i++) assert_true(ladder.rungs[i].elo == expected.rungs[i].elo);
    for (int i = 0; i < ladder.result_count; i++)
      assert_memory_equal(&ladder.results[i].evaluation, &expected.results[i].evaluation, sizeof(mz_evaluation));
    mz_ladder_deinit(&ladder);
    mz_pool_free(pool);
  }
  mz_ladder_options other = options;
  other.seed++;
  mz_ladder ladder = play(&other, NULL);
  bool differs = false;
  for (int i = 0; i < ladder.count; i++) differs |= ladder.rungs[i].elo != expected.rungs[i].elo;
  assert_true(differs);
  mz_ladder_deinit(&ladder);
  mz_ladder_deinit(&expected);
}

static char said[1024];
static void listen(void *context, mz_log_level level, const char *line) {
  (void)context, (void)level;
  snprintf(said, sizeof said, "%s", line);
}

static void what_cannot_be_read_is_left_out(void **unused) {
  (void)unused;
  char copy[80], command[300];
  snprintf(copy, sizeof copy, "%s/copy", folder);
  snprintf(command, sizeof command, "cp -r %s %s && truncate -s 100 %s/checkpoints/round-000000004.mzc", run_dir, copy, copy);
  assert_int_equal(system(command), 0);
  const mz_ladder_options options = {.games = 1, .openings = -1};
  mz_ladder whole = play(&options, NULL), ladder;
  mz_log_set_sink(listen, NULL);
  expect_ok(mz_ladder_play(&ladder, copy, &options, NULL));
  mz_log_set_sink(NULL, NULL);
  assert_non_null(strstr(said, "round-000000004.mzc"));
  assert_int_equal(ladder.count, whole.count - 1);
  for (int i = 0; i < ladder.count; i++) assert_true(ladder.rungs[i].rounds != 4);
  mz_ladder_deinit(&ladder);
  mz_ladder_deinit(&whole);
}

static void expect_refusal(const char *dir, int openings, mz_status wanted, const char *says) {
  const mz_ladder_options options = {.games = 1, .openings = openings};
  mz_ladder ladder;
  assert_int_equal(mz_ladder_play(&ladder, dir, &options, NULL), wanted);
  if (!strstr(mz_message(), says)) fail_msg("'%s' does not say '%s'", mz_message(), says);
}

static void what_is_no_ladder(void **unused) {
  (void)unused;
  char path[160], pole[80];
  expect_refusal(run_dir, 0, MZ_E_CONFIG, "at least 1");
  expect_refusal("/nosuch", -1, MZ_E_IO, "/nosuch");
  snprintf(path, sizeof path, "%s/checkpoints/round-%09d.mzc", run_dir, ROUNDS);
  expect_refusal(path, -1, MZ_E_CONFIG, "directory");
  expect_refusal(folder, -1, MZ_E_IO, "a run's directory");
  snprintf(pole, sizeof pole, "%s/pole", folder);
  train("cartpole", pole, 1);
  expect_refusal(pole, -1, MZ_E_CONFIG, "alone");
}

static void without_memory(void **unused) {
  (void)unused;
  const mz_ladder_options options = {.games = 1, .openings = -1};
  bool failed = true;
  for (long n = 1; failed; n += 1 + n / 8) {
    mz_ladder ladder;
    mz_alloc_fail_after(n);
    const mz_status status = mz_ladder_play(&ladder, run_dir, &options, NULL);
    failed = mz_alloc_fail_after(0) == 0;
    assert_int_equal(status, failed ? MZ_E_MEMORY : MZ_OK);
    if (status == MZ_OK) mz_ladder_deinit(&ladder);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(spaced_checkpoints_stay), cmocka_unit_test(everybody_is_rated),
      cmocka_unit_test(threads_change_nothing),  cmocka_unit_test(what_cannot_be_read_is_left_out),
      cmocka_unit_test(what_is_no_ladder),       cmocka_unit_test(without_memory),
  };
  return cmocka_run_group_tests(tests, make_run, drop_run);
}
