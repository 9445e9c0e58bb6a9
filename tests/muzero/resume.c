/* A run that is stopped and resumed, with other workers, is the run that was never stopped. */
#include "base/log.h"
#include "muzero/storage/metrics.h"
#include "muzero/run.h"
#include "selfplay/games/games_state.h"
#include "testing.h"

static const char *const sets[] = {"num_games=12", "moves_per_round=6", "loop_count=5", "batch_size=32", "shards=8",
                                   "simulations=10", "unroll_steps=3", "td_steps=4", "network.width=32", "replay.min_fill=50",
                                   "replay.capacity=200", "replay.priority_exponent=0.6", "reanalyze_ratio=0.2",
                                   "target_interval=7", "train.phase_rounds=3", "eval.games=4", "eval.opponent=random",
                                   "checkpoint.keep=2", "train.target=1e9",
                                   /* not for every run: */
                                   "network.kind=conv", "network.channels=16", "network.blocks=1"};
enum { RESIDUAL = 3, SETS = sizeof sets / sizeof sets[0] - RESIDUAL, ROUNDS = 11 };
static int residual; /* RESIDUAL: networks of runs are residual ones; 0: fully connected */

static void train(const char *dir, int64_t rounds, int threads) {
  mz_run *run;
  const mz_run_options options = {.env = "tictactoe",
                                  .dir = dir,
                                  .sets = sets,
                                  .set_count = SETS + residual,
                                  .seed = 5,
                                  .seed_given = true,
                                  .threads = threads};
  expect_ok(mz_run_open(&run, &options));
  play_to(run, rounds);
  mz_run_close(run);
}

static void resume(const char *dir, int64_t rounds, const char *const *changes, int count, int threads) {
  mz_run *run;
  const mz_run_options options = {.sets = changes, .set_count = count, .threads = threads};
  expect_ok(mz_run_resume(&run, dir, &options, false));
  play_to(run, rounds);
  mz_run_close(run);
}

static int lines_of(const char *dir) {
  char path[512];
  uint8_t *text;
  size_t size;
  int lines = 0;
  expect_ok(mz_path_join(path, sizeof path, dir, "metrics.jsonl"));
  expect_ok(mz_file_read(path, 0, &text, &size));
  for (size_t i = 0; i < size; i++) lines += text[i] == '\n';
  free(text);
  return lines;
}

static void stopping_anywhere_changes_nothing(void **unused) {
  (void)unused;
  char folder[64], whole[80], parts[80];
  make_folder(folder);
  snprintf(whole, sizeof whole, "%s/whole", folder);
  train(whole, ROUNDS, 1);
  uint64_t expected = digest_of_run(whole);
  static const char *const other[] = {"cpu_actor=3", "batch_actor=2", "learner_threads=2", "mcts_storage_size=5",
                                      "batch_buffer_size=2"};
  for (int stop = 1; stop < ROUNDS; stop += 2) { /* before replay is filled, in the middle of a phase, at its end */
    snprintf(parts, sizeof parts, "%s/parts%d", folder, stop);
    train(parts, stop, 2);
    resume(parts, stop + 1, other, 5, 0);
    resume(parts, ROUNDS, NULL, 0, 1);
    assert_int_equal(digest_of_run(parts), expected);
    assert_int_equal(lines_of(parts), lines_of(whole));
  }
  drop_folder(folder);
}

static void nor_with_residual_networks(void **unused) {
  residual = RESIDUAL;
  stopping_anywhere_changes_nothing(unused);
  residual = 0;
}

static void what_may_not_change_is_named(void **unused) {
  (void)unused;
  char folder[64], dir[80];
  make_folder(folder);
  snprintf(dir, sizeof dir, "%s/run", folder);
  train(dir, 2, 1);
  static const char *const algorithmic[] = {"batch_size=64"}, *const operational[] = {"eval.games=7"};
  mz_run *run;
  const mz_run_options bad = {.sets = algorithmic, .set_count = 1}, good = {.sets = operational, .set_count = 1},
                       seed = {.seed = 9, .seed_given = true};
  assert_int_equal(mz_run_resume(&run, dir, &bad, true), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "batch_size"));
  assert_int_equal(mz_run_resume(&run, dir, &seed, true), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "seed"));
  expect_ok(mz_run_resume(&run, dir, &good, false));
  mz_run *second;
  assert_int_equal(mz_run_resume(&second, dir, &good, false), MZ_E_IO); /* in use */
  char pid[32];
  snprintf(pid, sizeof pid, "%d", (int)getpid());
  assert_non_null(strstr(mz_message(), pid));
  mz_run_close(run);
  const mz_run_options again = {.env = "tictactoe", .dir = dir};
  assert_int_equal(mz_run_open(&run, &again), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "resume"));
  drop_folder(folder);
}

static void a_run_goes_on_from_an_older_checkpoint_and_from_another_run(void **unused) {
  (void)unused;
  char folder[64], dir[80], child[80], older[128], second[80];
  make_folder(folder);
  snprintf(dir, sizeof dir, "%s/run", folder);
  snprintf(child, sizeof child, "%s/child", folder);
  train(dir, 6, 1);
  mz_run *run;
  static const char *const changes[] = {"learning_rate=0.0001", "simulations=5"};
  const mz_run_options options = {.env = "tictactoe", .dir = child, .from = dir, .sets = changes, .set_count = 2};
  expect_ok(mz_run_open(&run, &options));
  assert_int_equal(mz_run_counters(run)->rounds, 6);
  assert_int_equal(mz_run_settings(run)->search.simulations, 5);
  assert_int_equal(mz_run_settings(run)->learning.batch_size, 32);
  play_to(run, 8);
  mz_run_close(run);
  resume(child, 9, NULL, 0, 1); /* its segments are its own now */
  snprintf(older, sizeof older, "%s/checkpoints/round-%09d.mzc", dir, 3);
  snprintf(second, sizeof second, "%s/second", folder);
  const mz_run_options same = {.env = "tictactoe", .dir = second, .from = older, .seed = 5, .seed_given = true};
  expect_ok(mz_run_open(&run, &same));
  assert_int_equal(mz_run_counters(run)->rounds, 3);
  play_to(run, 6);
  mz_run_close(run);
  assert_int_equal(digest_of_run(second), digest_of_run(dir));
  drop_folder(folder);
}

static int tier_warnings;
static void count_tier_warnings(void *context, mz_log_level level, const char *line) {
  (void)context;
  tier_warnings += level == MZ_LOG_WARNING && strstr(line, "stay in memory");
}

/* As far as memory goes it may be all too large: it is spilled while it is read, when the new run has no folder yet. */
static void a_replay_that_is_taken_over_keeps_its_bounds(void **unused) {
  (void)unused;
  static const char *const bounds[] = {"replay.raw_bytes=100", "replay.packed_bytes=100"};
  char folder[64], dir[80], child[96];
  make_folder(folder);
  snprintf(dir, sizeof dir, "%s/run", folder);
  snprintf(child, sizeof child, "%s/deeper/still/child", folder);
  train(dir, 6, 1);
  mz_run *run;
  const mz_run_options options = {.env = "tictactoe", .dir = child, .from = dir, .sets = bounds, .set_count = 2};
  tier_warnings = 0;
  mz_log_set_sink(count_tier_warnings, NULL);
  expect_ok(mz_run_open(&run, &options));
  mz_log_set_sink(NULL, NULL);
  assert_int_equal(tier_warnings, 0);
  play_to(run, 8);
  mz_run_close(run);
  drop_folder(folder);
}

static void what_the_optimizer_gathered_fits_one_like_it(void **unused) {
  (void)unused;
  static const char *const cases[][2] = {{"optimizer=sgd", "optimizer: the state that this run begins with is that of adam"},
                                         {"weight_average=0", "has an average of weights; nearest valid value: 0.998"}};
  char folder[64], dir[80], child[80];
  make_folder(folder);
  snprintf(dir, sizeof dir, "%s/run", folder);
  snprintf(child, sizeof child, "%s/child", folder);
  train(dir, 2, 1);
  for (int i = 0; i < 2; i++) {
    mz_run *run;
    const mz_run_options options = {.env = "tictactoe", .dir = child, .from = dir, .sets = &cases[i][0], .set_count = 1};
    assert_int_equal(mz_run_open(&run, &options), MZ_E_CONFIG);
    assert_non_null(strstr(mz_message(), cases[i][1]));
    assert_int_equal(access(child, F_OK), -1);
  }
  drop_folder(folder);
}

static void only_wanted_checkpoints_stay(void **unused) {
  (void)unused;
  char folder[64], dir[80], command[400];
  make_folder(folder);
  snprintf(dir, sizeof dir, "%s/run", folder);
  train(dir, 1, 1);
  for (int rounds = 2; rounds <= 9; rounds++) resume(dir, rounds, NULL, 0, 1);
  snprintf(command, sizeof command, "test $(ls %s/checkpoints | wc -l) -le 3 -a $(ls %s/checkpoints | wc -l) -ge 2", dir,
           dir); /* 2 kept and the best */
  assert_int_equal(system(command), 0);
  drop_folder(folder);
}

static int missing_warnings;
static void count_missing(void *context, mz_log_level level, const char *line) {
  (void)context;
  missing_warnings += level == MZ_LOG_WARNING && strstr(line, ".jsonl: ") && strstr(line, " bytes are missing");
}

/* As after a crash of the machine, when the checkpoint was on the disk and the ends of the logs were not. */
static void shorter_logs_cost_their_lines_only(void **unused) {
  (void)unused;
  char folder[64], whole[80], dir[80], path[128];
  make_folder(folder);
  snprintf(whole, sizeof whole, "%s/whole", folder);
  snprintf(dir, sizeof dir, "%s/run", folder);
  train(whole, 9, 1);
  train(dir, 6, 1);
  static const char *const logs[] = {"metrics.jsonl", "ledger.jsonl"};
  for (int i = 0; i < 2; i++) {
    uint8_t *text;
    size_t size;
    snprintf(path, sizeof path, "%s/%s", dir, logs[i]);
    expect_ok(mz_file_read(path, 0, &text, &size));
    expect_ok(mz_file_write_atomic(path, text, size - 5));
    free(text);
  }
  mz_log_set_sink(count_missing, NULL);
  resume(dir, 7, NULL, 0, 1);
  assert_int_equal(missing_warnings, 2);
  resume(dir, 9, NULL, 0, 1); /* what is recorded now is right */
  mz_log_set_sink(NULL, NULL);
  assert_int_equal(missing_warnings, 2);
  assert_int_equal(digest_of_run(dir), digest_of_run(whole));
  assert_int_equal(lines_of(dir), lines_of(whole) - 1);
  drop_folder(folder);
}

static void syncing_the_logs(void **unused) {
  (void)unused;
  char folder[64];
  mz_metrics metrics;
  cJSON *record = cJSON_CreateObject();
  make_folder(folder);
  expect_ok(mz_metrics_open(&metrics, folder, 0));
  expect_ok(mz_metrics_append(&metrics, record, true));
  assert_int_equal(metrics.offset, 3);
  expect_ok(mz_metrics_sync(&metrics));
  mz_metrics_close(&metrics);
  assert_int_equal(mz_metrics_sync(&metrics), MZ_E_IO); /* closed */
  assert_non_null(strstr(mz_message(), "metrics.jsonl: cannot write to disk"));
  cJSON_Delete(record);
  drop_folder(folder);
}

/* What a killed process leaves is removed by the next one that holds the lock. */
static void leftovers_of_a_killed_process_are_removed(void **unused) {
  (void)unused;
  static const char *const names[] = {"config.json.4999999.0.tmp", "checkpoints/round-000000004.mzc.4999999.0.tmp",
                                      "segments/0123456789abcdef.pack.4999999.0.tmp", "replay-abcdef.spill"};
  char folder[64], dir[80], path[256];
  make_folder(folder);
  snprintf(dir, sizeof dir, "%s/run", folder);
  train(dir, 3, 1);
  for (int i = 0; i < 4; i++) {
    expect_ok(mz_path_join(path, sizeof path, dir, names[i]));
    expect_ok(mz_file_write_atomic(path, "half", 4));
  }
  resume(dir, 4, NULL, 0, 1);
  for (int i = 0; i < 4; i++) {
    expect_ok(mz_path_join(path, sizeof path, dir, names[i]));
    assert_false(mz_file_exists(path));
  }
  drop_folder(folder);
}

/* Where games are kept whole and have no limit, one in play may be as long as a segment may be large. */
static void a_long_game_in_play_is_read_back(void **unused) {
  (void)unused;
  enum { LENGTH = 76000, LONG_SETS = 6 };
  static const char *const long_sets[LONG_SETS] = {"num_games=1",   "moves_per_round=1",   "replay.segment_moves=0",
                                                   "simulations=2", "network.channels=16", "eval.games=1"};
  static const uint8_t observation[4096];
  static const uint8_t legal[] = {1, 1, 1, 1};
  static const float policy[] = {0.25f, 0.25f, 0.25f, 0.25f};
  char folder[64], dir[80];
  make_folder(folder);
  snprintf(dir, sizeof dir, "%s/run", folder);
  mz_run *run;
  const mz_run_options options = {
      .env = "2048", .dir = dir, .sets = long_sets, .set_count = LONG_SETS, .seed = 5, .seed_given = true, .threads = 1};
  expect_ok(mz_run_open(&run, &options));
  assert_true(mz_spec_obs_bytes(&run->state.env->spec) <= sizeof observation);
  const mz_move move = {.obs = observation, .policy = policy, .legal = legal};
  mz_games *games = run->state.games;
  for (int t = 0; t < LENGTH; t++) expect_ok(mz_trajectory_append(games->trajectories[0], &move, 1, NULL, NULL));
  games->games[0].moves = games->games[0].length = LENGTH;
  expect_ok(mz_run_save(run));
  mz_run_close(run);
  const mz_run_options again = {.threads = 1};
  expect_ok(mz_run_resume(&run, dir, &again, false));
  assert_int_equal(mz_trajectory_length(run->state.games->trajectories[0]), LENGTH);
  mz_run_close(run);
  drop_folder(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(stopping_anywhere_changes_nothing),
                                     cmocka_unit_test(nor_with_residual_networks),
                                     cmocka_unit_test(what_may_not_change_is_named),
                                     cmocka_unit_test(a_run_goes_on_from_an_older_checkpoint_and_from_another_run),
                                     cmocka_unit_test(a_replay_that_is_taken_over_keeps_its_bounds),
                                     cmocka_unit_test(what_the_optimizer_gathered_fits_one_like_it),
                                     cmocka_unit_test(only_wanted_checkpoints_stay),
                                     cmocka_unit_test(shorter_logs_cost_their_lines_only),
                                     cmocka_unit_test(syncing_the_logs),
                                     cmocka_unit_test(leftovers_of_a_killed_process_are_removed),
                                     cmocka_unit_test(a_long_game_in_play_is_read_back)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
