#include "muzero/compare/compare.h"
#include "base/machine/clock.h"
#include "base/file/file.h"
#include "base/machine/machine.h"
#include "base/maths/streams.h"
#include "base/text.h"
#include "muzero/compare/party.h"
#include "muzero/compare/room.h"
#include "muzero/compare/scenery.h"
#include "muzero/compare/seed_file.h"
#include "muzero/compare/segments.h"
#include "muzero/compare/simulated.h"
#include "muzero/compare/summary.h"
#include "muzero/compare/violations.h"
#include "muzero/report/report.h"
#include "muzero/run.h"
#include "muzero/storage/run_path.h"
#include <math.h>
#include <string.h>
#include <unistd.h>

enum { BLOCKS_A_SEED = 30, PATH_SIZE = 600, LOCK_MS = 100 };

typedef struct comparison {
  const mz_compare_options *options;
  const mz_compare_watcher *watcher;
  mz_arm arms[MZ_ARMS_MAX + 1]; /* the last is the twin of the first */
  int count;                    /* with the twin */
  int block_phases;
  mz_scenario scenario;
  mz_scenery scenery;      /* of the present seed */
  double memory_bytes;     /* that the first arm that begins may need then: what the scenario's shares are of; 0: none did */
  mz_simulated *simulated; /* NULL: on this machine */
  int64_t rounds;          /* limit; 0: none */
  int64_t phase_rounds;
  mz_allocation_settings allocation; /* whose limits hold for all arms that set no others */
  char dir[512];
  int lock; /* on the directory; -1: not taken */
  uint64_t started_ns;
  double played, all; /* rounds */
} comparison;

/* ---- what is compared ---- */

static const char *env_name(const mz_compare_options *o) { return o->run.env; }

static cJSON *plan_json(const comparison *c) {
  const mz_compare_options *o = c->options;
  cJSON *json = cJSON_CreateObject();
  cJSON_AddNumberToObject(json, "format", 1);
  cJSON_AddStringToObject(json, "env", env_name(o));
  cJSON_AddStringToObject(json, "preset", o->run.preset ? o->run.preset : env_name(o));
  cJSON *sets = cJSON_AddArrayToObject(json, "set");
  for (int i = 0; i < o->run.set_count; i++) cJSON_AddItemToArray(sets, cJSON_CreateString(o->run.sets[i]));
  cJSON *arms = cJSON_AddArrayToObject(json, "arms");
  for (int i = 0; i < c->count - 1; i++) cJSON_AddItemToArray(arms, cJSON_CreateString(c->arms[i].name));
  mz_json_add_u64(json, "first_seed", o->run.seed);
  cJSON_AddNumberToObject(json, "threads", o->run.threads);
  if (o->run.device) cJSON_AddStringToObject(json, "device", o->run.device);
  cJSON *limit = cJSON_AddObjectToObject(json, "limit");
  cJSON_AddNumberToObject(limit, "rounds", (double)o->limits.rounds);
  cJSON_AddNumberToObject(limit, "env_steps", (double)o->limits.env_steps);
  cJSON_AddNumberToObject(limit, "updates", (double)o->limits.updates);
  cJSON_AddNumberToObject(limit, "for_s", o->limits.for_s);
  cJSON_AddNumberToObject(limit, "until", o->limits.until ? o->limits.score : NAN);
  cJSON_AddNumberToObject(json, "block_phases", c->block_phases);
  if (c->scenario.count > 0) cJSON_AddStringToObject(json, "scenario", o->scenario);
  if (o->together > 1) cJSON_AddNumberToObject(json, "together", o->together);
  if (c->simulated) mz_simulated_json(c->simulated, json);
  return json;
}

mz_status mz_compare_take_dir(const char *given, char *out, size_t size) {
  return snprintf(out, size, "%s", given) < (int)size ? MZ_OK : mz_fail(MZ_E_IO, "%s: path too long", given);
}

mz_status mz_compare_stopped(const char *dir) {
  char quoted[MZ_SHELL_QUOTE_SIZE(MZ_RUN_PATH_MAX)];
  return mz_fail(MZ_INTERRUPTED, "compare: stopped; finished seeds are kept, and the same command with --run %s resumes it",
                 mz_shell_quote(dir, quoted, sizeof quoted));
}

static mz_status refuse_entry(void *context, const char *name) {
  const comparison *c = context;
  return mz_fail(MZ_E_CONFIG, "%s: holds %s, and no comparison (plan.json) to continue; choose another --run", c->dir, name);
}

/* A directory continues with what it began; more seeds may be asked for. What else lies in one is not ours to remove. */
static mz_status open_dir(comparison *c) {
  char path[PATH_SIZE];
  MZ_TRY(mz_path_join(path, sizeof path, c->dir, "plan.json"));
  if (mz_file_exists(c->dir) && !mz_file_exists(path)) MZ_TRY(mz_file_list(c->dir, refuse_entry, c));
  MZ_TRY(mz_file_mkdirs(c->dir));
  if (mz_lock_folder(c->dir, LOCK_MS, &c->lock) != MZ_OK)
    return mz_fail(MZ_E_IO, "%s: another process compares there; wait for it to end, or choose another --run", c->dir);
  MZ_TRY(mz_file_remove_left(c->dir)); /* of a process that was killed */
  cJSON *plan = plan_json(c);
  char *text = plan ? mz_json_line(plan) : NULL;
  cJSON_Delete(plan);
  if (!text) return mz_fail(MZ_E_MEMORY, "compare: no memory for its plan");
  mz_status status = MZ_OK;
  if (!mz_file_exists(path))
    status = mz_file_write_atomic(path, text, strlen(text));
  else {
    uint8_t *there = NULL;
    size_t size;
    status = mz_file_read(path, 1 << 20, &there, &size);
    if (status == MZ_OK && strcmp((const char *)there, text) != 0)
      status =
          mz_fail(MZ_E_CONFIG,
                  "%s: another comparison is here already; continue with it by the same arms, limits and settings, or choose "
                  "another --run",
                  c->dir);
    free(there);
  }
  free(text);
  return status;
}

/* Whether whole runs are simulated, whose blocks end with each evaluation. */
static bool is_whole(const comparison *c) { return c->simulated != NULL && mz_simulated_is_whole(c->simulated); }

static int chosen_block(const comparison *c) {
  if (is_whole(c)) return 1;
  if (c->options->block_phases > 0) return c->options->block_phases;
  const int64_t phases = c->rounds / c->phase_rounds;
  return phases > BLOCKS_A_SEED ? (int)(phases / BLOCKS_A_SEED) : 1;
}

/* ---- a seed ---- */

static mz_status start_party(const comparison *c, int arm, uint64_t seed, const char *seed_dir, mz_party *party) {
  const mz_arm *a = &c->arms[arm];
  const char *sets[MZ_ARM_SETS_MAX + 256];
  char name[32], dir[PATH_SIZE];
  mz_run_options options = c->options->run;
  int count = 0;
  for (int i = 0; i < options.set_count && count < 256; i++) sets[count++] = options.sets[i];
  for (int i = 0; i < a->set_count; i++) sets[count++] = a->sets[i];
  snprintf(name, sizeof name, "arm-%d", arm);
  MZ_TRY(mz_path_join(dir, sizeof dir, seed_dir, name));
  options.sets = sets;
  options.set_count = count;
  options.seed = seed;
  options.seed_given = true;
  options.dir = dir;
  options.allocate = a->strategy;
  options.source = "compare";
  mz_status status = c->simulated ? mz_simulated_start(c->simulated, arm, &options, c->rounds, party)
                                  : mz_party_start(party, &options, &c->options->limits, c->options->together);
  if (status == MZ_OK) return MZ_OK;
  return mz_fail(status, "arm %s: %s", a->name, mz_message());
}

/* The order in which the arms take their turns in a block. */
static void draw_order(uint64_t seed, int64_t block, int count, int order[]) {
  mz_rng rng = mz_stream_order(seed, MZ_ORDER_ARMS, block);
  mz_rng_permutation(&rng, count, order);
}

static cJSON *last_block(const mz_party *party) {
  return cJSON_GetArrayItem(party->blocks, cJSON_GetArraySize(party->blocks) - 1);
}

static void tell(comparison *c, int seed, int64_t block, int arm, const mz_party *party) {
  const cJSON *reply = last_block(party);
  const double rounds = reply ? cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(reply, "rounds")) : 0;
  double before = 0;
  if (block > 0)
    before = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(party->blocks, (int)block - 1), "rounds"));
  if (!party->why[0] && isfinite(rounds - before)) c->played += rounds - before;
  mz_compare_progress p = {.seed = seed,
                           .seeds = c->options->seeds,
                           .run_seed = c->options->run.seed + (uint64_t)seed,
                           .block = block,
                           .arm = c->arms[arm].name,
                           .simulated = c->simulated != NULL,
                           .trouble = party->why};
  p.elapsed_s = (double)(mz_clock_ns() - c->started_ns) * 1e-9;
  p.done = c->all > 0 ? c->played / c->all : (double)seed / c->options->seeds;
  p.left_s = p.done > 0.01 ? p.elapsed_s * (1 - p.done) / p.done : NAN;
  p.wall_s = reply && !party->why[0] ? cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(reply, "wall_s")) : NAN;
  if (c->watcher->progress) c->watcher->progress(c->watcher->context, &p);
}

static bool stopping(const comparison *c) { return c->watcher->stopping && c->watcher->stopping(c->watcher->context); }

static mz_status set_scenery(comparison *c, int64_t block, const mz_party *parties) {
  pid_t pids[(MZ_ARMS_MAX + 1) * MZ_TOGETHER_MAX];
  int count = 0;
  if (c->simulated) return mz_simulated_set(c->simulated, &c->scenario, block + 1, c->memory_bytes);
  for (int i = 0; i < c->count; i++) count += mz_party_pids(&parties[i], pids + count);
  return mz_scenery_set(&c->scenery, &c->scenario, block + 1, pids, count);
}

/* Before anything runs: a limit below what an arm needs at least. */
static mz_status check_memory(const comparison *c, const mz_party *parties) {
  for (int i = 0; i < c->scenario.count; i++) {
    const struct mz_scenario_clause *clause = &c->scenario.clauses[i];
    const double bytes = clause->value / 100 * c->memory_bytes;
    for (int a = 0; clause->thing == MZ_SCENARIO_MEMORY && a < c->count; a++) {
      if (bytes >= parties[a].cells[0].bytes_least) continue;
      return mz_fail(MZ_E_CONFIG,
                     "--scenario: memory=%g%% are %.0f of the %.0f MiB that the first arm may need; %s needs %.0f MiB at least; "
                     "nearest valid "
                     "value: %.0f%%",
                     clause->value, bytes / 0x1p20, c->memory_bytes / 0x1p20, c->arms[a].name,
                     ceil(parties[a].cells[0].bytes_least / 0x1p20),
                     ceil(100 * parties[a].cells[0].bytes_least / c->memory_bytes));
    }
  }
  return MZ_OK;
}

static mz_status play_seed(comparison *c, int index, mz_party *parties) {
  const uint64_t seed = c->options->run.seed + (uint64_t)index;
  c->memory_bytes = 0;
  for (int i = c->count - 1; i >= 0; i--)
    if (parties[i].cells[0].bytes > 0) c->memory_bytes = parties[i].cells[0].bytes;
  MZ_TRY(check_memory(c, parties));
  for (int64_t block = 0;; block++) {
    int order[MZ_ARMS_MAX + 1];
    bool any = false;
    draw_order(seed, block, c->count, order);
    const uint64_t memory = (uint64_t)(mz_scenario_at(&c->scenario, MZ_SCENARIO_MEMORY, block + 1) / 100 * c->memory_bytes);
    MZ_TRY(set_scenery(c, block, parties));
    for (int i = 0; i < c->count; i++) {
      mz_party *party = &parties[order[i]];
      if (party->ended) continue;
      MZ_TRY(c->simulated ? mz_simulated_advance(c->simulated, order[i], c->block_phases * c->phase_rounds, party)
                          : mz_party_advance(party, c->block_phases, memory));
      tell(c, index, block, order[i], party);
      any = true;
    }
    if (!any) return MZ_OK;
    if (stopping(c)) return mz_compare_stopped(c->dir);
  }
}

static mz_status run_seed(comparison *c, int index, cJSON **out) {
  char dir[PATH_SIZE];
  const uint64_t seed = c->options->run.seed + (uint64_t)index;
  MZ_TRY(mz_seed_folder(c->dir, seed, dir, sizeof dir));
  MZ_TRY(mz_file_remove_tree(dir)); /* of a seed that was cut short: it begins anew */
  mz_party *parties;
  MZ_TRY(mz_alloc(&parties, MZ_ARMS_MAX + 1, sizeof *parties));
  mz_status status = MZ_OK;
  for (int i = 0; i < c->count && status == MZ_OK; i++) status = start_party(c, i, seed, dir, &parties[i]);
  if (status == MZ_OK) status = play_seed(c, index, parties);
  char why[MZ_MESSAGE_MAX];
  snprintf(why, sizeof why, "%s", mz_message());
  for (int i = 0; i < c->count; i++) mz_party_end(&parties[i]);
  if (c->simulated) mz_simulated_end(c->simulated);
  mz_scenery_clear(&c->scenery);
  if (status == MZ_OK) {
    status = mz_seed_write(c->dir, seed, c->arms, c->count, parties, out);
  } else {
    if (status != MZ_INTERRUPTED) mz_file_remove_tree(dir);
    mz_fail(status, "%s", why);
  }
  for (int i = 0; i < c->count; i++) mz_party_deinit(&parties[i]);
  free(parties);
  return status;
}

/* ---- all of it ---- */

static mz_status check_settings(comparison *c) {
  const mz_limits *limits = &c->options->limits;
  mz_settings settings;
  if (c->options->together > 1 && !limits->rounds && !limits->env_steps && !limits->updates)
    return mz_fail(MZ_E_CONFIG,
                   "--together: runs that are compared together end after the same work; give --rounds, --env-steps or "
                   "--updates");
  if (c->options->together > 1 && c->simulated)
    return mz_fail(MZ_E_CONFIG, "--together: a simulated machine takes one run of an arm; others are neighbour=N");
  if (is_whole(c) && (c->scenario.count > 0 || c->options->block_phases > 1))
    return mz_fail(MZ_E_CONFIG,
                   "%s: whole runs on a simulated machine have a block for each phase, and a machine that stays as it is; "
                   "leave it out, or leave out --until",
                   c->scenario.count > 0 ? "--scenario" : "--block");
  if (c->options->curves && !is_whole(c))
    return mz_fail(MZ_E_CONFIG,
                   "--curves: scores grow by curves in whole runs on a simulated machine alone: give --machine and --until");
  MZ_TRY(mz_settings_for_new_run(&c->options->run, &settings));
  c->allocation = settings.allocation;
  c->phase_rounds = settings.train.phase_rounds;
  c->rounds = c->options->limits.rounds ? c->options->limits.rounds : settings.train.rounds;
  return MZ_OK;
}

/* Before the directory is compared with the plan: the probes are a part of it. */
static mz_status find_machine(comparison *c) {
  if (!c->options->machine) return MZ_OK;
  MZ_TRY(mz_alloc(&c->simulated, 1, sizeof *c->simulated));
  return mz_simulated_parse(c->simulated, c->options->machine, &c->options->limits);
}

static mz_status probe_machine(comparison *c) {
  char path[PATH_SIZE];
  if (!c->simulated) return MZ_OK;
  MZ_TRY(mz_simulated_check_arms(c->simulated, c->arms, c->count));
  MZ_TRY(mz_path_join(path, sizeof path, c->dir, "plan.json"));
  return mz_simulated_prepare(c->simulated, &c->options->run, c->options->curves, path);
}

static int cores_of(const comparison *c) {
  return c->simulated ? mz_sim_machine_cores(&c->simulated->machine) : mz_machine_cores();
}

/* The score that runs are after; NAN: none. */
static double target_of(const comparison *c) {
  if (c->options->limits.until) return c->options->limits.score;
  return c->allocation.score < MZ_SCORE_NONE ? c->allocation.score : NAN;
}

/* What the summary says of a scenario: its segments, and the room that it leaves for adapting. */
static mz_status add_scenario(const comparison *c, const cJSON *seeds, cJSON *summary) {
  if (c->scenario.count == 0) return MZ_OK;
  mz_series series;
  MZ_TRY(mz_series_read(&series, seeds, c->count));
  mz_status status;
  MZ_TRY_CLEANUP(mz_compare_segments(&c->scenario, &series, c->arms, seeds, summary));
  MZ_TRY_CLEANUP(mz_compare_room(&c->scenario, &series, c->arms, summary));
cleanup:
  mz_series_free(&series);
  return status;
}

static mz_status write_summary(const comparison *c, const cJSON *summary) {
  char path[PATH_SIZE];
  const char *const runs[] = {c->dir};
  char *text = mz_json_page(summary);
  mz_status status =
      text ? mz_path_join(path, sizeof path, c->dir, "compare.json") : mz_fail(MZ_E_MEMORY, "compare: no memory for its summary");
  if (status == MZ_OK) status = mz_file_write_atomic(path, text, strlen(text));
  free(text);
  MZ_TRY(status);
  MZ_TRY(mz_path_join(path, sizeof path, c->dir, "report.html"));
  return mz_report_write(path, runs, 1);
}

mz_status mz_compare(const mz_compare_options *options, const mz_compare_watcher *watcher, cJSON **summary, char *dir,
                     size_t dir_size) {
  comparison *c;
  *summary = NULL;
  MZ_TRY(mz_alloc(&c, 1, sizeof *c));
  c->options = options;
  c->watcher = watcher;
  c->lock = -1;
  c->started_ns = mz_clock_ns();
  cJSON *seeds = cJSON_CreateArray();
  mz_status status;
  MZ_TRY_CLEANUP(find_machine(c));
  MZ_TRY_CLEANUP(mz_arms_parse(options->arms, options->run.threads > 0 ? options->run.threads : cores_of(c), c->arms, &c->count));
  MZ_TRY_CLEANUP(mz_scenario_parse(&c->scenario, options->scenario, cores_of(c)));
  MZ_TRY_CLEANUP(check_settings(c));
  c->block_phases = chosen_block(c);
  c->arms[c->count] = c->arms[0];
  for (int i = 0; i < c->arms[0].set_count; i++) /* its settings point into its own text */
    c->arms[c->count].sets[i] = c->arms[c->count].text + (c->arms[0].sets[i] - c->arms[0].text);
  snprintf(c->arms[c->count++].name, MZ_ARM_NAME_MAX, "A/A");
  c->all = (double)c->rounds * options->seeds * c->count;
  if (options->dir)
    MZ_TRY_CLEANUP(mz_compare_take_dir(options->dir, c->dir, sizeof c->dir));
  else
    MZ_TRY_CLEANUP(mz_run_make_up_dir("compare", options->run.seed, c->dir, sizeof c->dir));
  MZ_TRY_CLEANUP(probe_machine(c));
  MZ_TRY_CLEANUP(open_dir(c));
  for (int i = 0; i < options->seeds; i++) {
    cJSON *cells;
    MZ_TRY_CLEANUP(mz_seed_read(c->dir, options->run.seed + (uint64_t)i, &cells));
    if (!cells) MZ_TRY_CLEANUP(run_seed(c, i, &cells));
    cJSON_AddItemToArray(seeds, cells);
    c->played = (double)c->rounds * (i + 1) * c->count;
    if (i + 1 < options->seeds && stopping(c)) MZ_TRY_CLEANUP(mz_compare_stopped(c->dir));
  }
  cJSON *plan = plan_json(c);
  status = mz_compare_summarise(plan, seeds, c->arms, c->count, summary);
  cJSON_Delete(plan);
  MZ_TRY_CLEANUP(status);
  MZ_TRY_CLEANUP(add_scenario(c, seeds, *summary));
  MZ_TRY_CLEANUP(mz_simulated_label(c->simulated, *summary));
  mz_violations_add(*summary, &c->allocation, target_of(c));
  MZ_TRY_CLEANUP(write_summary(c, *summary));
  snprintf(dir, dir_size, "%s", c->dir);
cleanup:
  if (status != MZ_OK) {
    cJSON_Delete(*summary);
    *summary = NULL;
  }
  cJSON_Delete(seeds);
  if (c->lock >= 0) (void)mz_file_close(&c->lock, c->dir); /* nothing was written to it */
  if (c->simulated) mz_simulated_deinit(c->simulated);
  free(c->simulated);
  free(c);
  return status;
}
