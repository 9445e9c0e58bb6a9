#include "selfplay/players/perfect.h"
#include "envs/bundled.h"
#include "selfplay/players/player_memory.h"

/* Minutes. The hardest move beyond the table of openings takes some hundredths of it. */
static const int64_t SOLVER_NODES_MAX = 2000000000;

/* Solved by search, which unlike mz_env.expert may take its time. */
static bool has_solver(const mz_env *env) { return env == &mz_env_connect_four; }

bool mz_perfect_known(const mz_env *env) { return env->expert || has_solver(env); }

/* Measured: 1.3 s at five moves, 0.2 s at six and seven, 0.07 s at eight, 0.01 s at eleven; until four there is a table. */
int mz_perfect_quick_after(const mz_env *env) { return has_solver(env) ? 8 : 0; }

static mz_connect_four_board board_of_state(const mz_env *env, const void *state) {
  double stones[MZ_CONNECT_FOUR_CELLS]; /* ±1 row by row from the top */
  const int cells = env->numbers(state, stones);
  MZ_ASSERT(cells == MZ_CONNECT_FOUR_CELLS);
  const double mine = mz_env_to_play(env, state) == 0 ? 1 : -1;
  mz_connect_four_board board = {0};
  for (int i = 0; i < cells; i++) {
    const int column = i % MZ_CONNECT_FOUR_COLUMNS, row = MZ_CONNECT_FOUR_ROWS - 1 - i / MZ_CONNECT_FOUR_COLUMNS;
    const uint64_t cell = UINT64_C(1) << ((MZ_CONNECT_FOUR_ROWS + 1) * column + row);
    if (stones[i] != 0) board.all |= cell;
    if (stones[i] * mine > 0) board.mine |= cell;
  }
  return board;
}

static mz_status solve(const mz_env *env, const void *state, uint8_t *optimal) {
  mz_player_memory *memory;
  MZ_TRY(mz_player_memory_of_thread(env, &memory));
  MZ_TRY(mz_player_memory_solver(memory));
  unsigned columns;
  int outcome;
  if (!mz_connect_four_optimal(memory->solver, board_of_state(env, state), SOLVER_NODES_MAX, &columns, &outcome)) {
    return mz_fail(MZ_E_CONFIG, "perfect play: %s: a position undecided after %lld others; mcts:SIMS plays anything", env->name,
                   (long long)SOLVER_NODES_MAX);
  }
  for (int c = 0; c < env->spec.actions; c++) optimal[c] = columns >> c & 1;
  return MZ_OK;
}

mz_status mz_perfect_moves(const mz_env *env, const void *state, uint8_t *optimal, int *count) {
  MZ_ASSERT(mz_perfect_known(env));
  if (env->expert) {
    float value;
    env->expert(state, optimal, &value);
  } else {
    MZ_TRY(solve(env, state, optimal));
  }
  *count = 0;
  for (int a = 0; a < env->spec.actions; a++) *count += optimal[a];
  return MZ_OK;
}
