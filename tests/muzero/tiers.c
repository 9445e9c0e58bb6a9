/* Replay's tiers change no digest, wherever segments lie: they change between rounds, are saved and read back. The most that replay holds
 * decides whether learning begins. */
#include "base/log.h"
#include "muzero/storage/saver.h"
#include "muzero/storage/sections.h"
#include "testing.h"

static const char *const sets[] = {"num_games=10",
                                   "moves_per_round=8",
                                   "loop_count=4",
                                   "batch_size=24",
                                   "shards=4",
                                   "simulations=8",
                                   "unroll_steps=4",
                                   "td_steps=10",
                                   "network.width=32",
                                   "replay.min_fill=100",
                                   "replay.segment_moves=16",
                                   "replay.capacity=400",
                                   "replay.priority_exponent=0.6",
                                   "replay.importance_exponent=0.4",
                                   "reanalyze_ratio=0.3"};
enum { SETS = sizeof sets / sizeof sets[0], SAVED = 8, ROUNDS = 16 };

typedef struct player {
  mz_settings settings;
  mz_state state;
  mz_workers workers;
} player;

static void start(player *p, const char *raw_bytes, const char *packed_bytes, const char *folder) {
  const char *all[SETS + 2];
  memcpy(all, sets, sizeof sets);
  all[SETS] = raw_bytes;
  all[SETS + 1] = packed_bytes;
  p->settings = settings_with(all, SETS + 2);
  const mz_knobs knobs = {.cpu_actor = 1,
                          .batch_actor = 3,
                          .learner_threads = 1,
                          .mcts_storage_size = 5,
                          .batch_buffer_size = 3,
                          .selfplay_device = 1,
                          .reanalyze_device = 1,
                          .learning_device = 1};
  expect_ok(mz_state_init(&p->state, env_named("cartpole"), &p->settings, 7, 1, NULL));
  if (folder) expect_ok(mz_buffer_spill_to(p->state.buffer, folder));
  expect_ok(mz_workers_init(&p->workers, &p->state, &knobs, NULL));
}
static void stop(player *p) {
  mz_workers_deinit(&p->workers);
  mz_state_deinit(&p->state);
}
static uint64_t digest_of(const player *p) {
  uint64_t hashes[MZ_DIGEST_PARTS], digest;
  expect_ok(mz_state_digest(&p->state, hashes, &digest));
  return digest;
}

/* Everything raw, from the first round to the last. */
static void play_raw(uint64_t digests[ROUNDS]) {
  player p;
  start(&p, "replay.raw_bytes=0", "replay.packed_bytes=0", NULL);
  mz_round_stats stats = {0};
  for (int r = 0; r < ROUNDS; r++) {
    expect_ok(mz_round_play(&p.state, &p.workers, &stats));
    digests[r] = digest_of(&p);
  }
  assert_true(stats.learning.updates > 0);
  stop(&p);
}

/* Rounds first … last−1, with other bounds after each. Adds up the segments seen in each tier. */
static void play_tiered(player *p, int first, int last, mz_rng *rng, const uint64_t digests[ROUNDS], int seen[MZ_TIERS]) {
  mz_round_stats stats = {0};
  for (int r = first; r < last; r++) {
    expect_ok(mz_round_play(&p->state, &p->workers, &stats));
    assert_int_equal(digest_of(p), digests[r]);
    mz_tier_use use = mz_buffer_tier_use(p->state.buffer);
    for (int tier = 0; tier < MZ_TIERS; tier++) seen[tier] += use.segments[tier];
    expect_ok(mz_buffer_set_tiers(p->state.buffer, 1 + mz_rng_below(rng, 20000), 1 + mz_rng_below(rng, 8000)));
    assert_int_equal(digest_of(p), digests[r]);
  }
}

static void save(const player *p, const char *folder) {
  mz_saver *saver;
  expect_ok(mz_saver_open(&saver, folder, &p->state.env->spec, &(mz_saver_options){.keep = 1, .best_rounds = -1}));
  expect_ok(mz_saver_save(saver, &p->state, "{\"env\":\"cartpole\",\"settings\":{}}", "{}", false));
  expect_ok(mz_saver_wait(saver));
  mz_saver_close(saver);
}
static void read_back(player *p, const char *folder) {
  char path[128];
  mz_saver *saver;
  mz_checkpoint checkpoint;
  snprintf(path, sizeof path, "%s/checkpoints/round-%09d.mzc", folder, SAVED);
  expect_ok(mz_saver_open(&saver, folder, &p->state.env->spec, &(mz_saver_options){.keep = 1, .best_rounds = -1}));
  expect_ok(mz_checkpoint_open(&checkpoint, path));
  expect_ok(mz_state_read(&p->state, &checkpoint, mz_saver_load, saver));
  mz_checkpoint_close(&checkpoint);
  mz_saver_close(saver);
}

static void tiers_change_no_digest(void **unused) {
  (void)unused;
  char folder[64];
  make_folder(folder);
  uint64_t digests[ROUNDS];
  int seen[MZ_TIERS] = {0};
  mz_rng rng = mz_rng_at(3, MZ_RNG_TEST, 0, 0);
  play_raw(digests);

  player p;
  start(&p, "replay.raw_bytes=1", "replay.packed_bytes=1", folder);
  play_tiered(&p, 0, SAVED, &rng, digests, seen);
  expect_ok(mz_buffer_set_tiers(p.state.buffer, 8000, 2000)); /* a checkpoint of all three */
  mz_tier_use use = mz_buffer_tier_use(p.state.buffer);
  for (int tier = 0; tier < MZ_TIERS; tier++) assert_true(use.segments[tier] > 0);
  save(&p, folder);
  play_tiered(&p, SAVED, ROUNDS, &rng, digests, seen);
  stop(&p);
  for (int tier = 0; tier < MZ_TIERS; tier++) assert_true(seen[tier] > 20);

  start(&p, "replay.raw_bytes=10k", "replay.packed_bytes=3k", folder);
  read_back(&p, folder);
  assert_int_equal(digest_of(&p), digests[SAVED - 1]);
  play_tiered(&p, SAVED, ROUNDS, &rng, digests, seen);
  stop(&p);
  drop_folder(folder);
}

static char heard[512];
static int told;
static void listen(void *context, mz_log_level level, const char *line) {
  (void)context, (void)level;
  told++;
  snprintf(heard, sizeof heard, "%s", line);
}

/* 3,000 bytes hold fewer than the 100 positions that learning waits for. */
static void a_replay_too_small_to_learn_from_is_told(void **unused) {
  (void)unused;
  static const char *const bounds[] = {"replay.bytes=1M", "replay.bytes=3000"};
  for (int small = 0; small < 2; small++) {
    player p;
    mz_round_stats stats = {0};
    told = 0;
    mz_log_set_sink(listen, NULL);
    start(&p, "replay.packed_bytes=0", bounds[small], NULL);
    for (int i = 0; i < 10; i++) expect_ok(mz_round_play(&p.state, &p.workers, &stats));
    mz_log_set_sink(NULL, NULL);
    assert_int_equal(stats.learning.updates > 0, !small);
    assert_int_equal(told, small); /* once */
    stop(&p);
  }
  assert_non_null(strstr(heard, "replay.min_fill: learning waits for 100 positions"));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(tiers_change_no_digest),
                                     cmocka_unit_test(a_replay_too_small_to_learn_from_is_told)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
