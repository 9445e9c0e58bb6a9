/* Opening, resuming and closing a run. */
#include "muzero/base/clock.h"
#include "muzero/base/digest.h"
#include "muzero/base/file.h"
#include "muzero/base/log.h"
#include "muzero/base/machine.h"
#include "muzero/pipeline.h"
#include "muzero/run.h"
#include "muzero/stored.h"
#include "networks/isa.h"
#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

/* ---- settings ---- */

static mz_status apply_preset(mz_config *config, const char *name) {
  char *text;
  size_t size;
  MZ_TRY(mz_preset_load(name, &text, &size));
  char where[256];
  snprintf(where, sizeof where, "%s%s", name, strchr(name, '/') || strstr(name, ".json") ? "" : ".json");
  cJSON *json;
  mz_status status = mz_json_parse(text, size, where, true, MZ_E_CONFIG, &json);
  free(text);
  MZ_TRY(status);
  status = mz_config_set_json(config, json, where);
  cJSON_Delete(json);
  return status;
}

static mz_status apply_sets(mz_config *config, const mz_run_options *options) {
  for (int i = 0; i < options->set_count; i++) MZ_TRY(mz_config_set_pair(config, options->sets[i], "--set"));
  return options->allocate ? mz_config_set(config, "allocate.strategy", options->allocate, "--allocate") : MZ_OK;
}

mz_status mz_settings_for_new_run(const mz_run_options *options, mz_settings *settings) {
  uint8_t explicit_[MZ_SETTINGS_ROWS_MAX] = {0};
  mz_config config = mz_settings_config(settings, explicit_);
  mz_config_defaults(&config);
  MZ_TRY(apply_preset(&config, options->preset ? options->preset : options->env));
  /* What a preset says of the three that replay_ratio ties gives way to what the user says. */
  uint8_t by_user[MZ_SETTINGS_ROWS_MAX] = {0};
  config.explicit_ = by_user;
  MZ_TRY(apply_sets(&config, options));
  return mz_settings_resolve(settings, by_user);
}

/* The keys in which `next` differs from `old` may all change on resume. */
static mz_status check_change(mz_settings *old, mz_settings *next, bool allow_numeric) {
  mz_config a = mz_settings_config(old, NULL), b = mz_settings_config(next, NULL);
  for (int i = 0; i < mz_config_row_count(&a); i++) {
    const mz_setting *row = mz_config_row(&a, i);
    bool free_ = row->class_ == MZ_EXACT || row->class_ == MZ_OPERATIONAL || (row->class_ == MZ_NUMERIC && allow_numeric);
    if (free_ || mz_config_equal(&a, &b, i)) continue;
    char was[128], is[128];
    mz_config_text(&a, i, was, sizeof was);
    mz_config_text(&b, i, is, sizeof is);
    return mz_fail(MZ_E_CONFIG, "%s: this run was made with %s, not %s; a %s setting may not change on resume%s", row->key, was,
                   is, mz_class_name(row->class_),
                   row->class_ == MZ_NUMERIC ? " without --allow-numeric" : " (train --from starts a new run with it changed)");
  }
  return MZ_OK;
}

static mz_status config_text(mz_run *run) {
  mz_config config = mz_settings_config(&run->settings, NULL);
  cJSON *json = cJSON_CreateObject();
  cJSON_AddStringToObject(json, "env", run->state.env->name);
  char seed[24]; /* as text: a JSON number holds 53 bits */
  snprintf(seed, sizeof seed, "%llu", (unsigned long long)run->state.seed);
  cJSON_AddStringToObject(json, "seed", seed);
  cJSON_AddItemToObject(json, "settings", mz_config_to_json(&config));
  free(run->config_text);
  run->config_text = mz_json_line(json);
  cJSON_Delete(json);
  return run->config_text ? MZ_OK : mz_fail(MZ_E_MEMORY, "config: no memory for its text");
}

static mz_status check_device(const char *device) {
  if (!device || strcmp(device, "auto") == 0 || strcmp(device, "cpu") == 0) return MZ_OK;
  if (strcmp(device, "cuda") == 0) return mz_fail(MZ_E_DEVICE, "--device cuda: this build has no CUDA back end; use cpu or auto");
  const char *names[] = {"auto", "cpu", "cuda"};
  const char *nearest = mz_nearest(device, names, 3);
  return mz_fail(MZ_E_USAGE, "--device %s: takes auto, cpu or cuda%s%s%s", device, nearest ? "; did you mean '" : "",
                 nearest ? nearest : "", nearest ? "'?" : "");
}

/* ---- the directory ---- */

mz_status mz_run_make_up_dir(const char *name, uint64_t seed, char *out, size_t size) {
  time_t now = time(NULL);
  struct tm utc;
  uint32_t id = 0;
  if (!gmtime_r(&now, &utc) || getrandom(&id, sizeof id, 0) != sizeof id)
    return mz_fail(MZ_E_INTERNAL, "no clock or randomness to name a run with; use --run DIR");
  char stamp[32];
  strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", &utc);
  if (snprintf(out, size, "runs/%s/%s-s%llu-%06x", name, stamp, (unsigned long long)seed, id & 0xffffff) >= (int)size)
    return mz_fail(MZ_E_IO, "run directory: path too long");
  for (char *colon = out; (colon = strchr(colon, ':'));) *colon = '-'; /* of a variant; scp and tar would read a host before it */
  return MZ_OK;
}

static mz_status set_dir(mz_run *run, const char *dir) {
  size_t length = strlen(dir);
  while (length > 1 && dir[length - 1] == '/') length--;
  if (length == 0 || length >= MZ_DIR_MAX)
    return mz_fail(MZ_E_IO, "%s: %s", dir, length ? "path too long" : "an empty path is no directory");
  memcpy(run->dir, dir, length);
  run->dir[length] = 0;
  return MZ_OK;
}

/* Takes the lock and removes what a process that was killed was still writing. */
static mz_status lock(mz_run *run) {
  char path[MZ_DIR_MAX + 16];
  MZ_TRY(mz_path_join(path, sizeof path, run->dir, "lock"));
  MZ_TRY(mz_lock_acquire(path, &run->lock));
  MZ_TRY(mz_file_remove_ending(run->dir, ".spill"));
  static const char *const folders[] = {".", "checkpoints", "segments"};
  for (int i = 0; i < 3; i++) {
    MZ_TRY(mz_path_join(path, sizeof path, run->dir, folders[i]));
    MZ_TRY(mz_file_remove_ending(path, ".tmp"));
  }
  return MZ_OK;
}

static bool has_run(const char *dir) {
  char path[MZ_DIR_MAX + 16];
  if (mz_path_join(path, sizeof path, dir, "LATEST") == MZ_OK && mz_file_exists(path)) return true;
  return mz_path_join(path, sizeof path, dir, "config.json") == MZ_OK && mz_file_exists(path);
}

static mz_status write_text(const mz_run *run, const char *name, cJSON *json) {
  char path[MZ_DIR_MAX + 16];
  char *text = cJSON_Print(json);
  mz_status status =
      text ? mz_path_join(path, sizeof path, run->dir, name) : mz_fail(MZ_E_MEMORY, "%s: no memory for its text", name);
  if (status == MZ_OK) status = mz_file_write_atomic(path, text, strlen(text));
  free(text);
  return status;
}

static mz_status write_env_json(const mz_run *run) {
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
  if (run->parent) cJSON_AddStringToObject(json, "parent", run->parent);
  mz_status status = write_text(run, "env.json", json);
  cJSON_Delete(json);
  return status;
}

static mz_status write_config_json(const mz_run *run) {
  cJSON *json = cJSON_Parse(run->config_text);
  if (!json) return mz_fail(MZ_E_MEMORY, "config.json: no memory for its text");
  mz_status status = write_text(run, "config.json", json);
  cJSON_Delete(json);
  return status;
}

/* ---- the session ---- */

cJSON *mz_run_session(const mz_run *run) {
  cJSON *json = cJSON_CreateObject();
  cJSON_AddNumberToObject(json, "wall_s", mz_run_wall_s(run));
  cJSON_AddNumberToObject(json, "score", run->score);
  cJSON_AddNumberToObject(json, "best_score", run->best_score);
  mz_json_add_u64_hex(json, "metrics_offset", run->metrics.offset);
  mz_json_add_u64_hex(json, "ledger_offset", mz_steer_ledger_offset(run->steer));
  cJSON_AddItemToObject(json, "plan", mz_knobs_to_json(&run->workers.knobs));
  cJSON_AddNumberToObject(json, "cost", run->cost);
  cJSON_AddStringToObject(json, "isa", mz_isa_name(mz_isa_level()));
  if (run->parent) cJSON_AddStringToObject(json, "parent", run->parent);
  return json;
}

mz_status mz_run_restore_session(mz_run *run, const mz_checkpoint *checkpoint, uint64_t *metrics_offset,
                                 uint64_t *ledger_offset) {
  uint8_t *text;
  size_t size;
  MZ_TRY(mz_checkpoint_section(checkpoint, "session", &text, &size));
  cJSON *json;
  mz_status status = mz_json_parse((const char *)text, size, "section 'session'", false, MZ_E_CHECKPOINT, &json);
  free(text);
  MZ_TRY(status);
  run->wall_before_s = mz_json_number_or_nan(json, "wall_s");
  run->score = mz_json_number_or_nan(json, "score");
  run->best_score = mz_json_number_or_nan(json, "best_score");
  run->cost = mz_json_number_or_nan(json, "cost");
  if (!isfinite(run->cost)) run->cost = 0;
  run->last_plan = mz_knobs_from_json(cJSON_GetObjectItemCaseSensitive(json, "plan"));
  status = mz_json_get_u64_hex(json, "metrics_offset", "section 'session'", MZ_E_CHECKPOINT, metrics_offset);
  if (status == MZ_OK) status = mz_json_get_u64_hex(json, "ledger_offset", "section 'session'", MZ_E_CHECKPOINT, ledger_offset);
  const char *isa = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "isa"));
  if (isa && strcmp(isa, mz_isa_name(mz_isa_level())) != 0)
    mz_log_write(MZ_LOG_WARNING, "%s: this run was made with %s kernels and goes on with %s: same mathematics, other rounding",
                 checkpoint->path, isa, mz_isa_name(mz_isa_level()));
  const char *parent = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "parent"));
  if (parent) run->parent = strdup(parent);
  if (!isfinite(run->wall_before_s)) run->wall_before_s = 0;
  cJSON_Delete(json);
  return status;
}

/* ---- opening ---- */

static mz_status set_opponent(mz_run *run, const mz_env *env) {
  const char *name = run->settings.train.eval_opponent;
  if (env->spec.players == 1) {
    if (name[0]) return mz_fail(MZ_E_CONFIG, "eval.opponent: %s has one player and takes no opponent", env->name);
    return MZ_OK;
  }
  if (strcmp(name, "all") == 0)
    run->every_line = true;
  else if (name[0]) {
    mz_status status = mz_player_parse(name, env, &run->opponent);
    if (status != MZ_OK) {
      char why[MZ_MESSAGE_MAX];
      snprintf(why, sizeof why, "%s", mz_message());
      return mz_fail(MZ_E_CONFIG, "eval.opponent: %s", why);
    }
    run->has_opponent = true;
  }
  return MZ_OK;
}

static mz_status start(mz_run *run, const mz_env *env, const mz_run_options *options, uint64_t seed) {
  mz_bounds bounds;
  const mz_steer_options steering = {.bounds = &bounds,
                                     .threads = options->threads,
                                     .history = options->history,
                                     .history_optional = options->history_optional,
                                     .source = options->source,
                                     .last = run->last_plan.cpu_actor ? &run->last_plan : NULL};
  MZ_TRY(set_opponent(run, env));
  MZ_TRY(mz_steer_bounds(&bounds, &run->settings.allocation, options->threads));
  MZ_TRY(mz_state_fits(env, &run->settings, bounds.memory_max));
  MZ_TRY(mz_state_init(&run->state, env, &run->settings, seed, 1));
  MZ_TRY(mz_steer_create(&run->steer, &run->state, &steering));
  const mz_knobs knobs = mz_steer_knobs(run->steer);
  MZ_TRY(mz_workers_init(&run->workers, &run->state, &knobs, mz_steer_devices(run->steer)));
  return config_text(run);
}

static mz_status allocate(mz_run **out) {
  mz_run *run;
  MZ_TRY(mz_alloc(&run, 1, sizeof *run));
  run->lock = run->metrics.fd = -1;
  run->score = run->best_score = NAN;
  run->opened_ns = run->saved_ns = mz_clock_ns();
  *out = run;
  return MZ_OK;
}

/* A new run takes over what it can of the old one's state. */
static mz_status take_over(mz_run *run, const char *from) {
  char path[MZ_DIR_MAX + 128], dir[MZ_DIR_MAX + 128];
  mz_checkpoint checkpoint;
  mz_saver *old;
  MZ_TRY(mz_run_checkpoint_path(from, path, sizeof path));
  MZ_TRY(mz_checkpoint_open(&checkpoint, path));
  snprintf(dir, sizeof dir, "%s", path); /* DIR/checkpoints/NAME → DIR */
  for (int up = 0; up < 2; up++)
    if (strrchr(dir, '/')) *strrchr(dir, '/') = 0;
  uint64_t seed = run->state.seed;
  mz_status status = mz_saver_open(&old, dir, &run->state.env->spec, 1, 0);
  if (status == MZ_OK) {
    status = mz_state_read(&run->state, &checkpoint, mz_saver_load, old);
    mz_saver_close(old);
  }
  mz_checkpoint_close(&checkpoint);
  run->state.seed = seed;
  return status;
}

static mz_status settings_from(const mz_run_options *options, mz_settings *settings, const mz_env **env) {
  char path[MZ_DIR_MAX + 128];
  mz_checkpoint checkpoint;
  MZ_TRY(mz_run_checkpoint_path(options->from, path, sizeof path));
  MZ_TRY(mz_checkpoint_open(&checkpoint, path));
  uint8_t explicit_[MZ_SETTINGS_ROWS_MAX] = {0};
  mz_config config = mz_settings_config(settings, NULL);
  mz_status status = mz_config_stored(&checkpoint, &config, env);
  mz_checkpoint_close(&checkpoint);
  MZ_TRY(status);
  if (options->env && strcmp(options->env, (*env)->name) != 0)
    return mz_fail(MZ_E_CONFIG, "--from %s: that run is of %s, not %s; weights of one environment do not fit another",
                   options->from, (*env)->name, options->env);
  settings->learning.replay_ratio = 0; /* follows anew from what is given now */
  config.explicit_ = explicit_;
  if (options->preset) MZ_TRY(apply_preset(&config, options->preset));
  MZ_TRY(apply_sets(&config, options));
  return mz_settings_resolve(settings, explicit_);
}

mz_status mz_run_open(mz_run **out, const mz_run_options *options) {
  mz_run *run;
  MZ_TRY(check_device(options->device));
  MZ_TRY(allocate(&run));
  mz_status status;
  const mz_env *env;
  uint64_t seed = options->seed_given ? options->seed : 1;
  if (options->from)
    MZ_TRY_CLEANUP(settings_from(options, &run->settings, &env));
  else {
    MZ_TRY_CLEANUP(mz_env_find(options->env, &env));
    MZ_TRY_CLEANUP(mz_settings_for_new_run(options, &run->settings));
  }
  if (options->from && !(run->parent = strdup(options->from))) MZ_TRY_CLEANUP(mz_fail(MZ_E_MEMORY, "--from: no memory"));
  MZ_TRY_CLEANUP(start(run, env, options, seed)); /* before anything is written: a run that cannot be leaves no directory */
  if (options->from) MZ_TRY_CLEANUP(take_over(run, options->from));
  if (options->dir)
    MZ_TRY_CLEANUP(set_dir(run, options->dir));
  else
    MZ_TRY_CLEANUP(mz_run_make_up_dir(env->name, seed, run->dir, sizeof run->dir));
  if (has_run(run->dir))
    MZ_TRY_CLEANUP(mz_fail(MZ_E_CONFIG,
                           "%s: there is a run here already; go on with it by 'muzero resume %s', or choose another --run",
                           run->dir, run->dir));
  MZ_TRY_CLEANUP(mz_file_mkdirs(run->dir));
  MZ_TRY_CLEANUP(lock(run));
  MZ_TRY_CLEANUP(mz_buffer_spill_to(run->state.buffer, run->dir));
  MZ_TRY_CLEANUP(write_env_json(run));
  MZ_TRY_CLEANUP(
      mz_saver_open(&run->saver, run->dir, &env->spec, (int)run->settings.train.keep, (int)run->settings.train.spaced));
  MZ_TRY_CLEANUP(mz_metrics_open(&run->metrics, run->dir, 0));
  MZ_TRY_CLEANUP(mz_steer_begin(run->steer, run->dir, 0));
  MZ_TRY_CLEANUP(write_config_json(run));
  MZ_TRY_CLEANUP(mz_run_save(run)); /* resumable from the first moment */
  *out = run;
cleanup:
  if (status != MZ_OK) mz_run_close(run);
  return status;
}

mz_status mz_run_resume(mz_run **out, const char *dir, const mz_run_options *options, bool allow_numeric) {
  mz_run *run;
  MZ_TRY(check_device(options->device));
  MZ_TRY(allocate(&run));
  char path[MZ_DIR_MAX + 128];
  mz_checkpoint checkpoint = {0};
  mz_status status;
  const mz_env *env;
  MZ_TRY_CLEANUP(mz_run_checkpoint_path(dir, path, sizeof path));
  MZ_TRY_CLEANUP(set_dir(run, dir));
  if (!mz_file_is_dir(dir))
    MZ_TRY_CLEANUP(
        mz_fail(MZ_E_CONFIG, "%s: resume takes a run directory; 'train --from' starts a new run from a checkpoint file", dir));
  MZ_TRY_CLEANUP(lock(run));
  MZ_TRY_CLEANUP(mz_checkpoint_open(&checkpoint, path));
  mz_settings stored;
  mz_config config = mz_settings_config(&stored, NULL);
  MZ_TRY_CLEANUP(mz_config_stored(&checkpoint, &config, &env));
  uint64_t seed;
  mz_counters counters;
  MZ_TRY_CLEANUP(mz_counters_stored(&checkpoint, &seed, &counters));
  run->settings = stored;
  config.values = &run->settings;
  MZ_TRY_CLEANUP(apply_sets(&config, options));
  MZ_TRY_CLEANUP(check_change(&stored, &run->settings, allow_numeric));
  if (options->seed_given && options->seed != seed)
    MZ_TRY_CLEANUP(mz_fail(MZ_E_CONFIG, "--seed %llu: this run was made with seed %llu, which may not change on resume",
                           (unsigned long long)options->seed, (unsigned long long)seed));
  uint64_t metrics_offset, ledger_offset;
  MZ_TRY_CLEANUP(mz_run_restore_session(run, &checkpoint, &metrics_offset, &ledger_offset));
  MZ_TRY_CLEANUP(start(run, env, options, seed)); /* the games' streams are named by it */
  MZ_TRY_CLEANUP(mz_buffer_spill_to(run->state.buffer, run->dir));
  MZ_TRY_CLEANUP(
      mz_saver_open(&run->saver, run->dir, &env->spec, (int)run->settings.train.keep, (int)run->settings.train.spaced));
  MZ_TRY_CLEANUP(mz_state_read(&run->state, &checkpoint, mz_saver_load, run->saver));
  MZ_TRY_CLEANUP(mz_metrics_open(&run->metrics, run->dir, metrics_offset));
  MZ_TRY_CLEANUP(mz_steer_begin(run->steer, run->dir, ledger_offset));
  MZ_TRY_CLEANUP(write_config_json(run));
  *out = run;
cleanup:
  mz_checkpoint_close(&checkpoint);
  if (status != MZ_OK) mz_run_close(run);
  return status;
}

void mz_run_close(mz_run *run) {
  if (!run) return;
  char why[MZ_MESSAGE_MAX]; /* closing keeps the message of the failure that led here */
  snprintf(why, sizeof why, "%s", mz_message());
  mz_saver_close(run->saver);
  mz_workers_deinit(&run->workers);
  mz_steer_free(run->steer);
  mz_state_deinit(&run->state);
  mz_metrics_close(&run->metrics);
  if (run->lock >= 0) mz_lock_release(run->lock);
  free(run->config_text);
  free(run->parent);
  free(run);
  mz_fail(MZ_OK, "%s", why);
}
