/* The environments in this folder; add a line here and one in registry.c. */
#pragma once
#include "envs/env.h"

extern const mz_env mz_env_tictactoe;
extern const mz_env mz_env_cartpole;
extern const mz_env mz_env_gomoku;
