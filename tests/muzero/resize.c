/* Resizing a run by hand, between phases. */
#include "muzero/trainer.h"
#include "testing.h"

static const char *const sets[] = {"num_games=8",     "moves_per_round=3",    "loop_count=3", "batch_size=8",     "simulations=3",
                                   "network.width=8", "train.phase_rounds=2", "eval.games=1", "replay.min_fill=8"};

static void a_refused_plan_leaves_the_old_one_in_force(void **unused) {
  (void)unused;
  char folder[64], dir[80];
  make_folder(folder);
  snprintf(dir, sizeof dir, "%s/run", folder);
  mz_run *run;
  const mz_run_options options = {
      .env = "tictactoe", .dir = dir, .sets = sets, .set_count = sizeof sets / sizeof *sets, .threads = 2, .allocate = "fixed"};
  const mz_knobs good = {.cpu_actor = 2, .mcts_storage_size = 3, .batch_buffer_size = 2},
                 too_many_games = {.cpu_actor = 1, .mcts_storage_size = 64, .batch_buffer_size = 7},
                 too_many_threads = {.mcts_storage_size = 1, .batch_actor = 1000};
  expect_ok(mz_run_open(&run, &options));
  expect_ok(mz_run_resize(run, &good));
  const mz_knobs before = play_phase(run).plan;
  assert_int_equal(before.mcts_storage_size, 3);
  assert_int_equal(mz_run_resize(run, &too_many_games), MZ_E_CONFIG);
  assert_int_equal(mz_run_resize(run, &too_many_threads), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "batch_actor 1000"));
  const mz_knobs after = play_phase(run).plan;
  assert_memory_equal(&before, &after, sizeof before);
  mz_run_close(run);
  drop_folder(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_refused_plan_leaves_the_old_one_in_force)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
