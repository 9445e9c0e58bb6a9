/* Resuming a run: from its latest checkpoint, exactly; or, where that is damaged and the user allows it, from what is sound. */
#include "base/file/file.h"
#include "muzero/storage/sections.h"
#include "base/log.h"
#include "base/text.h"
#include "envs/own/shared_object.h"
#include "muzero/batch_rule.h"
#include "muzero/storage/checkpoint_list.h"
#include "muzero/run.h"
#include "muzero/storage/run_path.h"
#include "muzero/storage/stored.h"
#include "muzero/storage/stored_env.h"
#include <string.h>

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
    if (row->class_ == MZ_NUMERIC)
      return mz_fail(MZ_E_CONFIG,
                     "%s: this run was made with %s, not %s; a numeric setting may not change on resume without "
                     "--allow-numeric",
                     row->key, was, is);
    return mz_fail(MZ_E_CONFIG,
                   "%s: this run was made with %s, not %s; an algorithmic setting may not change on resume (train "
                   "%s starts a new run with it changed)",
                   row->key, was, is, mz_run_shapes_state(row) ? "without --from" : "--from");
  }
  return MZ_OK;
}

/* Settings and environment as stored, with what the user changes; the seed. */
static mz_status take_settings(mz_run *run, const mz_checkpoint *checkpoint, const mz_run_options *options, bool allow_numeric,
                               const mz_env **env, uint64_t *seed) {
  mz_settings stored;
  mz_config config = mz_settings_config(&stored, NULL);
  mz_counters counters;
  MZ_TRY(mz_config_stored(checkpoint, &config, env));
  MZ_TRY(mz_counters_stored(checkpoint, seed, &counters));
  run->settings = stored;
  config.values = &run->settings;
  MZ_TRY(mz_run_apply_sets(&config, options));
  MZ_TRY(check_change(&stored, &run->settings, allow_numeric));
  MZ_TRY(mz_settings_check(&run->settings));
  if (options->seed_given && options->seed != *seed)
    return mz_fail(MZ_E_CONFIG, "--seed %llu: this run was made with seed %llu, which may not change on resume",
                   (unsigned long long)options->seed, (unsigned long long)*seed);
  return MZ_OK;
}

/* The batch size that was moved is one that the settings allow, unless the file is damaged. */
static mz_status take_batch_size(mz_run *run, const mz_checkpoint *checkpoint) {
  mz_batch_size stored;
  mz_settings copy = run->settings;
  MZ_TRY(mz_batch_size_stored(checkpoint, &stored));
  run->batch_size = stored.rows;
  if (stored.rows == 0 || mz_batch_rule_apply(&copy, stored.rows, "section 'batch_size'") == MZ_OK) return MZ_OK;
  return mz_fail(MZ_E_CHECKPOINT, "%s: %s", checkpoint->path, mz_message());
}

typedef struct attempt {
  const char *dir;
  const char *name; /* of the checkpoint */
  const mz_run_options *options;
  const mz_env *env; /* the run must be of it; NULL: of any */
  int allow;
  bool skip;    /* segments that are lost are left out */
  bool damaged; /* why it failed: what lies in the run's directory could not be read */
} attempt;

/* Notes whether a failure to read is one. */
static mz_status reading(attempt *a, mz_status status) {
  a->damaged = status == MZ_E_CHECKPOINT || status == MZ_E_IO;
  return status;
}

/* A device that is lost while the run opens: says how to continue. */
static mz_status advise(const mz_run *run, mz_status status) {
  char dir[MZ_SHELL_QUOTE_SIZE(MZ_DIR_MAX)];
  if (status != MZ_E_DEVICE || strstr(mz_message(), "--allow-numeric")) return status;
  mz_shell_quote(run->dir, dir, sizeof dir);
  return mz_fail(
      status,
      "%s: nothing has changed in the run; 'muzero resume %s' continues when the device is there again, 'muzero resume %s "
      "--device cpu --allow-numeric' without it",
      mz_message(), dir, dir);
}

static mz_status check_env(const attempt *a, const mz_env *env) {
  if (!a->env || mz_env_is_same_game(a->env, env)) return MZ_OK;
  return mz_fail(MZ_E_CONFIG, "%s: the run here is of %s, not of %s", a->dir, env->name, a->env->name);
}

static mz_status resume_from(mz_run **out, attempt *a) {
  mz_run *run;
  a->damaged = false;
  MZ_TRY(mz_run_allocate(&run));
  char path[MZ_DIR_MAX + 128];
  mz_checkpoint checkpoint = {0};
  mz_log_offsets offsets;
  mz_status status;
  const mz_env *env;
  uint64_t seed;
  MZ_TRY_CLEANUP(mz_run_set_dir(run, a->dir));
  MZ_TRY_CLEANUP(mz_checkpoint_path(run->dir, a->name, path, sizeof path));
  MZ_TRY_CLEANUP(mz_run_lock(run));
  MZ_TRY_CLEANUP(reading(a, mz_checkpoint_open(&checkpoint, path)));
  MZ_TRY_CLEANUP(reading(a, take_settings(run, &checkpoint, a->options, a->allow & MZ_ALLOW_NUMERIC, &env, &seed)));
  MZ_TRY_CLEANUP(check_env(a, env));
  MZ_TRY_CLEANUP(reading(a, take_batch_size(run, &checkpoint)));
  MZ_TRY_CLEANUP(reading(a, mz_run_restore_session(run, &checkpoint, &offsets)));
  MZ_TRY_CLEANUP(mz_run_find_kept_plans(run));
  MZ_TRY_CLEANUP(mz_run_start(run, env, a->options, seed)); /* the games' streams are named by it */
  if (!(a->allow & MZ_ALLOW_NUMERIC)) MZ_TRY_CLEANUP(mz_run_check_devices(run));
  MZ_TRY_CLEANUP(mz_buffer_spill_to(run->state.buffer, run->dir));
  MZ_TRY_CLEANUP(mz_run_open_saver(run));
  MZ_TRY_CLEANUP(
      reading(a, mz_state_read(&run->state, &checkpoint, a->skip ? mz_saver_load_or_skip : mz_saver_load, run->saver)));
  MZ_TRY_CLEANUP(mz_metrics_open(&run->metrics, run->dir, offsets.metrics));
  MZ_TRY_CLEANUP(mz_steer_begin(run->steer, run->dir, offsets.ledger));
  MZ_TRY_CLEANUP(mz_run_recall_promise(run));
  MZ_TRY_CLEANUP(mz_steer_resume(run->steer, &run->workers));
  MZ_TRY_CLEANUP(mz_steer_begin_stages(run->steer, &run->workers));
  MZ_TRY_CLEANUP(mz_run_write_config_json(run));
  MZ_TRY_CLEANUP(mz_stored_env_keep(env, run->dir));
  if (mz_device_records_use_gpu(&run->recorded) || run->choice.gpus.count > 0) MZ_TRY_CLEANUP(mz_run_write_env_json(run));
  MZ_TRY_CLEANUP(mz_watchdog_start(&run->watchdog, &run->settings.watchdog, &run->workers));
  *out = run;
cleanup:
  mz_checkpoint_close(&checkpoint);
  status = advise(run, status);
  if (status != MZ_OK) mz_run_close(run);
  return status;
}

/* ---- without the latest checkpoint ---- */

/* Says what was done, on stderr and in metrics.jsonl, and makes LATEST name a whole checkpoint again. */
static mz_status record_fallback(mz_run *run, const char *name, const char *why) {
  const long long lost = (long long)mz_saver_skipped(run->saver), rounds = (long long)run->state.counters.rounds;
  mz_log_write(MZ_LOG_WARNING, "%s", why);
  if (lost > 0)
    mz_log_write(MZ_LOG_WARNING, "%s: continues from %s without %lld segments of the replay, which are lost", run->dir, name,
                 lost);
  else
    mz_log_write(MZ_LOG_WARNING, "%s: continues from checkpoint %s, after round %lld", run->dir, name, rounds);
  cJSON *record = cJSON_CreateObject();
  cJSON_AddStringToObject(record, "event", "fallback");
  cJSON_AddStringToObject(record, "checkpoint", name);
  cJSON_AddNumberToObject(record, "rounds", (double)rounds);
  cJSON_AddNumberToObject(record, "lost_segments", (double)lost);
  cJSON_AddStringToObject(record, "reason", why);
  const mz_status status = mz_metrics_append(&run->metrics, record, true);
  cJSON_Delete(record);
  MZ_TRY(status);
  run->fallbacks++;
  return mz_run_save(run);
}

/* Tries the checkpoints of the list from the newest to the oldest; `why`: what was wrong with the latest. */
static mz_status try_all(mz_run **out, attempt *a, const mz_checkpoint_list *list, const char *why) {
  mz_status status = MZ_E_CHECKPOINT;
  for (int i = list->count - 1; i >= 0; i--) {
    a->name = list->items[i].name;
    status = resume_from(out, a);
    if (status == MZ_OK) {
      status = record_fallback(*out, a->name, why);
      if (status != MZ_OK) mz_run_close(*out);
      return status;
    }
    if (!a->damaged) return status;
  }
  return status;
}

static mz_status fall_back(mz_run **out, attempt *a, const char *why) {
  char folder[MZ_DIR_MAX + 16];
  mz_checkpoint_list list;
  MZ_TRY(mz_path_join(folder, sizeof folder, a->dir, "checkpoints"));
  MZ_TRY(mz_checkpoint_list_read(&list, folder));
  a->skip = false;
  mz_status status = try_all(out, a, &list, why);
  a->skip = true;
  if (a->damaged) status = try_all(out, a, &list, why);
  mz_checkpoint_list_deinit(&list);
  if (a->damaged) return mz_fail(status, "%s; and no other checkpoint of %s is sound", why, a->dir);
  return status;
}

/* ---- the run ---- */

/* An older checkpoint is refused: its run's logs, and the checkpoints after it, tell of rounds that would not have been played. */
static mz_status refuse_older(const char *run) {
  char name[MZ_SHELL_QUOTE_SIZE(MZ_RUN_PATH_MAX)];
  char path[MZ_DIR_MAX + 128], quoted[MZ_SHELL_QUOTE_SIZE(MZ_RUN_PATH_MAX)];
  mz_checkpoint checkpoint;
  mz_settings settings;
  mz_config config = mz_settings_config(&settings, NULL);
  const mz_env *env;
  MZ_TRY(mz_run_checkpoint_path(run, path, sizeof path));
  MZ_TRY(mz_checkpoint_open(&checkpoint, path));
  const mz_status status = mz_config_stored(&checkpoint, &config, &env);
  mz_checkpoint_close(&checkpoint);
  MZ_TRY(status);
  return mz_fail(MZ_E_CONFIG,
                 "%s: resume continues a run from its latest checkpoint only, as the rounds after an older one are in its logs; "
                 "'muzero train %s --from %s' starts a new run from that one",
                 run, mz_shell_quote(env->name, name, sizeof name), mz_shell_quote(run, quoted, sizeof quoted));
}

mz_status mz_run_resume(mz_run **out, const char *run, const mz_run_options *options, int allow) {
  char name[MZ_CHECKPOINT_NAME_MAX], path[MZ_DIR_MAX + 128], why[MZ_MESSAGE_MAX], quoted[MZ_SHELL_QUOTE_SIZE(MZ_DIR_MAX)];
  MZ_TRY(mz_device_check(options->device));
  mz_run_path asked;
  MZ_TRY(mz_run_path_read(run, &asked));
  if (asked.choice == MZ_RUN_FILE)
    return mz_fail(MZ_E_CONFIG, "%s: resume takes a run directory; 'train --from' starts a new run from a checkpoint file", run);
  if (asked.choice != MZ_RUN_LATEST) return refuse_older(run);
  const char *dir = asked.path;
  attempt a = {.dir = dir, .name = name, .options = options, .allow = allow};
  if (options->env) MZ_TRY(mz_env_find(options->env, &a.env));
  mz_status status = reading(&a, mz_run_path_checkpoint(&asked, path, sizeof path)); /* looked at once: it may change meanwhile */
  if (status == MZ_OK) {
    snprintf(name, sizeof name, "%s", strrchr(path, '/') + 1);
    status = resume_from(out, &a);
  }
  if (!a.damaged || !mz_run_has_checkpoints(dir)) return status;
  snprintf(why, sizeof why, "%s", mz_message());
  if (allow & MZ_ALLOW_FALLBACK) return fall_back(out, &a, why);
  return mz_fail(status,
                 "%s; 'muzero resume %s --allow-fallback' goes back to the newest checkpoint that is sound, or continues without "
                 "what is lost of the replay",
                 why, mz_shell_quote(dir, quoted, sizeof quoted));
}
