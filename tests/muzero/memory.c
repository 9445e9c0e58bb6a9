/* What a run is said to take of memory, and what it takes; refusals before anything large is taken. */
#include "muzero/base/machine.h"
#include "muzero/pipeline.h"
#include "muzero/run.h"
#include "tests/muzero/testing.h"
#include <stdlib.h>
#include <sys/wait.h>

enum { SETS_MAX = 20 };

typedef struct sample { /* bytes */
  double said, taken, replay_share;
} sample;

/* The most that was said of the plans in force. */
static double said(const mz_run *run) {
  const mz_knobs knobs = mz_steer_knobs(run->steer);
  const mz_plan plan = mz_plan_of_knobs(&knobs);
  return mz_plan_bytes(mz_steer_pipeline(run->steer), &plan, NULL, 0);
}

static void play(const char *env, const char *const *sets, int count, int rounds, const char *folder, sample *out) {
  char dir[96];
  mz_run *run;
  mz_phase phase;
  mz_reason reason = MZ_GOES_ON;
  const mz_run_options options = {
      .env = env, .dir = dir, .sets = (const char **)(uintptr_t)sets, .set_count = count, .seed = 3, .seed_given = true, .threads = 2};
  const mz_limits limits = {.rounds = rounds};
  snprintf(dir, sizeof dir, "%s/run", folder);
  expect_ok(mz_run_open(&run, &options));
  out->said = said(run);
  while (reason == MZ_GOES_ON) {
    expect_ok(mz_run_phase(run, &limits, NULL, NULL, &phase, &reason));
    if (said(run) > out->said) out->said = said(run);
  }
  out->replay_share = (double)mz_buffer_positions(run->state.buffer) / (double)run->settings.replay.capacity;
  mz_run_close(run);
  out->taken = (double)mz_machine_rss_peak();
}

/* In a process of its own, so that no other run counts. */
static sample measure(const char *env, const char *const *sets, int count, int rounds) {
  char folder[64];
  int ends[2], status = 0;
  sample out = {0};
  make_folder(folder);
  assert_int_equal(pipe(ends), 0);
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    play(env, sets, count, rounds, folder, &out);
    _exit(write(ends[1], &out, sizeof out) == sizeof out ? 0 : 1);
  }
  close(ends[1]);
  assert_int_equal(read(ends[0], &out, sizeof out), sizeof out);
  close(ends[0]);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  drop_folder(folder);
  return out;
}

#define QUICK "simulations=2", "eval.games=2", "eval.simulations=1", "train.phase_rounds=10", "loop_count=2"

typedef struct config {
  const char *name, *env;
  int rounds;
  const char *sets[SETS_MAX];
} config;

static const config configs[] = {
    {"small vectors", "cartpole", 60, {QUICK, "games=64", "moves=16", "replay.capacity=20k"}},
    {"replay of vectors", "cartpole", 160, {QUICK, "games=256", "moves=16", "replay.capacity=400k", "network.width=16"}},
    {"packed", "cartpole", 160, {QUICK, "games=256", "moves=16", "replay.capacity=400k", "replay.raw_bytes=1MiB", "network.width=16"}},
    {"spilled", "cartpole", 160,
     {QUICK, "games=256", "moves=16", "replay.capacity=400k", "replay.raw_bytes=1MiB", "replay.packed_bytes=4MiB", "network.width=16"}},
    {"short games", "tictactoe", 120, {QUICK, "eval.opponent=random", "games=512", "moves=9", "replay.capacity=200k", "network.width=16"}},
    {"wide", "cartpole", 20, {QUICK, "games=32", "moves=16", "network.width=512", "batch_size=256"}},
    {"boards", "connect4", 60,
     {QUICK, "eval.opponent=random", "games=128", "moves=16", "batch_size=64", "shards=4", "replay.capacity=50k", "network.channels=16", "network.blocks=1"}},
    {"many channels", "connect4", 10,
     {QUICK, "eval.opponent=random", "games=32", "moves=8", "batch_size=64", "shards=4", "network.channels=64", "network.blocks=2"}},
    {"Go", "go", 40,
     {QUICK, "eval.opponent=random", "games=64", "moves=32", "batch_size=32", "shards=4", "replay.capacity=50k", "network.channels=16", "network.blocks=1"}},
    {"reanalyzed", "tictactoe", 40, {QUICK, "eval.opponent=random", "games=64", "moves=9", "reanalyze_ratio=1", "batch_size=512", "shards=8"}},
    {"large batches", "cartpole", 12, {QUICK, "games=64", "moves=16", "batch_size=8192", "shards=8", "batch_buffer_size=16"}},
};

static void account_holds(void **state) {
  (void)state;
  bool holds = true;
  for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
    const config *c = &configs[i];
    int count = 0;
    while (count < SETS_MAX && c->sets[count]) count++;
    const sample s = measure(c->env, c->sets, count, c->rounds);
    const bool ok = s.taken <= s.said && s.said <= 1.5 * s.taken + (64 << 20);
    print_message("%-18s said %6.1f MiB, taken %6.1f MiB: ratio %.2f, replay %3.0f %% full%s\n", c->name, s.said / 0x1p20,
                  s.taken / 0x1p20, s.said / s.taken, 100 * s.replay_share, ok ? "" : "  <-- fails");
    holds = holds && ok;
  }
  assert_true(holds);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(account_holds)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
