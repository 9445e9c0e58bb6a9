/* Names of environments from files: "./mine.so", and with options for how they are played, "./mine.so:isolate=1,workers=2,timeout=10".
 * Results do not depend on these, so they belong to no environment's name. */
#pragma once
#include "base/status.h"
#include "envs/own/isolated.h"

enum { MZ_OWN_PATH_MAX = 4096, MZ_OWN_OPTIONS_MAX = 128 };

typedef struct mz_own_name {
  char path[MZ_OWN_PATH_MAX];
  mz_own_isolation isolation;
} mz_own_name;

/* Returns whether a name is the path of a shared object, with options or without: the path ends in ".so", and is no variant of a
 * bundled game. */
bool mz_env_is_path(const char *name);
/* Reads such a name. MZ_E_CONFIG naming the option, its range and the nearest valid value. */
mz_status mz_own_name_read(const char *name, mz_own_name *out);
/* Reads options alone, "isolate=1,workers=2"; `name`: for messages. */
mz_status mz_own_isolation_read(const char *name, const char *options, mz_own_isolation *out);
/* Writes options as they are read; "" where there are none. */
void mz_own_isolation_write(const mz_own_isolation *isolation, char out[MZ_OWN_OPTIONS_MAX]);
