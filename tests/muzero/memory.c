/* What a run is said to take of memory, and what it takes; refusals before anything large is taken. */
#include "base/machine/machine.h"
#include "muzero/steering/trainer_pipeline.h"
#include "muzero/run.h"
#include "tests/muzero/testing.h"
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { SETS_MAX = 20 };

typedef struct sample { /* bytes */
  double said, taken, replay_share;
  int64_t updates;
} sample;

/* The most that was said of the plans in force. */
static double said(const mz_run *run) {
  const mz_knobs knobs = mz_steer_knobs(run->steer);
  const mz_plan plan = mz_plan_of_knobs(&knobs);
  return mz_plan_bytes(mz_steer_pipeline(run->steer), &plan, NULL, 0);
}

/* Plans change after any round. */
typedef struct most {
  const mz_run *run;
  double *bytes;
} most;

static void remember(void *context, const mz_progress *progress) {
  const most *m = context;
  (void)progress;
  *m->bytes = fmax(*m->bytes, said(m->run));
}

static void play(const char *env, const char *const *sets, int count, int rounds, const char *folder, sample *out) {
  char dir[96];
  mz_run *run;
  mz_phase phase;
  mz_reason reason = MZ_GOES_ON;
  const mz_run_options options = {.env = env,
                                  .dir = dir,
                                  .sets = (const char **)(uintptr_t)sets,
                                  .set_count = count,
                                  .seed = 3,
                                  .seed_given = true,
                                  .threads = 2};
  const mz_limits limits = {.rounds = rounds};
  snprintf(dir, sizeof dir, "%s/run", folder);
  expect_ok(mz_run_open(&run, &options));
  out->said = said(run);
  most m = {run, &out->said};
  while (reason == MZ_GOES_ON) expect_ok(mz_run_phase(run, &limits, remember, &m, &phase, &reason));
  out->updates = mz_run_counters(run)->updates;
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

#define QUICK                                                                                                                    \
  "simulations=2", "eval.games=2", "eval.simulations=1", "train.phase_rounds=10", "loop_count=2", "td_steps=5",                  \
      "allocate.strategy=fixed" /* a plan on trial within a phase is said by nobody here */

typedef struct config {
  const char *name, *env;
  int rounds;
  const char *sets[SETS_MAX];
} config;

static const config configs[] = {
    {"small vectors", "cartpole", 60, {QUICK, "num_games=64", "moves_per_round=16", "replay.capacity=20k"}},
    {"replay of vectors",
     "cartpole",
     160,
     {QUICK, "num_games=256", "moves_per_round=16", "replay.capacity=400k", "network.width=16"}},
    {"packed",
     "cartpole",
     160,
     {QUICK, "num_games=256", "moves_per_round=16", "replay.capacity=400k", "replay.raw_bytes=1MiB", "network.width=16"}},
    {"spilled",
     "cartpole",
     160,
     {QUICK, "num_games=256", "moves_per_round=16", "replay.capacity=400k", "replay.raw_bytes=1MiB", "replay.packed_bytes=4MiB",
      "network.width=16"}},
    {"short games",
     "tictactoe",
     120,
     {QUICK, "eval.opponent=random", "num_games=512", "moves_per_round=9", "replay.capacity=200k", "network.width=16"}},
    {"wide",
     "cartpole",
     20,
     {QUICK, "num_games=32", "moves_per_round=16", "network.width=512", "batch_size=256", "replay.capacity=8k"}},
    {"boards",
     "connect4",
     60,
     {QUICK, "eval.opponent=random", "num_games=128", "moves_per_round=16", "batch_size=64", "shards=4", "replay.capacity=50k",
      "network.channels=16", "network.blocks=1"}},
    {"many channels",
     "connect4",
     10,
     {QUICK, "eval.opponent=random", "num_games=32", "moves_per_round=8", "batch_size=64", "shards=4", "network.channels=64",
      "network.blocks=2", "replay.capacity=1500", "replay.min_fill=500"}},
    {"Go",
     "go",
     40,
     {QUICK, "eval.opponent=random", "num_games=64", "moves_per_round=32", "batch_size=32", "shards=4", "replay.capacity=50k",
      "network.channels=16", "network.blocks=1"}},
    {"reanalyzed",
     "tictactoe",
     40,
     {QUICK, "eval.opponent=random", "num_games=64", "moves_per_round=9", "reanalyze_ratio=1", "batch_size=512", "shards=8",
      "replay.capacity=16k"}},
    {"large batches",
     "cartpole",
     12,
     {QUICK, "num_games=64", "moves_per_round=16", "batch_size=8192", "shards=8", "batch_buffer_size=16", "replay.capacity=8k"}},
};

static void account_holds(void **state) {
  (void)state;
  bool holds = true;
  for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
    const config *c = &configs[i];
    int count = 0;
    while (count < SETS_MAX && c->sets[count]) count++;
    const sample s = measure(c->env, c->sets, count, c->rounds);
    const bool full = s.replay_share > 0.9,
               ok = s.updates > 0 && full && s.taken <= s.said && s.said <= 1.5 * s.taken + (64 << 20);
    print_message("%-18s said %6.1f MiB, taken %6.1f MiB: ratio %.2f, replay %3.0f %% full, %d updates%s\n", c->name,
                  s.said / 0x1p20, s.taken / 0x1p20, s.said / s.taken, 100 * s.replay_share, (int)s.updates,
                  ok ? "" : "  <-- fails");
    holds = holds && ok;
  }
  assert_true(holds);
}

/* ---- refusals ---- */

static mz_status open_run(const char *env, const char *const *sets, int count) {
  char folder[64], dir[96];
  mz_run *run;
  make_folder(folder);
  snprintf(dir, sizeof dir, "%s/run", folder);
  const mz_run_options options = {.env = env,
                                  .dir = dir,
                                  .sets = (const char **)(uintptr_t)sets,
                                  .set_count = count,
                                  .seed = 3,
                                  .seed_given = true,
                                  .threads = 2};
  const mz_status status = mz_run_open(&run, &options);
  if (status == MZ_OK) mz_run_close(run);
  drop_folder(folder);
  return status;
}

/* Opens with what is too much, then as the refusal advises. */
static void refused_and_advised(const char *env, const char *too_much, const char *named) {
  const char *sets[] = {QUICK, "allocate.strategy=fixed", "limits.memory_max=300MiB", too_much, NULL};
  const int count = sizeof sets / sizeof *sets - 1;
  assert_int_equal(open_run(env, sets, count), MZ_E_CONFIG);
  char message[MZ_MESSAGE_MAX], key[64], advised[96];
  long long value = 0;
  snprintf(message, sizeof message, "%s", mz_message());
  const char *advice = strstr(message, "; lower ");
  if (strncmp(message, "limits.memory_max: the run may need ", 36) != 0 || !advice ||
      sscanf(advice, "; lower %63s to %lld", key, &value) != 2 || strcmp(key, named) != 0)
    fail_msg("%s: %s", too_much, message);
  snprintf(advised, sizeof advised, "%s=%lld", key, value);
  sets[count] = advised;
  if (open_run(env, sets, count + 1) != MZ_OK) fail_msg("%s: %s", advised, mz_message());
}

static void refusals_name_what_to_lower(void **state) {
  (void)state;
  refused_and_advised("cartpole", "replay.capacity=4e9", "replay.capacity");
  refused_and_advised("cartpole", "num_games=1048576", "num_games");
  refused_and_advised("connect4", "batch_size=65536", "batch_size");
  refused_and_advised("cartpole", "network.width=2048", "network.width");
  refused_and_advised("connect4", "network.channels=512", "network.channels");
  refused_and_advised("connect4", "simulations=100000", "simulations");
}

/* ---- in a control group ---- */

typedef struct group {
  char path[512];
  bool second; /* version */
} group;

static bool write_line(const char *folder, const char *name, const char *line) {
  char path[600];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "r+"); /* one that is not there is not made */
  if (!file) return false;
  const bool written = fputs(line, file) >= 0;
  return fclose(file) == 0 && written;
}

static bool group_create(group *g, const char *root, bool second, const char *bytes) {
  g->second = second;
  snprintf(g->path, sizeof g->path, "%s/muzero-test-%ld", root, (long)getpid());
  if (mkdir(g->path, 0755) != 0) return false;
  if (write_line(g->path, second ? "memory.max" : "memory.limit_in_bytes", bytes)) return true;
  rmdir(g->path);
  return false;
}

static bool group_find(group *g, const char *bytes) {
  return group_create(g, "/sys/fs/cgroup", true, bytes) || group_create(g, "/sys/fs/cgroup/memory", false, bytes);
}

/* The count of processes that the kernel killed for want of memory. */
static long group_kills(const group *g) {
  char path[600], line[128];
  long kills = 0;
  snprintf(path, sizeof path, "%s/%s", g->path, g->second ? "memory.events" : "memory.oom_control");
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  while (fgets(line, sizeof line, file)) sscanf(line, "oom_kill %ld", &kills);
  fclose(file);
  return kills;
}

enum { GROUP_BYTES = 192 << 20, LOWERED_BYTES = 138 << 20 };

/* In the group: what is too much is refused, what fits when it is packed fills its replay. */
static mz_status live_in_group(const group *g, const char *folder) {
  const char *const much[] = {QUICK, "replay.capacity=100M", "replay.bytes=100GiB"};
  const char *const packed[] = {QUICK, "num_games=256", "moves_per_round=16", "replay.capacity=450k", "network.width=16"};
  sample s;
  if (!write_line(g->path, "cgroup.procs", "0") || mz_machine_memory() != GROUP_BYTES) return MZ_E_INTERNAL;
  mz_status status = open_run("cartpole", much, sizeof much / sizeof *much);
  if (status != MZ_E_CONFIG || !strstr(mz_message(), "lower replay.capacity to "))
    return mz_fail(MZ_E_INTERNAL, "%s", mz_message());
  play("cartpole", packed, sizeof packed / sizeof *packed, 200, folder, &s);
  print_message("in a group of %d MiB: said %.1f MiB, taken %.1f MiB, replay %.0f %% full\n", GROUP_BYTES >> 20, s.said / 0x1p20,
                s.taken / 0x1p20, 100 * s.replay_share);
  return s.replay_share > 0.9 && s.said <= GROUP_BYTES ? MZ_OK : MZ_E_INTERNAL;
}

typedef struct lowering {
  const group *group;
  mz_run *run;
  bool done;
} lowering;

static void lower(void *context, const mz_progress *progress) {
  lowering *l = context;
  char bytes[32];
  (void)progress;
  if (l->done || mz_run_counters(l->run)->rounds < 20) return;
  snprintf(bytes, sizeof bytes, "%d", LOWERED_BYTES);
  l->done = write_line(l->group->path, l->group->second ? "memory.max" : "memory.limit_in_bytes", bytes);
}

/* In the group, whose limit is lowered early in the run, to less than what the plan that it began with needs. */
static mz_status live_while_lowered(const group *g, const char *folder) {
  static const char *const sets[] = {QUICK, "num_games=256", "moves_per_round=16", "replay.capacity=450k", "network.width=16"};
  char dir[96];
  lowering l = {.group = g};
  mz_phase phase;
  mz_reason reason = MZ_GOES_ON;
  const mz_limits limits = {.rounds = 200};
  if (!write_line(g->path, "cgroup.procs", "0")) return MZ_E_INTERNAL;
  snprintf(dir, sizeof dir, "%s/run", folder);
  const mz_run_options options = {.env = "cartpole",
                                  .dir = dir,
                                  .sets = (const char **)(uintptr_t)sets,
                                  .set_count = sizeof sets / sizeof *sets,
                                  .seed = 3,
                                  .seed_given = true,
                                  .threads = 2};
  MZ_TRY(mz_run_open(&l.run, &options));
  const double before = said(l.run);
  mz_status status = MZ_OK;
  while (reason == MZ_GOES_ON && status == MZ_OK) status = mz_run_phase(l.run, &limits, lower, &l, &phase, &reason);
  const double after = said(l.run), share = (double)mz_buffer_positions(l.run->state.buffer) / (double)(450 * 1000);
  mz_run_close(l.run);
  print_message("lowered to %d MiB: said %.1f MiB, then %.1f MiB, taken %.1f MiB, replay %.0f %% full\n", LOWERED_BYTES >> 20,
                before / 0x1p20, after / 0x1p20, (double)mz_machine_rss_peak() / 0x1p20, 100 * share);
  return status == MZ_OK && l.done && share > 0.9 && before > LOWERED_BYTES && after <= LOWERED_BYTES ? MZ_OK : MZ_E_INTERNAL;
}

static void check_in_group(int bytes_max, mz_status (*live)(const group *g, const char *folder)) {
  char bytes[32], folder[64];
  group g;
  int status = 0;
  snprintf(bytes, sizeof bytes, "%d", bytes_max);
  if (!group_find(&g, bytes)) {
    print_message("skipped: no control group of memory can be made here\n");
    skip();
  }
  make_folder(folder);
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) _exit(live(&g, folder));
  assert_int_equal(waitpid(child, &status, 0), child);
  const long kills = group_kills(&g);
  rmdir(g.path);
  drop_folder(folder);
  assert_int_equal(kills, 0);
  assert_int_equal(status, 0);
}

static void never_killed_in_a_group(void **state) {
  (void)state;
  check_in_group(GROUP_BYTES, live_in_group);
}

static void plans_follow_a_limit_that_is_lowered(void **state) {
  (void)state;
  check_in_group(GROUP_BYTES, live_while_lowered);
}

/* ---- one account ---- */

static void parts_are_what_plans_take(void **state) {
  (void)state;
  static const char *const sets[] = {"reanalyze_ratio=0.5", "replay.packed_bytes=1MiB"};
  const mz_settings settings = settings_with(sets, sizeof sets / sizeof *sets);
  mz_memory memory;
  mz_devices devices;
  mz_pipeline pipeline;
  const mz_knobs held = {0};
  expect_ok(mz_memory_count(&memory, env_named("connect4"), &settings, NULL));
  expect_ok(mz_devices_find(&devices, "auto", "test"));
  mz_pipeline_describe(&pipeline, &settings, &memory, &devices, &held, 8);
  mz_rng rng = mz_rng_at(1, MZ_RNG_TEST, 0, 0);
  for (int i = 0; i < 100; i++) {
    mz_plan plan = {0};
    double parts[MZ_MEMORY_PARTS], sum = 0;
    for (int k = 0; k < pipeline.knob_count; k++) {
      const mz_knob *knob = &pipeline.knobs[k];
      plan.values[k] = knob->min + (int64_t)mz_rng_below(&rng, (uint32_t)(knob->max - knob->min + 1));
    }
    mz_pipeline_parts(&pipeline, &memory, &plan, parts);
    for (int p = 0; p < MZ_MEMORY_PARTS; p++) {
      assert_true(parts[p] >= 0 && parts[p] < 0x1p50);
      sum += parts[p];
    }
    const double whole = mz_plan_bytes(&pipeline, &plan, NULL, 0);
    assert_true(whole > 0 && sum > 0.999999 * whole && sum < 1.000001 * whole);
  }
}

int main(void) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  printf("skipped: sanitizers take memory of their own, which no account knows\n");
  return 77;
#endif
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parts_are_what_plans_take), cmocka_unit_test(account_holds), cmocka_unit_test(never_killed_in_a_group),
      cmocka_unit_test(plans_follow_a_limit_that_is_lowered), cmocka_unit_test(refusals_name_what_to_lower)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
