#include "envs/env.h"
#include "base/file/file.h"
#include "muzero/presets/embedded.h"
#include "muzero/settings.h"
#include <string.h>

enum { PRESET_BYTES_MAX = 1 << 20 };

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

mz_status mz_preset_load(const char *name, char **text, size_t *size) {
  size_t length = strlen(name);
  if (strchr(name, '/') || (length > 5 && strcmp(name + length - 5, ".json") == 0))
    return mz_file_read(name, PRESET_BYTES_MAX, (uint8_t **)text, size);
  const mz_embedded_preset *preset = find(name);
  if (!preset && strchr(name, ':')) MZ_TRY(find_for_variant(name, &preset));
  if (preset) {
    *size = preset->size;
    MZ_TRY(mz_alloc(text, *size + 1, 1));
    memcpy(*text, preset->text, *size);
    return MZ_OK;
  }
  const char *names[64];
  int count = 0;
  for (; count < mz_embedded_preset_count && count < 64; count++) names[count] = mz_embedded_presets[count].name;
  const char *nearest = mz_nearest(name, names, count);
  return mz_fail(MZ_E_CONFIG, "preset '%s': unknown; %s%s%s", name,
                 nearest ? "did you mean '" : "a preset is a bundled name or the path of a JSON file", nearest ? nearest : "",
                 nearest ? "'?" : "");
}
