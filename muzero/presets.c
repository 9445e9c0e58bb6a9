#include "muzero/base/file.h"
#include "muzero/presets/embedded.h"
#include "muzero/settings.h"
#include <string.h>

enum { PRESET_BYTES_MAX = 1 << 20 };

int mz_preset_count(void) { return mz_embedded_preset_count; }
const char *mz_preset_name(int index) { return mz_embedded_presets[index].name; }

mz_status mz_preset_load(const char *name, char **text, size_t *size) {
  size_t length = strlen(name);
  if (strchr(name, '/') || (length > 5 && strcmp(name + length - 5, ".json") == 0))
    return mz_file_read(name, PRESET_BYTES_MAX, (uint8_t **)text, size);
  const char *names[64];
  for (int i = 0; i < mz_embedded_preset_count && i < 64; i++) {
    names[i] = mz_embedded_presets[i].name;
    if (strcmp(names[i], name) != 0) continue;
    *size = mz_embedded_presets[i].size;
    MZ_TRY(mz_alloc(text, *size + 1, 1));
    memcpy(*text, mz_embedded_presets[i].text, *size);
    return MZ_OK;
  }
  const char *nearest = mz_nearest(name, names, mz_embedded_preset_count);
  return mz_fail(MZ_E_CONFIG, "preset '%s': unknown; %s%s%s", name,
                 nearest ? "did you mean '" : "a preset is a bundled name or the path of a JSON file", nearest ? nearest : "",
                 nearest ? "'?" : "");
}
