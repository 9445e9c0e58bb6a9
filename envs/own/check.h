/* `muzero envs FILE --check`: plays an environment from a file in many ways and looks for requirements of env_abi.h that do not hold, in a
 * process of its own: a crash, or a call that does not return, is a finding. */
#pragma once
#include "envs/env.h"
#include "envs/own/findings.h"

typedef struct mz_check_report mz_check_report;

typedef struct mz_env_check {
  mz_check_report *report; /* memory of the findings */
  const char *file;        /* its path */
  mz_findings findings;
  int games, longest; /* played; moves of the longest */
  int64_t moves;      /* of all */
  int symmetries;     /* that were checked, besides the identity */
  int symmetries_declared;
  bool only_alternates; /* `alternating` is 0, but nobody moved twice in a row */
  bool complete;        /* false: findings came first, and not every way of playing was tried */
  double steps_per_s;   /* of one thread, random moves with observation and legal actions */
} mz_env_check;

/* Checks the file of a name ("./mine.so", and with options, of which `timeout` counts here: seconds that a call may take). The first game
 * has this seed, later ones the seeds that follow. MZ_E_CONFIG where the name is no file's, or the file cannot be opened. */
mz_status mz_env_check_run(const char *name, uint64_t seed, mz_env_check *out);
void mz_env_check_deinit(mz_env_check *check);
/* {file, findings [], games, moves, longest, complete, only_alternates, symmetries_checked, steps_per_s}. NULL when memory is out. */
cJSON *mz_env_check_to_json(const mz_env_check *check);
