/* JSON text, with and without comments. What was read is written and read again, but for bytes that are no text: they are written
 * as U+FFFD. */
#include "base/json/json.h"
#include "tests/fuzz/fuzz.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  cJSON *json, *again;
  if (size == 0) return 0;
  if (mz_json_parse((const char *)data + 1, size - 1, "fuzz", data[0] & 1, MZ_E_CONFIG, &json) != MZ_OK) return 0;
  char *line = mz_json_line(json);
  if (line && !strstr(line, "\xef\xbf\xbd")) {
    fuzz_must(mz_json_parse(line, strlen(line), "again", false, MZ_E_CONFIG, &again));
    MZ_ASSERT(cJSON_Compare(json, again, true));
    cJSON_Delete(again);
  }
  free(line);
  cJSON_Delete(json);
  return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
  uint64_t random = seed;
  return fuzz_mutate_text(data, size, max_size, &random);
}
