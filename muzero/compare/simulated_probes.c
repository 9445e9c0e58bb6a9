#include "muzero/compare/simulated_probes.h"
#include "base/machine/clock.h"
#include "base/machine/machine.h"
#include "muzero/steering/outset.h"
#include "muzero/steering/probe.h"
#include <math.h>

/* ---- timing ---- */

typedef struct subject { /* what is timed */
  mz_memory memory;
  mz_outset outset;
  mz_state state;
} subject;

/* The least of several: what disturbs a timing only ever adds to it, and a comparison's figures all rest on these. */
static mz_status probe_often(subject *it) {
  enum { TIMES_LEAST = 3, TIMES_MOST = 16 };
  const uint64_t enough_ns = 1000000000, start = mz_clock_ns();
  mz_pipeline *pipeline = &it->outset.pipeline;
  for (int i = 0; i < TIMES_LEAST || (i < TIMES_MOST && mz_clock_ns() - start < enough_ns); i++) {
    const mz_pipeline before = *pipeline;
    MZ_TRY(mz_probe(pipeline, NULL, &it->state));
    for (int s = 0; s < pipeline->stage_count && i > 0; s++)
      for (int k = 0; k < MZ_PROBES_MAX; k++) {
        double *seconds = &pipeline->stages[s].probes[MZ_DEVICE_CPU].cpu_s[k];
        *seconds = fmin(*seconds, before.stages[s].probes[MZ_DEVICE_CPU].cpu_s[k]);
      }
  }
  return MZ_OK;
}

static mz_status time_stages(mz_simulated_probes *out, subject *it, const mz_env *env, const mz_settings *settings,
                             const mz_sim_machine *machine, uint64_t seed) {
  const mz_outset_options options = {.bounds = {.cpu_max = machine->cores, .memory_max = MZ_BYTES_UNBOUNDED}};
  MZ_TRY(mz_memory_count(&it->memory, env, settings, NULL));
  mz_sim_machine_devices(machine, &it->outset.devices);
  MZ_TRY(mz_outset_on_devices(&it->outset, settings, &it->memory, &options));
  it->outset.pipeline.devices[0].cores = mz_machine_cores(); /* it is timed here */
  mz_status status = mz_state_init(&it->state, env, settings, seed, 1, NULL);
  if (status == MZ_OK) status = probe_often(it);
  mz_state_deinit(&it->state);
  out->stages = it->outset.pipeline;
  out->process_bytes = it->memory.fixed[MZ_MEMORY_PROCESS];
  out->env_bytes = it->memory.env.bytes;
  return status;
}

mz_status mz_simulated_probes_time(mz_simulated_probes *out, const mz_env *env, const mz_settings *settings,
                                   const mz_sim_machine *machine, uint64_t seed) {
  subject *it;
  if (settings->learning.loop_count == 0)
    return mz_fail(MZ_E_CONFIG, "loop_count: 0: nothing is ever learned, so there is no unit of work to simulate");
  MZ_TRY(mz_alloc(&it, 1, sizeof *it));
  const mz_status status = time_stages(out, it, env, settings, machine, seed);
  free(it);
  return status;
}

void mz_simulated_probes_settle(const mz_simulated_probes *p, mz_memory *memory) {
  memory->fixed[MZ_MEMORY_PROCESS] = p->process_bytes;
  memory->env.bytes = p->env_bytes;
}

/* ---- as JSON ---- */

cJSON *mz_simulated_probes_json(const mz_simulated_probes *p) {
  cJSON *o = cJSON_CreateObject(), *stages;
  cJSON_AddNumberToObject(o, "process_bytes", p->process_bytes);
  if (p->env_bytes > 0) cJSON_AddNumberToObject(o, "env_bytes", p->env_bytes);
  stages = cJSON_AddObjectToObject(o, "stages");
  for (int i = 0; i < p->stages.stage_count; i++) {
    const mz_probes *probes = &p->stages.stages[i].probes[MZ_DEVICE_CPU];
    cJSON *rows = cJSON_AddArrayToObject(stages, p->stages.stages[i].name);
    for (int k = 0; k < mz_probes_count(probes); k++) {
      const double row[] = {probes->batch[k], probes->cpu_s[k]};
      cJSON_AddItemToArray(rows, cJSON_CreateDoubleArray(row, 2));
    }
  }
  return o;
}

static mz_status read_stage(const cJSON *rows, const char *path, mz_pipeline_stage *out) {
  const cJSON *row;
  int count = 0;
  snprintf(out->name, sizeof out->name, "%s", rows->string);
  cJSON_ArrayForEach(row, rows) {
    const double batch = cJSON_GetNumberValue(cJSON_GetArrayItem(row, 0)),
                 seconds = cJSON_GetNumberValue(cJSON_GetArrayItem(row, 1));
    if (count == MZ_PROBES_MAX || !(batch > 0) || !(seconds > 0))
      return mz_fail(MZ_E_CHECKPOINT, "%s: probes of %s: not [batch, seconds] above 0, at most %d", path, out->name,
                     MZ_PROBES_MAX);
    out->probes[MZ_DEVICE_CPU].batch[count] = batch;
    out->probes[MZ_DEVICE_CPU].cpu_s[count++] = seconds;
  }
  return MZ_OK;
}

mz_status mz_simulated_probes_read(mz_simulated_probes *out, const cJSON *json, const char *path) {
  const cJSON *rows;
  *out = (mz_simulated_probes){0};
  if (json == NULL) return MZ_OK;
  MZ_TRY(mz_json_get_number(json, "process_bytes", path, MZ_E_CHECKPOINT, &out->process_bytes));
  if (cJSON_HasObjectItem(json, "env_bytes"))
    MZ_TRY(mz_json_get_number(json, "env_bytes", path, MZ_E_CHECKPOINT, &out->env_bytes));
  cJSON_ArrayForEach(rows, cJSON_GetObjectItemCaseSensitive(json, "stages")) {
    if (out->stages.stage_count < MZ_STAGES_MAX) MZ_TRY(read_stage(rows, path, &out->stages.stages[out->stages.stage_count++]));
  }
  return MZ_OK;
}
