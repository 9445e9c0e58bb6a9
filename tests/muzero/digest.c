/* One seed gives one digest, whatever the workers do. */
#include "networks/isa.h"
#include "muzero/storage/sections.h"
#include "testing.h"
#include <sched.h>

static const char *const tictactoe[] = {"num_games=12",
                                        "moves_per_round=6",
                                        "loop_count=5",
                                        "batch_size=32",
                                        "shards=8",
                                        "simulations=10",
                                        "unroll_steps=3",
                                        "td_steps=4",
                                        "discount=0.99",
                                        "network.width=32",
                                        "replay.min_fill=50",
                                        "replay.segment_moves=0",
                                        "selfplay.opening_plies=2",
                                        "replay.capacity=300",
                                        "replay.priority_exponent=0.6",
                                        "replay.importance_exponent=0.4",
                                        "reanalyze_ratio=0.3",
                                        "target_interval=7",
                                        "weight_average=0.9"};
static const char *const cartpole[] = {"num_games=10",
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
                                       "search.algorithm=puct"};
/* A residual network. */
static const char *const connect4[] = {"num_games=9",
                                       "moves_per_round=7",
                                       "loop_count=3",
                                       "batch_size=24",
                                       "shards=4",
                                       "simulations=6",
                                       "unroll_steps=2",
                                       "td_steps=0",
                                       "network.kind=conv",
                                       "network.channels=16",
                                       "network.blocks=1",
                                       "network.prediction_blocks=1",
                                       "network.pooled_blocks=1",
                                       "network.scaling=rms",
                                       "network.head_width=16",
                                       "network.projection=32",
                                       "network.bn_rows=3",
                                       "loss.consistency_weight=1",
                                       "td_lambda=0.9",
                                       "replay.min_fill=50",
                                       "replay.segment_moves=0",
                                       "replay.capacity=400",
                                       "reanalyze_ratio=0.3",
                                       "target_interval=4",
                                       "weight_average=0.9"};
#define COUNT(a) (int)(sizeof a / sizeof a[0])

/* Every core that the process may use, or two at most, each a device of its own. */
static const mz_devices *two_devices(void) {
  static mz_devices devices;
  cpu_set_t allowed;
  assert_int_equal(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  devices.count = 0;
  for (int core = 0; core < CPU_SETSIZE && devices.count < 2; core++) {
    if (!CPU_ISSET(core, &allowed)) continue;
    devices.items[devices.count].core_count = 1;
    devices.items[devices.count++].cores[0] = (int16_t)core;
  }
  return &devices;
}

/* The plan, on a machine that has fewer devices than it names. */
static mz_knobs on_this_machine(mz_knobs plan) {
  int64_t *const placed[] = {&plan.selfplay_device, &plan.reanalyze_device, &plan.learning_device};
  for (int i = 0; i < 3; i++)
    if (*placed[i] > two_devices()->count) *placed[i] = two_devices()->count;
  return plan;
}

static uint64_t play_seed(uint64_t seed, const char *env, const char *const *sets, int count, const mz_knobs *plans,
                          int plan_count, int rounds) {
  mz_settings settings = settings_with(sets, count);
  mz_state state;
  mz_workers workers;
  expect_ok(mz_state_init(&state, env_named(env), &settings, seed, (int)plans[0].learner_threads, NULL));
  mz_knobs plan = on_this_machine(plans[0]);
  expect_ok(mz_workers_init(&workers, &state, &plan, two_devices()));
  mz_round_stats stats = {0};
  for (int r = 0; r < rounds; r++) {
    plan = on_this_machine(plans[r % plan_count]);
    if (r) expect_ok(mz_workers_resize(&workers, &plan));
    expect_ok(mz_round_play(&state, &workers, &stats));
  }
  assert_true(stats.learning.updates > 0);
  uint64_t hashes[MZ_DIGEST_PARTS], digest;
  expect_ok(mz_state_digest(&state, hashes, &digest));
  mz_workers_deinit(&workers);
  mz_state_deinit(&state);
  return digest;
}

static uint64_t play(const char *env, const char *const *sets, int count, const mz_knobs *plans, int plan_count, int rounds) {
  return play_seed(7, env, sets, count, plans, plan_count, rounds);
}

static const mz_knobs plans[] = {
    /* cpu_actor, batch_actor, learner_threads, mcts_storage_size, batch_buffer_size, devices of self-play, batches, learning, raw bytes
     * of replay, processes */
    {1, 1, 1, 64, 1, 1, 1, 1, 0, 0},  {2, 1, 1, 1, 1, 0, 0, 0, 0, 0}, {3, 2, 2, 5, 2, 2, 1, 2, 3000, 0},
    {1, 3, 4, 12, 16, 1, 2, 0, 1, 0}, {4, 1, 3, 7, 3, 0, 0, 0, 0, 0}, {2, 2, 2, 3, 64, 2, 0, 1, 9000, 0},
};

static void one_digest_for_every_plan(void **unused) {
  (void)unused;
  uint64_t board = play("tictactoe", tictactoe, COUNT(tictactoe), plans, 1, 6),
           pole = play("cartpole", cartpole, COUNT(cartpole), plans, 1, 12);
  assert_true(board != pole);
  for (int i = 1; i < COUNT(plans); i++) {
    assert_int_equal(play("tictactoe", tictactoe, COUNT(tictactoe), &plans[i], 1, 6), board);
    assert_int_equal(play("cartpole", cartpole, COUNT(cartpole), &plans[i], 1, 12), pole);
  }
}

/* Plans at random at every round's end, devices too: sizes 1 to 64, one core or two. */
static void random_resizes_change_nothing(void **unused) {
  (void)unused;
  enum { PLANS = 40 };
  mz_knobs drawn[PLANS];
  mz_rng rng = mz_rng_at(11, MZ_RNG_TEST, 0, 0);
  const uint32_t devices = (uint32_t)two_devices()->count;
  for (int i = 0; i < PLANS; i++)
    drawn[i] = (mz_knobs){.cpu_actor = 1 + mz_rng_below(&rng, 6),
                          .batch_actor = 1 + mz_rng_below(&rng, 4),
                          .learner_threads = 1 + mz_rng_below(&rng, 4),
                          .mcts_storage_size = 1 + mz_rng_below(&rng, 64),
                          .batch_buffer_size = 1 + mz_rng_below(&rng, 16),
                          .selfplay_device = 1 + mz_rng_below(&rng, devices),
                          .reanalyze_device = 1 + mz_rng_below(&rng, devices),
                          .learning_device = 1 + mz_rng_below(&rng, devices),
                          .replay_raw = 1 + mz_rng_below(&rng, 40000)};
  assert_int_equal(play("cartpole", cartpole, COUNT(cartpole), drawn, PLANS, PLANS),
                   play("cartpole", cartpole, COUNT(cartpole), plans, 1, PLANS));
}

static void resizing_between_rounds_changes_nothing(void **unused) {
  (void)unused;
  assert_int_equal(play("tictactoe", tictactoe, COUNT(tictactoe), plans, COUNT(plans), 6),
                   play("tictactoe", tictactoe, COUNT(tictactoe), plans, 1, 6));
  assert_int_equal(play("cartpole", cartpole, COUNT(cartpole), plans, COUNT(plans), 12),
                   play("cartpole", cartpole, COUNT(cartpole), plans, 1, 12));
}

static void residual_networks_too(void **unused) {
  (void)unused;
  const char *halves[COUNT(connect4) + 2];
  memcpy(halves, connect4, sizeof connect4);
  halves[COUNT(connect4)] = "network.training=bf16";
  halves[COUNT(connect4) + 1] = "network.inference=bf16";
  const bool has_halves = mz_isa_has_bf16();
  const uint64_t floats_digest = play("connect4", connect4, COUNT(connect4), plans, 1, 5);
  const uint64_t halves_digest = has_halves ? play("connect4", halves, COUNT(halves), plans, 1, 5) : 0;
  if (!has_halves) print_message("skipped: bfloat16, which this processor does not have\n");
  assert_true(halves_digest != floats_digest);
  for (int i = 1; i < COUNT(plans); i++) {
    assert_int_equal(play("connect4", connect4, COUNT(connect4), &plans[i], 1, 5), floats_digest);
    if (has_halves) assert_int_equal(play("connect4", halves, COUNT(halves), &plans[i], 1, 5), halves_digest);
  }
  assert_int_equal(play("connect4", connect4, COUNT(connect4), plans, COUNT(plans), 5), floats_digest);
}

static void another_seed_or_setting_gives_another_digest(void **unused) {
  (void)unused;
  const char *other[COUNT(tictactoe)];
  memcpy(other, tictactoe, sizeof other);
  other[5] = "simulations=11";
  const uint64_t digest = play("tictactoe", tictactoe, COUNT(tictactoe), plans, 1, 6);
  assert_true(play("tictactoe", other, COUNT(other), plans, 1, 6) != digest);
  assert_true(play_seed(8, "tictactoe", tictactoe, COUNT(tictactoe), plans, 1, 6) != digest);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(one_digest_for_every_plan),
                                     cmocka_unit_test(resizing_between_rounds_changes_nothing),
                                     cmocka_unit_test(residual_networks_too), cmocka_unit_test(random_resizes_change_nothing),
                                     cmocka_unit_test(another_seed_or_setting_gives_another_digest)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
