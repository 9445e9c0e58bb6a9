#include "muzero/storage/stored.h"
#include "base/file/file.h"
#include "base/maths/maths.h"
#include "muzero/storage/stored_env.h"
#include "networks/parameters/weights.h"
#include <string.h>

mz_status mz_config_stored(const mz_checkpoint *checkpoint, mz_config *config, const mz_env **env) {
  cJSON *json;
  char dir[512]; /* of the run; a checkpoint file that lies elsewhere has no copy of an environment beside it */
  MZ_TRY(mz_checkpoint_run_dir(checkpoint->path, dir, sizeof dir));
  MZ_TRY(mz_checkpoint_json(checkpoint, "config", &json));
  cJSON *settings = cJSON_GetObjectItemCaseSensitive(json, "settings");
  mz_status status = mz_stored_env_find(json, dir, "section 'config'", MZ_E_CHECKPOINT, env);
  mz_config_defaults(config);
  config->stored = true;
  if (status == MZ_OK)
    status = settings ? mz_config_set_json(config, settings, checkpoint->path)
                      : mz_fail(MZ_E_CHECKPOINT, "%s: section 'config': has no settings", checkpoint->path);
  config->stored = false;
  if (status == MZ_OK && mz_settings_check(config->values) != MZ_OK)
    status = mz_fail(MZ_E_CHECKPOINT, "%s: section 'config': settings that cannot be: %s", checkpoint->path, mz_message());
  cJSON_Delete(json);
  return status;
}

mz_status mz_count_read(const char *section, const char *what, mz_reader *reader, int64_t *out) {
  *out = (int64_t)mz_read_u64(reader);
  if (*out >= 0 && *out <= MZ_COUNT_MAX) return MZ_OK;
  return mz_fail(MZ_E_CHECKPOINT, "section '%s': damaged: %lld %s, 0 to %lld wanted", section, (long long)*out, what,
                 (long long)MZ_COUNT_MAX);
}

mz_status mz_counters_read(mz_counters *c, mz_reader *reader) {
  const struct {
    const char *name;
    int64_t *value;
  } rows[] = {{"rounds", &c->rounds},       {"phases", &c->phases},           {"updates", &c->updates},
              {"env_steps", &c->env_steps}, {"simulations", &c->simulations}, {"episodes", &c->episodes}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    MZ_TRY(mz_count_read("counters", rows[i].name, reader, rows[i].value));
  return MZ_OK;
}

mz_status mz_counters_stored(const mz_checkpoint *checkpoint, uint64_t *seed, mz_counters *counters) {
  uint8_t *data;
  size_t size;
  MZ_TRY(mz_checkpoint_section(checkpoint, "counters", MZ_COUNTERS_BYTES, &data, &size));
  mz_reader reader = mz_reader_over(data, size);
  *seed = mz_read_u64(&reader);
  const mz_status status = mz_counters_read(counters, &reader);
  free(data);
  if (status != MZ_OK) return mz_fail(MZ_E_CHECKPOINT, "%s: %s", checkpoint->path, mz_message());
  return reader.ok ? MZ_OK : mz_fail(MZ_E_CHECKPOINT, "%s: section 'counters': too short", checkpoint->path);
}

mz_status mz_batch_size_stored(const mz_checkpoint *checkpoint, mz_batch_size *out) {
  uint8_t *data;
  size_t size;
  *out = (mz_batch_size){0};
  if (!mz_checkpoint_find(checkpoint, "batch_size")) return MZ_OK;
  MZ_TRY(mz_checkpoint_section(checkpoint, "batch_size", MZ_BATCH_SIZE_BYTES, &data, &size));
  mz_reader reader = mz_reader_over(data, size);
  out->rows = (int64_t)mz_read_u64(&reader);
  out->trained_rows = (int64_t)mz_read_u64(&reader);
  free(data);
  if (reader.ok && mz_reader_left(&reader) == 0 && out->rows >= 1 && out->rows <= MZ_BATCH_SIZE_MAX && out->trained_rows >= 0 &&
      out->trained_rows <= INT64_MAX / 2)
    return MZ_OK;
  return mz_fail(MZ_E_CHECKPOINT, "%s: section 'batch_size': damaged: %zu bytes, batches of %lld rows, %lld rows trained",
                 checkpoint->path, size, (long long)out->rows, (long long)out->trained_rows);
}

/* Values, names and shapes of as many tensors as there are parameters. */
static size_t weights_bytes_max(const mz_params *params) {
  return (size_t)params->size * sizeof(float) + (size_t)params->count * 512 + 4096;
}

mz_status mz_weights_claimed(const mz_checkpoint *checkpoint, const char *section, const mz_params *params) {
  enum { RATIO_MAX = 64, SMALL = 1 << 20 }; /* trained numbers hardly compress: by more than that they are nobody's */
  const mz_section *s = mz_checkpoint_find(checkpoint, section);
  const uint64_t wanted = (uint64_t)mz_params_dense(params) * sizeof(float);
  if (!s) return mz_fail(MZ_E_CHECKPOINT, "%s: section '%s' is missing", checkpoint->path, section);
  if (s->bytes < wanted)
    return mz_fail(MZ_E_CHECKPOINT,
                   "%s: section '%s': %llu bytes are too few for the %lld weights that section 'config' asks for in this version",
                   checkpoint->path, section, (unsigned long long)s->bytes, (long long)mz_params_dense(params));
  if (s->bytes > SMALL && s->bytes / RATIO_MAX > s->compressed)
    return mz_fail(MZ_E_CHECKPOINT, "%s: section '%s': %llu bytes that were packed into %llu are no weights of a network",
                   checkpoint->path, section, (unsigned long long)s->bytes, (unsigned long long)s->compressed);
  return MZ_OK;
}

mz_status mz_weights_stored(const mz_checkpoint *checkpoint, const char *section, const mz_params *params, float *values) {
  uint8_t *data;
  size_t size;
  MZ_TRY(mz_weights_claimed(checkpoint, section, params));
  MZ_TRY(mz_checkpoint_section(checkpoint, section, weights_bytes_max(params), &data, &size));
  mz_safetensors file;
  mz_status status = mz_safetensors_parse(data, size, section, MZ_E_CHECKPOINT, &file);
  if (status == MZ_OK) {
    status = mz_weights_read(params, &file, "", section, MZ_E_CHECKPOINT, values);
    mz_safetensors_deinit(&file);
  }
  free(data);
  if (status == MZ_OK && !mz_all_finite(values, (size_t)params->size))
    status = mz_fail(MZ_E_CHECKPOINT, "%s: section '%s': holds numbers that are not finite", checkpoint->path, section);
  return status;
}

static int64_t count_of(const cJSON *session, const char *key) {
  const double value = mz_json_number_or_nan(session, key);
  return value >= 0 && value < 1e15 ? (int64_t)value : 0;
}

mz_lost_workers mz_lost_from_json(const cJSON *session) {
  return (mz_lost_workers){.workers = count_of(session, "lost_workers"), .games = count_of(session, "lost_games")};
}
