/* Threads that are delayed at random wherever they meet in queues and pools, and knobs drawn at random, change no digest. Some
 * 500 short rounds; with --long, 10,000. */
#include "base/machine/clock.h"
#include "muzero/storage/sections.h"
#include "base/threads/sched_point.h"
#include "muzero/training/watchdog.h"
#include "testing.h"
#include <pthread.h>
#include <sched.h>
#include <time.h>

#define COMMON                                                                                                                   \
  "num_games=5", "loop_count=4", "batch_size=8", "shards=4", "simulations=3", "unroll_steps=2", "td_steps=3", "network.width=8", \
      "replay.min_fill=12", "replay.capacity=120", "replay.priority_exponent=0.6", "target_interval=3", "replay.segment_moves=6"
static const char *const tictactoe[] = {COMMON, "moves_per_round=3", "reanalyze_ratio=0.5", "selfplay.opening_plies=2"};
static const char *const cartpole[] = {COMMON, "moves_per_round=4", "search.algorithm=puct", "weight_average=0.9"};

static const struct {
  const char *env, *const *sets;
  int count;
} games[] = {{"tictactoe", tictactoe, sizeof tictactoe / sizeof *tictactoe},
             {"cartpole", cartpole, sizeof cartpole / sizeof *cartpole}};

enum { GAMES = sizeof games / sizeof games[0], PHASES = 5, PHASE_ROUNDS = 5 };
static int rounds_asked = 500;

/* ---- delays ---- */

static uint32_t delays_seed;
static _Atomic uint32_t threads_seen;
static _Atomic uint64_t delays;

static void busy_wait(uint32_t ns) {
  const uint64_t end = mz_clock_ns() + ns;
  while (mz_clock_ns() < end) continue;
}

static void delay(void) {
  static _Thread_local uint32_t number;
  static _Thread_local uint64_t calls;
  if (number == 0) number = 1 + atomic_fetch_add(&threads_seen, 1);
  mz_rng rng = mz_rng_at(delays_seed, MZ_RNG_TEST, number, calls++);
  const uint32_t kind = mz_rng_below(&rng, 16);
  if (kind >= 8) return;
  atomic_fetch_add_explicit(&delays, 1, memory_order_relaxed);
  if (kind == 0)
    nanosleep(&(struct timespec){0}, NULL);
  else if (kind < 3)
    busy_wait(mz_rng_below(&rng, 30000));
  else
    sched_yield();
}

/* ---- trainings ---- */

typedef struct digests {
  uint64_t at[PHASES]; /* after each phase */
} digests;

static mz_knobs draw_knobs(mz_rng *rng) {
  return (mz_knobs){.cpu_actor = 1 + mz_rng_below(rng, 5),
                    .batch_actor = 1 + mz_rng_below(rng, 4),
                    .learner_threads = 1 + mz_rng_below(rng, 4),
                    .mcts_storage_size = 1 + mz_rng_below(rng, 5),
                    .batch_buffer_size = 1 + mz_rng_below(rng, 5),
                    .replay_raw = 1 + mz_rng_below(rng, 4000)};
}

static const mz_knobs calm = {.cpu_actor = 1,
                              .batch_actor = 1,
                              .learner_threads = 1,
                              .mcts_storage_size = 5,
                              .batch_buffer_size = 1,
                              .selfplay_device = 1,
                              .reanalyze_device = 1,
                              .learning_device = 1};

/* rng NULL: calm, all in one plan; otherwise another plan for each phase. */
static digests train(int game, mz_rng *rng) {
  const mz_settings settings = settings_with(games[game].sets, games[game].count);
  digests out;
  mz_state state;
  mz_workers workers;
  mz_watchdog *watchdog;
  mz_round_stats stats = {0};
  expect_ok(mz_state_init(&state, env_named(games[game].env), &settings, 3, 1, NULL));
  expect_ok(mz_workers_init(&workers, &state, &calm, NULL));
  expect_ok(mz_watchdog_start(&watchdog, &(mz_watchdog_settings){.time = 120, .action = MZ_WATCHDOG_ABORT}, &workers));
  for (int phase = 0; phase < PHASES; phase++) {
    if (rng) {
      const mz_knobs knobs = draw_knobs(rng);
      expect_ok(mz_workers_resize(&workers, &knobs));
    }
    for (int r = 0; r < PHASE_ROUNDS; r++) expect_ok(mz_round_play(&state, &workers, &stats));
    uint64_t hashes[MZ_DIGEST_PARTS];
    expect_ok(mz_state_digest(&state, hashes, &out.at[phase]));
  }
  assert_true(stats.learning.updates > PHASES * PHASE_ROUNDS);
  mz_watchdog_stop(watchdog);
  mz_workers_deinit(&workers);
  mz_state_deinit(&state);
  return out;
}

static void expect_digests(const digests *got, const digests *wanted, int game, int training) {
  for (int phase = 0; phase < PHASES; phase++) {
    if (got->at[phase] == wanted->at[phase]) continue;
    fail_msg("training %d, %s: digest %016llx after phase %d, calm %016llx", training, games[game].env,
             (unsigned long long)got->at[phase], phase + 1, (unsigned long long)wanted->at[phase]);
  }
}

static void random_orders_change_nothing(void **unused) {
  (void)unused;
  digests wanted[GAMES];
  for (int game = 0; game < GAMES; game++) wanted[game] = train(game, NULL);
  int trainings = 0;
  for (; trainings * PHASES * PHASE_ROUNDS < rounds_asked; trainings++) {
    const int game = trainings % GAMES;
    delays_seed = (uint32_t)trainings;
    atomic_store(&threads_seen, 0);
    mz_rng rng = mz_rng_at(1, MZ_RNG_TEST, 0, (uint64_t)trainings);
    mz_sched_hook = delay;
    const digests got = train(game, &rng);
    mz_sched_hook = NULL;
    expect_digests(&got, &wanted[game], game, trainings);
  }
  assert_true(atomic_load(&delays) > (uint64_t)rounds_asked);
  for (int game = 0; game < GAMES; game++)
    print_message("%s: digest %016llx in all of %d rounds\n", games[game].env, (unsigned long long)wanted[game].at[PHASES - 1],
                  (trainings + GAMES - 1 - game) / GAMES * PHASES * PHASE_ROUNDS);
  print_message("%d trainings, %d rounds, %llu delays\n", trainings, trainings * PHASES * PHASE_ROUNDS,
                (unsigned long long)atomic_load(&delays));
}

/* ---- whole runs, resized by hand while a checkpoint is being written ---- */

static atomic_bool storm_over;

static void *ask_for_checkpoints(void *run) {
  while (!atomic_load(&storm_over)) {
    mz_run_request(run, MZ_REQUEST_CHECKPOINT);
    nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
  }
  return NULL;
}

/* rng NULL: calm. */
static digests run_phases(const char *dir, mz_rng *rng) {
  static const char *const sets[] = {COMMON,
                                     "moves_per_round=3",
                                     "reanalyze_ratio=0.5",
                                     "train.phase_rounds=5",
                                     "eval.games=4",
                                     "eval.opponent=random",
                                     "checkpoint.interval=0",
                                     "allocate.start=plain",
                                     "watchdog.time=2m",
                                     "watchdog.action=abort"};
  enum { SETS = sizeof sets / sizeof *sets };
  const mz_run_options options = {
      .env = "tictactoe", .dir = dir, .sets = sets, .set_count = SETS, .threads = 3, .allocate = rng ? "greedy" : "fixed"};
  digests out;
  mz_run *run;
  pthread_t storm;
  expect_ok(mz_run_open(&run, &options));
  atomic_store(&storm_over, false);
  if (rng) assert_int_equal(pthread_create(&storm, NULL, ask_for_checkpoints, run), 0);
  for (int i = 0; i < PHASES; i++) {
    const mz_limits limits = {.rounds = PHASES * PHASE_ROUNDS + 1}; /* every phase ends with a checkpoint in flight */
    mz_phase phase;
    mz_reason reason;
    expect_ok(mz_run_phase(run, &limits, NULL, NULL, &phase, &reason));
    assert_int_equal(reason, MZ_GOES_ON);
    out.at[i] = phase.digest;
    if (!rng) continue;
    mz_knobs knobs = draw_knobs(rng);
    knobs.replay_raw = 0; /* the allocator keeps more than these runs have */
    expect_ok(mz_run_resize(run, &knobs));
  }
  atomic_store(&storm_over, true);
  if (rng) assert_int_equal(pthread_join(storm, NULL), 0);
  mz_run_close(run);
  return out;
}

static void whole_runs_too(void **unused) {
  (void)unused;
  char folder[64], dir[80];
  make_folder(folder);
  snprintf(dir, sizeof dir, "%s/calm", folder);
  const digests wanted = run_phases(dir, NULL);
  const int runs = 1 + rounds_asked / 500;
  for (int i = 0; i < runs; i++) {
    delays_seed = (uint32_t)i;
    mz_rng rng = mz_rng_at(2, MZ_RNG_TEST, 0, (uint64_t)i);
    snprintf(dir, sizeof dir, "%s/%d", folder, i);
    mz_sched_hook = delay;
    const digests got = run_phases(dir, &rng);
    mz_sched_hook = NULL;
    expect_digests(&got, &wanted, 0, i);
  }
  print_message("%d runs, %d rounds, digest %016llx in all\n", runs, runs * PHASES * PHASE_ROUNDS,
                (unsigned long long)wanted.at[PHASES - 1]);
  drop_folder(folder);
}

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "--long") == 0) rounds_asked = 10000;
  const struct CMUnitTest tests[] = {cmocka_unit_test(random_orders_change_nothing), cmocka_unit_test(whole_runs_too)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
