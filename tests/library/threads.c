/* Several threads on one handle: one call at a time, the others are told so; and handles that are closed under a thread's feet. */
#include "own_run.h"
#include <pthread.h>
#include <stdatomic.h>

/* ---- while a run trains ---- */

static muzero_run *training;
static int busy, rounds;

static muzero_status call(int which) {
  double score;
  muzero_progress progress = MUZERO_PROGRESS_INIT;
  switch (which) {
    case 0: return muzero_run_train(training, NULL, NULL);
    case 1: return muzero_run_save(training);
    case 2: return muzero_run_evaluate(training, 1, &score);
    case 3: return muzero_run_progress(training, &progress);
    default: return muzero_run_close(training);
  }
}

static void *try_all(void *unused) {
  (void)unused;
  for (int which = 0; which < 5; which++) {
    busy += call(which) == MUZERO_E_BUSY;
    busy += strstr(muzero_message(), "not over") != NULL;
  }
  return NULL;
}

static int on_round(void *context, const muzero_progress *progress) {
  pthread_t thread;
  (void)context;
  (void)progress;
  rounds++;
  assert_int_equal(pthread_create(&thread, NULL, try_all, NULL), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
  try_all(NULL); /* from the callback itself */
  return 0;
}

static void test_calls_while_it_trains(void **state) {
  (void)state;
  muzero_run_options options = tiny_options();
  options.on_round = on_round;
  expect_fine(muzero_run_create(&training, dir, &options));
  expect_fine(muzero_run_train(training, NULL, NULL));
  assert_int_equal(rounds, 4);
  assert_int_equal(busy, 4 * 2 * 5 * 2);
  expect_fine(muzero_run_close(training));
}

/* ---- one thread after the other ---- */

static void *play_rounds(void *run) {
  expect_fine(muzero_run_rounds(run, 1, NULL, NULL));
  return NULL;
}

static void test_rounds_from_other_threads(void **state) {
  (void)state;
  const mz_run_options options = {.env = "tictactoe", .preset = TEST_DATA "/cli/tiny.json", .dir = dir, .threads = 1};
  enum { ROUNDS = 4 };
  mz_run *reference;
  expect_ok(mz_run_open(&reference, &options));
  play_to(reference, ROUNDS);
  assert_true(mz_run_counters(reference)->updates > 0);
  mz_run_close(reference);
  char other[160];
  snprintf(other, sizeof other, "%s/other", folder);
  muzero_run *run = tiny_run(other);
  for (int i = 0; i < ROUNDS; i++) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, play_rounds, run), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
  }
  expect_fine(muzero_run_save(run));
  expect_fine(muzero_run_close(run));
  assert_true(digest_of_run(other) == digest_of_run(dir));
}

/* ---- all at once ---- */

enum { SHARED = 4, THREADS = 4, TURNS = 4000 };
static _Atomic(muzero_game *) shared[SHARED];
static atomic_int done, refused, unexpected; /* refused: of a game that another thread has closed, or uses */

static void count(muzero_status status) {
  if (status == MUZERO_OK)
    atomic_fetch_add(&done, 1);
  else if (status == MUZERO_E_BUSY || (status == MUZERO_E_USAGE && strstr(muzero_message(), "closed")))
    atomic_fetch_add(&refused, 1);
  else if (status != MUZERO_E_USAGE)
    atomic_fetch_add(&unexpected, 1);
}

static void *use_shared(void *number) {
  mz_rng rng = mz_rng_at(1, MZ_RNG_TEST, (uint32_t)(uintptr_t)number, 0);
  uint8_t mask[9];
  /* It may be long until two meet when other work takes the cores. */
  for (int turn = 0; turn < TURNS || (atomic_load(&refused) == 0 && turn < 1000 * TURNS); turn++) {
    const uint32_t at = mz_rng_below(&rng, SHARED);
    muzero_game *game = atomic_load(&shared[at]), *next;
    muzero_game_state state = MUZERO_GAME_STATE_INIT;
    switch (mz_rng_below(&rng, 6)) {
      case 0: count(muzero_game_step(game, (int32_t)mz_rng_below(&rng, 9))); break;
      case 1: count(muzero_game_legal(game, mask, sizeof mask)); break;
      case 2: count(muzero_game_state_get(game, &state)); break;
      case 3:
        if (muzero_run_request((muzero_run *)game, MUZERO_REQUEST_STOP) != MUZERO_E_USAGE) atomic_fetch_add(&unexpected, 1);
        break;
      case 4:
        if (muzero_game_copy(&next, game) == MUZERO_OK) count(muzero_game_close(next));
        break;
      default: /* closes what others use, and puts a new one there */
        if (muzero_game_close(game) != MUZERO_OK) break;
        count(muzero_game_create(&next, "tictactoe", 1));
        atomic_store(&shared[at], next);
    }
  }
  return NULL;
}

static void test_closed_under_their_feet(void **state) {
  (void)state;
  pthread_t threads[THREADS];
  for (int i = 0; i < SHARED; i++) {
    muzero_game *game;
    expect_fine(muzero_game_create(&game, "tictactoe", 1));
    atomic_store(&shared[i], game);
  }
  for (uintptr_t i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, use_shared, (void *)i), 0);
  for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
  assert_int_equal(atomic_load(&unexpected), 0);
  assert_true(atomic_load(&done) > 0 && atomic_load(&refused) > 0);
  for (int i = 0; i < SHARED; i++) expect_fine(muzero_game_close(atomic_load(&shared[i])));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_calls_while_it_trains, make, drop),
      cmocka_unit_test_setup_teardown(test_rounds_from_other_threads, make, drop),
      cmocka_unit_test(test_closed_under_their_feet),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
