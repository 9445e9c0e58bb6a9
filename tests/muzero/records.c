/* metrics.jsonl has one record for each phase, however often a run is stopped and resumed where nothing is left to play. */
#include "muzero/trainer.h"
#include "testing.h"

static const char *const sets[] = {"num_games=2",  "moves_per_round=2", "loop_count=1",        "batch_size=4",
                                   "shards=2",     "simulations=2",     "unroll_steps=2",      "network.width=8",
                                   "eval.games=1", "replay.min_fill=4", "train.phase_rounds=2"};

static const mz_run_options fresh = {
    .env = "cartpole", .sets = sets, .set_count = sizeof sets / sizeof sets[0], .threads = 1, .allocate = "fixed"};

static void play_and_close(mz_run *run, int64_t rounds, mz_reason expected) {
  const mz_limits limits = {.rounds = rounds};
  mz_phase phase;
  mz_reason reason;
  do expect_ok(mz_run_phase(run, &limits, NULL, NULL, &phase, &reason));
  while (reason == MZ_GOES_ON);
  assert_int_equal(reason, expected);
  mz_run_close(run);
}

static mz_run *open_run(const char *dir) {
  mz_run *run;
  mz_run_options options = fresh;
  options.dir = dir;
  expect_ok(mz_run_open(&run, &options));
  return run;
}

static void resume(const char *dir, int64_t rounds) {
  mz_run *run;
  const mz_run_options options = {.threads = 1};
  expect_ok(mz_run_resume(&run, dir, &options, 0));
  play_and_close(run, rounds, MZ_REASON_ROUNDS);
}

static void expect_phases(const char *dir, int count) {
  char path[512];
  uint8_t *text;
  size_t size;
  expect_ok(mz_path_join(path, sizeof path, dir, "metrics.jsonl"));
  expect_ok(mz_file_read(path, 0, &text, &size));
  int lines = 0;
  for (char *line = (char *)text; line && *line; line = strchr(line, '\n') + 1) {
    char phase[32];
    snprintf(phase, sizeof phase, "\"phase\":%d,", ++lines);
    char *end = strchr(line, '\n');
    assert_non_null(end);
    *end = 0;
    if (!strstr(line, phase)) fail_msg("line %d has another phase: %.100s", lines, line);
    *end = '\n';
  }
  assert_int_equal(lines, count);
  free(text);
}

static void a_run_resumed_at_its_limit_repeats_no_record(void **unused) {
  (void)unused;
  char folder[64], dir[80];
  make_folder(folder);
  snprintf(dir, sizeof dir, "%s/run", folder);
  play_and_close(open_run(dir), 4, MZ_REASON_ROUNDS);
  expect_phases(dir, 2);
  resume(dir, 4);
  resume(dir, 4);
  resume(dir, 6);
  expect_phases(dir, 3);
  drop_folder(folder);
}

static void a_run_stopped_before_its_first_round_has_no_record_of_it(void **unused) {
  (void)unused;
  char folder[64], dir[80];
  make_folder(folder);
  snprintf(dir, sizeof dir, "%s/run", folder);
  mz_run *run = open_run(dir);
  mz_run_request(run, MZ_REQUEST_STOP);
  play_and_close(run, 4, MZ_REASON_INTERRUPTED);
  resume(dir, 4);
  expect_phases(dir, 2);
  drop_folder(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_run_resumed_at_its_limit_repeats_no_record),
      cmocka_unit_test(a_run_stopped_before_its_first_round_has_no_record_of_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
