/* `muzero envs FILE --check`: plays an environment from a file in many ways and looks for requirements of env_abi.h that do not hold. */
#pragma once
#include "envs/env.h"
#include "envs/own/findings.h"

typedef struct mz_env_check {
  mz_findings findings;
  int games, longest;   /* played; moves of the longest */
  int64_t moves;        /* of all */
  int symmetries;       /* that were checked, besides the identity */
  bool only_alternates; /* `alternating` is 0, but nobody moved twice in a row */
  bool complete;        /* false: findings came first, and not every way of playing was tried */
  double steps_per_s;   /* of one thread, random moves with observation and legal actions */
} mz_env_check;

/* The first game has this seed, later ones the seeds that follow. MZ_E_CONFIG where `env` is a bundled one. */
mz_status mz_env_check_run(const mz_env *env, uint64_t seed, mz_env_check *out);
void mz_env_check_deinit(mz_env_check *check);
/* {file, findings [], games, moves, longest, complete, only_alternates, symmetries_checked, steps_per_s}. NULL when memory is out. */
cJSON *mz_env_check_to_json(const mz_env *env, const mz_env_check *check);
