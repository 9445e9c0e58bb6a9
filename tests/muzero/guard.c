/* numerics.guard: bounds are named when they stop a run; `back` goes back as often as it may, the same in equal runs, resumed ones
 * too. */
#include "muzero/run.h"
#include "muzero/storage/checkpoint.h"
#include "muzero/storage/sections.h"
#include "muzero/trainer.h"
#include "muzero/training/guard.h"
#include "testing.h"
#include <math.h>

enum { SETS_MAX = 24, STOP = 14 };
static const char *const common[] = {"num_games=8",      "moves_per_round=4",    "loop_count=3",        "batch_size=16",
                                     "shards=4",         "simulations=4",        "unroll_steps=2",      "td_steps=3",
                                     "network.width=16", "replay.min_fill=20",   "replay.capacity=300", "train.phase_rounds=3",
                                     "eval.games=2",     "eval.opponent=random", "train.target=1e9",    "eval.interval=100",
                                     "gradient_clip=0"};
enum { COMMON = sizeof common / sizeof common[0] };

static mz_status open_run(mz_run **run, const char *dir, int threads, const char *const *more, int count) {
  const char *sets[SETS_MAX];
  memcpy(sets, common, sizeof common);
  memcpy(sets + COMMON, more, (size_t)count * sizeof *more);
  const mz_run_options options = {.env = "tictactoe",
                                  .dir = dir,
                                  .sets = sets,
                                  .set_count = COMMON + count,
                                  .seed = 5,
                                  .seed_given = true,
                                  .threads = threads};
  return mz_run_open(run, &options);
}

static mz_status try_to_play(mz_run *run, int64_t rounds) {
  mz_reason reason = MZ_GOES_ON;
  const mz_limits limits = {.rounds = rounds};
  while (reason == MZ_GOES_ON) {
    mz_phase phase;
    MZ_TRY(mz_run_phase(run, &limits, NULL, NULL, &phase, &reason));
  }
  return MZ_OK;
}

static int count_lines(const char *dir, const char *with) {
  char path[512];
  uint8_t *text;
  size_t size;
  int count = 0;
  snprintf(path, sizeof path, "%s/metrics.jsonl", dir);
  expect_ok(mz_file_read(path, 0, &text, &size));
  for (const char *at = (const char *)text; (at = strstr(at, with)); at++) count++;
  free(text);
  return count;
}

static void expect_bound(const char *set, const char *name) {
  char folder[64];
  mz_run *run;
  make_folder(folder);
  expect_ok(open_run(&run, folder, 1, &set, 1));
  assert_int_equal(try_to_play(run, STOP), MZ_E_DIVERGED);
  assert_non_null(strstr(mz_message(), name));
  assert_non_null(strstr(mz_message(), "--set learning_rate="));
  mz_run_close(run);
  expect_ok(mz_run_resume(&run, folder, &(mz_run_options){.threads = 1}, 0)); /* LATEST is sound */
  mz_run_close(run);
  drop_folder(folder);
}

static void bounds_stop_and_are_named(void **state) {
  (void)state;
  expect_bound("numerics.norm_max=1e-6", "numerics.norm_max 1e-06");
  expect_bound("numerics.loss_max=0.01", "numerics.loss_max 0.01");
  expect_bound("numerics.value_max=1e-9", "numerics.value_max 1e-09");
}

static void bounds_are_of_an_update(void **state) {
  (void)state;
  const mz_guard_settings s = {.mode = MZ_GUARD_STOP, .loss_max = 2, .norm_max = 3, .value_max = 4};
  const mz_update_seen sound = {.loss = 2, .norm = 3, .value_rms = 4};
  expect_ok(mz_guard_check(&s, 7, &sound));
  static const char *const names[] = {"numerics.loss_max 2", "numerics.norm_max 3", "numerics.value_max 4"};
  for (int i = 0; i < 3; i++) {
    mz_update_seen above = sound;
    *(double *[]){&above.loss, &above.norm, &above.value_rms}[i] += 1e-12;
    assert_int_equal(mz_guard_check(&s, 7, &above), MZ_E_DIVERGED);
    assert_non_null(strstr(mz_message(), "update 7: "));
    assert_non_null(strstr(mz_message(), names[i]));
  }
}

static void off_looks_at_no_bound(void **state) {
  (void)state;
  char folder[64];
  mz_run *run;
  make_folder(folder);
  expect_ok(open_run(&run, folder, 1, (const char *const[]){"numerics.norm_max=1e-6", "numerics.guard=off"}, 2));
  play_to(run, STOP);
  mz_run_close(run);
  drop_folder(folder);
}

/* Network, average, target and optimizer are those of the copy, bit for bit; what was played and counted since stays. */
static void going_back_restores_what_learns(void **state) {
  (void)state;
  enum { LEARNS = 3 /* weights, target, optimizer: the first parts of the digest */ };
  static const mz_knobs knobs = {
      .cpu_actor = 1, .batch_actor = 1, .learner_threads = 1, .mcts_storage_size = 6, .batch_buffer_size = 2};
  const char *sets[COMMON + 3];
  memcpy(sets, common, sizeof common);
  sets[COMMON] = "numerics.guard=back";
  sets[COMMON + 1] = "weight_average=0.9";
  sets[COMMON + 2] = "target_interval=2";
  const mz_settings settings = settings_with(sets, COMMON + 3);
  mz_state s;
  mz_workers workers;
  mz_round_stats stats = {0};
  mz_guard *guard;
  uint64_t kept[MZ_DIGEST_PARTS], before[MZ_DIGEST_PARTS], after[MZ_DIGEST_PARTS], digest;
  expect_ok(mz_state_init(&s, env_named("tictactoe"), &settings, 7, 1, NULL));
  expect_ok(mz_workers_init(&workers, &s, &knobs, NULL));
  while (s.counters.updates < 4) expect_ok(mz_round_play(&s, &workers, &stats));
  expect_ok(mz_guard_create(&guard, &s));
  expect_ok(mz_state_digest(&s, kept, &digest));
  for (int i = 0; i < 2; i++) expect_ok(mz_round_play(&s, &workers, &stats));
  expect_ok(mz_state_digest(&s, before, &digest));
  expect_ok(mz_guard_go_back(guard, &s));
  expect_ok(mz_state_digest(&s, after, &digest));
  for (int part = 0; part < MZ_DIGEST_PARTS; part++) {
    assert_true(kept[part] != before[part]);
    assert_true(after[part] == (part < LEARNS ? kept : before)[part]);
  }
  mz_guard_free(guard);
  mz_workers_deinit(&workers);
  mz_state_deinit(&s);
}

/* Breaks now and then: most updates' values are below the bound, and some above. */
#define NOW_AND_THEN "numerics.guard=back", "numerics.backs=1000", "numerics.value_max=0.2", "learning_rate=0.05"
static const char *const now_and_then[] = {NOW_AND_THEN, "checkpoint.keep=5"};

static uint64_t train_guarded(const char *folder, const char *name, int threads, int64_t stop_at, int *backs) {
  char dir[96];
  mz_run *run;
  snprintf(dir, sizeof dir, "%s/%s", folder, name);
  expect_ok(open_run(&run, dir, threads, now_and_then, sizeof now_and_then / sizeof *now_and_then));
  if (stop_at) {
    play_to(run, stop_at);
    mz_run_close(run);
    expect_ok(mz_run_resume(&run, dir, &(mz_run_options){.threads = 3 - threads}, 0));
  }
  play_to(run, 40);
  mz_run_close(run);
  *backs = count_lines(dir, "\"event\":\"back\"");
  return digest_of_run(dir);
}

static void equal_runs_go_back_alike(void **state) {
  (void)state;
  char folder[64];
  make_folder(folder);
  int calm = 0, backs = 0;
  const uint64_t digest = train_guarded(folder, "calm", 1, 0, &calm);
  assert_in_range(calm, 5, 25); /* some rounds went back, others did not */
  assert_true(train_guarded(folder, "threads", 2, 0, &backs) == digest);
  assert_int_equal(backs, calm);
  for (int64_t stop_at = 5; stop_at < 40; stop_at += 8) { /* in the middle of phases, too */
    char name[16];
    snprintf(name, sizeof name, "stop%d", (int)stop_at);
    assert_true(train_guarded(folder, name, 1, stop_at, &backs) == digest);
    assert_int_equal(backs, calm);
  }
  drop_folder(folder);
}

/* The schedule goes back with the optimizer, and what phases show is what the next update takes. */
static void the_rate_shown_is_the_rate_used(void **state) {
  (void)state;
  char folder[64];
  mz_run *run;
  make_folder(folder);
  static const char *const falling[] = {NOW_AND_THEN, "learning_rate_schedule=cosine", "train.horizon=500"};
  expect_ok(open_run(&run, folder, 1, falling, sizeof falling / sizeof *falling));
  mz_phase phase;
  mz_reason reason = MZ_GOES_ON;
  while (reason == MZ_GOES_ON) expect_ok(mz_run_phase(run, &(mz_limits){.rounds = 40}, NULL, NULL, &phase, &reason));
  const int64_t steps = mz_learner_optimizer(run->state.learner)->steps;
  assert_in_range(steps, 1, mz_run_counters(run)->updates - 1);
  const double rate = 0.05 * (0.1 + 0.9 * 0.5 * (1 + cos((double)steps / 500 * acos(-1))));
  assert_true(fabs(phase.learning_rate - rate) < 1e-12);
  mz_run_close(run);
  drop_folder(folder);
}

static void it_goes_back_so_often_and_no_more(void **state) {
  (void)state;
  char folder[64];
  mz_run *run;
  make_folder(folder);
  static const char *const wild[] = {"numerics.guard=back", "numerics.backs=4", "learning_rate=10", "weight_decay=10"};
  expect_ok(open_run(&run, folder, 1, wild, 4));
  assert_int_equal(try_to_play(run, 1000), MZ_E_DIVERGED);
  assert_non_null(strstr(mz_message(), "went back 4 times (numerics.backs)"));
  mz_run_close(run);
  assert_int_equal(count_lines(folder, "\"event\":\"back\""), 4);
  char child[80];
  snprintf(child, sizeof child, "%s/child", folder); /* the message's advice: a new run, with backs of its own */
  expect_ok(mz_run_open(&run, &(mz_run_options){.dir = child, .from = folder, .threads = 1}));
  assert_int_equal(mz_guard_backs(run->state.guard), 0);
  mz_run_close(run);
  expect_ok(mz_run_resume(&run, folder, &(mz_run_options){.threads = 1}, 0));
  mz_run_close(run);
  drop_folder(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(bounds_stop_and_are_named),
                                     cmocka_unit_test(bounds_are_of_an_update),
                                     cmocka_unit_test(off_looks_at_no_bound),
                                     cmocka_unit_test(going_back_restores_what_learns),
                                     cmocka_unit_test(equal_runs_go_back_alike),
                                     cmocka_unit_test(the_rate_shown_is_the_rate_used),
                                     cmocka_unit_test(it_goes_back_so_often_and_no_more)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
