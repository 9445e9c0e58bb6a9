#include "selfplay/players/perfect.h"
#include "selfplay/players/player_memory.h"

bool mz_perfect_known(const mz_env *env) { return env->expert || env->solver; }

int mz_perfect_quick_after(const mz_env *env) { return env->solver ? env->solver->quick_after : 0; }

static mz_status solve(const mz_env *env, const void *state, uint8_t *optimal) {
  mz_player_memory *memory;
  MZ_TRY(mz_player_memory_of_thread(env, &memory));
  MZ_TRY(mz_player_memory_solver(memory, env->solver));
  return env->solver->solve(env, memory->solver, state, optimal);
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
