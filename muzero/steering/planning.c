#include "muzero/steering/planning.h"
#include "allocator/machine/gpu_probes.h"
#include "allocator/predictors/pretrained.h"
#include "allocator/records/history.h"
#include "allocator/strategies/plan_search.h"
#include "base/machine/machine.h"
#include "muzero/steering/history_key.h"
#include "muzero/steering/probe.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HISTORY_ROWS = 256 };

typedef struct subject { /* what is planned for */
  const mz_env *env;
  mz_settings settings;
  mz_memory memory;
  mz_device_choice choice;
  mz_outset outset;
  mz_placement begins;
  mz_state state;
  mz_observation read[HISTORY_ROWS], seen[MZ_HISTORY_USED_MAX]; /* in the history; chosen from it, as a run does */
  int seen_count;
  const mz_pipeline *timed; /* whose probes count; NULL: they are made */
  mz_champion *champion;
  mz_pretrained *pretrained; /* what its predictors bring along; NULL: nothing */
} subject;

/* ---- what is known ---- */

static mz_status find_bounds(const subject *it, int threads, const mz_sim_machine *machine, mz_bounds *out) {
  if (!machine) return mz_outset_bounds(out, &it->settings.allocation, threads, it->choice.gpus.count);
  const mz_grants grants = mz_sim_machine_grants(machine, mz_sim_machine_cores(machine), threads);
  return mz_bounds_resolve(out, &it->settings.allocation, &grants);
}

static mz_status begin(subject *it, int threads, const mz_sim_machine *machine, const mz_bounds *bounds) {
  const mz_outset_options options = {.bounds = *bounds, .threads = threads, .choice = machine ? NULL : &it->choice};
  it->begins = mz_placement_cpu;
  MZ_TRY(mz_outset_fits(&it->memory, it->env, &it->settings, &options, machine ? NULL : &it->begins));
  if (!machine) return mz_outset_find(&it->outset, &it->settings, &it->memory, &options);
  mz_sim_machine_devices(machine, &it->outset.devices);
  return mz_outset_on_devices(&it->outset, &it->settings, &it->memory, &options);
}

/* As an allocator is asked that begins with the plan. */
static mz_status check(const subject *it, const mz_bounds *bounds, const mz_plan *plan) {
  return mz_allocator_check(&(mz_allocator_options){
      .pipeline = &it->outset.pipeline, .settings = &it->settings.allocation, .bounds = *bounds, .start = *plan});
}

static mz_status time_stages(subject *it, uint64_t seed, bool here) {
  if (it->timed) {
    mz_pipeline_take_probes(&it->outset.pipeline, it->timed);
    return MZ_OK;
  }
  MZ_TRY(mz_state_init(&it->state, it->env, &it->settings, seed, 1, &it->begins));
  return mz_probe(&it->outset.pipeline, here ? &it->outset.devices : NULL, &it->state);
}

static mz_status probe(subject *it, uint64_t seed, const mz_sim_machine *machine) {
  mz_pipeline *pipeline = &it->outset.pipeline;
  mz_sim_truth truths[MZ_STAGES_MAX];
  MZ_TRY(time_stages(it, seed, machine == NULL));
  if (!machine) return MZ_OK;
  pipeline->handoff_s = machine->wake * 1e-6;
  MZ_TRY(mz_sim_truth_from_probes(pipeline, truths));
  return mz_sim_probe_gpus(pipeline, machine, truths);
}

static mz_status read_history(subject *it, const mz_run_options *run, double cores) {
  mz_history *history = NULL;
  mz_history_row *rows = NULL;
  mz_history_key key = {0};
  mz_history_key_of(&key, it->env, &it->settings, &it->state.model, cores, &it->outset.devices);
  const mz_status opened = mz_history_open_existing(&history, run->history ? run->history : "none");
  if (opened != MZ_OK) return opened == MZ_E_IO && run->history_optional ? MZ_OK : opened;
  int count = 0;
  const mz_status status = mz_history_read(history, &key, &it->outset.pipeline, HISTORY_ROWS, &rows, &count);
  for (int i = 0; status == MZ_OK && i < count; i++) it->read[i] = rows[i].observation;
  free(rows);
  mz_history_close(history);
  const mz_allocator_options options = {.pipeline = &it->outset.pipeline, .history = it->read, .history_count = count};
  const mz_observation *used[MZ_HISTORY_USED_MAX];
  it->seen_count = status == MZ_OK ? mz_allocator_history(&options, used) : 0;
  for (int i = 0; i < it->seen_count; i++) it->seen[i] = *used[i];
  return status;
}

static mz_status teach(subject *it, double cores) {
  const mz_predictor *only;
  MZ_TRY(mz_predictor_chosen(it->settings.allocation.predictor, &only));
  it->pretrained = mz_pretrained_open_optional(it->settings.allocation.pretrained);
  MZ_TRY(mz_champion_create(&it->champion, &it->outset.pipeline, cores, only, it->pretrained, MZ_HISTORY_USED_MAX));
  mz_champion_learn(it->champion, it->seen, it->seen_count);
  return MZ_OK;
}

/* ---- planning ---- */

static void search(const subject *it, mz_planning *out) {
  mz_analytic model;
  mz_analytic_init(&model, &out->pipeline, out->bounds.cpu_max);
  mz_analytic_fit(&model, it->seen, it->seen_count);
  const mz_situation situation = {.pipeline = &out->pipeline,
                                  .settings = &out->settings,
                                  .bounds = &out->bounds,
                                  .plan = &out->start,
                                  .model = &model,
                                  .champion = it->champion};
  out->of_start = out->of_best = mz_outlook_of(&situation, &out->start);
  out->best = out->start;
  mz_plan_search(&situation, &out->found);
  const bool may_be = mz_plan_refused(&out->pipeline, &out->bounds, &out->start) == NULL;
  const int chosen = mz_plan_search_choose(&situation, &out->found, may_be ? out->of_start.cost : INFINITY);
  if (chosen < 0) return;
  out->best = out->found.kept[chosen].plan;
  out->of_best = mz_outlook_of(&situation, &out->best);
}

static mz_status plan_with(subject *it, mz_planning *out) {
  out->pipeline = it->outset.pipeline;
  out->settings = it->settings.allocation;
  out->start = it->outset.plan;
  MZ_TRY(teach(it, out->bounds.cpu_max));
  out->predictor = mz_champion_predictor(it->champion)->name;
  out->plans_measured = mz_champion_lessons(it->champion)->count;
  search(it, out);
  return MZ_OK;
}

static mz_status plan(subject *it, const mz_run_options *run, const mz_sim_machine *machine, mz_planning *out) {
  MZ_TRY(mz_env_find(run->env, &it->env));
  MZ_TRY(mz_settings_for_new_run(run, &it->settings));
  if (!machine) MZ_TRY(mz_device_choose(&it->choice, run->device, &it->settings, &it->env->spec, NULL));
  MZ_TRY(find_bounds(it, run->threads, machine, &out->bounds));
  MZ_TRY(begin(it, run->threads, machine, &out->bounds));
  MZ_TRY(check(it, &out->bounds, &it->outset.plan));
  MZ_TRY(probe(it, run->seed, machine));
  if (!machine) MZ_TRY(read_history(it, run, out->bounds.cpu_max));
  return plan_with(it, out);
}

static void free_subject(subject *it) {
  if (!it) return;
  mz_champion_free(it->champion);
  mz_pretrained_free(it->pretrained);
  mz_state_deinit(&it->state);
  free(it);
}

mz_status mz_planning_make(mz_planning **out, const mz_run_options *run, const mz_sim_machine *machine) {
  mz_planning *made = NULL;
  subject *it = NULL;
  mz_status status;
  *out = NULL;
  MZ_TRY_CLEANUP(mz_alloc(&made, 1, sizeof *made));
  MZ_TRY_CLEANUP(mz_alloc(&it, 1, sizeof *it));
  MZ_TRY_CLEANUP(plan(it, run, machine, made));
  *out = made;
  made = NULL;
cleanup:
  free_subject(it);
  free(made);
  return status;
}

mz_status mz_planning_make_timed(mz_planning **out, const mz_env *env, const mz_settings *settings, const mz_sim_machine *machine,
                                 int threads, const mz_pipeline *timed) {
  mz_planning *made = NULL;
  subject *it = NULL;
  mz_status status;
  *out = NULL;
  MZ_TRY_CLEANUP(mz_alloc(&made, 1, sizeof *made));
  MZ_TRY_CLEANUP(mz_alloc(&it, 1, sizeof *it));
  it->env = env;
  it->settings = *settings;
  it->timed = timed;
  MZ_TRY_CLEANUP(find_bounds(it, threads, machine, &made->bounds));
  MZ_TRY_CLEANUP(begin(it, threads, machine, &made->bounds));
  MZ_TRY_CLEANUP(probe(it, 0, machine));
  MZ_TRY_CLEANUP(plan_with(it, made));
  MZ_TRY_CLEANUP(check(it, &made->bounds, &made->best));
  *out = made;
  made = NULL;
cleanup:
  free_subject(it);
  free(made);
  return status;
}
