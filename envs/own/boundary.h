/* Functions of a user's environment, called with care: what a shared object gives is looked at before the rest of the program sees
 * it. A mistake is an MZ_E_CONFIG that names the file, the function and what was wrong, never an assertion.
 *
 * Functions of mz_env without a status (observe, legal, to_play, drawing where draws is 0) note the first mistake and give something
 * harmless: zeros, action 0, player 0. The next reset, step or failure() of that environment returns it, as all later ones do. */
#pragma once
#include "envs/env.h"
#include "envs/env_abi.h"
#include "envs/own/isolated.h"
#include <pthread.h>
#include <stdatomic.h>

enum { MZ_OWN_TEXT_MAX = 2048, MZ_OWN_ACTION_TEXT_MAX = 24, MZ_OWN_STEP_ROWS = 64 };

/* Data of a wrapped environment; mz_env.options points to it. */
typedef struct mz_own_env {
  const char *path; /* for messages */
  const muzero_env_abi *abi;
  mz_own_isolated *isolated; /* processes that run its functions; NULL: this one does, and calls those of abi */
  pthread_mutex_t lock;      /* of `why` */
  _Atomic bool failed;
  char why[MZ_MESSAGE_MAX];
} mz_own_env;

/* Fills in the functions and texts of *env, whose spec stands already. `own` lives as long as env. */
void mz_own_env_wrap(mz_env *env, mz_own_env *own);
/* Returns whether a reward lies in reward_min … reward_max; one in a million is rounding. */
bool mz_own_reward_is_within(float reward, const mz_spec *spec);
/* Returns the data of an environment that mz_own_env_wrap made, NULL for any other. */
const mz_own_env *mz_own_env_of(const mz_env *env);
