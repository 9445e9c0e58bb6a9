/* The environments in this folder; add a line here and one in registry.c. */
#pragma once
#include "envs/env.h"

extern const mz_env mz_env_tictactoe;
extern const mz_env mz_env_cartpole;
extern const mz_env mz_env_acrobot;
extern const mz_env mz_env_mountain_car;
extern const mz_env mz_env_connect_four;
extern const mz_env mz_env_catch;
extern const mz_env mz_env_2048;
extern const mz_env mz_env_pig;
extern const mz_env mz_env_hex;
extern const mz_env mz_env_othello;
extern const mz_env mz_env_othello6;
extern const mz_env mz_env_gomoku;
extern const mz_env mz_env_go;
extern const mz_env mz_env_allocation;
extern const mz_env mz_env_asterix;
extern const mz_env mz_env_breakout;
extern const mz_env mz_env_freeway;
extern const mz_env mz_env_seaquest;
extern const mz_env mz_env_space_invaders;
