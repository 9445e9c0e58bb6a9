/* The bundled presets, compiled in (muzero/CMakeLists.txt writes the table from the JSON files of this folder). */
#pragma once
#include <stddef.h>
typedef struct mz_embedded_preset {
  const char *name;
  const char *text;
  size_t size;
} mz_embedded_preset;
extern const mz_embedded_preset mz_embedded_presets[];
extern const int mz_embedded_preset_count;
