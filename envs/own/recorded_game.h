/* A game of a check: its seed, the actions, and hashes of all that the environment gave at each move. Played again from the same seed
 * with the same actions, in another place, beside others or in another thread, it has to have the same hashes. */
#pragma once
#include "base/maths/rng.h"
#include "base/spec.h"
#include "base/status.h"
#include "envs/env_abi.h"
#include "envs/own/guarded.h"

/* Up to so many moves of a game are recorded; a game may be longer. */
enum { MZ_RECORDED_MOVES_MAX = 1000 };

/* Before a move: hashes of the state, its observation, its legal actions, and the result of the step that led there. */
typedef struct mz_game_point {
  uint64_t state, observation, legal, result;
} mz_game_point;

typedef struct mz_recorded_game {
  uint64_t seed;
  int count;  /* moves; points has one entry more */
  bool ended; /* after the last of them */
  int32_t actions[MZ_RECORDED_MOVES_MAX];
  mz_game_point points[MZ_RECORDED_MOVES_MAX + 1];
} mz_recorded_game;

/* Random numbers of a game, and whether they may be drawn. */
typedef struct mz_game_chance {
  mz_rng rng;
  bool forbidden, drew; /* drew: although it was forbidden */
} mz_game_chance;

mz_game_chance mz_game_chance_of(uint64_t seed);
/* `chance` lives as long as the result is used. */
muzero_env_random mz_game_chance_source(mz_game_chance *chance);

/* Room for one observation and one mask, to look at states with. */
typedef struct mz_game_eyes {
  const muzero_env_abi *abi;
  const mz_spec *spec;
  mz_guarded observation, mask; /* writes that go too far do no harm here; contract.c finds them */
} mz_game_eyes;
mz_status mz_game_eyes_init(mz_game_eyes *eyes, const muzero_env_abi *abi, const mz_spec *spec);
void mz_game_eyes_deinit(mz_game_eyes *eyes);
/* Returns the point of a state. `result`: of the step that led there, NULL after reset. */
mz_game_point mz_game_point_of(const mz_game_eyes *eyes, const void *state, const muzero_env_step *result);
/* Returns the function that gave something else at a point, NULL where nothing differs. */
const char *mz_game_point_differs(const mz_game_point *a, const mz_game_point *b, int move);
