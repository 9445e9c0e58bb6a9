/* Memory that players keep from move to move, for the thread that moves: a tree, a solver, scratch. None of it
 * changes what is played. Freed when the thread ends. */
#pragma once
#include "selfplay/players/mcts.h"

typedef struct mz_player_memory {
  /* Masks [actions] and states for a choice. */
  uint8_t *legal, *good, *reply_legal, *reply_good;
  uint8_t *next, *after;
  size_t actions, state_size; /* that there is room for */
  void *block;
  mz_mcts *mcts;
  const mz_env_solver *solver_kind; /* of `solver`; NULL until one is asked for */
  void *solver;
} mz_player_memory;

/* The calling thread's, with room for this environment. Fails for want of memory only. */
mz_status mz_player_memory_of_thread(const mz_env *env, mz_player_memory **out);
/* Makes memory->solver one of this kind: a thread keeps the last one that it used. */
mz_status mz_player_memory_solver(mz_player_memory *memory, const mz_env_solver *kind);
