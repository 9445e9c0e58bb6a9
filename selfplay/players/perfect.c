#include "selfplay/players/perfect.h"
#include "selfplay/players/player_memory.h"

bool mz_perfect_known(const mz_env *env) { return env->expert || env->solver; }

int mz_perfect_quick_after(const mz_env *env) { return env->solver ? env->solver->quick_after : 0; }

static int count_marked(const mz_env *env, const uint8_t *marked) {
  int count = 0;
  for (int a = 0; a < env->spec.actions; a++) count += marked[a];
  return count;
}

mz_status mz_baseline_moves(const mz_env_solver *chooses, const mz_env *env, const void *state, uint8_t *chosen, int *count) {
  mz_player_memory *memory;
  MZ_TRY(mz_player_memory_of_thread(env, &memory));
  MZ_TRY(mz_player_memory_solver(memory, chooses));
  MZ_TRY(chooses->solve(env, memory->solver, state, chosen));
  *count = count_marked(env, chosen);
  return MZ_OK;
}

mz_status mz_perfect_moves(const mz_env *env, const void *state, uint8_t *optimal, int *count) {
  MZ_ASSERT(mz_perfect_known(env));
  if (!env->expert) return mz_baseline_moves(env->solver, env, state, optimal, count);
  float value;
  env->expert(env, state, optimal, &value);
  *count = count_marked(env, optimal);
  return MZ_OK;
}
