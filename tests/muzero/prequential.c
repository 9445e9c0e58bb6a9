/* The prequential loss of rounds, against batches that are drawn once more and a list of all segments that were in one. */
#include "testing.h"
#include <math.h>

static const char *const sets[] = {"num_games=6",      "moves_per_round=8",  "loop_count=1",           "batch_size=24",
                                   "shards=4",         "simulations=4",      "unroll_steps=2",         "td_steps=5",
                                   "network.width=16", "replay.min_fill=60", "replay.segment_moves=8", "replay.capacity=150"};
enum { SETS = sizeof sets / sizeof *sets, ROUNDS = 40, SERIALS = 4096 };
static const mz_knobs knobs = {
    .cpu_actor = 1, .batch_actor = 1, .learner_threads = 1, .mcts_storage_size = 6, .batch_buffer_size = 2};

/* Plays a round and expects the rows of segments that `drawn` lacks, and their losses. Returns how many there were. */
static int64_t play(mz_state *state, mz_workers *workers, bool drawn[SERIALS]) {
  const mz_batch_source source = {
      .buffer = state->buffer, .settings = &state->settings.replay, .spec = &state->env->spec, .seed = state->seed};
  mz_batch batch;
  mz_round_stats stats = {0};
  const bool learns = mz_buffer_positions(state->buffer) >= state->settings.replay.min_fill;
  expect_ok(mz_batch_init(&batch, &state->env->spec, 24, 2, mz_loss_observed(&state->settings.loss)));
  if (learns) expect_ok(mz_batch_build(&batch, &source, (uint32_t)state->counters.updates));
  expect_ok(mz_round_play(state, workers, &stats));
  assert_int_equal(stats.learning.updates, learns);
  int64_t rows = 0;
  double loss = 0;
  for (int r = 0; r < batch.rows && learns; r++) {
    assert_true(batch.serial[r] < SERIALS);
    if (drawn[batch.serial[r]]) continue;
    rows++;
    loss += mz_learner_row_losses(state->learner)[r];
  }
  for (int r = 0; r < batch.rows && learns; r++) drawn[batch.serial[r]] = true;
  assert_int_equal(stats.prequential.rows[0], rows);
  assert_true(fabs(stats.prequential.loss[0] - loss) < 1e-6);
  mz_batch_deinit(&batch);
  return rows;
}

static void begin(mz_state *state, mz_workers *workers) {
  const mz_settings settings = settings_with(sets, SETS);
  expect_ok(mz_state_init(state, env_named("cartpole"), &settings, 7, 1, NULL));
  expect_ok(mz_workers_init(workers, state, &knobs, NULL));
}

static void rows_count_until_their_segment_was_trained_on(void **unused) {
  (void)unused;
  static bool drawn[SERIALS];
  mz_state state;
  mz_workers workers;
  begin(&state, &workers);
  int64_t some = 0, all = 0;
  for (int i = 0; i < ROUNDS; i++) {
    const int64_t rows = play(&state, &workers, drawn);
    some += rows > 0 && rows < 24;
    all += rows == 24;
  }
  assert_true(some > 10); /* the ring has turned over more than once, and rounds have rows of both kinds */
  assert_true(all > 0);   /* the first update's */
  mz_workers_deinit(&workers);
  mz_state_deinit(&state);
}

/* As after a resume: what lies in the replay when the workers begin may have been trained on. */
static void what_was_there_before_counts_as_trained_on(void **unused) {
  (void)unused;
  static bool drawn[SERIALS];
  mz_state state;
  mz_workers workers;
  begin(&state, &workers);
  memset(drawn, 0, sizeof drawn);
  for (int i = 0; i < 10; i++) play(&state, &workers, drawn);
  mz_workers_deinit(&workers);
  expect_ok(mz_workers_init(&workers, &state, &knobs, NULL));
  for (int i = 0; i < mz_buffer_segments(state.buffer); i++) drawn[mz_buffer_entry(state.buffer, i).serial] = true;
  assert_int_equal(play(&state, &workers, drawn), 0);
  int64_t later = 0;
  for (int i = 0; i < 10; i++) later += play(&state, &workers, drawn);
  assert_true(later > 0);
  mz_workers_deinit(&workers);
  mz_state_deinit(&state);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(rows_count_until_their_segment_was_trained_on),
                                     cmocka_unit_test(what_was_there_before_counts_as_trained_on)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
