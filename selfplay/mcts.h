/* Plain Monte-Carlo tree search on the true environment, without a network: UCT (Kocsis & Szepesvári 2006) with c = √2 and
 * uniformly random rollouts. A baseline to play against, for one or two players, with or without chance (an open-loop tree:
 * an edge stands for an action, whatever state chance made of it). */
#pragma once
#include "envs/env.h"

enum { MZ_MCTS_SIMULATIONS_MAX = 100000 };

/* The most visited action, higher mean first on ties, then the lower index. A simulation is worth the undiscounted return
 * from the root on, scaled by the spec's range of returns: to [−1, 1] for two players, to [0, 1] for one. Rollouts are cut
 * after 10,000 moves. Determined by the stream `rng`, which moves on. */
mz_status mz_mcts_move(const mz_env *env, const void *state, int simulations, mz_rng *rng, int *action);
