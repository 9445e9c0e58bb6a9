/* Opening, resuming and closing a run. */
#include "allocator/strategies/strategy.h"
#include "base/config/config_value.h"
#include "base/machine/clock.h"
#include "base/file/file.h"
#include "envs/own/shared_object.h"
#include "envs/worker/workers.h"
#include "muzero/batch_rule.h"
#include "muzero/batch_schedule.h"
#include "muzero/run.h"
#include "muzero/storage/run_path.h"
#include "muzero/storage/sections.h"
#include "muzero/storage/stored.h"
#include "muzero/storage/stored_env.h"
#include "muzero/training/guard.h"
#include <math.h>
#include <string.h>

/* ---- settings ---- */

/* Applies a flag that stands for a setting. A value that the setting does not take is named as the user gave it. */
static mz_status set_by_flag(mz_config *config, const char *flag, const char *key, const char *value) {
  char range[512];
  const mz_status status = mz_config_set(config, key, value, flag);
  if (status != MZ_E_CONFIG) return status;
  mz_setting_value_range(mz_config_row(config, mz_config_find(config, key)), range, sizeof range);
  return mz_fail(MZ_E_CONFIG, "%s %.80s: takes %s", flag, value, range);
}

mz_status mz_run_apply_sets(mz_config *config, const mz_run_options *options) {
  for (int i = 0; i < options->set_count; i++) MZ_TRY(mz_config_set_pair(config, options->sets[i], "--set"));
  if (options->watchdog) MZ_TRY(set_by_flag(config, "--watchdog", "watchdog.action", options->watchdog));
  if (!options->allocate) return MZ_OK;
  const mz_strategy *strategy;
  MZ_TRY(mz_strategy_find(options->allocate, "--allocate", &strategy));
  return mz_config_set(config, "allocate.strategy", strategy->name, "--allocate");
}

mz_status mz_settings_for_new_run(const mz_run_options *options, mz_settings *settings) {
  uint8_t explicit_[MZ_SETTINGS_ROWS_MAX] = {0};
  mz_config config = mz_settings_config(settings, explicit_);
  mz_config_defaults(&config);
  MZ_TRY(mz_preset_apply(&config, options->preset ? options->preset : options->env));
  /* The user's values of the three settings that replay_ratio ties take precedence over the preset's. */
  uint8_t by_user[MZ_SETTINGS_ROWS_MAX] = {0};
  config.explicit_ = by_user;
  MZ_TRY(mz_run_apply_sets(&config, options));
  return mz_settings_resolve(settings, by_user);
}

/* ---- opening ---- */

static mz_status set_opponent(mz_run *run, const mz_env *env) {
  const char *name = run->settings.train.eval_opponent;
  if (env->spec.players == 1) {
    if (name[0]) return mz_fail(MZ_E_CONFIG, "eval.opponent: %s has one player and takes no opponent", env->name);
    return MZ_OK;
  }
  if (strcmp(name, "all") == 0) {
    MZ_TRY(mz_evaluate_all_check(env, "eval.opponent: all"));
    run->every_line = true;
  } else if (name[0]) {
    mz_status status = mz_player_parse_among(name, env, "and all", &run->opponent);
    if (status != MZ_OK) return mz_fail(MZ_E_CONFIG, "eval.opponent: %s", mz_message());
    run->has_opponent = true;
  }
  return MZ_OK;
}

/* Before anything is taken, the largest batches that are to come must fit, too. */
static mz_status check_largest_batch(const mz_env *env, const mz_settings *own, const mz_settings *begin,
                                     const mz_outset_options *outset) {
  const int64_t rows = mz_batch_schedule_largest(own);
  mz_settings largest = *own;
  mz_memory memory;
  if (rows <= begin->learning.batch_size) return MZ_OK;
  MZ_TRY(mz_batch_rule_apply(&largest, rows, "batch_schedule"));
  largest.learning.batch_schedule[0] = '\0'; /* what is advised is about these batches */
  const mz_status status = mz_outset_fits(&memory, env, &largest, outset, NULL);
  if (status == MZ_OK) return MZ_OK;
  return mz_fail(status, "batch_schedule: with batches of %lld rows: %s", (long long)rows, mz_message());
}

mz_status mz_run_start(mz_run *run, const mz_env *env, const mz_run_options *options, uint64_t seed) {
  mz_memory memory;
  mz_placement begins;
  const bool resumes = run->last_plan.cpu_actor > 0;
  mz_steer_options steering = {.outset = {.threads = options->threads,
                                          .last = resumes ? &run->last_plan : NULL,
                                          .choice = &run->choice,
                                          .before = resumes ? &run->recorded : NULL},
                               .memory = &memory,
                               .history = options->history,
                               .history_optional = options->history_optional,
                               .source = options->source,
                               .plans = run->plans[0] ? run->plans : NULL,
                               .has_parent = run->parent != NULL};
  run->lost_at_open = mz_worker_env_lost(env);
  /* A number in the environment's name is a setting from here on, which a resumed run keeps. */
  if (env->workers && run->settings.knobs.env_workers == 0) run->settings.knobs.env_workers = mz_env_workers_given(env->workers);
  mz_settings begin = run->settings;
  const int64_t rows = run->batch_size > 0 ? run->batch_size : mz_batch_schedule_at(&run->settings, 0);
  MZ_TRY(mz_batch_rule_apply(&begin, rows, "batch_size"));
  MZ_TRY(set_opponent(run, env));
  MZ_TRY(mz_device_choose(&run->choice, options->device, &run->settings, &env->spec, resumes ? &run->recorded : NULL));
  MZ_TRY(mz_outset_bounds(&steering.outset.bounds, &run->settings.allocation, options->threads, run->choice.gpus.count));
  MZ_TRY(check_largest_batch(env, &run->settings, &begin, &steering.outset));
  MZ_TRY(mz_outset_fits(&memory, env, &begin, &steering.outset, &begins));
  if (env->workers) mz_env_workers_set_count(env->workers, (int)memory.env.begins); /* before games begin */
  MZ_TRY(mz_state_init(&run->state, env, &run->settings, seed, 1, &begins));
  MZ_TRY(mz_state_set_batch_size(&run->state, rows, "batch_size"));
  if (run->settings.guard.mode == MZ_GUARD_BACK) MZ_TRY(mz_guard_create(&run->state.guard, &run->state));
  MZ_TRY(mz_steer_create(&run->steer, &run->state, &steering));
  const mz_knobs knobs = mz_steer_knobs(run->steer);
  MZ_TRY(mz_workers_init(&run->workers, &run->state, &knobs, mz_steer_devices(run->steer)));
  return mz_run_make_config_text(run);
}

mz_status mz_run_allocate(mz_run **out) {
  mz_run *run;
  MZ_TRY(mz_alloc(&run, 1, sizeof *run));
  run->lock = run->metrics.fd = -1;
  run->score = run->best_score = run->score_rise = run->episode_length = run->game_s = NAN;
  run->best_rounds = run->evaluated_rounds = -1;
  run->opened_ns = run->saved_ns = run->reserved.ns = mz_clock_ns();
  *out = run;
  return MZ_OK;
}

static mz_status sync_logs(void *context) {
  mz_run *run = context;
  MZ_TRY(mz_metrics_sync(&run->metrics));
  return mz_steer_ledger_sync(run->steer);
}

mz_status mz_run_open_saver(mz_run *run) {
  const mz_saver_options options = {.keep = (int)run->settings.train.keep,
                                    .spaced = (int)run->settings.train.spaced,
                                    .best_rounds = run->best_rounds,
                                    .sync_logs = sync_logs,
                                    .context = run};
  return mz_saver_open(&run->saver, run->dir, &run->state.env->spec, &options);
}

static mz_status load_from_store(void *store, uint64_t hash, mz_segment **out) { return mz_store_load(store, hash, out); }

/* Rows of a batch, which the new run's schedule gives for as many phases as the old one's rounds make. */
static int64_t rows_from(const mz_settings *settings, const mz_counters *counters) {
  return mz_batch_schedule_at(settings, counters->rounds / settings->train.phase_rounds);
}

bool mz_run_shapes_state(const mz_setting *row) {
  return (strncmp(row->key, "network.", 8) == 0 && row->class_ == MZ_ALGORITHMIC) || strcmp(row->key, "num_games") == 0;
}

/* A whole checkpoint whose sections do not fit the new run is not damaged: names the settings that shape weights and games. */
static mz_status explain_misfit(const mz_run *run, const mz_checkpoint *checkpoint, const char *from, mz_status status) {
  char why[MZ_MESSAGE_MAX], list[MZ_MESSAGE_MAX / 2] = "", there[64], here[64]; /* numbers and words */
  mz_settings theirs, own = run->settings;
  mz_config old = mz_settings_config(&theirs, NULL), asked = mz_settings_config(&own, NULL);
  const mz_env *env;
  snprintf(why, sizeof why, "%s", mz_message());
  const bool of_section = strstr(why, "section '") || strncmp(why, "games: ", 7) == 0;
  if (status == MZ_E_CHECKPOINT && of_section && mz_checkpoint_verify(checkpoint) == MZ_OK &&
      mz_config_stored(checkpoint, &old, &env) == MZ_OK) {
    for (int i = 0; i < mz_config_row_count(&asked); i++) {
      const size_t used = strlen(list);
      if (!mz_run_shapes_state(mz_config_row(&asked, i)) || mz_config_equal(&old, &asked, i)) continue;
      mz_config_text(&old, i, there, sizeof there);
      mz_config_text(&asked, i, here, sizeof here);
      snprintf(list + used, sizeof list - used, "%s%s is %s there, not %s", used ? ", " : "", mz_config_row(&asked, i)->key,
               there, here);
    }
  }
  if (!list[0]) return mz_fail(status, "%s", why);
  return mz_fail(MZ_E_CONFIG, "--from %s: weights and games in play are taken over as they are, and %s: leave it as it was", from,
                 list);
}

/* A new run takes over what it can of the old one's state, and leaves nothing where that lies. */
static mz_status take_over(mz_run *run, const char *from) {
  char path[MZ_DIR_MAX + 128], segments[MZ_DIR_MAX + 128];
  mz_checkpoint checkpoint;
  mz_store *store;
  MZ_TRY(mz_run_checkpoint_path(from, path, sizeof path));
  MZ_TRY(mz_checkpoint_segments_dir(path, segments, sizeof segments));
  MZ_TRY(mz_checkpoint_open(&checkpoint, path));
  const uint64_t seed = run->state.seed;
  const int64_t loops = run->state.settings.learning.loop_count; /* the new run's own, and whether it moves, too */
  const bool moves = run->state.moves_loop_count;
  mz_status status = mz_store_open(&store, segments, &run->state.env->spec);
  if (status == MZ_OK) {
    status = mz_state_read(&run->state, &checkpoint, load_from_store, store);
    mz_store_close(store);
    if (status != MZ_OK) status = explain_misfit(run, &checkpoint, from, status);
  }
  mz_checkpoint_close(&checkpoint);
  if (status == MZ_OK && run->state.guard) mz_guard_begin_run(run->state.guard);
  run->state.seed = seed;
  run->state.settings.learning.loop_count = loops;
  run->state.moves_loop_count = moves;
  MZ_TRY(status);
  if (rows_from(&run->settings, &run->state.counters) == run->batch_size) return MZ_OK;
  return mz_fail(MZ_E_CHECKPOINT, "--from %s: that run saved on while it was read; try again", from);
}

static mz_status check_same(const mz_env *env, const mz_run_options *options) {
  const mz_env *asked;
  MZ_TRY(mz_env_find(options->env, &asked));
  const mz_env_file *theirs = mz_env_file_of(env), *file = mz_env_file_of(asked);
  const bool same_name = strcmp(asked->name, env->name) == 0;
  if (mz_env_is_same_game(asked, env) || (same_name && !theirs && !file)) return MZ_OK;
  if (!same_name)
    return mz_fail(MZ_E_CONFIG, "--from %s: that run is of %s, not %s; weights of one environment do not fit another",
                   options->from, env->name, options->env);
  return mz_fail(MZ_E_CONFIG,
                 "--from %s: that run is of another %s, of hash %016llx, not %016llx; its games cannot be taken over: "
                 "begin a new run without --from",
                 options->from, env->name, (unsigned long long)theirs->hash, (unsigned long long)file->hash);
}

/* rows: of a batch. */
static mz_status settings_from(const mz_run_options *options, mz_settings *settings, const mz_env **env, int64_t *rows) {
  char path[MZ_DIR_MAX + 128];
  mz_checkpoint checkpoint;
  MZ_TRY(mz_run_checkpoint_path(options->from, path, sizeof path));
  MZ_TRY(mz_checkpoint_open(&checkpoint, path));
  uint8_t explicit_[MZ_SETTINGS_ROWS_MAX] = {0};
  mz_config config = mz_settings_config(settings, NULL);
  mz_counters counters = {0};
  uint64_t seed;
  mz_status status = mz_config_stored(&checkpoint, &config, env);
  if (status == MZ_OK) status = mz_counters_stored(&checkpoint, &seed, &counters);
  mz_checkpoint_close(&checkpoint);
  MZ_TRY(status);
  if (options->env) MZ_TRY(check_same(*env, options));
  settings->learning.replay_ratio = 0; /* follows anew from what is given now */
  if (options->preset) MZ_TRY(mz_preset_apply(&config, options->preset));
  config.explicit_ = explicit_; /* as in a new run */
  MZ_TRY(mz_run_apply_sets(&config, options));
  MZ_TRY(mz_settings_resolve(settings, explicit_));
  *rows = rows_from(settings, &counters);
  return MZ_OK;
}

static mz_status make_up_dir(mz_run *run, const mz_env *env, uint64_t seed) {
  char name[256];
  mz_env_short_name(env, name, sizeof name);
  return mz_run_make_up_dir(name, seed, run->dir, sizeof run->dir);
}

/* Replay is spilled while it is read, when the run has no folder yet: to where that will be, on the same disk, in a file without a name. */
static mz_status spill_beside(const mz_run *run) {
  char folder[MZ_DIR_MAX], inner[MZ_DIR_MAX];
  snprintf(folder, sizeof folder, "%s", run->dir);
  while (!mz_file_exists(folder)) {
    snprintf(inner, sizeof inner, "%s", folder);
    MZ_TRY(mz_path_folder(inner, folder, sizeof folder));
  }
  return mz_buffer_spill_to(run->state.buffer, folder);
}

/* reads: whether it failed before all of the old run was read. */
static mz_status open_new(mz_run **out, const mz_run_options *options, bool *reads) {
  mz_run *run;
  *reads = options->from != NULL;
  MZ_TRY(mz_device_check(options->device));
  MZ_TRY(mz_run_allocate(&run));
  mz_status status;
  const mz_env *env;
  uint64_t seed = options->seed_given ? options->seed : 1;
  if (options->from)
    MZ_TRY_CLEANUP(settings_from(options, &run->settings, &env, &run->batch_size));
  else {
    MZ_TRY_CLEANUP(mz_env_find(options->env, &env));
    MZ_TRY_CLEANUP(mz_settings_for_new_run(options, &run->settings));
  }
  if (options->plans) MZ_TRY_CLEANUP(mz_run_find_plans(run, options->plans, env));
  if (!options->plans) MZ_TRY_CLEANUP(mz_run_plan_whole(run, env, options));
  if (options->from && !(run->parent = strdup(options->from))) MZ_TRY_CLEANUP(mz_fail(MZ_E_MEMORY, "--from: no memory"));
  MZ_TRY_CLEANUP(
      mz_run_start(run, env, options, seed)); /* before anything is written: a run that cannot be leaves no directory */
  if (options->dir)
    MZ_TRY_CLEANUP(mz_run_set_dir(run, options->dir));
  else
    MZ_TRY_CLEANUP(make_up_dir(run, env, seed));
  if (options->from) MZ_TRY_CLEANUP(spill_beside(run));
  if (options->from) MZ_TRY_CLEANUP(take_over(run, options->from));
  *reads = false;
  MZ_TRY_CLEANUP(mz_run_refuse_existing(run->dir));
  MZ_TRY_CLEANUP(mz_file_mkdirs(run->dir));
  MZ_TRY_CLEANUP(mz_run_lock(run));
  MZ_TRY_CLEANUP(mz_run_refuse_existing(run->dir)); /* by another process, before the lock was had */
  MZ_TRY_CLEANUP(mz_buffer_spill_to(run->state.buffer, run->dir));
  MZ_TRY_CLEANUP(mz_run_write_env_json(run));
  MZ_TRY_CLEANUP(mz_stored_env_keep(env, run->dir));
  MZ_TRY_CLEANUP(mz_run_keep_plans(run));
  MZ_TRY_CLEANUP(mz_run_open_saver(run));
  MZ_TRY_CLEANUP(mz_metrics_open(&run->metrics, run->dir, 0));
  MZ_TRY_CLEANUP(mz_steer_begin(run->steer, run->dir, 0));
  if (run->promise.made) MZ_TRY_CLEANUP(mz_steer_promise(run->steer, &run->promise.is));
  MZ_TRY_CLEANUP(mz_steer_begin_stages(run->steer, &run->workers));
  MZ_TRY_CLEANUP(mz_run_save(run)); /* resumable from the first moment; before it the directory holds no run */
  MZ_TRY_CLEANUP(mz_run_write_config_json(run));
  MZ_TRY_CLEANUP(mz_watchdog_start(&run->watchdog, &run->settings.watchdog, &run->workers));
  *out = run;
cleanup:
  if (status != MZ_OK) mz_run_close(run);
  return status;
}

/* Returns whether `from` has another checkpoint than `before` by now; keeps the message. */
static bool saved_on(const char *from, const char *before) {
  char now[MZ_DIR_MAX + 128], why[MZ_MESSAGE_MAX];
  snprintf(why, sizeof why, "%s", mz_message());
  const bool found = mz_run_checkpoint_path(from, now, sizeof now) == MZ_OK;
  mz_fail(MZ_OK, "%s", why);
  return found && strcmp(now, before) != 0;
}

/* A run that is at work removes what another one reads to begin from: that is read again from its next checkpoint. */
mz_status mz_run_open(mz_run **out, const mz_run_options *options) {
  enum { TRIES = 8 };
  char before[MZ_DIR_MAX + 128];
  for (int tries = 1;; tries++) {
    bool reads;
    if (!options->from || mz_run_checkpoint_path(options->from, before, sizeof before) != MZ_OK) before[0] = '\0';
    const mz_status status = open_new(out, options, &reads);
    const bool lost = reads && (status == MZ_E_CHECKPOINT || status == MZ_E_IO);
    if (!lost || tries == TRIES || !saved_on(options->from, before)) return status;
  }
}

void mz_run_close(mz_run *run) {
  if (!run) return;
  char why[MZ_MESSAGE_MAX]; /* closing keeps the message of the failure that led here */
  snprintf(why, sizeof why, "%s", mz_message());
  mz_watchdog_stop(run->watchdog);
  mz_saver_close(run->saver);
  mz_workers_deinit(&run->workers);
  mz_steer_free(run->steer);
  mz_guard_free(run->state.guard);
  mz_state_deinit(&run->state);
  mz_metrics_close(&run->metrics);
  if (run->lock >= 0) mz_lock_release(run->lock);
  free(run->config_text);
  free(run->parent);
  free(run);
  mz_fail(MZ_OK, "%s", why);
}
