/* Memory of threads that a plan no longer has is given back, as the sum of the plan's memory says. */
#include "muzero/run.h"
#include "tests/muzero/testing.h"
#include <malloc.h>

static void play(mz_run *run, int64_t threads, int64_t rounds) {
  const mz_knobs knobs = {.cpu_actor = threads, .batch_actor = threads, .learner_threads = threads};
  mz_phase phase;
  mz_reason reason = MZ_GOES_ON;
  const mz_limits limits = {.rounds = mz_run_counters(run)->rounds + rounds};
  expect_ok(mz_run_resize(run, &knobs));
  while (reason == MZ_GOES_ON) expect_ok(mz_run_phase(run, &limits, NULL, NULL, &phase, &reason));
}

static double heap(void) {
  const struct mallinfo2 info = mallinfo2();
  return (double)(info.uordblks + info.hblkhd);
}

static void threads_that_are_gone_leave_nothing(void **state) {
  (void)state;
  static const char *const sets[] = {
      "num_games=64",        "moves_per_round=4",    "loop_count=4",      "batch_size=256",         "shards=8",
      "reanalyze_ratio=1",   "simulations=4",        "network.width=128", "replay.capacity=2k",     "mcts_storage_size=8",
      "replay.min_fill=200", "eval.opponent=random", "eval.games=2",      "allocate.strategy=fixed"};
  char folder[64], dir[96];
  make_folder(folder);
  snprintf(dir, sizeof dir, "%s/run", folder);
  const mz_run_options options = {
      .env = "tictactoe", .dir = dir, .sets = sets, .set_count = sizeof sets / sizeof *sets, .seed = 1, .threads = 4};
  mz_run *run;
  expect_ok(mz_run_open(&run, &options));
  play(run, 1, 20); /* the replay is full */
  const double one = heap();
  play(run, 4, 4);
  const double four = heap();
  play(run, 1, 4);
  const double again = heap();
  mz_run_close(run);
  drop_folder(folder);
  print_message("one thread of each kind %.2f MiB, four %.2f MiB, one again %.2f MiB\n", one / 0x1p20, four / 0x1p20,
                again / 0x1p20);
  assert_true(four > one + 0x1p20); /* or there is nothing to give back */
  assert_true(again < one + 0.1 * (four - one));
}

int main(void) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  printf("skipped: sanitizers do not count what is taken\n");
  return 77;
#endif
  const struct CMUnitTest tests[] = {cmocka_unit_test(threads_that_are_gone_leave_nothing)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
