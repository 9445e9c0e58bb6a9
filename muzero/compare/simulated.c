#include "muzero/compare/simulated.h"
#include "base/file/file.h"
#include "muzero/run.h"
#include <math.h>
#include <string.h>

mz_status mz_simulated_parse(mz_simulated *out, const char *text, const mz_limits *limits) {
  *out = (mz_simulated){.text = text, .target = limits->until ? limits->score : NAN};
  MZ_TRY(mz_sim_machine_parse(&out->machine, text));
  if (limits->rounds < 1 && !limits->until)
    return mz_fail(MZ_E_CONFIG,
                   "--machine %s: nothing is learned on a simulated machine: say how long it takes by --rounds N, or play whole "
                   "runs by learning curves in the history by --until S",
                   text);
  if (limits->env_steps > 0 || limits->updates > 0 || limits->for_s > 0)
    return mz_fail(MZ_E_CONFIG, "--machine %s: a simulated machine takes no other limits than --rounds N and --until S", text);
  return MZ_OK;
}

bool mz_simulated_is_whole(const mz_simulated *s) { return isfinite(s->target); }

mz_status mz_simulated_check_arms(const mz_simulated *s, const mz_arm *arms, int count) {
  for (int i = 0; i < count && !mz_simulated_is_whole(s); i++) {
    if (arms[i].exact) continue;
    return mz_fail(
        MZ_E_CONFIG,
        "--machine %s: arm %s changes what is learned, and the stages were timed without that: use --set, for all arms", s->text,
        arms[i].name);
  }
  return MZ_OK;
}

/* ---- what it rests on ---- */

static mz_status time_stages(mz_simulated *s, const mz_run_options *run) {
  const mz_env *env;
  mz_settings settings;
  MZ_TRY(mz_env_find(run->env, &env));
  MZ_TRY(mz_settings_for_new_run(run, &settings));
  return mz_simulated_probes_time(&s->probes, env, &settings, &s->machine, run->seed);
}

/* *out: NULL where there is no file. */
static mz_status read_plan(const char *path, cJSON **out) {
  uint8_t *text;
  size_t size;
  *out = NULL;
  if (!mz_file_exists(path)) return MZ_OK;
  MZ_TRY(mz_file_read(path, 1 << 20, &text, &size));
  const mz_status status = mz_json_parse((const char *)text, size, path, false, MZ_E_CHECKPOINT, out);
  free(text);
  return status;
}

/* A plan without probes, or with those of the other kind, is another comparison's, which its reader will say. */
mz_status mz_simulated_prepare(mz_simulated *s, const mz_run_options *run, const char *curves, const char *path) {
  cJSON *plan;
  MZ_TRY(read_plan(path, &plan));
  const cJSON *probes = cJSON_GetObjectItemCaseSensitive(plan, "probes");
  const mz_simulated_runs_options options = {.run = run,
                                             .curves = curves,
                                             .machine = &s->machine,
                                             .machine_text = s->text,
                                             .target = s->target,
                                             .probes = cJSON_IsArray(probes) ? probes : NULL,
                                             .path = path};
  const mz_status status = mz_simulated_is_whole(s) ? mz_simulated_runs_open(&s->runs, &options)
                           : plan ? mz_simulated_probes_read(&s->probes, cJSON_IsObject(probes) ? probes : NULL, path)
                                  : time_stages(s, run);
  cJSON_Delete(plan);
  return status;
}

void mz_simulated_deinit(mz_simulated *s) {
  mz_simulated_runs_close(s->runs);
  s->runs = NULL;
}

void mz_simulated_json(const mz_simulated *s, cJSON *plan) {
  cJSON_AddStringToObject(plan, "machine_simulated", s->text);
  if (s->runs)
    mz_simulated_runs_json(s->runs, plan);
  else
    mz_json_add(plan, "probes", mz_simulated_probes_json(&s->probes));
}

/* ---- cells ---- */

static uint64_t noise_seed(int arm, const mz_run_options *options) { return options->seed * (MZ_ARMS_MAX + 1) + (uint64_t)arm; }

static mz_status open_cell(mz_simulated *s, int arm, const mz_run_options *options, int64_t rounds) {
  const mz_env *env;
  mz_settings settings;
  mz_memory memory;
  MZ_TRY(mz_env_find(options->env, &env));
  MZ_TRY(mz_settings_for_new_run(options, &settings));
  if (settings.allocation.policy[0])
    return mz_fail(MZ_E_CONFIG, "allocate.policy: an agent plans whole runs, and rounds alone are played: give --until S");
  MZ_TRY(mz_memory_count(&memory, env, &settings, NULL));
  mz_simulated_probes_settle(&s->probes, &memory);
  return mz_simulated_cell_open(&s->cells[arm], &(mz_simulated_cell_options){.machine = s->machine,
                                                                             .probed = &s->probes.stages,
                                                                             .settings = &settings,
                                                                             .memory = &memory,
                                                                             .threads = options->threads,
                                                                             .seed = options->seed,
                                                                             .noise_seed = noise_seed(arm, options),
                                                                             .rounds = rounds});
}

static mz_status open_whole(mz_simulated *s, int arm, const mz_run_options *options, int64_t rounds, mz_party *party) {
  const mz_simulated_whole_options whole = {
      .runs = s->runs, .run = options, .noise_seed = noise_seed(arm, options), .rounds = rounds};
  char refused[MZ_MESSAGE_MAX];
  MZ_TRY(mz_simulated_whole_open(&s->wholes[arm], &whole, refused));
  snprintf(party->why, sizeof party->why, "%s", refused);
  party->refused = party->ended = refused[0] != '\0';
  if (!party->refused)
    mz_simulated_cell_bytes(mz_simulated_whole_cell(s->wholes[arm]), &party->cells[0].bytes, &party->cells[0].bytes_least);
  return MZ_OK;
}

mz_status mz_simulated_start(mz_simulated *s, int arm, const mz_run_options *options, int64_t rounds, mz_party *party) {
  *party = (mz_party){.blocks = cJSON_CreateArray()};
  if (s->runs) return open_whole(s, arm, options, rounds, party);
  MZ_TRY(open_cell(s, arm, options, rounds));
  mz_simulated_cell_bytes(s->cells[arm], &party->cells[0].bytes, &party->cells[0].bytes_least);
  return MZ_OK;
}

mz_status mz_simulated_advance(mz_simulated *s, int arm, int64_t rounds, mz_party *party) {
  cJSON *block;
  if (s->runs)
    MZ_TRY(mz_simulated_whole_advance(s->wholes[arm], &block, &party->ended));
  else
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
    mz_simulated_whole_close(s->wholes[arm]);
    s->cells[arm] = NULL;
    s->wholes[arm] = NULL;
  }
}

/* ---- the summary ---- */

/* The first sentence speaks of what was learned: the label takes its place. */
mz_status mz_simulated_label(const mz_simulated *s, cJSON *summary) {
  if (!s) {
    cJSON_AddNullToObject(summary, "machine_simulated");
    return MZ_OK;
  }
  cJSON *sentences = cJSON_GetObjectItemCaseSensitive(summary, "sentences");
  char text[MZ_MESSAGE_MAX];
  if (s->runs)
    mz_simulated_runs_text(s->runs, s->text, text, sizeof text);
  else
    snprintf(
        text, sizeof text,
        "Every figure is simulated, on the machine %s, in virtual time: stages cost what they took when they were timed here, "
        "and nothing was learned.",
        s->text);
  cJSON_ReplaceItemInArray(sentences, 0, cJSON_CreateString(text));
  cJSON_ReplaceItemInObjectCaseSensitive(summary, "same_digest", cJSON_CreateNull());
  return MZ_OK;
}
