/* Perfect play of Connect Four for mz_env.solver: up to seconds a position, exact; MZ_E_CONFIG where the search goes past its
 * limit. */
#pragma once
#include "envs/env.h"

extern const mz_env_solver mz_connect_four_perfect;
