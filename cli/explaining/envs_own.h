/* `envs --new` and `envs FILE --check`: environments of a user's own. */
#pragma once
#include "envs/env.h"
#include "envs/own/templates.h"

/* Writes the folder of a new environment and says how to continue. */
mz_status mz_envs_new(const char *path, mz_template_game game);
/* Checks an environment from a file and prints what was found. MZ_E_CONFIG where something was. */
mz_status mz_envs_check(const mz_env *env, uint64_t seed, bool json);
