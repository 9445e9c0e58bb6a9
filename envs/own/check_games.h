/* Games of a check, played in the process that calls: by themselves, again in other ways, mirrored, and against the clock. */
#pragma once
#include "envs/own/boundary.h"
#include "envs/own/check.h"
#include "envs/own/contract.h"
#include "envs/own/watch.h"

enum { MZ_CHECK_GAMES = 64 };

/* Memory that outlives a crash where it is shared: all that is to be known of it then. */
typedef struct mz_check_memory {
  mz_watch watch;
  mz_recorded_game games[MZ_CHECK_GAMES];
  int32_t moves[MZ_ENDLESS_MOVES + 1]; /* of the game that is played by itself */
} mz_check_memory;

/* Notes signals of crashes and plays; the caller's process is for this alone (watch.h). *out: findings.room stands. */
mz_status mz_check_games_run(const mz_env *env, uint64_t seed, mz_check_memory *memory, mz_env_check *out);
