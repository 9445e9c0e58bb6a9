#include "envs/env.h"
#include "base/file/file.h"
#include "base/text.h"
#include "envs/own/shared_object.h"
#include "envs/worker/options.h"
#include "muzero/derived_preset.h"
#include "muzero/presets/embedded.h"
#include "muzero/settings.h"
#include <string.h>

enum { PRESET_BYTES_MAX = 1 << 20, PATH_BYTES = 4096 };

int mz_preset_count(void) { return mz_embedded_preset_count; }
const char *mz_preset_name(int index) { return mz_embedded_presets[index].name; }

static const mz_embedded_preset *find(const char *name) {
  for (int i = 0; i < mz_embedded_preset_count; i++)
    if (strcmp(mz_embedded_presets[i].name, name) == 0) return &mz_embedded_presets[i];
  return NULL;
}

/* That of a variant ("gomoku:size=9"), or else of the environment it varies. */
static mz_status find_for_variant(const char *name, const mz_embedded_preset **out) {
  const mz_env *env;
  MZ_TRY(mz_env_find(name, &env));
  char base[64];
  snprintf(base, sizeof base, "%.*s", (int)strcspn(name, ":"), name);
  *out = find(env->name); /* options in their order */
  if (!*out) *out = find(base);
  return MZ_OK;
}

/* "allocation:course=courses/a.json": what follows the colon is no path of a preset. */
static bool is_variant(const char *name) {
  char base[64];
  const size_t length = strcspn(name, ":");
  snprintf(base, sizeof base, "%.*s", (int)length, name);
  return name[length] && length < sizeof base && find(base);
}

/* "./mine.so", "gym:CartPole-v1": such an environment has a preset that follows from its numbers. A run's directory may have the
 * first name. */
static bool is_foreign(const char *name) {
  return mz_worker_env_is_name(name) || (mz_env_is_path(name) && !mz_file_is_dir(name));
}

static bool is_path(const char *name) {
  if (is_variant(name) || is_foreign(name)) return false;
  if (strchr(name, '/') || mz_text_ends_in(name, ".json")) return true;
  return !find(name) && mz_file_is_dir(name);
}

/* Writes the file that a path means: itself, or a run's config.json. */
static mz_status find_file(const char *name, char *out, size_t size) {
  if (mz_file_is_dir(name)) return mz_path_join(out, size, name, "config.json");
  if ((size_t)snprintf(out, size, "%s", name) < size) return MZ_OK;
  return mz_fail(MZ_E_IO, "%s: path too long", name);
}

/* Names the nearest bundled preset, or else says what would be one. */
static mz_status fail_unknown(const char *name, const char *otherwise) {
  const char *names[64];
  int count = 0;
  for (; count < mz_embedded_preset_count && count < 64; count++) names[count] = mz_embedded_presets[count].name;
  const char *nearest = mz_nearest(name, names, count);
  return mz_fail(MZ_E_CONFIG, "preset '%s': unknown; %s%s%s", name, nearest ? "did you mean '" : otherwise,
                 nearest ? nearest : "", nearest ? "'?" : "");
}

mz_status mz_preset_load(const char *name, char **text, size_t *size) {
  if (is_foreign(name)) {
    const mz_env *env;
    MZ_TRY(mz_env_find(name, &env));
    return mz_preset_derive(env, text, size);
  }
  if (is_path(name)) {
    char path[PATH_BYTES];
    MZ_TRY(find_file(name, path, sizeof path));
    return mz_file_read(path, PRESET_BYTES_MAX, (uint8_t **)text, size);
  }
  const mz_embedded_preset *preset = find(name);
  if (!preset && strchr(name, ':')) MZ_TRY(find_for_variant(name, &preset));
  if (preset) {
    *size = preset->size;
    MZ_TRY(mz_alloc(text, *size + 1, 1));
    memcpy(*text, preset->text, *size);
    return MZ_OK;
  }
  return fail_unknown(name, "a preset is a bundled name or the path of a JSON file");
}

/* ---- into the settings ---- */

/* A run's config.json holds the settings beside the environment and the seed. */
static const cJSON *settings_of_run(const cJSON *json) {
  const cJSON *settings = cJSON_GetObjectItemCaseSensitive(json, "settings");
  return cJSON_IsObject(settings) && cJSON_IsString(cJSON_GetObjectItemCaseSensitive(json, "env")) ? settings : NULL;
}

static mz_status apply_settings_of_run(mz_config *config, const cJSON *settings, const char *where) {
  mz_config resolved = *config;
  resolved.explicit_ = NULL;
  resolved.stored = true; /* a program's file: its old keys are no mistake of the user */
  MZ_TRY(mz_config_set_json(&resolved, settings, where));
  ((mz_settings *)config->values)->learning.replay_ratio = 0;
  return MZ_OK;
}

/* The settings that a preset begins with: those of the bundled one that its "preset" names, and takes out of `json`. */
static mz_status apply_base(mz_config *config, cJSON *json, const char *where) {
  cJSON *base = cJSON_DetachItemFromObjectCaseSensitive(json, "preset");
  if (!base) return MZ_OK;
  mz_status status;
  if (!cJSON_IsString(base))
    status = mz_fail(MZ_E_CONFIG, "%s: preset: takes the name of a bundled preset", where);
  else if (!find(base->valuestring))
    status = fail_unknown(base->valuestring, "a preset begins with a bundled one");
  else
    status = mz_preset_apply(config, base->valuestring);
  cJSON_Delete(base);
  return status == MZ_OK ? MZ_OK : mz_fail(status, "%s: %s", where, mz_message());
}

mz_status mz_preset_apply(mz_config *config, const char *name) {
  char *text, where[PATH_BYTES];
  size_t size;
  MZ_TRY(mz_preset_load(name, &text, &size));
  if (!is_path(name) || find_file(name, where, sizeof where) != MZ_OK) snprintf(where, sizeof where, "%s.json", name);
  cJSON *json;
  mz_status status = mz_json_parse(text, size, where, true, MZ_E_CONFIG, &json);
  free(text);
  MZ_TRY(status);
  const cJSON *settings = settings_of_run(json);
  if (settings)
    status = apply_settings_of_run(config, settings, where);
  else if ((status = apply_base(config, json, where)) == MZ_OK)
    status = mz_config_set_json(config, json, where);
  cJSON_Delete(json);
  return status;
}
