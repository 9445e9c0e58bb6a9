/* The search of mcts.h where the environment draws: an open-loop tree, whose states are played anew in every simulation. */
#pragma once
#include "envs/env.h"

mz_status mz_mcts_chance_move(const mz_env *env, const void *state, int simulations, mz_rng *rng, int *action);
