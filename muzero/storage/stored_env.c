#include "muzero/storage/stored_env.h"
#include "base/file/file.h"
#include "base/log.h"
#include "envs/own/shared_object.h"
#include "envs/worker/worker_env.h"
#include <math.h>
#include <stdatomic.h>

enum { PATH_BYTES = 4096 };

void mz_stored_env_to_json(cJSON *config, const mz_env *env) {
  const mz_env_file *file = mz_env_file_of(env);
  float ranges[MZ_WORKER_RANGES];
  cJSON_AddStringToObject(config, "env", env->name);
  if (mz_worker_env_measured(env, ranges)) {
    cJSON *list = cJSON_AddArrayToObject(config, "env_ranges");
    for (int i = 0; i < MZ_WORKER_RANGES; i++) cJSON_AddItemToArray(list, cJSON_CreateNumber((double)ranges[i]));
  }
  const double timeout_s = mz_worker_env_timeout_s(env);
  if (timeout_s > 0 && timeout_s != MZ_WORKER_TIMEOUT_S) cJSON_AddNumberToObject(config, "env_timeout", timeout_s);
  if (file) mz_json_add_u64_hex(config, "env_file", file->hash);
  if (file && file->isolation.on) {
    char options[MZ_OWN_OPTIONS_MAX];
    mz_own_isolation_write(&file->isolation, options);
    cJSON_AddStringToObject(config, "env_isolation", options);
  }
}

/* Says that a run does not continue with what its user has at hand. */
static void say_changed(const char *name, uint64_t is, uint64_t was, const char *copy) {
  static _Atomic uint64_t said;
  if (atomic_exchange(&said, was) == was) return;
  mz_log_write(MZ_LOG_WARNING,
               "%s: was changed (hash %016llx) since the run was made (%016llx): the run keeps to its copy, %s; 'muzero train' "
               "begins a run with the changed one",
               name, (unsigned long long)is, (unsigned long long)was, copy);
}

static mz_status refuse(const char *name, const char *copy, uint64_t wanted) {
  char state[2][64];
  const char *const paths[2] = {copy, name};
  for (int i = 0; i < 2; i++) {
    uint64_t hash;
    if (mz_env_file_hash(paths[i], &hash))
      snprintf(state[i], sizeof state[i], "has hash %016llx", (unsigned long long)hash);
    else
      snprintf(state[i], sizeof state[i], "is not there");
  }
  return mz_fail(
      MZ_E_CONFIG,
      "environment: this run was made with a file of hash %016llx: its copy %s %s, and %s %s; put the file it was made "
      "with there again, or begin a new run by 'muzero train'",
      (unsigned long long)wanted, copy, state[0], name, state[1]);
}

static mz_status open_file(const cJSON *config, const char *path, const char *name, uint64_t wanted, const char *copy,
                           const mz_env **out) {
  mz_own_isolation isolation;
  MZ_TRY(mz_own_isolation_read(name, mz_json_text_or_empty(config, "env_isolation"), &isolation));
  MZ_TRY(mz_env_open(path, name, &isolation, out));
  return mz_env_file_of(*out)->hash == wanted ? MZ_OK : refuse(name, copy, wanted); /* replaced meanwhile */
}

/* The seconds that an answer may take: the name of an environment in a config lacks them. 0: as by default. */
static mz_status read_timeout(const cJSON *config, const char *where, mz_status bad, double *out) {
  const mz_worker_option *row = mz_worker_option_named("timeout");
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(config, "env_timeout");
  *out = cJSON_IsNumber(item) ? item->valuedouble : 0;
  if (!item || (*out >= row->min && *out <= row->max)) return MZ_OK;
  return mz_fail(bad, "%s: env_timeout: takes a number of %g … %g", where, row->min, row->max);
}

/* Ranges that were measured when the run began hold for all of it. */
static mz_status find_worker_env(const cJSON *config, const char *name, const char *where, mz_status bad, const mz_env **out) {
  const cJSON *list = cJSON_GetObjectItemCaseSensitive(config, "env_ranges");
  float ranges[MZ_WORKER_RANGES];
  double timeout_s;
  MZ_TRY(read_timeout(config, where, bad, &timeout_s));
  if (!list) return mz_worker_env_find(name, NULL, timeout_s, out);
  for (int i = 0; i < MZ_WORKER_RANGES; i++) {
    const cJSON *item = cJSON_GetArrayItem(list, i);
    if (!cJSON_IsNumber(item) || !isfinite((float)item->valuedouble))
      return mz_fail(bad, "%s: env_ranges: takes %d numbers", where, MZ_WORKER_RANGES);
    ranges[i] = (float)item->valuedouble;
  }
  return mz_worker_env_find(name, ranges, timeout_s, out);
}

mz_status mz_stored_env_find(const cJSON *config, const char *dir, const char *where, mz_status bad, const mz_env **out) {
  const char *name;
  uint64_t wanted, hash;
  char copy[PATH_BYTES];
  MZ_TRY(mz_json_get_string(config, "env", where, bad, &name));
  if (mz_worker_env_is_name(name)) return find_worker_env(config, name, where, bad, out);
  if (!mz_env_is_path(name)) return mz_env_find(name, out);
  MZ_TRY(mz_json_get_u64_hex(config, "env_file", where, bad, &wanted));
  MZ_TRY(mz_path_join(copy, sizeof copy, dir, MZ_STORED_ENV_NAME));
  const bool has_copy = mz_env_file_hash(copy, &hash) && hash == wanted;
  const bool has_own = mz_env_file_hash(name, &hash);
  if (has_copy && has_own && hash != wanted) say_changed(name, hash, wanted, copy);
  if (has_copy) return open_file(config, copy, name, wanted, copy, out);
  if (has_own && hash == wanted) return open_file(config, name, name, wanted, copy, out);
  return refuse(name, copy, wanted);
}

mz_status mz_stored_env_keep(const mz_env *env, const char *dir) {
  const mz_env_file *file = mz_env_file_of(env);
  char copy[PATH_BYTES];
  uint64_t hash;
  if (!file) return MZ_OK;
  MZ_TRY(mz_path_join(copy, sizeof copy, dir, MZ_STORED_ENV_NAME));
  if (mz_env_file_hash(copy, &hash) && hash == file->hash) return MZ_OK;
  return mz_file_write_atomic(copy, file->bytes, file->size);
}
