/* A batch size that moves is state: whatever the workers do, wherever a run is stopped and however it goes on, it is the same run. */
#include "base/machine/machine.h"
#include "muzero/run.h"
#include "muzero/storage/stored.h"
#include "muzero/training/guard.h"
#include "testing.h"
#include <math.h>

#define SCHEDULE "batch_schedule=2:64,4:16,6:32"
static const char *const common[] = {"num_games=8",
                                     "moves_per_round=4",
                                     "loop_count=4",
                                     "batch_size=32",
                                     "shards=4",
                                     "simulations=4",
                                     "unroll_steps=2",
                                     "td_steps=3",
                                     "replay.min_fill=8",
                                     "replay.capacity=300",
                                     "replay.priority_exponent=0.6",
                                     "replay.importance_exponent=0.4",
                                     "reanalyze_ratio=0.25",
                                     "target_interval=7",
                                     "weight_average=0.9",
                                     "learning_rate=0.01",
                                     "learning_rate_schedule=cosine",
                                     "warmup_updates=7",
                                     "train.horizon=50",
                                     "train.phase_rounds=2",
                                     "train.target=1e9",
                                     "eval.games=1",
                                     "eval.opponent=random",
                                     "checkpoint.keep=2",
                                     "allocate.strategy=fixed"};
static const char *const mlp[] = {"network.width=16"};
static const char *const conv[] = {"network.kind=conv", "network.channels=16", "network.blocks=1", "network.bn_rows=4"};
#define COUNT(a) (int)(sizeof a / sizeof a[0])
enum { ROUNDS = 15, SETS_MAX = 48, PHASES_MAX = 16 };

static const char *const *network = mlp;
static int network_count = COUNT(mlp);

typedef struct variant { /* zeros: on two threads, without more settings */
  const char *more[6];
  const char *from, *plans;
  int threads;
} variant;

static mz_status open_run(mz_run **run, const char *dir, const variant *v) {
  const char *sets[SETS_MAX];
  int count = 0;
  for (int i = 0; i < COUNT(common) && !v->from; i++) sets[count++] = common[i];
  for (int i = 0; i < network_count && !v->from; i++) sets[count++] = network[i];
  for (int i = 0; i < COUNT(v->more) && v->more[i]; i++) sets[count++] = v->more[i];
  const mz_run_options options = {.env = "tictactoe",
                                  .dir = dir,
                                  .from = v->from,
                                  .plans = v->plans,
                                  .sets = sets,
                                  .set_count = count,
                                  .seed = 5,
                                  .seed_given = true,
                                  .threads = v->threads ? v->threads : 2};
  return mz_run_open(run, &options);
}

static int record_to(mz_run *run, int64_t rounds, mz_phase phases[PHASES_MAX]) {
  mz_reason reason = MZ_GOES_ON;
  const mz_limits limits = {.rounds = rounds};
  int count = 0;
  while (reason == MZ_GOES_ON) {
    mz_phase phase;
    expect_ok(mz_run_phase(run, &limits, NULL, NULL, &phase, &reason));
    if (phases && count < PHASES_MAX) phases[count++] = phase;
  }
  assert_int_equal(reason, MZ_REASON_ROUNDS);
  return count;
}

static uint64_t train(const char *dir, int64_t rounds, const variant *v, mz_phase phases[PHASES_MAX]) {
  mz_run *run;
  expect_ok(open_run(&run, dir, v));
  record_to(run, rounds, phases);
  mz_run_close(run);
  return digest_of_run(dir);
}

static uint64_t resume(const char *dir, int64_t rounds, int threads) {
  mz_run *run;
  expect_ok(mz_run_resume(&run, dir, &(mz_run_options){.threads = threads}, 0));
  play_to(run, rounds);
  mz_run_close(run);
  return digest_of_run(dir);
}

static mz_batch_size stored_size(const char *dir) {
  char path[512];
  mz_checkpoint checkpoint;
  mz_batch_size stored;
  expect_ok(mz_run_checkpoint_path(dir, path, sizeof path));
  expect_ok(mz_checkpoint_open(&checkpoint, path));
  expect_ok(mz_batch_size_stored(&checkpoint, &stored));
  mz_checkpoint_close(&checkpoint);
  return stored;
}

static void path_in(char out[128], const char *folder, const char *name, int number) {
  snprintf(out, 128, "%s/%s%d", folder, name, number);
}

/* ---- what moves ---- */

/* Rounds train as many rows in other numbers of updates, and the learning rate's schedule goes by rows. */
static void a_phase_has_the_batches_of_the_schedule(void **unused) {
  (void)unused;
  static const int64_t sizes[] = {32, 32, 64, 64, 16, 16, 32, 32};
  char folder[64], dir[128];
  mz_phase phases[PHASES_MAX] = {0};
  make_folder(folder);
  path_in(dir, folder, "run", 0);
  train(dir, 2 * COUNT(sizes), &(variant){.more = {SCHEDULE, "replay.min_fill=1"}}, phases);
  int64_t updates = 0;
  for (int p = 0; p < COUNT(sizes); p++) {
    const double k = (double)sizes[p] / 32, own_updates = 4.0 * (double)(2 * p + 1); /* the first round fills the replay */
    assert_int_equal(phases[p].batch_size, sizes[p]);
    assert_int_equal(phases[p].loop_count, 128 / sizes[p]);
    updates += (p == 0 ? 1 : 2) * 128 / sizes[p];
    assert_int_equal(phases[p].counters.updates, updates);
    const double progress = fmin((own_updates - 7) / (50 - 7), 1);
    const double rate =
        0.01 * sqrt(k) * (own_updates < 7 ? (own_updates + k) / 7 : 0.1 + 0.9 * 0.5 * (1 + cos(progress * acos(-1))));
    assert_true(fabs(phases[p].learning_rate - rate) < 1e-12);
  }
  const mz_batch_size stored = stored_size(dir);
  assert_int_equal(stored.rows, 32);
  assert_int_equal(stored.trained_rows, 128 * 15);
  drop_folder(folder);
}

/* Until the first move such a run has the very bytes of a run without a schedule. */
static void a_run_that_has_not_moved_is_like_any_other(void **unused) {
  (void)unused;
  char folder[64], plain[128], scheduled[128];
  make_folder(folder);
  path_in(plain, folder, "plain", 0);
  path_in(scheduled, folder, "scheduled", 0);
  const uint64_t digest = train(plain, 3, &(variant){.threads = 2}, NULL);
  assert_true(train(scheduled, 3, &(variant){.more = {SCHEDULE}}, NULL) == digest);
  assert_int_equal(stored_size(scheduled).rows, 0);
  assert_true(resume(plain, 5, 1) != resume(scheduled, 5, 1));
  assert_int_equal(stored_size(plain).rows, 0);
  assert_int_equal(stored_size(scheduled).rows, 64);
  drop_folder(folder);
}

static void limits_of_updates_span_rows(void **unused) {
  (void)unused;
  char folder[64], dir[128];
  mz_run *run;
  mz_phase phase;
  mz_reason reason = MZ_GOES_ON;
  make_folder(folder);
  path_in(dir, folder, "run", 0);
  expect_ok(open_run(&run, dir, &(variant){.more = {SCHEDULE, "replay.min_fill=1", "train.updates=40"}}));
  while (reason == MZ_GOES_ON) expect_ok(mz_run_phase(run, &(mz_limits){0}, NULL, NULL, &phase, &reason));
  assert_int_equal(reason, MZ_REASON_UPDATES);
  assert_int_equal(phase.counters.rounds, 11); /* the first fills the replay; 40 updates of 32 rows are 10 rounds' */
  mz_run_close(run);
  drop_folder(folder);
}

/* ---- one digest ---- */

static void workers_change_nothing(void **unused) {
  (void)unused;
  static const variant variants[] = {
      {.more = {SCHEDULE}, .threads = 1},
      {.more = {SCHEDULE}, .threads = 2},
      {.more = {SCHEDULE, "cpu_actor=3", "batch_actor=2", "learner_threads=3", "mcts_storage_size=3", "batch_buffer_size=1"}},
      {.more = {SCHEDULE, "batch_actor=1", "learner_threads=1", "mcts_storage_size=1", "batch_buffer_size=16"}},
      {.more = {SCHEDULE, "allocate.strategy=random", "allocate.window=1"}},
  };
  char folder[64], dir[128];
  make_folder(folder);
  uint64_t expected = 0;
  for (int i = 0; i < COUNT(variants); i++) {
    path_in(dir, folder, "run", i);
    mz_phase phases[PHASES_MAX] = {0};
    const uint64_t digest = train(dir, ROUNDS, &variants[i], phases);
    if (i == 0) expected = digest;
    assert_true(digest == expected);
    int changed = 0;
    for (int p = 0; p < PHASES_MAX; p++) changed += phases[p].strategy && strcmp(phases[p].strategy, "random") == 0;
    assert_true((i == COUNT(variants) - 1) == (changed > 0));
  }
  drop_folder(folder);
}

/* In every `step`th round. */
static void check_stops(int step) {
  char folder[64], dir[128], child[128];
  make_folder(folder);
  path_in(dir, folder, "whole", 0);
  const uint64_t whole = train(dir, ROUNDS, &(variant){.more = {SCHEDULE}}, NULL);
  for (int stop = step; stop < ROUNDS; stop += step) {
    path_in(dir, folder, "parts", stop);
    path_in(child, folder, "child", stop);
    train(dir, stop, &(variant){.more = {SCHEDULE}, .threads = 1}, NULL);
    assert_true(train(child, ROUNDS, &(variant){.from = dir}, NULL) == whole);
    resume(dir, stop + 1, 2);
    assert_true(resume(dir, ROUNDS, 1) == whole);
  }
  drop_folder(folder);
}

static void stopping_anywhere_changes_nothing(void **unused) {
  (void)unused;
  check_stops(1);
}

/* Before the first move, between moves, in the first round behind one, and where one is due. */
static void stopping_here_and_there_changes_nothing(void **unused) {
  (void)unused;
  check_stops(3);
}

static void a_guard_that_goes_back_does_so_in_every_part(void **unused) {
  (void)unused;
  const variant v = {
      .more = {SCHEDULE, "numerics.guard=back", "numerics.backs=1000", "numerics.norm_max=0.8", "learning_rate=0.05"}};
  char folder[64], dir[128];
  mz_run *run;
  make_folder(folder);
  path_in(dir, folder, "whole", 0);
  const uint64_t whole = train(dir, ROUNDS, &v, NULL);
  for (int stop = 3; stop < ROUNDS; stop += 4) {
    path_in(dir, folder, "parts", stop);
    train(dir, stop, &v, NULL);
    assert_true(resume(dir, ROUNDS, 1) == whole);
  }
  expect_ok(mz_run_resume(&run, dir, &(mz_run_options){.threads = 1}, 0));
  assert_in_range(mz_guard_backs(run->state.guard), 2, ROUNDS / 2);
  mz_run_close(run);
  drop_folder(folder);
}

/* ---- who else moves ---- */

/* Moves as a strategy would, at the ends of phases. */
static uint64_t train_by_hand(const char *dir) {
  static const int64_t sizes[] = {32, 128, 8, 64};
  mz_run *run;
  expect_ok(open_run(&run, dir, &(variant){.threads = 2}));
  for (int p = 0; p < COUNT(sizes); p++) {
    const mz_plan start = mz_plan_of_knobs(&run->workers.knobs);
    expect_ok(mz_steer_set_batch_size(run->steer, &run->workers, sizes[p], &start, "hand"));
    play_to(run, 3 + 2 * p); /* within phases */
    play_to(run, 4 + 2 * p);
  }
  play_to(run, ROUNDS);
  mz_run_close(run);
  return digest_of_run(dir);
}

static void moves_of_others_are_repeated(void **unused) {
  (void)unused;
  char folder[64], first[128], again[128], parts[128];
  make_folder(folder);
  path_in(first, folder, "first", 0);
  path_in(again, folder, "again", 0);
  path_in(parts, folder, "parts", 0);
  const uint64_t digest = train_by_hand(first);
  assert_true(train(again, ROUNDS, &(variant){.plans = first}, NULL) == digest);
  assert_true(train(parts, 7, &(variant){.plans = again, .threads = 2}, NULL) != digest);
  assert_true(resume(parts, ROUNDS, 2) == digest);
  mz_run *run;
  assert_int_equal(open_run(&run, again, &(variant){.plans = first, .more = {"batch_size=64"}}), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "--set batch_size=32"));
  drop_folder(folder);
}

static void a_move_that_cannot_be_changes_nothing(void **unused) {
  (void)unused;
  char folder[64], dir[128];
  mz_run *run;
  make_folder(folder);
  path_in(dir, folder, "plain", 0);
  const uint64_t plain = train(dir, ROUNDS, &(variant){.threads = 2}, NULL);
  path_in(dir, folder, "run", 0);
  expect_ok(open_run(&run, dir, &(variant){.threads = 2}));
  play_to(run, 2);
  const mz_plan start = mz_plan_of_knobs(&run->workers.knobs);
  assert_int_equal(mz_steer_set_batch_size(run->steer, &run->workers, 48, &start, "hand"), MZ_E_CONFIG);
  assert_non_null(
      strstr(mz_message(), "batch_size, moved by hand: the 128 rows that a round trains are no 1 to 4096 batches of 48"));
  assert_int_equal(mz_steer_set_batch_size(run->steer, &run->workers, 32, &start, "hand"), MZ_OK);
  play_to(run, ROUNDS);
  mz_run_close(run);
  assert_true(digest_of_run(dir) == plain);
  drop_folder(folder);
}

static void memory_is_counted_for_the_largest_batch(void **unused) {
  (void)unused;
  enum { MORE_MIB = 120 }; /* than the process has: enough for batches of 32 rows, too little for those of 65536 */
  char folder[64], dir[128], limit[64];
  mz_run *run;
  make_folder(folder);
  path_in(dir, folder, "run", 0);
  snprintf(limit, sizeof limit, "limits.memory_max=%lldMiB", (long long)(mz_machine_rss() >> 20) + MORE_MIB);
  const variant large = {.more = {"loop_count=2048", "unroll_steps=6", limit, "batch_schedule=1:65536"}};
  assert_int_equal(open_run(&run, dir, &large), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "batch_schedule: with batches of 65536 rows: limits.memory_max: the run may need"));
  const variant small = {.more = {"loop_count=2048", "unroll_steps=6", limit}};
  expect_ok(open_run(&run, dir, &small));
  mz_run_close(run);
  drop_folder(folder);
}

static int connected(void **unused) {
  (void)unused;
  network = mlp;
  network_count = COUNT(mlp);
  return 0;
}

/* Running statistics have a momentum by the batch size, too. */
static int residual(void **unused) {
  (void)unused;
  network = conv;
  network_count = COUNT(conv);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(a_phase_has_the_batches_of_the_schedule, connected),
      cmocka_unit_test_setup(a_run_that_has_not_moved_is_like_any_other, connected),
      cmocka_unit_test_setup(limits_of_updates_span_rows, connected),
      cmocka_unit_test_setup(workers_change_nothing, connected),
      cmocka_unit_test_setup(workers_change_nothing, residual),
      cmocka_unit_test_setup(stopping_anywhere_changes_nothing, connected),
      cmocka_unit_test_setup(stopping_here_and_there_changes_nothing, residual),
      cmocka_unit_test_setup(a_guard_that_goes_back_does_so_in_every_part, connected),
      cmocka_unit_test_setup(moves_of_others_are_repeated, connected),
      cmocka_unit_test_setup(a_move_that_cannot_be_changes_nothing, connected),
      cmocka_unit_test_setup(memory_is_counted_for_the_largest_batch, connected),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
