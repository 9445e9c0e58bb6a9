#include "muzero/report/data.h"
#include "base/file/file.h"
#include <math.h>
#include <string.h>

mz_status mz_report_json(const char *path, cJSON **out) {
  *out = NULL;
  if (!mz_file_exists(path)) return MZ_OK;
  uint8_t *text;
  size_t size;
  MZ_TRY(mz_file_read(path, 0, &text, &size));
  const mz_status status = mz_json_parse((const char *)text, size, path, false, MZ_E_CHECKPOINT, out);
  free(text);
  return status;
}

const cJSON *mz_report_member(const cJSON *object, const char *path) {
  while (object) {
    char key[64];
    const size_t length = strcspn(path, ".");
    snprintf(key, sizeof key, "%.*s", (int)length, path);
    object = cJSON_GetObjectItemCaseSensitive(object, key);
    if (path[length] == '\0') return object;
    path += length + 1;
  }
  return NULL;
}

double mz_report_number(const cJSON *object, const char *path) {
  const cJSON *item = mz_report_member(object, path);
  return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

cJSON *mz_report_series(double *values, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    char text[MZ_JSON_NUMBER_MAX];
    if (!isfinite(values[i]) || values[i] == floor(values[i])) continue; /* counters stay exact */
    snprintf(text, sizeof text, "%.7g", values[i]);
    values[i] = strtod(text, NULL);
  }
  return cJSON_CreateDoubleArray(values, (int)count);
}

void mz_report_copy(cJSON *to, const cJSON *from, const char *const *keys, size_t key_count) {
  for (size_t i = 0; i < key_count; i++) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(from, keys[i]);
    if (item) cJSON_AddItemToObject(to, keys[i], cJSON_Duplicate(item, true));
  }
}
