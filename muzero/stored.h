/* The settings and the environment that a checkpoint was made with (its section 'config'). */
#pragma once
#include "envs/env.h"
#include "muzero/base/config.h"
#include "muzero/checkpoint.h"

/* Defaults first, so that a checkpoint made before a setting existed gets that setting's default. MZ_E_CHECKPOINT or, for an
 * environment or a key that this build does not know, MZ_E_CONFIG. */
mz_status mz_config_stored(const mz_checkpoint *checkpoint, mz_config *config, const mz_env **env);
