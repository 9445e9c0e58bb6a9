#include "muzero/compare/room.h"
#include "base/maths/statistics.h"
#include "muzero/compare/segments.h"
#include <math.h>

enum { RESAMPLES = 10000, SENTENCE = 256 };

typedef struct room {
  const mz_scenario *scenario;
  const mz_series *series;
  const mz_arm *arms;
  int64_t blocks;
  double *fixed, *gain,
      *saved;      /* [n] a block: seconds of the best fixed plan; that the segment's best saves; that an arm saves */
  int *stratum, n; /* of seed and segment */
} room;

/* ---- which plans are best ---- */

/* The last arm is the first one's twin. */
static bool is_plan(const room *r, int arm) { return arm < r->series->arms - 1 && !r->arms[arm].adapts && r->arms[arm].exact; }

static double seconds(const room *r, int arm, int seed, int64_t first, int64_t last) {
  const mz_cell_series *cell = mz_series_cell(r->series, arm, seed);
  double sum = 0;
  for (int64_t b = first; b <= last; b++) sum += cell->values[MZ_METRIC_WALL][b - 1];
  return sum;
}

/* Over all seeds but one. */
static int best_plan(const room *r, int but, int64_t first, int64_t last) {
  int best = -1;
  double least = INFINITY;
  for (int a = 0; a < r->series->arms; a++) {
    double sum = 0;
    if (!is_plan(r, a)) continue;
    for (int s = 0; s < r->series->seeds; s++) sum += s == but ? 0 : seconds(r, a, s, first, last);
    if (sum < least) best = a, least = sum;
  }
  return best;
}

static double at(const room *r, int arm, int seed, int64_t block) {
  return mz_series_cell(r->series, arm, seed)->values[MZ_METRIC_WALL][block - 1];
}

static void read_times(room *r) {
  int strata = 0;
  for (int s = 0; s < r->series->seeds; s++) {
    const int whole = best_plan(r, s, 1, r->blocks);
    for (int64_t first = 1, last; first <= r->blocks; first = last + 1, strata++) {
      last = mz_segment_last(r->scenario, first, r->blocks);
      const int here = best_plan(r, s, first, last);
      for (int64_t b = first; b <= last; b++, r->n++) {
        r->fixed[r->n] = at(r, whole, s, b);
        r->gain[r->n] = r->fixed[r->n] - at(r, here, s, b);
        r->stratum[r->n] = strata;
      }
    }
  }
}

/* ---- what there is, and who took it ---- */

static mz_status ratio(const room *r, const double *numerators, const double *denominators, mz_interval *out) {
  const mz_resampling how = {
      .resamples = RESAMPLES, .level = 0.95, .run = 2, .seed = 1}; /* neighbours share what the machine did */
  mz_bootstrapped got;
  MZ_TRY(mz_bootstrap_ratio(numerators, denominators, r->stratum, r->n, &how, &got));
  *out = got.interval;
  return MZ_OK;
}

static cJSON *ends_of(const mz_interval *i) { return cJSON_CreateDoubleArray((const double[]){i->low, i->high}, 2); }

static mz_status add_captured(room *r, int arm, cJSON *captured) {
  mz_interval share;
  for (int s = 0, i = 0; s < r->series->seeds; s++)
    for (int64_t b = 1; b <= r->blocks; b++, i++) r->saved[i] = r->fixed[i] - at(r, arm, s, b);
  MZ_TRY(ratio(r, r->saved, r->gain, &share));
  cJSON *o = cJSON_CreateObject();
  cJSON_AddStringToObject(o, "arm", r->arms[arm].name);
  cJSON_AddNumberToObject(o, "share", share.estimate);
  mz_json_add(o, "ci95", ends_of(&share));
  cJSON_AddItemToArray(captured, o);
  return MZ_OK;
}

/* By how much an arm may differ from itself. */
static double noise_of(const cJSON *summary) {
  const cJSON *ends = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(summary, "noise"), "ci95");
  const double low = cJSON_GetNumberValue(cJSON_GetArrayItem(ends, 0)), high = cJSON_GetNumberValue(cJSON_GetArrayItem(ends, 1));
  const double noise = fmax(high - 1, 1 - low);
  return isfinite(noise) ? noise : INFINITY;
}

/* Says why there is none; false: there is. */
static bool none(const mz_interval *share, double noise, char out[SENTENCE]) {
  if (share->estimate <= noise)
    snprintf(out, SENTENCE, "no room: the best plans of the segments save %.1f %%, an arm may differ from itself by %.1f %%",
             100 * share->estimate, 100 * noise);
  else if (share->low <= 0)
    snprintf(out, SENTENCE, "no room: the interval of what the segments' best plans save holds 0");
  else
    return false;
  return true;
}

static mz_status add_room(room *r, cJSON *summary, cJSON *out) {
  mz_interval share;
  char why[SENTENCE];
  read_times(r);
  MZ_TRY(ratio(r, r->gain, r->fixed, &share));
  const bool empty = none(&share, noise_of(summary), why);
  cJSON_AddNumberToObject(out, "room", share.estimate);
  mz_json_add(out, "ci95", ends_of(&share));
  cJSON_AddItemToObject(out, "none", empty ? cJSON_CreateString(why) : cJSON_CreateNull());
  cJSON *captured = cJSON_AddArrayToObject(out, "captured");
  for (int a = 0; a < r->series->arms - 1 && !empty; a++)
    if (r->arms[a].adapts && r->arms[a].exact) MZ_TRY(add_captured(r, a, captured));
  return MZ_OK;
}

static const char *untold(const room *r) {
  int plans = 0;
  for (int a = 0; a < r->series->arms; a++) plans += is_plan(r, a);
  if (plans < 2) return "not told: there is one fixed plan only; name more of them in --arms";
  if (r->series->seeds < 2) return "not told: plans are chosen by other seeds; give --seeds 2 or more";
  return r->blocks < 2 ? "not told: there are too few blocks" : NULL;
}

mz_status mz_compare_room(const mz_scenario *scenario, const mz_series *series, const mz_arm *arms, cJSON *summary) {
  room r = {.scenario = scenario, .series = series, .arms = arms, .blocks = mz_series_common(series)};
  const size_t n = (size_t)series->seeds * (size_t)r.blocks;
  cJSON *out = cJSON_AddObjectToObject(summary, "room");
  const char *why = untold(&r);
  mz_status status;
  MZ_TRY_CLEANUP(mz_alloc(&r.fixed, 3 * n, sizeof *r.fixed));
  r.gain = r.fixed + n, r.saved = r.fixed + 2 * n;
  MZ_TRY_CLEANUP(mz_alloc(&r.stratum, n, sizeof *r.stratum));
  if (why) {
    cJSON_AddNullToObject(out, "room");
    cJSON_AddStringToObject(out, "none", why);
    cJSON_AddArrayToObject(out, "captured");
  } else {
    status = add_room(&r, summary, out);
  }
cleanup:
  free(r.fixed);
  free(r.stratum);
  return status;
}
