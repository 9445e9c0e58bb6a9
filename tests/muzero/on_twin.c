/* Runs on the real CUDA back end, whose sources here compute on the host (tests/cuda_twin): one digest for whatever the workers do, also
 * when a run is stopped and resumed, and one for each way of placing stages. */
#include "muzero/run.h"
#include "muzero/training/gpus.h"
#include "muzero/training/memory.h"
#include "selfplay/search/network_search.h"
#include "testing.h"

static const char *const vectors[] = {
    "num_games=6",        "moves_per_round=4",   "loop_count=3",      "batch_size=16",      "shards=4",
    "simulations=4",      "unroll_steps=2",      "td_steps=3",        "network.kind=mlp",   "network.width=16",
    "replay.min_fill=16", "reanalyze_ratio=0.3", "target_interval=4", "weight_average=0.9", "train.phase_rounds=3",
    "eval.games=2",       "eval.opponent=random"};
static const char *const boards[] = {
    "num_games=4",      "moves_per_round=3",    "loop_count=2",      "batch_size=8",           "shards=2",
    "simulations=3",    "unroll_steps=2",       "td_steps=3",        "network.kind=conv",      "network.channels=16",
    "network.blocks=1", "network.bn_rows=4",    "replay.min_fill=8", "replay.segment_moves=4", "train.phase_rounds=4",
    "eval.games=2",     "eval.opponent=random", "eval.simulations=3"};
enum { SETS_MAX = 32, ROUNDS = 5, STOP = 4 /* when something was learned */ };

/* The knobs of a run that are given, beside its settings. */
typedef struct variant {
  const char *device;
  const char *extra[4];
} variant;

static mz_run *open_run(const char *dir, const char *env, const char *const *sets, int count, const variant *v) {
  const char *all[SETS_MAX];
  mz_run *run = NULL;
  for (int i = 0; i < count; i++) all[i] = sets[i];
  for (int i = 0; i < 4 && v->extra[i] != NULL; i++) all[count++] = v->extra[i];
  const mz_run_options options = {.env = env,
                                  .dir = dir,
                                  .device = v->device,
                                  .sets = all,
                                  .set_count = count,
                                  .seed = 5,
                                  .seed_given = true,
                                  .threads = 2,
                                  .allocate = "fixed"};
  expect_ok(mz_run_open(&run, &options));
  return run;
}

static void finish(mz_run *run, int64_t rounds) {
  play_to(run, rounds);
  if (rounds >= STOP) assert_true(mz_run_counters(run)->updates > 0);
  mz_run_close(run);
}

static uint64_t digest_with(const char *folder, const char *env, const char *const *sets, int count, const variant *v) {
  static int number;
  char dir[96];
  snprintf(dir, sizeof dir, "%s/run%d", folder, number++);
  finish(open_run(dir, env, sets, count, v), ROUNDS);
  return digest_of_run(dir);
}

#define COUNT(a) (int)(sizeof a / sizeof a[0])

static void one_digest_whatever_the_workers_do(void **unused) {
  (void)unused;
  static const variant variants[] = {
      {"cuda", {NULL}},
      {"cuda:0", {"cpu_actor=1", "mcts_storage_size=6", "batch_actor=2", NULL}},
      {"cuda", {"cpu_actor=2", "mcts_storage_size=1", "batch_buffer_size=1", "learner_threads=2"}}};
  char folder[64];
  make_folder(folder);
  const uint64_t mlp = digest_with(folder, "tictactoe", vectors, COUNT(vectors), &variants[0]);
  const uint64_t conv = digest_with(folder, "connect4", boards, COUNT(boards), &variants[0]);
  for (int i = 1; i < COUNT(variants); i++)
    assert_int_equal(digest_with(folder, "tictactoe", vectors, COUNT(vectors), &variants[i]), mlp);
  assert_int_equal(digest_with(folder, "connect4", boards, COUNT(boards), &variants[2]), conv);
  drop_folder(folder);
}

/* A stage rounds as its device does, whatever else goes on. */
static void a_placement_has_one_digest(void **unused) {
  (void)unused;
  static const variant placed[] = {{"cuda", {"devices.learning=cpu:0", NULL}},
                                   {"cpu", {NULL}},
                                   {"cuda", {"devices.selfplay=cpu:0", "devices.reanalyze=cpu:0", NULL}}};
  char folder[64];
  make_folder(folder);
  uint64_t digests[COUNT(placed)];
  for (int i = 0; i < COUNT(placed); i++) {
    digests[i] = digest_with(folder, "tictactoe", vectors, COUNT(vectors), &placed[i]);
    assert_int_equal(digest_with(folder, "tictactoe", vectors, COUNT(vectors), &placed[i]), digests[i]);
    for (int other = 0; other < i; other++) assert_true(digests[i] != digests[other]);
  }
  drop_folder(folder);
}

static void a_resumed_run_is_the_run_that_was_never_stopped(void **unused) {
  (void)unused;
  static const variant v = {"cuda", {NULL}};
  char folder[64], dir[80];
  mz_run *run = NULL;
  make_folder(folder);
  const uint64_t whole = digest_with(folder, "tictactoe", vectors, COUNT(vectors), &v);
  snprintf(dir, sizeof dir, "%s/parts", folder);
  finish(open_run(dir, "tictactoe", vectors, COUNT(vectors), &v), STOP);
  const mz_run_options options = {.threads = 1};
  expect_ok(mz_run_resume(&run, dir, &options, 0));
  finish(run, ROUNDS);
  assert_int_equal(digest_of_run(dir), whole);
  drop_folder(folder);
}

/* Updates and builders get other memory on a device for batches of another size. */
static void a_batch_size_that_moves_is_state_there(void **unused) {
  (void)unused;
  static const variant variants[] = {{"cuda", {"batch_schedule=1:8", NULL}},
                                     {"cuda", {"batch_schedule=1:8", "cpu_actor=1", "batch_actor=2", "learner_threads=2"}},
                                     {"cuda", {NULL}}};
  char folder[64], dir[80];
  mz_run *run = NULL;
  make_folder(folder);
  const uint64_t mlp = digest_with(folder, "tictactoe", vectors, COUNT(vectors), &variants[0]);
  assert_int_equal(digest_with(folder, "tictactoe", vectors, COUNT(vectors), &variants[1]), mlp);
  assert_true(digest_with(folder, "tictactoe", vectors, COUNT(vectors), &variants[2]) != mlp);
  for (int stop = 2; stop < ROUNDS; stop++) {
    snprintf(dir, sizeof dir, "%s/parts%d", folder, stop);
    finish(open_run(dir, "tictactoe", vectors, COUNT(vectors), &variants[0]), stop);
    expect_ok(mz_run_resume(&run, dir, &(mz_run_options){.threads = 1}, 0));
    finish(run, ROUNDS);
    assert_int_equal(digest_of_run(dir), mlp);
  }
  static const variant conv[] = {{"cuda", {"batch_schedule=1:16", NULL}}, {"cuda", {"batch_schedule=1:16", "cpu_actor=2", NULL}}};
  const uint64_t board = digest_with(folder, "connect4", boards, COUNT(boards), &conv[0]);
  assert_int_equal(digest_with(folder, "connect4", boards, COUNT(boards), &conv[1]), board);
  drop_folder(folder);
}

/* Pinned memory of lanes is in the host's account, beside what searches and reports have there. */
static void the_account_has_pinned_memory(void **unused) {
  (void)unused;
  enum { SLOTS = 700 };
  const mz_settings settings = settings_with(vectors, COUNT(vectors));
  const mz_env *env = env_named("tictactoe");
  static mz_model model; /* large */
  mz_gpus gpus;
  mz_memory memory;
  double all, on_gpu;
  expect_ok(mz_gpus_find(&gpus));
  const mz_lane gpu = mz_gpus_lane(0);
  expect_ok(mz_model_init(&model, &settings.network, &env->spec));
  expect_ok(mz_memory_count(&memory, env, &settings, &gpu));
  expect_ok(mz_network_search_bytes(&env->spec, &settings.search, &model, &gpu, SLOTS, &all));
  expect_ok(mz_network_search_lane_bytes(&env->spec, &settings.search, &model, &gpu, SLOTS, &on_gpu));
  const double pinned = mz_network_search_pinned(&env->spec, &settings.search, &model, &gpu, SLOTS);
  assert_true(memory.gpu_actor.host_thread + SLOTS * memory.gpu_actor.host_slot > all - on_gpu + pinned);
  assert_true(memory.gpu_builder.host_thread > mz_network_search_pinned(&env->spec, &settings.search, &model, &gpu, 16));
  assert_true(memory.gpu_evaluation.host_thread > mz_network_search_pinned(&env->spec, &settings.search, &model, &gpu, 1));
  assert_true(memory.gpu_host > 2 * mz_lane_pinned(&gpu, (double)model.params.size * sizeof(float)));
  assert_true(memory.fixed[MZ_MEMORY_PROCESS] > memory.gpu_host);
}

int main(void) {
#ifdef TWIN_MODULE
  setenv("MUZERO_CUDA_MODULE", TWIN_MODULE, 1);
#else
  return 77; /* there was nothing to build it with */
#endif
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_digest_whatever_the_workers_do),
      cmocka_unit_test(a_placement_has_one_digest),
      cmocka_unit_test(a_resumed_run_is_the_run_that_was_never_stopped),
      cmocka_unit_test(a_batch_size_that_moves_is_state_there),
      cmocka_unit_test(the_account_has_pinned_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
