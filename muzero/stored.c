#include "muzero/stored.h"
#include "muzero/state.h"
#include "networks/weights.h"

mz_status mz_config_stored(const mz_checkpoint *checkpoint, mz_config *config, const mz_env **env) {
  uint8_t *text;
  size_t size;
  MZ_TRY(mz_checkpoint_section(checkpoint, "config", &text, &size));
  cJSON *json;
  mz_status status = mz_json_parse((const char *)text, size, "section 'config'", false, MZ_E_CHECKPOINT, &json);
  free(text);
  MZ_TRY(status);
  const char *name;
  cJSON *settings = cJSON_GetObjectItemCaseSensitive(json, "settings");
  status = mz_json_get_string(json, "env", "section 'config'", MZ_E_CHECKPOINT, &name);
  if (status == MZ_OK) status = mz_env_find(name, env);
  mz_config_defaults(config);
  if (status == MZ_OK)
    status = settings ? mz_config_set_json(config, settings, checkpoint->path)
                      : mz_fail(MZ_E_CHECKPOINT, "%s: section 'config': has no settings", checkpoint->path);
  cJSON_Delete(json);
  return status;
}

mz_status mz_counters_stored(const mz_checkpoint *checkpoint, uint64_t *seed, mz_counters *counters) {
  uint8_t *data;
  size_t size;
  MZ_TRY(mz_checkpoint_section(checkpoint, "counters", &data, &size));
  mz_reader reader = mz_reader_over(data, size);
  *seed = mz_read_u64(&reader);
  mz_counters_read(counters, &reader);
  free(data);
  return reader.ok ? MZ_OK : mz_fail(MZ_E_CHECKPOINT, "%s: section 'counters': too short", checkpoint->path);
}

mz_status mz_weights_stored(const mz_checkpoint *checkpoint, const char *section, const mz_params *params, float *values) {
  uint8_t *data;
  size_t size;
  MZ_TRY(mz_checkpoint_section(checkpoint, section, &data, &size));
  mz_safetensors file;
  mz_status status = mz_safetensors_parse(data, size, section, MZ_E_CHECKPOINT, &file);
  if (status == MZ_OK) {
    status = mz_weights_read(params, &file, "", section, MZ_E_CHECKPOINT, values);
    mz_safetensors_deinit(&file);
  }
  free(data);
  return status;
}
