#include "muzero/compare/seed_file.h"
#include "base/file/file.h"
#include <string.h>

enum { PATH_SIZE = 600 };

static mz_status path_of(const char *dir, uint64_t seed, const char *ending, char *out, size_t size) {
  char name[48];
  snprintf(name, sizeof name, "seed-%llu%s", (unsigned long long)seed, ending);
  return mz_path_join(out, size, dir, name);
}

mz_status mz_seed_folder(const char *dir, uint64_t seed, char *out, size_t size) { return path_of(dir, seed, "", out, size); }

static void add_reason(cJSON *cell, const char *key, const char *why) {
  cJSON_AddItemToObject(cell, key, why[0] ? cJSON_CreateString(why) : cJSON_CreateNull());
}

static cJSON *cells_json(uint64_t seed, const char *folder, const mz_arm *arms, int count, mz_party *parties) {
  cJSON *json = cJSON_CreateObject(), *array;
  mz_json_add_u64(json, "seed", seed);
  array = cJSON_AddArrayToObject(json, "cells");
  for (int i = 0; i < count; i++) {
    cJSON *cell = cJSON_CreateObject();
    char run[PATH_SIZE + 32];
    snprintf(run, sizeof run, "%s/arm-%d", folder, i);
    cJSON_AddStringToObject(cell, "arm", arms[i].name);
    cJSON_AddStringToObject(cell, "run", run);
    add_reason(cell, "crashed", parties[i].refused ? "" : parties[i].why);
    add_reason(cell, "refused", parties[i].refused ? parties[i].why : "");
    cJSON_AddItemToObject(cell, "blocks", parties[i].blocks);
    parties[i].blocks = NULL;
    cJSON_AddItemToArray(array, cell);
  }
  return json;
}

mz_status mz_seed_write(const char *dir, uint64_t seed, const mz_arm *arms, int count, mz_party *parties, cJSON **out) {
  char folder[PATH_SIZE], file[PATH_SIZE];
  MZ_TRY(mz_seed_folder(dir, seed, folder, sizeof folder));
  MZ_TRY(path_of(dir, seed, ".json", file, sizeof file));
  *out = cells_json(seed, folder, arms, count, parties);
  char *text = mz_json_line(*out);
  const mz_status status =
      text ? mz_file_write_atomic(file, text, strlen(text)) : mz_fail(MZ_E_MEMORY, "compare: no memory for its cells");
  free(text);
  if (status == MZ_OK) return MZ_OK;
  cJSON_Delete(*out);
  *out = NULL;
  return status;
}

static bool has_crashed(const cJSON *seed) {
  const cJSON *cell;
  cJSON_ArrayForEach(cell, cJSON_GetObjectItemCaseSensitive(seed, "cells")) {
    if (cJSON_IsString(cJSON_GetObjectItemCaseSensitive(cell, "crashed"))) return true;
  }
  return false;
}

mz_status mz_seed_read(const char *dir, uint64_t seed, cJSON **out) {
  char file[PATH_SIZE];
  uint8_t *text;
  size_t size;
  *out = NULL;
  MZ_TRY(path_of(dir, seed, ".json", file, sizeof file));
  if (!mz_file_exists(file)) return MZ_OK;
  MZ_TRY(mz_file_read(file, 0, &text, &size));
  mz_status status = mz_json_parse((const char *)text, size, file, false, MZ_E_CHECKPOINT, out);
  free(text);
  if (status == MZ_OK && has_crashed(*out)) {
    cJSON_Delete(*out);
    *out = NULL;
  }
  if (*out) { /* a number that was read is a double */
    cJSON_DeleteItemFromObjectCaseSensitive(*out, "seed");
    mz_json_add_u64(*out, "seed", seed);
  }
  return status;
}
