#include "allocator/predictors/pretrained.h"
#include "base/machine/clock.h"
#include "base/log.h"
#include "envs/worker/workers.h"
#include "muzero/steering/curve_record.h"
#include "muzero/steering/history_key.h"
#include "muzero/steering/probe.h"
#include "muzero/steering/steer_state.h"
#include <math.h>
#include <string.h>

enum { HISTORY_ROWS = 256 };

/* ---- history ---- */

mz_status mz_steer_read_history(mz_steer *s) {
  mz_history_row *rows = NULL;
  mz_observation *observations;
  int count = 0;
  if (!s->history) return MZ_OK;
  MZ_TRY(mz_history_read(s->history, &s->key, &s->outset.pipeline, HISTORY_ROWS, &rows, &count));
  const mz_status status = mz_alloc(&observations, (size_t)count, sizeof *observations);
  for (int i = 0; i < count && status == MZ_OK; i++) observations[i] = rows[i].observation;
  free(rows);
  MZ_TRY(status);
  free(s->rows);
  s->rows = observations;
  s->options.history = s->rows;
  s->options.history_count = count;
  return MZ_OK;
}

/* Beside rows of a key, what they are rows of: once it is known what the stages cost alone. */
mz_status mz_steer_keep_pipeline(mz_steer *s) {
  bool probed = false;
  for (int i = 0; i < s->outset.pipeline.stage_count; i++) probed = probed || mz_stage_is_probed(&s->outset.pipeline.stages[i]);
  return probed ? mz_history_keep_pipeline(s->history, &s->key, &s->outset.pipeline) : MZ_OK;
}

/* A run continues without a history that cannot be had. */
static mz_status read_history(mz_steer *s, const char *path, bool optional) {
  mz_status opened = mz_history_open(&s->history, path ? path : "none");
  if (opened == MZ_E_IO && optional) {
    mz_log_write(MZ_LOG_WARNING, "%s; this run keeps no history", mz_message());
    return MZ_OK;
  }
  MZ_TRY(opened);
  return mz_steer_read_history(s);
}

static mz_status add_history(mz_steer *s, const mz_plan *plan) {
  mz_history_row row = {.key = s->key, .unix_s = mz_clock_unix_s(), .version = MUZERO_VERSION};
  if (!s->history || !mz_observation_from_window(&row.observation, plan, &s->window)) return MZ_OK;
  snprintf(row.source, sizeof row.source, "%s", s->source);
  snprintf(row.run, sizeof row.run, "%s", s->run);
  row.window = s->window.number;
  row.units = s->window.units;
  row.utilisation = s->window.usage.wall_s > 0 ? s->window.usage.cpu_s / (s->window.usage.wall_s * s->bounds.cpu_max) : 0;
  return mz_history_add(s->history, &s->outset.pipeline, &row);
}

static mz_status begin_curve(mz_steer *s, const mz_settings *settings, bool resumes) {
  mz_curve_key key;
  mz_curve curve = {.seed = s->state->seed, .moves = mz_epoch_moves(settings)};
  mz_curve_key_of(&key, &s->key, settings);
  snprintf(curve.run, sizeof curve.run, "%s", s->run);
  snprintf(curve.source, sizeof curve.source, "%s", s->source);
  s->curve.begun = true;
  return mz_history_begin_curve(s->history, &key, &curve, resumes, &s->curve.id);
}

static mz_status add_epoch(mz_steer *s, const mz_epoch *epoch) {
  if (!s->history || s->curve.off || s->state->moves_loop_count) return MZ_OK;
  if (!s->curve.begun) MZ_TRY(begin_curve(s, &s->state->own, epoch->number > 1));
  return mz_history_add_epoch(s->history, &s->outset.pipeline, s->curve.id, epoch);
}

mz_status mz_steer_epoch(mz_steer *s, mz_workers *workers, const mz_phase *phase, double cost, double closing_s) {
  mz_epoch epoch;
  mz_epoch_of_phase(&epoch, phase, closing_s);
  epoch.amounts[MZ_COURSE_CORES] = mz_plan_cores(&s->outset.pipeline, &epoch.plan);
  epoch.amounts[MZ_COURSE_GPUS] = mz_plan_gpus(&s->outset.pipeline, &epoch.plan);
  MZ_TRY(add_epoch(s, &epoch));
  return mz_steer_stage_epoch(s, workers, &epoch, cost);
}

/* ---- time ---- */

/* Tells how long the decision took that was begun at `start_ns`. */
static void spend(mz_steer *s, uint64_t start_ns) {
  mz_allocator_spent(s->allocator, 1e-9 * (double)(mz_clock_ns() - start_ns), &s->decision);
}

static void begin(mz_steer *s) {
  const uint64_t start_ns = mz_clock_ns();
  mz_allocator_begin(s->allocator, 0, 0, &s->decision);
  spend(s, start_ns);
}

/* ---- opening ---- */

mz_status mz_steer_create(mz_steer **out, const mz_state *state, const mz_steer_options *options) {
  const mz_settings *settings = &state->settings;
  const mz_strategy *strategy;
  MZ_TRY(
      mz_strategy_find(options->plans ? mz_strategy_fixed.name : settings->allocation.strategy, "allocate.strategy", &strategy));
  mz_steer *s;
  MZ_TRY(mz_alloc(&s, 1, sizeof *s));
  s->state = state;
  s->source = options->source ? options->source : "run";
  s->curve.off = options->has_parent || strcmp(s->source, "compare") == 0; /* arms shall not plan by one another's curves */
  s->window_s = MZ_WINDOW_LEAST_S;
  s->ledger.fd = s->roster.fd = -1;
  mz_status status;
  s->memory = *options->memory;
  s->threads = options->outset.threads;
  s->bounds = options->outset.bounds;
  s->choice = *options->outset.choice;
  MZ_TRY_CLEANUP(mz_outset_find(&s->outset, settings, options->memory, &options->outset));
  if (options->plans) MZ_TRY_CLEANUP(mz_steer_read_plans(s, options->plans, options->outset.last != NULL));
  s->options.start = s->outset.plan;
  mz_history_key_of(&s->key, state->env, settings, &state->model, s->bounds.cpu_max, &s->outset.devices);
  s->resumes = options->outset.last != NULL;
  MZ_TRY_CLEANUP(mz_steer_open_staged(s, options->has_parent));
  MZ_TRY_CLEANUP(read_history(s, options->history, options->history_optional));
  /* A profile is for other runs, which want to know what its rows are of. */
  if (strategy != &mz_strategy_fixed || strcmp(s->source, "profile") == 0)
    MZ_TRY_CLEANUP(mz_probe(&s->outset.pipeline, &s->outset.devices, state));
  s->options.pipeline = &s->outset.pipeline;
  s->options.settings = &settings->allocation;
  s->options.bounds = s->bounds;
  if (strategy->learns) s->options.pretrained = mz_pretrained_open_optional(settings->allocation.pretrained);
  MZ_TRY_CLEANUP(mz_allocator_create(&s->allocator, &s->options));
  begin(s);
  *out = s;
cleanup:
  if (status != MZ_OK) mz_steer_free(s);
  return status;
}

void mz_steer_free(mz_steer *s) {
  if (!s) return;
  mz_roster_leave(&s->roster);
  mz_monitor_stop(s->monitor);
  mz_ledger_close(&s->ledger);
  mz_history_close(s->history);
  mz_staged_free(s->staged);
  free(s->whole.pipeline);
  mz_allocator_free(s->allocator);
  mz_pretrained_free(s->options.pretrained);
  mz_plan_list_deinit(&s->plans);
  free(s->rows);
  free(s);
}

mz_knobs mz_steer_knobs(const mz_steer *s) { return mz_knobs_of_plan(mz_allocator_plan(s->allocator)); }
mz_knobs mz_steer_kept_knobs(const mz_steer *s) { return mz_knobs_of_plan(mz_allocator_kept(s->allocator)); }
void mz_steer_device_records(const mz_steer *s, const mz_knobs *knobs, mz_device_records *out) {
  mz_device_records_of(out, knobs, &s->outset.devices, &s->choice.gpus);
}
const mz_devices *mz_steer_devices(const mz_steer *s) { return &s->outset.devices; }
const mz_pipeline *mz_steer_pipeline(const mz_steer *s) { return &s->outset.pipeline; }
double mz_steer_price_s(const mz_steer *s) {
  return mz_plan_price_s(&s->outset.pipeline, &s->state->settings.allocation, mz_allocator_plan(s->allocator));
}
int mz_steer_cores(const mz_steer *s) { return mz_plan_cores(&s->outset.pipeline, mz_allocator_plan(s->allocator)); }
int mz_steer_gpus(const mz_steer *s) { return mz_plan_gpus(&s->outset.pipeline, mz_allocator_plan(s->allocator)); }
const mz_window *mz_steer_window(const mz_steer *s) { return &s->window; }

static mz_status begin_section(mz_steer *s) {
  const mz_counters *c = &s->state->counters;
  s->decision.phase = c->phases;
  s->decision.round = c->rounds;
  MZ_TRY(mz_ledger_begin(&s->ledger, &s->options, c->phases, c->rounds));
  return mz_ledger_append(&s->ledger, &s->outset.pipeline, &s->decision, NULL, 0, NULL, NULL);
}

/* The first window's end tells what others leave. A profile measures plans for all cores: it knows of no others. */
static void enter_roster(mz_steer *s) {
  char folder[sizeof s->roster.folder];
  if (strcmp(s->source, "profile") == 0) return;
  if (!s->state->settings.allocation.share || !s->granted.mask_known || !mz_roster_default_folder(folder, sizeof folder)) return;
  mz_roster_enter(&s->roster, folder, &s->granted.mask, s->threads);
}

static double env_cpu_s(void *workers) { return mz_env_workers_used(workers).cpu_s; }
static double env_bytes(void *workers) { return mz_env_workers_memory_now(workers).bytes; }

/* Reads the GPUs that plans may use, and no others. */
static mz_status start_monitor(mz_steer *s) {
  char gpus[MZ_GPUS_USED_MAX][MZ_GPU_UUID];
  const int count = s->choice.gpus.count;
  for (int i = 0; i < count; i++) snprintf(gpus[i], sizeof gpus[i], "%s", s->choice.gpus.items[i].device.uuid);
  const mz_monitor_options options = {.hz = s->state->settings.allocation.monitor_hz,
                                      .more_cpu_s = s->state->env->workers ? env_cpu_s : NULL,
                                      .more_bytes = s->state->env->workers ? env_bytes : NULL,
                                      .more = s->state->env->workers,
                                      .gpus = (const char(*)[MZ_GPU_UUID])gpus,
                                      .gpu_count = count};
  return mz_monitor_start(&s->monitor, &options);
}

mz_status mz_steer_begin(mz_steer *s, const char *dir, uint64_t ledger_offset) {
  MZ_TRY(start_monitor(s));
  mz_granted_read(&s->granted, s->monitor, NULL, NULL);
  enter_roster(s);
  const size_t length = strlen(dir), most = sizeof s->run - 1; /* the end of a path tells runs apart */
  snprintf(s->run, sizeof s->run, "%s", length > most ? dir + length - most : dir);
  MZ_TRY(mz_steer_keep_pipeline(s));
  if (s->options.pretrained) MZ_TRY(mz_pretrained_keep(s->options.pretrained, dir));
  MZ_TRY(mz_ledger_open(&s->ledger, dir, ledger_offset));
  return begin_section(s);
}

mz_status mz_steer_begin_anew(mz_steer *s, mz_workers *workers, const mz_allocator_options *options) {
  mz_allocator *next;
  MZ_TRY(mz_allocator_create(&next, options));
  s->options = *options;
  mz_allocator_free(s->allocator);
  s->allocator = next;
  s->round_count = 0;
  s->window_s = MZ_WINDOW_LEAST_S;
  s->window.number = 0;
  mz_window_begin(&s->meter, s->state, workers);
  begin(s);
  MZ_TRY(begin_section(s));
  const mz_knobs knobs = mz_steer_knobs(s);
  return mz_workers_resize(workers, &knobs);
}

mz_status mz_steer_restart(mz_steer *s, mz_workers *workers) {
  mz_allocator_options options = s->options;
  options.start = mz_plan_of_knobs(&workers->knobs);
  return mz_steer_begin_anew(s, workers, &options);
}

mz_status mz_steer_promise(mz_steer *s, const mz_promise *promise) { return mz_ledger_append_promise(&s->ledger, promise); }

mz_status mz_steer_keep_promise(mz_steer *s, const mz_promise *promise, const mz_kept_promise *kept) {
  return mz_ledger_append_kept_promise(&s->ledger, promise, kept);
}

uint64_t mz_steer_ledger_offset(const mz_steer *s) { return s->ledger.offset; }
mz_status mz_steer_ledger_sync(const mz_steer *s) { return mz_ledger_sync(&s->ledger); }

void mz_steer_rest(mz_steer *s, bool rests) {
  mz_monitor_pause(s->monitor, rests);
  if (rests)
    mz_roster_leave(&s->roster);
  else if (s->roster.since_ns > 0)
    mz_roster_enter(&s->roster, s->roster.folder, &s->roster.cores, s->roster.threads);
}

/* ---- window by window ---- */

void mz_steer_phase(mz_steer *s, const mz_workers *workers) {
  mz_window_phase(&s->meter, s->state, workers);
  mz_steer_pace_phase(s);
}

bool mz_steer_window_ended(const mz_steer *s) {
  const bool on_trial = s->decision.action == MZ_DECISION_TRY || s->decision.action == MZ_DECISION_WAIT;
  return s->round_count == MZ_STEER_ROUNDS_MAX || mz_steer_plan_is_due(s) ||
         mz_window_is_long_enough(&s->meter, s->state->settings.allocation.window, on_trial, s->round_count, s->window_s);
}

/* The workers take what the allocator wants; where they cannot, they stay as they are: a new plan is then refused, a way back is
 * tried again after the next window. */
static const char *carry_out(mz_steer *s, mz_workers *workers, bool decided, char why[MZ_MESSAGE_MAX]) {
  const mz_knobs next = mz_steer_knobs(s);
  if (mz_workers_resize(workers, &next) == MZ_OK) return NULL;
  snprintf(why, MZ_MESSAGE_MAX, "%s", mz_message());
  mz_log_write(MZ_LOG_WARNING, "the plan could not be carried out, the workers stay as they are: %s", why);
  if (!decided) return NULL;
  mz_allocator_refused(s->allocator, why, &s->decision);
  return why;
}

void mz_steer_round(mz_steer *s, mz_workers *workers, const mz_round_stats *stats) {
  double seconds = mz_window_round(&s->meter, s->state, workers, stats);
  mz_steer_pace_round(s, stats);
  if (!(seconds > 0) || s->round_count == MZ_STEER_ROUNDS_MAX) return;
  s->rounds[s->round_count++] = seconds;
  if (!mz_allocator_round(s->allocator, seconds)) return;
  mz_window_restart(&s->meter); /* the rest of the window runs under the old plan */
  char why[MZ_MESSAGE_MAX];
  carry_out(s, workers, false, why);
}

void mz_steer_phase_ends(mz_steer *s, const mz_workers *workers, const mz_round_stats *stats) {
  mz_window_stop_clocks(&s->meter, s->state, workers, stats);
}

void mz_steer_evaluation_starts(mz_steer *s, const mz_workers *workers) {
  s->evaluation = mz_window_evaluation_starts(s->state, workers);
}

void mz_steer_evaluation_ended(mz_steer *s, const mz_workers *workers, int64_t moves) {
  mz_window_evaluated(&s->meter, &s->evaluation, s->state, workers, moves);
}

/* ---- deciding ---- */

/* The run may have fewer cores than the process was granted when the monitor started. */
static void share_of_bounds(const mz_steer *s, mz_usage *usage) {
  const double share = usage->core_share_p95 * mz_monitor_cores(s->monitor) / s->bounds.cpu_max;
  if (isfinite(share)) usage->core_share_p95 = fmin(share, 1);
}

static void read_window(mz_steer *s, const mz_workers *workers, const mz_round_stats *stats, const mz_training_stage *training,
                        double score) {
  const int64_t number = s->window.number + 1;
  mz_window_stop_clocks(&s->meter, s->state, workers, stats);
  mz_window_read(&s->meter, s->state, &s->window);
  mz_monitor_take(s->monitor, &s->window.usage);
  share_of_bounds(s, &s->window.usage);
  s->window.number = number;
  s->window.training = *training;
  s->window.score = score;
  mz_window_quantise(&s->window);
}

mz_status mz_steer_decide(mz_steer *s, mz_workers *workers, const mz_round_stats *stats, const mz_training_stage *training,
                          double score, const mz_decision **decision) {
  *decision = &s->decision;
  if (mz_steer_plan_is_due(s)) return mz_steer_follow(s, workers);
  if (!mz_steer_follows(s) && mz_steer_adapt(s, workers)) return MZ_OK;
  const mz_plan before = *mz_allocator_plan(s->allocator), in_force = mz_plan_of_knobs(&workers->knobs);
  read_window(s, workers, stats, training, score);
  const uint64_t start_ns = mz_clock_ns();
  mz_allocator_decide(s->allocator, &s->window, &s->decision);
  spend(s, start_ns);
  char why[MZ_MESSAGE_MAX];
  const char *refused = NULL;
  const mz_plan *wanted = mz_allocator_plan(s->allocator);
  if (!mz_plan_equal(&s->outset.pipeline, &in_force, wanted))
    refused = carry_out(s, workers, !mz_plan_equal(&s->outset.pipeline, &before, wanted), why);
  MZ_TRY(mz_ledger_append(&s->ledger, &s->outset.pipeline, &s->decision, s->rounds, s->round_count, &s->window, refused));
  s->round_count = 0;
  s->window_s = mz_window_next_s(s->window_s, s->decision.calm);
  mz_window_begin(&s->meter, s->state, workers);
  MZ_TRY(add_history(s, &in_force));
  return mz_steer_pace(s, workers);
}
