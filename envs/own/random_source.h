/* Random numbers as functions of a shared object are given them. */
#pragma once
#include "base/maths/rng.h"
#include "envs/env_abi.h"

/* Makes the random numbers that foreign functions are given. `generator` lives as long as the result is used. */
muzero_env_random mz_own_random(const mz_generator *generator);

/* Whom a forbidden draw is told to: `note` is called with what a step did wrong. */
typedef struct mz_own_refusal {
  void *context;
  void (*note)(void *context, const char *what);
} mz_own_refusal;
/* Makes random numbers for a step that may draw none: every one is 0, and each draw is noted. `refusal` lives as long as the result is
 * used. */
muzero_env_random mz_own_refusing(const mz_own_refusal *refusal);
