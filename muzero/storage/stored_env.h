/* The environment of a run. A bundled one is its name. One from a file is the bytes of that file: their hash stands in the run's
 * config, and a copy lies in the run's directory, so that the run continues when the original is gone or was changed. */
#pragma once
#include "base/json/json.h"
#include "envs/env.h"

#define MZ_STORED_ENV_NAME "env.so" /* the copy, in the run's directory */

/* Adds the members "env" and, for an environment from a file, "env_file", its hash, and "env_isolation" where
 * processes play it; for one that workers play "env_ranges" where random play gave them, and "env_timeout", in seconds, where it
 * is not the default. */
void mz_stored_env_to_json(cJSON *config, const mz_env *env);
/* Finds the environment that `config` names. The copy in `dir` goes first; the user's own file counts where the copy is missing
 * or damaged, if it is the same. A file that differs from the run's is said once, in a warning. `where`: the config's origin, for
 * messages. MZ_E_CONFIG naming both hashes where neither file is the run's; `bad`, the status for a config without its members. */
mz_status mz_stored_env_find(const cJSON *config, const char *dir, const char *where, mz_status bad, const mz_env **out);
/* Copies the file of an environment into a run's directory, unless it is there; nothing for a bundled one. */
mz_status mz_stored_env_keep(const mz_env *env, const char *dir);
