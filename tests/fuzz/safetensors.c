/* A safetensors file, and the weights of a small network in it. */
#include "networks/parameters/safetensors.h"
#include "envs/env.h"
#include "networks/model/model.h"
#include "networks/parameters/weights.h"
#include "tests/fuzz/fuzz.h"
#include <string.h>

static mz_model model;
static float *values;

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  const mz_env *env;
  mz_network_settings settings;
  mz_settings_table table = mz_network_table;
  table.base = 0;
  mz_config config = {.tables = &table, .table_count = 1, .values = &settings};
  fuzz_quiet();
  mz_config_defaults(&config);
  settings.width = 1;
  settings.value_bins = settings.reward_bins = 3;
  fuzz_must(mz_env_find("tictactoe", &env));
  fuzz_must(mz_model_init(&model, &settings, &env->spec));
  fuzz_must(mz_alloc(&values, (size_t)model.params.size, sizeof *values));
  return 0;
}

static mz_status write_again(const mz_safetensors *file, uint8_t **out, size_t *size) {
  return mz_safetensors_write(file->tensors, file->count, cJSON_GetObjectItemCaseSensitive(file->header, "__metadata__"), out,
                              size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mz_safetensors file, again;
  uint8_t *copy;
  size_t copy_size;
  if (mz_safetensors_parse(data, size, "fuzz", MZ_E_CHECKPOINT, &file) != MZ_OK) return 0;
  (void)mz_weights_read(&model.params, &file, "", "fuzz", MZ_E_CHECKPOINT, values);
  fuzz_must(write_again(&file, &copy, &copy_size));
  fuzz_must(mz_safetensors_parse(copy, copy_size, "fuzz", MZ_E_CHECKPOINT, &again));
  MZ_ASSERT(again.count == file.count);
  mz_safetensors_deinit(&again);
  mz_safetensors_deinit(&file);
  free(copy);
  return 0;
}

/* The header's length follows the header. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
  static uint8_t text[1 << 16];
  uint64_t random = seed, header = 0;
  if (size >= 8) memcpy(&header, data, 8);
  if (size < 8 || header > size - 8 || header > sizeof text / 2 || fuzz_below(&random, 8) == 0)
    return fuzz_mutate_bytes(data, size, max_size, &random);
  memcpy(text, data + 8, header);
  size_t room = max_size - size + header;
  uint64_t changed = fuzz_mutate_text(text, header, room < sizeof text ? room : sizeof text, &random);
  memmove(data + 8 + changed, data + 8 + header, size - 8 - header);
  memcpy(data + 8, text, changed);
  memcpy(data, &changed, 8);
  return size - header + changed;
}
