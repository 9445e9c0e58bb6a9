#include "envs/connect_four/connect_four_solver.h"
#include "envs/bundled.h"
#include "cli/bench/bench.h"
#include "selfplay/players/mcts.h"
#include "selfplay/evaluation/opening.h"

enum { STATES = 16, SIMULATIONS = 1000 };
enum { BOARDS = 8, BOARD_PLIES = 14, TABLE_BYTES = 1 << 22 };

/* --- tree search --- */

typedef struct searches {
  const mz_env *env;
  mz_mcts *mcts;
  mz_rng rng;
  uint8_t *states, *mask;
} searches;

static mz_status search_all(void *context) {
  searches *s = context;
  for (int i = 0; i < STATES; i++) {
    int action;
    MZ_TRY(mz_mcts_move(s->mcts, s->env, s->states + (size_t)i * s->env->state_size, SIMULATIONS, &s->rng, &action));
  }
  return MZ_OK;
}

static mz_status measure_searches(double time_s, const mz_env *env, double *per_s) {
  searches s = {.env = env, .rng = mz_rng_at(1, MZ_RNG_TEST, 0, 0)};
  mz_status status;
  MZ_TRY_CLEANUP(mz_mcts_create(&s.mcts));
  MZ_TRY_CLEANUP(mz_alloc(&s.states, STATES, env->state_size));
  MZ_TRY_CLEANUP(mz_alloc(&s.mask, (size_t)env->spec.actions, 1));
  const mz_generator chance = mz_generator_from_rng(&s.rng);
  int made;
  const int plies = 2 * mz_opening_default(&env->spec); /* typical positions: some moves into the game */
  for (int i = 0; i < STATES; i++)
    MZ_TRY_CLEANUP(mz_opening_play(env, s.states + (size_t)i * env->state_size, plies, s.mask, &s.rng, &chance, NULL, &made));
  MZ_TRY_CLEANUP(mz_bench_rate(time_s, search_all, &s, per_s));
  *per_s *= STATES * SIMULATIONS;
cleanup:
  mz_mcts_free(s.mcts);
  free(s.states), free(s.mask);
  return status;
}

/* --- Connect Four's solver --- */

typedef struct solutions {
  mz_connect_four_solver *solver;
  mz_connect_four_board boards[BOARDS];
  int64_t nodes; /* of the last run; every run is the same work */
} solutions;

static mz_status solve_all(void *context) {
  solutions *s = context;
  s->nodes = 0;
  mz_connect_four_solver_forget(s->solver);
  for (int i = 0; i < BOARDS; i++) {
    int outcome;
    mz_connect_four_outcome(s->solver, s->boards[i], 0, &outcome);
    s->nodes += mz_connect_four_nodes(s->solver);
  }
  return MZ_OK;
}

static mz_connect_four_board random_board(mz_rng *rng) {
  mz_connect_four_board board = {0};
  for (int ply = 0; ply < BOARD_PLIES;) {
    const int column = (int)mz_rng_below(rng, MZ_CONNECT_FOUR_COLUMNS);
    if (!mz_connect_four_playable(board, column) || mz_connect_four_wins(board, column)) continue;
    board = mz_connect_four_play(board, column);
    ply++;
  }
  return board;
}

static mz_status measure_solutions(double time_s, double *per_s) {
  solutions s = {0};
  MZ_TRY(mz_connect_four_solver_create(&s.solver, TABLE_BYTES));
  mz_rng rng = mz_rng_at(1, MZ_RNG_TEST, 1, 0);
  for (int i = 0; i < BOARDS; i++) s.boards[i] = random_board(&rng);
  const mz_status status = mz_bench_rate(time_s, solve_all, &s, per_s);
  *per_s *= (double)s.nodes;
  mz_connect_four_solver_free(s.solver);
  return status;
}

static void add_row(cJSON *rows, const char *opponent, const char *env, const char *unit, double per_s) {
  cJSON *row = cJSON_CreateObject();
  cJSON_AddStringToObject(row, "opponent", opponent);
  cJSON_AddStringToObject(row, "env", env);
  cJSON_AddStringToObject(row, "unit", unit);
  cJSON_AddNumberToObject(row, "per_s", per_s);
  cJSON_AddItemToArray(rows, row);
}

mz_status mz_bench_opponents(mz_bench *bench, cJSON **out) {
  cJSON *rows = cJSON_CreateArray();
  mz_status status = MZ_OK;
  double per_s = 0;
  for (int i = 0; i < mz_env_count() && status == MZ_OK; i++) {
    const mz_env *env = mz_env_at(i);
    if (env->spec.players != 2) continue;
    status = measure_searches(bench->time_s, env, &per_s);
    if (status == MZ_OK) add_row(rows, "mcts:1000", env->name, "rollouts", per_s);
  }
  if (status == MZ_OK) status = measure_solutions(bench->time_s, &per_s);
  if (status == MZ_OK) {
    add_row(rows, "perfect", mz_env_connect_four.name, "positions", per_s);
    *out = rows;
  } else {
    cJSON_Delete(rows);
  }
  return status;
}
