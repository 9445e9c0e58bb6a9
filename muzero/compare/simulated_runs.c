#include "muzero/compare/simulated_runs.h"
#include "base/maths/digest.h"
#include "base/maths/streams.h"
#include "muzero/batch_rule.h"
#include "muzero/compare/simulated_places.h"
#include "muzero/limits.h"
#include "muzero/run.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- curves ---- */

/* The limits of the machine at hand have no say in which curves are its own. */
static mz_status read_curves(mz_simulated_runs *r, const mz_run_options *run, const char *history, mz_curve **curves,
                             int *count) {
  mz_run_options asked = *run;
  mz_settings settings = r->settings;
  mz_device_choice *choice = NULL;
  mz_run_place *here = NULL;
  mz_status status;
  asked.threads = 0;
  asked.history = history;
  settings.allocation.cpu_min = settings.allocation.cpu_max = 0;
  settings.allocation.gpu_min = settings.allocation.gpu_max = 0;
  settings.allocation.memory_min = settings.allocation.memory_max = 0;
  MZ_TRY_CLEANUP(mz_alloc(&choice, 1, sizeof *choice));
  MZ_TRY_CLEANUP(mz_alloc(&here, 1, sizeof *here));
  MZ_TRY_CLEANUP(mz_device_choose(choice, "cpu", &settings, &r->env->spec, NULL));
  MZ_TRY_CLEANUP(mz_run_curves_read(here, &r->key, curves, count, r->env, &settings, choice, &asked));
cleanup:
  free(here);
  free(choice);
  return status;
}

static uint64_t add_to_digest(uint64_t digest, const mz_curve *curves, int count) {
  for (int i = 0; i < count; i++) {
    for (int e = 0; e < curves[i].count; e++) {
      const mz_epoch *epoch = &curves[i].epochs[e];
      const double numbers[] = {epoch->number,   epoch->score,        epoch->wall_s,
                                epoch->rounds_s, epoch->evaluation_s, epoch->batch_size};
      digest = mz_hash(numbers, sizeof numbers, digest);
    }
  }
  return digest;
}

/* It ran on another machine than the simulated one: its scores and noise scales count, and nothing that it took. */
static void forget_machine(mz_curve *curve) {
  curve->timed = false;
  for (int e = 0; e < curve->count; e++) {
    curve->epochs[e].amounts[MZ_COURSE_MEMORY] = NAN;
    for (int r = 0; r < MZ_COURSE_RESOURCES; r++) curve->epochs[e].use[r] = curve->epochs[e].stall[r] = NAN;
  }
}

static mz_status fit_curves(mz_simulated_runs *r) {
  MZ_TRY(mz_epoch_rest_init(&r->rest, r->curves, r->count));
  MZ_TRY(mz_epoch_score_init(&r->score, r->curves, r->count, r->target));
  r->digest = add_to_digest(0, r->curves, r->count);
  if (r->score.batches == 0)
    return mz_fail(MZ_E_CONFIG, "no learning curve of these settings is known: 'muzero profile %s --score' measures some",
                   r->env_name);
  if (r->rest.count == 0)
    return mz_fail(MZ_E_CONFIG,
                   "no learning curve was measured on this machine, where stages and evaluations are timed: 'muzero profile %s "
                   "--score' measures some",
                   r->env_name);
  for (int i = 0; i < r->count; i++) forget_machine(&r->curves[i]);
  return MZ_OK;
}

/* Keeps of a history those by which runs can learn. */
static mz_status read_learned(mz_simulated_runs *r, const mz_simulated_runs_options *o) {
  mz_curve *curves;
  int count, kept = 0;
  const char *path = o->curves ? o->curves : o->run->history;
  MZ_TRY(read_curves(r, o->run, path, &curves, &count));
  for (int i = 0; i < count; i++) {
    const mz_curve curve = curves[i];
    if (curve.learned && mz_curve_batch_size(&curve) > 0)
      curves[kept++] = curve;
    else
      free(curve.epochs);
  }
  r->learned = curves;
  r->learned_count = kept;
  r->digest = add_to_digest(r->digest, curves, kept);
  if (mz_curves_range(curves, kept, &r->start, &r->ceiling)) {
    r->ceiling = mz_course_fit_ceiling(r->start, r->ceiling);
    return MZ_OK;
  }
  return mz_fail(MZ_E_CONFIG,
                 "%s: no learning curve of these settings is there: 'muzero profile %s --score --history %s' measures some", path,
                 r->env_name, path);
}

/* ---- stages ---- */

static mz_status find_probes(mz_simulated_runs *r, const mz_simulated_runs_options *o, int b) {
  const double rows = r->score.batch[b].rows;
  mz_settings settings = r->settings;
  const cJSON *row;
  MZ_TRY(mz_batch_rule_apply(&settings, (int64_t)rows, "batch_size"));
  cJSON_ArrayForEach(row, o->probes) {
    if (mz_json_number_or_nan(row, "batch_size") == rows) return mz_simulated_probes_read(&r->probes[b], row, o->path);
  }
  return mz_simulated_probes_time(&r->probes[b], r->env, &settings, &r->machine, o->run->seed);
}

const mz_simulated_probes *mz_simulated_runs_probes(const mz_simulated_runs *r, double batch_size) {
  for (int b = 0; b < r->score.batches; b++)
    if (r->score.batch[b].rows == batch_size) return &r->probes[b];
  return NULL;
}

/* ---- the machine ---- */

static mz_status find_place(mz_simulated_runs *r) {
  mz_memory memory;
  mz_outset_options options = {.threads = r->threads};
  MZ_TRY(mz_simulated_runs_bounds(r, &r->settings, &r->place.bounds));
  MZ_TRY(mz_memory_count(&memory, r->env, &r->settings, NULL));
  options.bounds = r->place.bounds;
  mz_sim_machine_devices(&r->machine, &r->place.outset.devices);
  return mz_outset_on_devices(&r->place.outset, &r->settings, &memory, &options);
}

static mz_status open_runs(mz_simulated_runs *r, const mz_simulated_runs_options *o) {
  MZ_TRY(mz_env_find(o->run->env, &r->env));
  MZ_TRY(mz_settings_for_new_run(o->run, &r->settings));
  if (r->settings.learning.loop_count == 0)
    return mz_fail(MZ_E_CONFIG, "loop_count: 0: nothing is ever learned, so there is no learning curve");
  MZ_TRY(find_place(r));
  MZ_TRY(read_curves(r, o->run, o->run->history, &r->curves, &r->count));
  MZ_TRY(fit_curves(r));
  MZ_TRY(read_learned(r, o));
  MZ_TRY(mz_alloc(&r->probes, (size_t)r->score.batches, sizeof *r->probes));
  for (int b = 0; b < r->score.batches; b++) MZ_TRY(find_probes(r, o, b));
  return MZ_OK;
}

mz_status mz_simulated_runs_open(mz_simulated_runs **out, const mz_simulated_runs_options *options) {
  mz_simulated_runs *r;
  *out = NULL;
  MZ_TRY(mz_alloc(&r, 1, sizeof *r));
  r->machine = *options->machine;
  r->machine_text = options->machine_text;
  r->env_name = options->run->env;
  r->threads = options->run->threads;
  r->target = options->target;
  const mz_status status = open_runs(r, options);
  if (status == MZ_OK)
    *out = r;
  else
    mz_simulated_runs_close(r);
  return status;
}

void mz_simulated_runs_close(mz_simulated_runs *r) {
  if (!r) return;
  mz_epoch_score_deinit(&r->score);
  mz_epoch_rest_deinit(&r->rest);
  mz_curves_free(r->curves, r->count);
  mz_curves_free(r->learned, r->learned_count);
  mz_curves_free(r->timed, r->timed_count);
  free(r->probes);
  free(r);
}

/* ---- planning ---- */

mz_status mz_simulated_runs_bounds(const mz_simulated_runs *r, const mz_settings *settings, mz_bounds *out) {
  const mz_grants grants = mz_sim_machine_grants(&r->machine, mz_sim_machine_cores(&r->machine), r->threads);
  return mz_bounds_resolve(out, &settings->allocation, &grants);
}

/* The real curves, which tell scores, and the simulated ones, which tell times. free(*out): the epochs are still those of r. */
static mz_status join_curves(mz_simulated_runs *r, mz_curve **out) {
  if (!r->timed) MZ_TRY(mz_simulated_places_time(r));
  MZ_TRY(mz_alloc(out, (size_t)(r->count + r->timed_count), sizeof **out));
  memcpy(*out, r->curves, (size_t)r->count * sizeof **out);
  memcpy(*out + r->count, r->timed, (size_t)r->timed_count * sizeof **out);
  return MZ_OK;
}

mz_status mz_simulated_runs_plan(mz_simulated_runs *r, const mz_settings *settings, const mz_run_ask *ask,
                                 mz_run_planning **out) {
  mz_bounds bounds;
  mz_curve *all;
  char fill[200];
  *out = NULL;
  MZ_TRY(mz_simulated_runs_bounds(r, settings, &bounds));
  MZ_TRY(join_curves(r, &all));
  snprintf(fill, sizeof fill, "'muzero profile %s --score'", r->env_name);
  const mz_run_limits limits = mz_run_limits_of(ask, settings, &bounds);
  const mz_status status = mz_run_planning_make(out, all, r->count + r->timed_count, &r->place.outset.pipeline, &limits, fill);
  free(all);
  return status;
}

mz_status mz_simulated_runs_fit_course(mz_simulated_runs *r, const mz_settings *settings, const mz_run_ask *ask, int stages,
                                       mz_fitted_course *out) {
  mz_curve *all;
  MZ_TRY(join_curves(r, &all));
  const mz_course_runs runs = {.key = &r->key,
                               .pipeline = &r->place.outset.pipeline,
                               .settings = settings,
                               .ask = ask,
                               .stages = stages,
                               .simulated = r->machine_text};
  const mz_status status = mz_course_fitting_to(out, all, r->count + r->timed_count, &runs);
  free(all);
  return status;
}

/* ---- learning ---- */

/* The longest one counts; a run has one curve on all cores. NULL: there is none. */
static const mz_curve *curve_of(const mz_simulated_runs *r, uint64_t seed, double batch_size) {
  const mz_curve *best = NULL;
  for (int i = 0; i < r->learned_count; i++) {
    const mz_curve *c = &r->learned[i];
    if (c->seed == seed && c->epochs[0].batch_size == batch_size && (!best || mz_curve_length(c) > mz_curve_length(best)))
      best = c;
  }
  return best;
}

static bool has_seed(const mz_simulated_runs *r, uint64_t seed, int before) {
  for (int i = 0; i < before; i++)
    if (r->learned[i].seed == seed) return true;
  return false;
}

static bool ran_in_all(const mz_simulated_runs *r, uint64_t seed) {
  for (int i = 0; i < r->learned_count; i++)
    if (!curve_of(r, seed, r->learned[i].epochs[0].batch_size)) return false;
  return true;
}

/* Writes the seeds that ran in every batch size, or, where none did, all; each once. Returns how many. seeds: [learned_count]. */
static int list_seeds(const mz_simulated_runs *r, uint64_t *seeds) {
  int count = 0;
  for (int all = 0; all < 2 && count == 0; all++)
    for (int i = 0; i < r->learned_count; i++)
      if (!has_seed(r, r->learned[i].seed, i) && (all || ran_in_all(r, r->learned[i].seed))) seeds[count++] = r->learned[i].seed;
  return count;
}

mz_status mz_simulated_runs_find_curve(const mz_simulated_runs *r, uint64_t seed, double batch_size, const mz_curve **out) {
  uint64_t learns_as = seed, *seeds;
  if (!has_seed(r, seed, r->learned_count)) {
    mz_rng rng = mz_stream_simulated(seed, MZ_SIMULATED_CURVE, 0, 0, 0);
    MZ_TRY(mz_alloc(&seeds, (size_t)r->learned_count, sizeof *seeds));
    const int count = list_seeds(r, seeds);
    learns_as = seeds[mz_rng_below(&rng, (uint32_t)count)];
    free(seeds);
  }
  *out = curve_of(r, learns_as, batch_size);
  if (*out) return MZ_OK;
  return mz_fail(
      MZ_E_CONFIG,
      "seed %llu learns as seed %llu, of which no run in batches of %g rows is known: 'muzero profile %s --score --seed %llu "
      "--seeds 3 --grid batch_size=%g' measures it",
      (unsigned long long)seed, (unsigned long long)learns_as, batch_size, r->env_name, (unsigned long long)learns_as,
      batch_size);
}

int mz_simulated_runs_longest(const mz_simulated_runs *r, const mz_curve *curve) {
  int longest = 0;
  for (int i = 0; i < r->learned_count; i++) {
    const int length = mz_curve_length(&r->learned[i]);
    if (r->learned[i].seed == curve->seed && length > longest) longest = length;
  }
  return longest;
}

double mz_simulated_runs_pace(const mz_simulated_runs *r, const mz_curve *curve) {
  const int reached = mz_curve_reaches(curve, r->target);
  for (int b = 0; b < r->score.batches; b++)
    if (r->score.batch[b].rows == curve->epochs[0].batch_size && reached > 0 && isfinite(r->score.batch[b].typical))
      return reached / r->score.batch[b].typical;
  return 1;
}

double mz_simulated_runs_closing_s(const mz_simulated_runs *r, double cores, double batch_size, double epoch) {
  const mz_train_settings *t = &r->settings.train;
  const double evaluation_s = mz_epoch_rest_evaluation_s(&r->rest, cores, batch_size, epoch);
  return strcmp(t->eval_opponent, "all") == 0 ? evaluation_s : evaluation_s * MZ_CONFIRM_GAMES / (double)t->eval_games;
}

/* ---- records ---- */

void mz_simulated_runs_json(const mz_simulated_runs *r, cJSON *o) {
  cJSON *curves = cJSON_AddObjectToObject(o, "curves");
  cJSON_AddNumberToObject(curves, "runs", r->score.runs);
  cJSON_AddNumberToObject(curves, "learned", r->learned_count);
  mz_json_add_u64_hex(curves, "digest", r->digest);
  cJSON *probes = cJSON_AddArrayToObject(o, "probes");
  for (int b = 0; b < r->score.batches; b++) {
    cJSON *row = mz_simulated_probes_json(&r->probes[b]);
    cJSON_AddNumberToObject(row, "batch_size", r->score.batch[b].rows);
    cJSON_AddItemToArray(probes, row);
  }
}

void mz_simulated_runs_text(const mz_simulated_runs *r, const char *machine, char *out, size_t size) {
  snprintf(
      out, size,
      "Times and costs are simulated, on the machine %s: rounds take what the simulation makes of stages that were timed here; "
      "evaluations and the opening take what they took here on %g cores at the most. Scores are those of %d real runs; where "
      "batches change size, the shares of the distance to the ceiling that they closed. Nothing was trained.",
      machine, mz_epoch_rest_cores(&r->rest), r->learned_count);
}
