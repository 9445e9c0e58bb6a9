/* What a checkpoint was made with, before any state is built from it: settings, environment, seed, counters. */
#pragma once
#include "envs/env.h"
#include "muzero/base/config.h"
#include "muzero/checkpoint.h"
#include "muzero/muzero.h"

/* Defaults first, so that a checkpoint made before a setting existed gets that setting's default. MZ_E_CHECKPOINT or, for an
 * environment or a key that this build does not know, MZ_E_CONFIG. */
mz_status mz_config_stored(const mz_checkpoint *checkpoint, mz_config *config, const mz_env **env);
mz_status mz_counters_stored(const mz_checkpoint *checkpoint, uint64_t *seed, mz_counters *counters);
/* A section of weights ('weights', 'target') into values of params->size. */
mz_status mz_weights_stored(const mz_checkpoint *checkpoint, const char *section, const mz_params *params, float *values);
