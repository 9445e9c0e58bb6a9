/* Random numbers as functions of a shared object are given them. */
#pragma once
#include "base/maths/rng.h"
#include "envs/env_abi.h"

/* Makes the random numbers that foreign functions are given. `generator` lives as long as the result is used. */
muzero_env_random mz_own_random(const mz_generator *generator);
