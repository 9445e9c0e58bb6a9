/* `envs --new` and `envs FILE --check`: environments of a user's own. */
#pragma once
#include "envs/own/templates.h"
#include <stdbool.h>
#include <stdint.h>

/* Writes the folder of a new environment and says how to continue. */
mz_status mz_envs_new(const char *path, mz_template_game game);
/* Checks the environment of a file's name and prints what was found. MZ_E_CONFIG where something was. */
mz_status mz_envs_check(const char *name, uint64_t seed, bool json);
