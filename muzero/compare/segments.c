#include "muzero/compare/segments.h"
#include "base/maths/statistics.h"
#include <math.h>

enum { RESAMPLES = 10000 };

int64_t mz_segment_last(const mz_scenario *scenario, int64_t first, int64_t blocks) {
  int64_t last = first;
  while (last < blocks && mz_scenario_alike(scenario, first, last + 1)) last++;
  return last;
}

typedef struct segment {
  const mz_series *series;
  const mz_arm *arms;
  const cJSON *seeds;
  int64_t first, last; /* blocks from 1 on */
} segment;

/* ---- of an arm ---- */

static double wall_s(const segment *g, int arm, int seed) {
  const mz_cell_series *cell = mz_series_cell(g->series, arm, seed);
  double sum = 0;
  for (int64_t b = g->first; b <= g->last; b++) sum += cell->values[MZ_METRIC_WALL][b - 1];
  return sum;
}

static const cJSON *block_json(const segment *g, int arm, int seed, int64_t block) {
  const cJSON *cell = cJSON_GetArrayItem(mz_json_item(cJSON_GetArrayItem(g->seeds, seed), "cells"), arm);
  return cJSON_GetArrayItem(mz_json_item(cell, "blocks"), (int)block - 1);
}

static double sum_of(const segment *g, int arm, int seed, const char *key) {
  double sum = 0;
  for (int64_t b = g->first; b <= g->last; b++) sum += mz_json_number_or_nan(block_json(g, arm, seed, b), key);
  return sum;
}

static void add_arms(const segment *g, cJSON *out) {
  cJSON *wall = cJSON_AddObjectToObject(out, "wall_s"), *changes = cJSON_AddObjectToObject(out, "changes"),
        *reverts = cJSON_AddObjectToObject(out, "reverts"), *rss = cJSON_AddObjectToObject(out, "rss_bytes");
  for (int a = 0; a < g->series->arms; a++) {
    double seconds = 0, changed = 0, undone = 0, most = 0;
    const int seeds = g->series->seeds;
    for (int s = 0; s < seeds; s++) {
      seconds += wall_s(g, a, s);
      changed += sum_of(g, a, s, "changes");
      undone += sum_of(g, a, s, "reverts");
      most = fmax(most, mz_json_number_or_nan(block_json(g, a, s, g->last), "rss_bytes"));
    }
    cJSON_AddNumberToObject(wall, g->arms[a].name, seconds / seeds);
    cJSON_AddNumberToObject(changes, g->arms[a].name, changed / seeds);
    cJSON_AddNumberToObject(reverts, g->arms[a].name, undone / seeds);
    cJSON_AddNumberToObject(rss, g->arms[a].name, most);
  }
}

/* ---- of two arms ---- */

static mz_status add_ratio(const segment *g, int arm, cJSON *ratios) {
  const int blocks = (int)(g->last - g->first + 1), n = blocks * g->series->seeds;
  const mz_resampling how = {.resamples = RESAMPLES, .level = 0.95, .null = 1, .run = (int)ceil(cbrt(blocks)), .seed = 1};
  double *a = NULL, *b = NULL;
  int *stratum = NULL, at = 0;
  mz_bootstrapped got;
  mz_status status;
  MZ_TRY_CLEANUP(mz_alloc(&a, (size_t)n, sizeof *a));
  MZ_TRY_CLEANUP(mz_alloc(&b, (size_t)n, sizeof *b));
  MZ_TRY_CLEANUP(mz_alloc(&stratum, (size_t)n, sizeof *stratum));
  for (int s = 0; s < g->series->seeds; s++)
    for (int64_t block = g->first - 1; block < g->last; block++, at++) {
      a[at] = mz_series_cell(g->series, arm, s)->values[MZ_METRIC_WALL][block];
      b[at] = mz_series_cell(g->series, 0, s)->values[MZ_METRIC_WALL][block];
      stratum[at] = s;
    }
  MZ_TRY_CLEANUP(mz_bootstrap_ratio(a, b, stratum, n, &how, &got));
  cJSON *o = cJSON_CreateObject();
  cJSON_AddStringToObject(o, "a", g->arms[arm].name);
  cJSON_AddStringToObject(o, "b", g->arms[0].name);
  cJSON_AddNumberToObject(o, "ratio", got.interval.estimate);
  mz_json_add(o, "ci95", cJSON_CreateDoubleArray((const double[]){got.interval.low, got.interval.high}, 2));
  cJSON_AddNumberToObject(o, "n", n);
  cJSON_AddItemToArray(ratios, o);
cleanup:
  free(a), free(b), free(stratum);
  return status;
}

static mz_status add_segment(const mz_scenario *scenario, const segment *g, cJSON *out) {
  cJSON_AddNumberToObject(out, "first", (double)g->first);
  cJSON_AddNumberToObject(out, "last", (double)g->last);
  for (int thing = 0; thing < MZ_SCENARIO_THINGS; thing++)
    cJSON_AddNumberToObject(out, mz_scenario_thing_name(thing), mz_scenario_at(scenario, thing, g->first));
  add_arms(g, out);
  cJSON *ratios = cJSON_AddArrayToObject(out, "ratios");
  for (int a = 1; a < g->series->arms; a++)
    if (g->arms[a].adapts && g->arms[a].exact && g->arms[0].exact) MZ_TRY(add_ratio(g, a, ratios));
  return MZ_OK;
}

mz_status mz_compare_segments(const mz_scenario *scenario, const mz_series *series, const mz_arm *arms, const cJSON *seeds,
                              cJSON *summary) {
  const int64_t blocks = mz_series_common(series);
  cJSON *segments = cJSON_AddArrayToObject(summary, "segments");
  if (!segments) return mz_fail(MZ_E_MEMORY, "compare: no memory for its segments");
  segment g = {.series = series, .arms = arms, .seeds = seeds};
  for (g.first = 1; g.first <= blocks; g.first = g.last + 1) {
    g.last = mz_segment_last(scenario, g.first, blocks);
    cJSON *out = cJSON_CreateObject();
    cJSON_AddItemToArray(segments, out);
    MZ_TRY(add_segment(scenario, &g, out));
  }
  return MZ_OK;
}
