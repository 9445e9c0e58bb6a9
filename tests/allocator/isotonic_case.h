/* Reads monotone regressions that SciPy solved (tests/data/allocator/make_isotonic.py). */
#pragma once
#include "base/file/file.h"
#include "base/json/json.h"
#include <stdlib.h>

static inline cJSON *read_isotonic_cases(void) {
  uint8_t *text;
  size_t size;
  cJSON *cases;
  if (mz_file_read(TEST_DATA "/allocator/isotonic.json", 0, &text, &size) != MZ_OK ||
      mz_json_parse((const char *)text, size, "isotonic.json", false, MZ_E_IO, &cases) != MZ_OK)
    abort();
  free(text);
  return cases;
}

/* Reads an array of numbers; returns how many. */
static inline int read_numbers(const cJSON *one, const char *key, double *out, int most) {
  int count = 0;
  for (const cJSON *item = cJSON_GetObjectItem(one, key)->child; item != NULL; item = item->next) {
    if (count == most) abort();
    out[count++] = cJSON_IsBool(item) ? cJSON_IsTrue(item) : item->valuedouble;
  }
  return count;
}
