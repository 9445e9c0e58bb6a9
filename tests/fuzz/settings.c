/* Settings: an object as a preset or a checkpoint has it, or pairs as --set takes them, one a line; then resolved. */
#include "muzero/settings.h"
#include "tests/fuzz/fuzz.h"
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  fuzz_quiet();
  return 0;
}

static mz_status set_object(mz_config *config, const char *text) {
  cJSON *json;
  MZ_TRY(mz_json_parse(text, strlen(text), "fuzz", true, MZ_E_CONFIG, &json));
  const mz_status status = mz_config_set_json(config, json, "fuzz");
  cJSON_Delete(json);
  return status;
}

static mz_status set_pairs(mz_config *config, char *text) {
  char *rest = NULL;
  for (const char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
    MZ_TRY(mz_config_set_pair(config, line, "--set"));
  return MZ_OK;
}

/* What was accepted is written and read again with the same values. */
static void check_again(mz_settings *settings) {
  mz_settings other;
  mz_config config = mz_settings_config(settings, NULL), copy = mz_settings_config(&other, NULL);
  mz_config_defaults(&copy);
  cJSON *json = mz_config_to_json(&config);
  fuzz_must(mz_config_set_json(&copy, json, "again"));
  for (int i = 0; i < mz_config_row_count(&config); i++) MZ_ASSERT(mz_config_equal(&config, &copy, i));
  cJSON_Delete(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  uint8_t given[MZ_SETTINGS_ROWS_MAX] = {0};
  mz_settings settings;
  mz_config config = mz_settings_config(&settings, given);
  mz_config_defaults(&config);
  char *text;
  fuzz_must(mz_alloc(&text, size + 1, 1));
  if (size > 0) memcpy(text, data, size);
  const mz_status status = size > 0 && text[0] == '{' ? set_object(&config, text) : set_pairs(&config, text);
  free(text);
  if (status != MZ_OK) return 0;
  if (size % 4 == 0) check_again(&settings); /* takes as long as all the rest */
  (void)mz_settings_check(&settings);
  if (mz_settings_resolve(&settings, given) == MZ_OK) (void)mz_settings_work_hash(&settings);
  return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
  uint64_t random = seed;
  return fuzz_mutate_text(data, size, max_size, &random);
}
