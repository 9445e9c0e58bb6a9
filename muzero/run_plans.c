/* The ledger whose plans a run repeats: where the user has it, and the copy that the run keeps. */
#include "base/file/file.h"
#include "base/json/json.h"
#include "envs/own/shared_object.h"
#include "muzero/run.h"
#include <string.h>

static const char KEPT_NAME[] = "replay-plan.jsonl";
enum { CONFIG_BYTES_MAX = 1 << 20 };

/* A file of the user's is the same under any path. */
static bool is_of(const cJSON *config, const char *name, const char *where, const mz_env *env) {
  const mz_env_file *file = mz_env_file_of(env);
  uint64_t hash;
  if (strcmp(name, env->name) == 0) return true;
  return file && mz_json_get_u64_hex(config, "env_file", where, MZ_E_CONFIG, &hash) == MZ_OK && hash == file->hash;
}

static mz_status check_env(const char *config, const char *given, const mz_env *env) {
  uint8_t *text;
  size_t size;
  cJSON *json;
  MZ_TRY(mz_file_read(config, CONFIG_BYTES_MAX, &text, &size));
  mz_status status = mz_json_parse((const char *)text, size, config, false, MZ_E_CONFIG, &json);
  free(text);
  MZ_TRY(status);
  const char *name = mz_json_text_or_empty(json, "env");
  if (!is_of(json, name, config, env))
    status = mz_fail(MZ_E_CONFIG, "--replay-plan %s: that run is of %s, not %s; the plans of one environment do not fit another",
                     given, name, env->name);
  cJSON_Delete(json);
  return status;
}

mz_status mz_run_find_plans(mz_run *run, const char *given, const mz_env *env) {
  char folder[MZ_DIR_MAX], config[MZ_DIR_MAX + 32];
  if (mz_file_is_dir(given))
    MZ_TRY(mz_path_join(run->plans, sizeof run->plans, given, "ledger.jsonl"));
  else if (snprintf(run->plans, sizeof run->plans, "%s", given) >= (int)sizeof run->plans)
    return mz_fail(MZ_E_IO, "--replay-plan %s: path too long", given);
  MZ_TRY(mz_path_folder(run->plans, folder, sizeof folder));
  MZ_TRY(mz_path_join(config, sizeof config, folder, "config.json"));
  return mz_file_exists(config) ? check_env(config, given, env) : MZ_OK;
}

mz_status mz_run_keep_plans(mz_run *run) {
  char kept[MZ_DIR_MAX + 32];
  uint8_t *lines;
  size_t size;
  MZ_TRY(mz_path_join(kept, sizeof kept, run->dir, KEPT_NAME));
  if (!run->plans[0]) return mz_file_remove(kept);
  MZ_TRY(mz_file_read(run->plans, 0, &lines, &size));
  const mz_status status = mz_file_write_atomic(kept, lines, size);
  free(lines);
  return status;
}

mz_status mz_run_find_kept_plans(mz_run *run) {
  MZ_TRY(mz_path_join(run->plans, sizeof run->plans, run->dir, KEPT_NAME));
  if (!mz_file_exists(run->plans)) run->plans[0] = 0;
  return MZ_OK;
}
