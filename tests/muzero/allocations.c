/* What runs again and again, a search, a batch and an update, asks for no memory once it has run: shown by refusing it all. */
#include "networks/lane.h"
#include "selfplay/planner.h"
#include "testing.h"

typedef struct loop {
  mz_settings settings;
  mz_state state;
  mz_planner planner;
  mz_batch batch;
  float *errors;
} loop;

enum { SLOTS = 4 };

static void play_some(loop *l) {
  const mz_env *env = l->state.env;
  mz_actor *actor;
  mz_selfplay_result result = {0};
  expect_ok(mz_actor_create(&actor, env, &l->settings.search, &l->state.model, &mz_lane_cpu, l->settings.replay.discount, SLOTS));
  expect_ok(mz_games_advance(l->state.games, actor, 0, SLOTS, 60, l->state.published, 0, 0, &result));
  for (int i = 0; i < result.segment_count; i++) {
    mz_segment *segment = result.segments[i];
    result.segments[i] = NULL;
    expect_ok(mz_buffer_insert(l->state.buffer, segment));
  }
  assert_true(mz_buffer_positions(l->state.buffer) > 0);
  mz_selfplay_result_deinit(&result);
  mz_actor_free(actor);
}

static void open_loop(loop *l, const char *env, const char *const *sets, int count) {
  l->settings = settings_with(sets, count);
  expect_ok(mz_state_init(&l->state, env_named(env), &l->settings, 1, 1, NULL));
  play_some(l);
  expect_ok(mz_planner_init(&l->planner, l->state.env, &l->settings.search, &l->state.model, &mz_lane_cpu,
                            l->settings.replay.discount, SLOTS));
  uint64_t states[SLOTS][64];
  assert_true(l->state.env->state_size <= sizeof states[0]);
  for (int i = 0; i < SLOTS; i++) {
    assert_int_equal(l->state.env->reset(l->state.env, states[0], NULL), MZ_OK);
    assert_int_equal(mz_planner_observe(&l->planner, i, 1, states[0]), MZ_OK);
  }
  expect_ok(mz_batch_init(&l->batch, &l->state.env->spec, (int)l->settings.learning.batch_size, (int)l->settings.loss.unroll,
                          mz_loss_observed(&l->settings.loss)));
  expect_ok(mz_alloc(&l->errors, (size_t)l->settings.learning.batch_size, sizeof *l->errors));
}

static void close_loop(loop *l) {
  free(l->errors);
  mz_batch_deinit(&l->batch);
  mz_planner_deinit(&l->planner);
  mz_state_deinit(&l->state);
}

static mz_status run_once(loop *l, uint32_t update) {
  const mz_batch_source source = {
      .buffer = l->state.buffer, .settings = &l->settings.replay, .spec = &l->state.env->spec, .seed = 1};
  mz_learning_stats stats = {0};
  MZ_TRY(mz_planner_search(&l->planner, SLOTS, l->state.published, 0));
  MZ_TRY(mz_batch_build(&l->batch, &source, update));
  return mz_learner_update(l->state.learner, &l->batch, l->errors, &stats);
}

static void allocates_once(const char *env, const char *const *sets, int count) {
  static loop l; /* large */
  open_loop(&l, env, sets, count);
  mz_status status = MZ_OK;
  for (uint32_t i = 0; i < 2; i++) expect_ok(run_once(&l, i));
  void *one;
  mz_alloc_fail_after(1); /* the next, whoever asks */
  for (uint32_t i = 2; i < 8 && status == MZ_OK; i++) status = run_once(&l, i);
  expect_ok(status);
  assert_int_equal(mz_alloc(&one, 1, 1), MZ_E_MEMORY); /* nobody has */
  mz_alloc_fail_after(0);
  close_loop(&l);
}

#define COMMON                                                                                                                   \
  "num_games=4", "simulations=8", "batch_size=16", "shards=4", "unroll_steps=2", "td_steps=0", "replay.segment_moves=0"

static void vectors(void **unused) {
  (void)unused;
  static const char *const sets[] = {COMMON};
  allocates_once("tictactoe", sets, sizeof sets / sizeof *sets);
}

static void boards(void **unused) {
  (void)unused;
  static const char *const sets[] = {
      COMMON, "network.kind=conv", "network.channels=16", "network.blocks=1", "network.pooled_blocks=1", "network.bn_rows=4"};
  allocates_once("connect4", sets, sizeof sets / sizeof *sets);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(vectors), cmocka_unit_test(boards)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
