#include "muzero/stored.h"

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
  if (status == MZ_OK) status = settings ? mz_config_set_json(config, settings, checkpoint->path) : mz_fail(MZ_E_CHECKPOINT, "%s: section 'config': has no settings", checkpoint->path);
  cJSON_Delete(json);
  return status;
}
