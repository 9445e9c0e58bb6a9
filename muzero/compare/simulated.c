#include "muzero/compare/simulated.h"
#include "base/file/file.h"
#include "base/machine/clock.h"
#include "base/machine/machine.h"
#include "muzero/run.h"
#include "muzero/steering/outset.h"
#include "muzero/steering/probe.h"
#include <math.h>
#include <string.h>

mz_status mz_simulated_parse(mz_simulated *out, const char *text, const mz_limits *limits) {
  *out = (mz_simulated){.text = text};
  MZ_TRY(mz_sim_machine_parse(&out->machine, text));
  if (limits->rounds < 1)
    return mz_fail(MZ_E_CONFIG, "--machine %s: nothing is learned on a simulated machine: say how long it takes by --rounds N",
                   text);
  if (limits->env_steps > 0 || limits->updates > 0 || limits->for_s > 0 || limits->until)
    return mz_fail(MZ_E_CONFIG, "--machine %s: a simulated machine takes no other limit than --rounds N", text);
  return MZ_OK;
}

mz_status mz_simulated_check_arms(const mz_simulated *s, const mz_arm *arms, int count) {
  for (int i = 0; i < count; i++) {
    if (arms[i].exact) continue;
    return mz_fail(
        MZ_E_CONFIG,
        "--machine %s: arm %s changes what is learned, and the stages were timed without that: use --set, for all arms", s->text,
        arms[i].name);
  }
  return MZ_OK;
}

/* ---- probes ---- */

typedef struct subject { /* what is timed */
  mz_settings settings;
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

static mz_status time_stages(mz_simulated *s, subject *it, const mz_run_options *run) {
  const mz_env *env;
  const mz_outset_options options = {.bounds = {.cpu_max = s->machine.cores, .memory_max = 0x1p60}};
  MZ_TRY(mz_env_find(run->env, &env));
  MZ_TRY(mz_settings_for_new_run(run, &it->settings));
  if (it->settings.learning.loop_count == 0)
    return mz_fail(MZ_E_CONFIG, "loop_count: 0: nothing is ever learned, so there is no unit of work to simulate");
  MZ_TRY(mz_memory_count(&it->memory, env, &it->settings, NULL));
  mz_sim_machine_devices(&s->machine, &it->outset.devices);
  MZ_TRY(mz_outset_on_devices(&it->outset, &it->settings, &it->memory, &options));
  it->outset.pipeline.devices[0].cores = mz_machine_cores(); /* it is timed here */
  mz_status status = mz_state_init(&it->state, env, &it->settings, run->seed, 1, NULL);
  if (status == MZ_OK) status = probe_often(it);
  mz_state_deinit(&it->state);
  s->probed = it->outset.pipeline;
  s->process_bytes = it->memory.fixed[MZ_MEMORY_PROCESS];
  return status;
}

cJSON *mz_simulated_probes_json(const mz_simulated *s) {
  cJSON *o = cJSON_CreateObject(), *stages;
  cJSON_AddNumberToObject(o, "process_bytes", s->process_bytes);
  stages = cJSON_AddObjectToObject(o, "stages");
  for (int i = 0; i < s->probed.stage_count; i++) {
    const mz_probes *probes = &s->probed.stages[i].probes[MZ_DEVICE_CPU];
    cJSON *rows = cJSON_AddArrayToObject(stages, s->probed.stages[i].name);
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

/* A plan without probes is another comparison's, which its reader will say. */
static mz_status read_probes(mz_simulated *s, const char *path) {
  uint8_t *text;
  size_t size;
  cJSON *plan;
  MZ_TRY(mz_file_read(path, 1 << 20, &text, &size));
  mz_status status = mz_json_parse((const char *)text, size, path, false, MZ_E_CHECKPOINT, &plan);
  free(text);
  MZ_TRY(status);
  const cJSON *probes = cJSON_GetObjectItemCaseSensitive(plan, "probes"), *rows;
  if (probes) status = mz_json_get_number(probes, "process_bytes", path, MZ_E_CHECKPOINT, &s->process_bytes);
  cJSON_ArrayForEach(rows, cJSON_GetObjectItemCaseSensitive(probes, "stages")) {
    if (status == MZ_OK && s->probed.stage_count < MZ_STAGES_MAX)
      status = read_stage(rows, path, &s->probed.stages[s->probed.stage_count++]);
  }
  cJSON_Delete(plan);
  return status;
}

mz_status mz_simulated_probe(mz_simulated *s, const mz_run_options *run, const char *path) {
  subject *it;
  s->probed = (mz_pipeline){0};
  if (path && mz_file_exists(path)) return read_probes(s, path);
  MZ_TRY(mz_alloc(&it, 1, sizeof *it));
  const mz_status status = time_stages(s, it, run);
  free(it);
  return status;
}

/* ---- cells ---- */

static mz_status open_cell(mz_simulated *s, int arm, const mz_run_options *options, int64_t rounds) {
  const mz_env *env;
  mz_settings settings;
  mz_memory memory;
  MZ_TRY(mz_env_find(options->env, &env));
  MZ_TRY(mz_settings_for_new_run(options, &settings));
  MZ_TRY(mz_memory_count(&memory, env, &settings, NULL));
  memory.fixed[MZ_MEMORY_PROCESS] = s->process_bytes;
  return mz_simulated_cell_open(&s->cells[arm],
                                &(mz_simulated_cell_options){.machine = s->machine,
                                                             .probed = &s->probed,
                                                             .settings = &settings,
                                                             .memory = &memory,
                                                             .threads = options->threads,
                                                             .seed = options->seed,
                                                             .noise_seed = options->seed * (MZ_ARMS_MAX + 1) + (uint64_t)arm,
                                                             .rounds = rounds});
}

mz_status mz_simulated_start(mz_simulated *s, int arm, const mz_run_options *options, int64_t rounds, mz_party *party) {
  *party = (mz_party){.blocks = cJSON_CreateArray()};
  MZ_TRY(open_cell(s, arm, options, rounds));
  mz_simulated_cell_bytes(s->cells[arm], &party->cells[0].bytes, &party->cells[0].bytes_least);
  return MZ_OK;
}

mz_status mz_simulated_advance(mz_simulated *s, int arm, int64_t rounds, mz_party *party) {
  cJSON *block;
  MZ_TRY(mz_simulated_cell_advance(s->cells[arm], rounds, &block, &party->ended));
  if (cJSON_AddItemToArray(party->blocks, block)) return MZ_OK;
  cJSON_Delete(block);
  return mz_fail(MZ_E_MEMORY, "compare: no memory for a block");
}

mz_status mz_simulated_set(mz_simulated *s, const mz_scenario *scenario, int64_t block, double memory_bytes) {
  mz_sim_machine machine = s->machine;
  for (int thing = 0; thing < MZ_SCENARIO_THINGS; thing++) {
    double value = mz_scenario_at(scenario, (mz_scenario_thing)thing, block);
    if (thing == MZ_SCENARIO_MEMORY) value *= memory_bytes / 100 / 0x1p30;
    if (value > 0) MZ_TRY(mz_sim_machine_set(&machine, mz_scenario_thing_name((mz_scenario_thing)thing), value));
  }
  for (int arm = 0; arm <= MZ_ARMS_MAX; arm++)
    if (s->cells[arm]) mz_simulated_cell_change(s->cells[arm], &machine);
  return MZ_OK;
}

void mz_simulated_end(mz_simulated *s) {
  for (int arm = 0; arm <= MZ_ARMS_MAX; arm++) {
    mz_simulated_cell_close(s->cells[arm]);
    s->cells[arm] = NULL;
  }
}

/* ---- the summary ---- */

/* The first sentence speaks of what was learned, the second of an arm against itself; then comes what holds of this machine. */
mz_status mz_simulated_label(const mz_simulated *s, cJSON *summary) {
  if (!s) {
    cJSON_AddNullToObject(summary, "machine_simulated");
    return MZ_OK;
  }
  cJSON *sentences = cJSON_CreateArray();
  char text[MZ_MESSAGE_MAX];
  snprintf(
      text, sizeof text,
      "Every figure is simulated, on the machine %s, in virtual time: stages cost what they took when they were timed here, and "
      "nothing was learned.",
      s->text);
  cJSON_AddItemToArray(sentences, cJSON_CreateString(text));
  cJSON_AddItemToArray(sentences, cJSON_DetachItemFromArray(cJSON_GetObjectItemCaseSensitive(summary, "sentences"), 1));
  cJSON_ReplaceItemInObjectCaseSensitive(summary, "sentences", sentences);
  cJSON_ReplaceItemInObjectCaseSensitive(summary, "same_digest", cJSON_CreateNull());
  return MZ_OK;
}
