/* Plain Monte-Carlo tree search on the true environment, without a network: UCT (Kocsis & Szepesvári 2006) with c = √2 and
 * uniformly random rollouts. A baseline to play against, for one or two players, with or without chance (where there is chance the
 * tree is open-loop: an edge stands for an action, whatever state chance made of it). */
#pragma once
#include "envs/env.h"

enum { MZ_MCTS_SIMULATIONS_MAX = 100000 };

/* The memory of a search, kept for the next one: as large as the largest needed (about a state and 32 bytes a simulation, and 32
 * bytes for every move from a state that was seen twice). One thread at a time. */
typedef struct mz_mcts mz_mcts;
mz_status mz_mcts_create(mz_mcts **out);
void mz_mcts_free(mz_mcts *mcts);                         /* NULL: nothing */
double mz_mcts_bytes(const mz_env *env, int simulations); /* for searches of so many, about at the most */

/* The most visited action, higher mean first on ties, then the lower index. A simulation is worth the undiscounted return
 * from the root on, scaled by the spec's range of returns: to [−1, 1] for two players, to [0, 1] for one. Rollouts are the
 * environment's own where it has them, else cut after 10,000 moves. Determined by the stream `rng`, which moves on, and not by what
 * `mcts` was used for before. Fails for want of memory, and as the environment's step. */
mz_status mz_mcts_move(mz_mcts *mcts, const mz_env *env, const void *state, int simulations, mz_rng *rng, int *action);
