#include "selfplay/players/player_memory.h"
#include "base/arena.h"
#include <pthread.h>

static pthread_once_t made = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static int key_error;

static void memory_free(void *of_thread) {
  mz_player_memory *memory = of_thread;
  mz_mcts_free(memory->mcts);
  if (memory->solver_kind) memory->solver_kind->free(memory->solver);
  free(memory->block);
  free(memory);
}

static void make_key(void) { key_error = pthread_key_create(&key, memory_free); }

static mz_status find_or_create(mz_player_memory **out) {
  const int failed = pthread_once(&made, make_key);
  MZ_ASSERT(!failed);
  if (key_error) return mz_fail(MZ_E_MEMORY, "player: no thread-specific memory: error %d; close other programs", key_error);
  *out = pthread_getspecific(key);
  if (*out) return MZ_OK;
  mz_player_memory *memory;
  MZ_TRY(mz_alloc(&memory, 1, sizeof *memory));
  mz_status status = mz_mcts_create(&memory->mcts);
  if (status == MZ_OK && pthread_setspecific(key, memory))
    status = mz_fail(MZ_E_MEMORY, "player: no memory for a thread's own; close other programs");
  if (status != MZ_OK) {
    memory_free(memory);
    return status;
  }
  *out = memory;
  return MZ_OK;
}

static mz_status make_room(mz_player_memory *memory, size_t actions, size_t state_size) {
  if (actions < memory->actions) actions = memory->actions;
  if (state_size < memory->state_size) state_size = memory->state_size;
  void *block; /* apart from the old one, which stays where there is no new one */
  mz_carver carver = {0};
  mz_carve(&carver, &memory->legal, actions, 1);
  mz_carve(&carver, &memory->good, actions, 1);
  mz_carve(&carver, &memory->reply_legal, actions, 1);
  mz_carve(&carver, &memory->reply_good, actions, 1);
  mz_carve(&carver, &memory->next, 1, state_size);
  mz_carve(&carver, &memory->after, 1, state_size);
  MZ_TRY(mz_carve_commit(&carver, &block));
  free(memory->block);
  memory->block = block;
  memory->actions = actions;
  memory->state_size = state_size;
  return MZ_OK;
}

mz_status mz_player_memory_of_thread(const mz_env *env, mz_player_memory **out) {
  mz_player_memory *memory = NULL;
  MZ_TRY(find_or_create(&memory));
  if ((size_t)env->spec.actions > memory->actions || env->state_size > memory->state_size)
    MZ_TRY(make_room(memory, (size_t)env->spec.actions, env->state_size));
  *out = memory;
  return MZ_OK;
}

mz_status mz_player_memory_solver(mz_player_memory *memory, const mz_env_solver *kind) {
  if (memory->solver_kind == kind) return MZ_OK;
  void *solver;
  MZ_TRY(kind->create(&solver));
  if (memory->solver_kind) memory->solver_kind->free(memory->solver);
  memory->solver_kind = kind;
  memory->solver = solver;
  return MZ_OK;
}
