#include "muzero/steering/run_planning.h"
#include "muzero/batch_schedule.h"
#include "muzero/knobs.h"
#include "muzero/steering/curve_record.h"
#include "muzero/steering/history_key.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CURVES_MAX = 512 };
static const double LEVEL = 0.9; /* of the intervals */

/* ---- what is asked ---- */

static bool sets(const mz_run_options *options, const char *key) {
  const size_t length = strlen(key);
  for (int i = 0; i < options->set_count; i++)
    if (strncmp(options->sets[i], key, length) == 0 && options->sets[i][length] == '=') return true;
  return false;
}

static double limit(double setting) { return setting > 0 ? setting : INFINITY; }

/* A run shorter than a phase is planned as one. */
static int64_t whole_phases(const mz_settings *s) {
  const int64_t phases = s->train.rounds / s->train.phase_rounds;
  return phases > 1 ? phases : 1;
}

mz_run_ask mz_run_ask_of(const mz_settings *s, const mz_env *env, const mz_run_options *options) {
  const bool epochs_set = sets(options, "train.rounds") && s->train.rounds > 0; /* 0: no limit */
  return (mz_run_ask){.deadline_s = limit(s->allocation.deadline),
                      .target = s->allocation.score,
                      .budget = limit(s->allocation.budget),
                      .batch_open = !sets(options, "batch_size") && !sets(options, "batch_schedule"),
                      .epochs_open = !epochs_set,
                      .epochs = epochs_set ? whole_phases(s) : 0,
                      .env = env->name};
}

/* ---- planning ---- */

static mz_status find_key(mz_curve_key *key, const mz_env *env, const mz_settings *settings, const mz_run_place *place) {
  mz_history_key measured = {0};
  mz_model model;
  MZ_TRY(mz_model_init(&model, &settings->network, &env->spec));
  mz_history_key_of(&measured, env, settings, &model, place->bounds.cpu_max, &place->outset.devices);
  mz_curve_key_of(key, &measured, settings);
  return MZ_OK;
}

static mz_status read_curves(const mz_curve_key *key, const mz_run_place *place, const mz_run_options *options, mz_curve **curves,
                             int *count) {
  mz_history *history = NULL;
  const char *path = options->history ? options->history : "none";
  if (strcmp(path, "none") == 0)
    return mz_fail(MZ_E_CONFIG,
                   "--history none: a plan of a whole run is made from the history's learning curves; leave the flag out, or "
                   "name a file");
  MZ_TRY(mz_history_open_existing(&history, path));
  const mz_status status = mz_history_curves(history, key, &place->outset.pipeline, CURVES_MAX, curves, count);
  mz_history_close(history);
  return status;
}

static mz_status find_place(mz_run_place *place, const mz_env *env, const mz_settings *settings, const mz_device_choice *choice,
                            const mz_run_options *options) {
  mz_memory memory;
  mz_placement begins;
  MZ_TRY(mz_outset_bounds(&place->bounds, &settings->allocation, options->threads, choice->gpus.count));
  const mz_outset_options outset = {.bounds = place->bounds, .threads = options->threads, .choice = choice};
  MZ_TRY(mz_outset_fits(&memory, env, settings, &outset, &begins));
  return mz_outset_find(&place->outset, settings, &memory, &outset);
}

mz_status mz_run_curves_read(mz_run_place *place, mz_curve_key *key, mz_curve **curves, int *count, const mz_env *env,
                             const mz_settings *settings, const mz_device_choice *choice, const mz_run_options *options) {
  MZ_TRY(find_place(place, env, settings, choice, options));
  MZ_TRY(find_key(key, env, settings, place));
  return read_curves(key, place, options, curves, count);
}

mz_run_limits mz_run_limits_of(const mz_run_ask *ask, const mz_settings *settings, const mz_bounds *bounds) {
  const mz_allocation_settings *a = &settings->allocation;
  return (mz_run_limits){.deadline_s = ask->deadline_s,
                         .target = ask->target,
                         .budget = ask->budget,
                         .price = {a->core_hour, a->gpu_hour, a->gib_hour},
                         .cores_min = bounds->cpu_min,
                         .cores_max = bounds->cpu_max,
                         .gpus_min = bounds->gpu_min,
                         .gpus_max = bounds->gpu_max,
                         .moves = mz_epoch_moves(settings),
                         .batch_size = ask->batch_open ? 0 : (double)mz_batch_schedule_at(settings, 0),
                         .epochs = ask->epochs_open ? 0 : ask->epochs,
                         .level = LEVEL};
}

mz_status mz_run_planning_for(mz_run_planning **out, mz_run_place *place, const mz_env *env, const mz_settings *settings,
                              const mz_device_choice *choice, const mz_run_options *options, const mz_run_ask *ask) {
  mz_curve_key key;
  mz_curve *curves = NULL;
  int count = 0;
  char fill[200];
  mz_status status;
  *out = NULL;
  snprintf(fill, sizeof fill, "'muzero profile %s --score'", ask->env);
  MZ_TRY_CLEANUP(mz_run_curves_read(place, &key, &curves, &count, env, settings, choice, options));
  const mz_run_limits limits = mz_run_limits_of(ask, settings, &place->bounds);
  MZ_TRY_CLEANUP(mz_run_planning_make(out, curves, count, &place->outset.pipeline, &limits, fill));
cleanup:
  mz_curves_free(curves, count);
  return status;
}

/* ---- what cannot be ---- */

mz_status mz_run_planning_check(const mz_run_planning *p, const mz_run_ask *ask) {
  char deadline[120] = "no deadline would do", target[120] = "no score would do", budget[120] = "no budget would do";
  const mz_run_shortfall *needs = &p->shortfall;
  if (p->feasible) return MZ_OK;
  if (isfinite(needs->deadline_s)) snprintf(deadline, sizeof deadline, "a deadline of %.4g s would do", needs->deadline_s);
  if (isfinite(needs->target))
    snprintf(target, sizeof target, "a score of %.4g would do", needs->target);
  else if (p->score.grid.most < ask->target) /* how runs differ on their way to the target is not known */
    snprintf(target, sizeof target, "the median run reaches a score of %.4g at the most", p->score.grid.most);
  if (isfinite(needs->budget)) snprintf(budget, sizeof budget, "a budget of %.3g would do", needs->budget);
  if (isinf(ask->deadline_s)) snprintf(deadline, sizeof deadline, "there is no deadline");
  if (isinf(ask->budget)) snprintf(budget, sizeof budget, "there is no budget");
  return mz_fail(MZ_E_CONFIG, "plan: no plan reaches %g within the limits; each alone, the others kept: %s; %s; %s", ask->target,
                 deadline, target, budget);
}

/* ---- carrying out ---- */

static void set_open(int64_t *knob, int64_t planned) {
  if (*knob == 0) *knob = planned;
}

/* device: as a knob says. */
static void place_stage(const mz_pipeline *pipeline, int64_t device, char *setting, size_t size) {
  if (strcmp(setting, "auto") == 0) snprintf(setting, size, "%s", pipeline->devices[device - 1].name);
}

void mz_run_plan_apply(const mz_run_plan *plan, const mz_pipeline *pipeline, const mz_run_ask *ask, mz_settings *settings) {
  const mz_knobs planned = mz_knobs_of_plan(&plan->knobs);
  mz_placement_settings *p = &settings->placement;
  mz_knobs *knobs = &settings->knobs;
  set_open(&knobs->cpu_actor, planned.cpu_actor);
  set_open(&knobs->batch_actor, planned.batch_actor);
  set_open(&knobs->learner_threads, planned.learner_threads);
  set_open(&knobs->mcts_storage_size, planned.mcts_storage_size);
  set_open(&knobs->batch_buffer_size, planned.batch_buffer_size);
  set_open(&knobs->env_workers, planned.env_workers);
  if (pipeline->device_count > 1) {
    place_stage(pipeline, planned.selfplay_device, p->selfplay, sizeof p->selfplay);
    place_stage(pipeline, planned.reanalyze_device, p->reanalyze, sizeof p->reanalyze);
    place_stage(pipeline, planned.learning_device, p->learning, sizeof p->learning);
  }
  settings->allocation.cpu_max = plan->amounts[MZ_COURSE_CORES];
  if (ask->batch_open && plan->batch_size != (double)mz_batch_schedule_at(settings, 0))
    snprintf(settings->learning.batch_schedule, sizeof settings->learning.batch_schedule, "0:%.0f", plan->batch_size);
  if (!ask->epochs_open) return;
  settings->train.rounds = plan->epochs * settings->train.phase_rounds;
  settings->train.updates = settings->train.env_steps = 0; /* the preset's: the plan's epochs take their place */
}
