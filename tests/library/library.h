/* Shared by the library's tests: expectations of statuses, and small runs. */
#pragma once
#include "muzero/library/include/muzero.h"
#include "tests/muzero/testing.h"

#define expect_status(wanted, expr)                                                                                              \
  do {                                                                                                                           \
    const muzero_status status_ = (expr);                                                                                        \
    if (status_ != (wanted)) fail_msg("%s: status %d, not %d: %s", #expr, status_, (wanted), muzero_message());                  \
  } while (0)
#define expect_fine(expr) expect_status(MUZERO_OK, expr)
/* The message of the last failure holds these words. */
#define expect_message(words)                                                                                                    \
  do {                                                                                                                           \
    if (!strstr(muzero_message(), (words))) fail_msg("'%s' does not say '%s'", muzero_message(), (words));                       \
  } while (0)

/* Two phases of two rounds, with everything: self-play, learning, evaluation. */
static inline muzero_run_options tiny_options(void) {
  muzero_run_options options = MUZERO_RUN_OPTIONS_INIT;
  options.env = "tictactoe";
  options.preset = TEST_DATA "/cli/tiny.json";
  options.threads = 2;
  return options;
}

static inline muzero_limits rounds_limit(int64_t rounds) {
  muzero_limits limits = MUZERO_LIMITS_INIT;
  limits.rounds = rounds;
  return limits;
}

static inline muzero_run *tiny_run(const char *dir) {
  const muzero_run_options options = tiny_options();
  muzero_run *run;
  expect_fine(muzero_run_create(&run, dir, &options));
  return run;
}

/* A run of four rounds, closed. */
static inline void tiny_trained(const char *dir) {
  muzero_run *run = tiny_run(dir);
  expect_fine(muzero_run_train(run, NULL, NULL));
  expect_fine(muzero_run_close(run));
}

static inline muzero_progress progress_of(muzero_run *run) {
  muzero_progress progress = MUZERO_PROGRESS_INIT;
  expect_fine(muzero_run_progress(run, &progress));
  return progress;
}

static inline muzero_game_state state_of(muzero_game *game) {
  muzero_game_state state = MUZERO_GAME_STATE_INIT;
  expect_fine(muzero_game_state_get(game, &state));
  return state;
}
