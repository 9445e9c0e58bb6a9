/* A run's directory: its lock, what lies in it beside checkpoints and logs, and what stopped writers left behind. */
#include "base/machine/clock.h"
#include "base/file/file.h"
#include "base/machine/machine.h"
#include "base/text.h"
#include "muzero/run.h"
#include "muzero/storage/run_path.h"
#include "muzero/storage/stored_env.h"
#include "networks/tape/backend.h"
#include "networks/isa.h"
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

mz_status mz_run_make_up_dir(const char *name, uint64_t seed, char *out, size_t size) {
  time_t now = time(NULL);
  struct tm utc;
  uint32_t id = 0;
  if (!gmtime_r(&now, &utc) || getrandom(&id, sizeof id, 0) != sizeof id)
    return mz_fail(MZ_E_INTERNAL, "no clock or randomness to name a run with; use --run DIR");
  char stamp[32];
  strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", &utc);
  const size_t folder = strlen(MZ_RUNS_FOLDER "/"), length = strlen(name);
  if (snprintf(out, size, MZ_RUNS_FOLDER "/%s/%s-s%llu-%06x", name, stamp, (unsigned long long)seed, id & 0xffffff) >= (int)size)
    return mz_fail(MZ_E_IO, "run directory: path too long");
  /* A variant's name: scp and tar would read a host before a colon, and a path in its options is no folder of ours. */
  for (size_t i = folder; i < folder + length; i++)
    if (out[i] == ':' || out[i] == '/') out[i] = '-';
  return MZ_OK;
}

mz_status mz_run_set_dir(mz_run *run, const char *dir) {
  size_t length = strlen(dir);
  while (length > 1 && dir[length - 1] == '/') length--;
  if (length == 0 || length >= MZ_DIR_MAX)
    return mz_fail(MZ_E_IO, "%s: %s", dir, length ? "path too long" : "an empty path is no directory");
  memcpy(run->dir, dir, length);
  run->dir[length] = 0;
  return MZ_OK;
}

mz_status mz_run_lock(mz_run *run) {
  static const char *const folders[] = {".", "checkpoints", "segments"};
  char path[MZ_DIR_MAX + 16];
  MZ_TRY(mz_path_join(path, sizeof path, run->dir, "lock"));
  MZ_TRY(mz_lock_acquire(path, &run->lock));
  for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
    MZ_TRY(mz_path_join(path, sizeof path, run->dir, folders[i]));
    MZ_TRY(mz_file_remove_left(path));
  }
  return MZ_OK;
}

mz_status mz_run_refuse_existing(const char *dir) {
  char quoted[MZ_SHELL_QUOTE_SIZE(MZ_DIR_MAX)], plan[MZ_DIR_MAX + 16];
  MZ_TRY(mz_path_join(plan, sizeof plan, dir, "plan.json"));
  if (mz_file_exists(plan)) return mz_fail(MZ_E_CONFIG, "%s: there is a comparison here (plan.json); choose another --run", dir);
  if (mz_run_is_run(dir))
    return mz_fail(MZ_E_CONFIG, "%s: there is a run here already; continue it by 'muzero resume %s', or choose another --run",
                   dir, mz_shell_quote(dir, quoted, sizeof quoted));
  return MZ_OK;
}

static mz_status write_page(const mz_run *run, const char *name, const cJSON *json) {
  char path[MZ_DIR_MAX + 16];
  char *text = mz_json_page(json);
  mz_status status =
      text ? mz_path_join(path, sizeof path, run->dir, name) : mz_fail(MZ_E_MEMORY, "%s: no memory for its text", name);
  if (status == MZ_OK) status = mz_file_write_atomic(path, text, strlen(text));
  free(text);
  return status;
}

mz_status mz_run_write_env_json(const mz_run *run) {
  char host[128] = "";
  if (gethostname(host, sizeof host - 1) != 0) host[0] = 0;
  cJSON *json = cJSON_CreateObject();
  cJSON_AddStringToObject(json, "muzero", MUZERO_VERSION);
  cJSON_AddStringToObject(json, "host", host);
  cJSON_AddStringToObject(json, "isa", mz_isa_name(mz_isa_level()));
  cJSON_AddStringToObject(json, "onednn", mz_onednn_version());
  cJSON_AddNumberToObject(json, "cores", mz_machine_cores());
  cJSON_AddNumberToObject(json, "memory_bytes", (double)mz_machine_memory());
  cJSON_AddNumberToObject(json, "started_unix_s", mz_clock_unix_s());
  const mz_knobs kept = mz_steer_kept_knobs(run->steer);
  mz_device_records devices;
  char why[640];
  mz_steer_device_records(run->steer, &kept, &devices);
  mz_run_devices_text(run, why, sizeof why);
  mz_json_add(json, "devices", mz_device_records_to_json(&devices));
  if (why[0]) cJSON_AddStringToObject(json, "placement", why);
  if (run->parent) cJSON_AddStringToObject(json, "parent", run->parent);
  mz_status status = write_page(run, "env.json", json);
  cJSON_Delete(json);
  return status;
}

static cJSON *config_to_json(mz_run *run) {
  const mz_config config = mz_settings_config(&run->settings, NULL);
  cJSON *json = cJSON_CreateObject();
  mz_stored_env_to_json(json, run->state.env);
  char seed[24]; /* as text: a JSON number holds 53 bits */
  snprintf(seed, sizeof seed, "%llu", (unsigned long long)run->state.seed);
  cJSON_AddStringToObject(json, "seed", seed);
  mz_json_add(json, "settings", mz_config_to_json(&config));
  return json;
}

mz_status mz_run_make_config_text(mz_run *run) {
  cJSON *json = config_to_json(run);
  free(run->config_text);
  run->config_text = mz_json_line(json);
  cJSON_Delete(json);
  return run->config_text ? MZ_OK : mz_fail(MZ_E_MEMORY, "config: no memory for its text");
}

mz_status mz_run_write_config_json(mz_run *run) {
  cJSON *json = config_to_json(run);
  const mz_status status = write_page(run, "config.json", json);
  cJSON_Delete(json);
  return status;
}
