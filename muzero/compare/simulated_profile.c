#include "muzero/compare/simulated_profile.h"
#include "allocator/machine/simulation.h"
#include "base/maths/statistics.h"
#include "muzero/compare/agreement.h"
#include "muzero/compare/profile_record.h"
#include "muzero/compare/simulated_probes.h"
#include "muzero/run.h"
#include "muzero/steering/outset.h"
#include <math.h>
#include <string.h>

enum { UNITS_LEAST = 8, UNITS_MOST = 4096 };

typedef struct simulated_run {
  const mz_simulated_profile_options *options;
  const mz_env *env;
  mz_settings settings;
  mz_memory memory;
  mz_outset outset;
  mz_sim_machine machine;
  mz_simulated_probes probes;
  mz_simulation simulation;
  uint64_t unit; /* number of the next */
  double unit_s[UNITS_MOST];
} simulated_run;

/* ---- what the stages cost ---- */

static mz_status read_costs(simulated_run *it) {
  mz_pipeline *pipeline = &it->outset.pipeline;
  mz_profile_record record;
  MZ_TRY(mz_profile_record_read(&record, it->options->costs, "--costs", it->env->name, pipeline, &it->outset.plan));
  if (isfinite(record.serial)) pipeline->stages[MZ_STAGE_LEARNER].serial = record.serial;
  for (int s = 0; s < pipeline->stage_count; s++) it->simulation.stages[s].serial = pipeline->stages[s].serial;
  const mz_status status = mz_sim_truth_fit(pipeline, record.seen, record.count, it->simulation.stages);
  mz_profile_record_free(&record);
  return status;
}

static mz_status time_stages(simulated_run *it) {
  MZ_TRY(mz_simulated_probes_time(&it->probes, it->env, &it->settings, &it->machine, it->options->profile.run.seed));
  mz_pipeline_take_probes(&it->outset.pipeline, &it->probes.stages);
  return mz_sim_truth_from_probes(&it->outset.pipeline, it->simulation.stages);
}

static mz_status find_machine(simulated_run *it) {
  const mz_simulated_profile_options *options = it->options;
  MZ_TRY(mz_sim_machine_parse(&it->machine, options->machine));
  const char *history = options->profile.run.history;
  if (history && strcmp(history, "none") != 0)
    return mz_fail(MZ_E_CONFIG, "--history: a history keeps what was measured; nothing that is simulated goes into it");
  return MZ_OK;
}

static mz_status open_subject(simulated_run *it) {
  const mz_run_options *run = &it->options->profile.run;
  const mz_sim_machine *machine = &it->machine;
  const mz_grants grants = mz_sim_machine_grants(machine, (int)machine->cores, run->threads);
  mz_outset_options outset = {.threads = run->threads};
  MZ_TRY(mz_env_find(run->env, &it->env));
  MZ_TRY(mz_settings_for_new_run(run, &it->settings));
  if (it->settings.learning.loop_count == 0)
    return mz_fail(MZ_E_CONFIG, "loop_count: 0: nothing is ever learned, so there is no unit of work to simulate");
  MZ_TRY(mz_memory_count(&it->memory, it->env, &it->settings, NULL));
  MZ_TRY(mz_bounds_resolve(&outset.bounds, &it->settings.allocation, &grants));
  mz_sim_machine_devices(machine, &it->outset.devices);
  MZ_TRY(mz_outset_on_devices(&it->outset, &it->settings, &it->memory, &outset));
  it->simulation.pipeline = &it->outset.pipeline;
  it->simulation.machine = *machine;
  it->simulation.seed = run->seed;
  return it->options->costs ? read_costs(it) : time_stages(it);
}

static mz_status create_subject(const mz_simulated_profile_options *options, simulated_run **out) {
  simulated_run *it;
  MZ_TRY(mz_alloc(&it, 1, sizeof *it));
  it->options = options;
  mz_status status = find_machine(it);
  if (status == MZ_OK) status = open_subject(it);
  if (status == MZ_OK)
    *out = it;
  else
    free(it);
  return status;
}

/* ---- simulating ---- */

/* As many units as a phase has rounds: so a measurement would have. */
static int units_of(const simulated_run *it) {
  const int64_t rounds = it->settings.train.phase_rounds;
  return rounds < UNITS_LEAST ? UNITS_LEAST : rounds > UNITS_MOST ? UNITS_MOST : (int)rounds;
}

static mz_status simulate(void *context, const mz_plan *plan, mz_observation *out) {
  simulated_run *it = context;
  const int units = units_of(it);
  mz_sim_clock clock = {0};
  *out = (mz_observation){.plan = *plan, .rounds = units};
  for (int i = 0; i < units; i++) {
    mz_sim_unit unit;
    MZ_TRY(mz_simulate_unit(&it->simulation, plan, it->unit++, &clock, &unit));
    out->unit_s += unit.unit_s / units;
    it->unit_s[i] = unit.unit_s;
    for (int s = 0; s < it->outset.pipeline.stage_count; s++) mz_stage_sample_add(&out->stages[s], &unit.stages[s], 1.0 / units);
  }
  out->round_s = mz_median(it->unit_s, units);
  return MZ_OK;
}

mz_status mz_simulated_profile(const mz_simulated_profile_options *options, const mz_profile_watcher *watcher, cJSON **out) {
  simulated_run *it;
  MZ_TRY(create_subject(options, &it));
  const mz_profile_subject subject = {.env = it->env->name,
                                      .pipeline = &it->outset.pipeline,
                                      .usual = it->outset.plan,
                                      .seed = options->profile.run.seed,
                                      .context = it,
                                      .measure = simulate};
  const mz_status status = mz_profile_measure(&subject, &options->profile, watcher, out);
  if (status == MZ_OK) cJSON_AddStringToObject(*out, "machine_simulated", options->machine);
  free(it);
  return status;
}

/* ---- beside what was measured ---- */

static mz_status predict(simulated_run *it, const mz_profile_watcher *watcher, mz_agreement *agreement) {
  for (int i = 0; i < agreement->count; i++) {
    mz_observation seen;
    if (watcher->stopping && watcher->stopping(watcher->context)) return mz_fail(MZ_INTERRUPTED, "profile: stopped");
    MZ_TRY(simulate(it, &agreement->plans[i].plan, &seen));
    agreement->plans[i].simulated_s = seen.unit_s;
  }
  return MZ_OK;
}

mz_status mz_simulated_against(const mz_simulated_profile_options *options, const mz_profile_watcher *watcher, cJSON **out) {
  simulated_run *it;
  mz_profile_record measured = {0};
  mz_agreement agreement = {0};
  mz_status status;
  MZ_TRY(create_subject(options, &it));
  const mz_pipeline *pipeline = &it->outset.pipeline;
  MZ_TRY_CLEANUP(mz_profile_record_read(&measured, options->against, "--against", it->env->name, pipeline, &it->outset.plan));
  MZ_TRY_CLEANUP(mz_agreement_of(&agreement, pipeline, measured.seen, measured.count));
  MZ_TRY_CLEANUP(predict(it, watcher, &agreement));
  MZ_TRY_CLEANUP(mz_agreement_json(&agreement, pipeline, out));
  cJSON_AddStringToObject(*out, "env", it->env->name);
  cJSON_AddStringToObject(*out, "machine_simulated", options->machine);
cleanup:
  mz_agreement_free(&agreement);
  mz_profile_record_free(&measured);
  free(it);
  return status;
}
