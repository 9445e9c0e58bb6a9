/* Stages are timed before a run on the kinds of devices that plans may put them on, and on no others. */
#include "muzero/run.h"
#include "testing.h"

static const char *const sets[] = {"num_games=12",  "loop_count=3",         "batch_size=16",
                                   "simulations=4", "network.kind=mlp",     "network.width=16",
                                   "eval.games=2",  "eval.opponent=random", "reanalyze_ratio=0.5"};
enum { SETS = sizeof sets / sizeof *sets };

static int probes_of(const mz_run *run, int stage, mz_device_kind kind) {
  return mz_probes_count(&mz_steer_pipeline(run->steer)->stages[stage].probes[kind]);
}

static void expect_probes(const char *folder, const char *device, const char *numeric, bool on_cpu, bool on_gpu) {
  static int number;
  char dir[96];
  const char *all[SETS + 1];
  mz_run *run;
  snprintf(dir, sizeof dir, "%s/run%d", folder, number++);
  memcpy(all, sets, sizeof sets);
  all[SETS] = numeric;
  const mz_run_options options = {
      .env = "tictactoe", .dir = dir, .device = device, .sets = all, .set_count = SETS + 1, .threads = 2};
  expect_ok(mz_run_open(&run, &options));
  for (int stage = MZ_STAGE_ACTOR; stage <= MZ_STAGE_LEARNER; stage++) {
    assert_int_equal(probes_of(run, stage, MZ_DEVICE_CPU) > 0, on_cpu);
    assert_int_equal(probes_of(run, stage, MZ_DEVICE_CUDA) > 0, on_gpu);
  }
  const mz_probes *actor = &mz_steer_pipeline(run->steer)->stages[MZ_STAGE_ACTOR].probes[MZ_DEVICE_CUDA];
  for (int i = 0; i < mz_probes_count(actor); i++) assert_true(actor->cpu_s[i] > 0); /* the twin may take no time */
  if (on_gpu) assert_true(actor->batch[0] == 8 && actor->batch[1] == 12); /* larger ones than on CPUs, up to all games */
  mz_run_close(run);
}

static void stages_are_timed_where_they_may_be(void **unused) {
  (void)unused;
  char folder[64];
  make_folder(folder);
  expect_probes(folder, "cpu", "allocate.numeric=on", true, false);
  expect_probes(folder, "cuda", "allocate.numeric=off", false, true);
  expect_probes(folder, "cuda", "allocate.numeric=on", true, true);
  drop_folder(folder);
}

int main(void) {
  setenv("MUZERO_CUDA_MODULE", FAKE_MODULE, 1);
  const struct CMUnitTest tests[] = {cmocka_unit_test(stages_are_timed_where_they_may_be)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
