/* Environments from files: a shared object that exports muzero_env (env_abi.h), opened by its path.
 *
 * What a file holds says which environment it is: two paths with the same bytes are one environment, and a file that was compiled
 * anew is another one. What was opened stays for the life of the process. Any thread may ask. */
#pragma once
#include "envs/env.h"
#include "envs/own/own_name.h"

/* A file as it was when it was opened. */
typedef struct mz_env_file {
  const char *path; /* that it was opened by */
  uint64_t hash;    /* XXH64 of the bytes */
  const uint8_t *bytes;
  size_t size;
  mz_own_isolation isolation; /* whether other processes play it */
} mz_env_file;

/* Opens a shared object. `name`: what the environment is called, the path as the user gave it. MZ_E_CONFIG naming the file and what
 * is wrong with it. */
mz_status mz_env_open(const char *path, const char *name, const mz_own_isolation *isolation, const mz_env **out);
/* Returns the file of an environment, NULL where it is a bundled one. */
const mz_env_file *mz_env_file_of(const mz_env *env);
/* Returns whether two environments are one game: the same one, one file, played by processes or not, or one name for workers, however
 * many and patient they are. */
bool mz_env_is_same_game(const mz_env *a, const mz_env *b);
/* Reads a file's hash. false: it is not there, or cannot be read. */
bool mz_env_file_hash(const char *path, uint64_t *hash);
/* Writes a name fit for a folder: "mine" for "./games/mine.so", the name itself for a bundled environment. */
void mz_env_short_name(const mz_env *env, char *out, size_t size);
