/* Constants of the evaluations under test. */
#pragma once
#include "tests/selfplay/agents.h"
#include "selfplay/evaluation/lines.h"
#include "selfplay/planner.h"
#include <math.h>

enum { GAMES = 70, SEED = 9, ROUND = 4 };

/* Tic-tac-toe in which reset draws a first move, of player 0; moves draw nothing. */
static inline mz_status drawn_reset(const mz_env *env, void *state, const mz_generator *generator) {
  (void)env;
  mz_step step;
  MZ_TRY(mz_env_tictactoe.reset(&mz_env_tictactoe, state, NULL));
  const int32_t first = generator ? (int32_t)mz_generator_below(generator, 9) : 0;
  return mz_env_tictactoe.step(&mz_env_tictactoe, state, 1, &first, NULL, &step);
}
static inline mz_env drawn_starts(void) {
  mz_env env = mz_env_tictactoe;
  env.name = "drawn";
  env.reset = drawn_reset;
  return env;
}

static inline void assert_same(const mz_evaluation *a, const mz_evaluation *b) { assert_memory_equal(a, b, sizeof *a); }
