#include "muzero/compare/series.h"
#include <limits.h>
#include <math.h>
#include <string.h>

/* In a block, and in the summary. */
static const char *const keys[MZ_METRICS] = {"wall_s", "cpu_s", "reserved_core_s", "reserved_gpu_s", "gib_s", "cost"};
static const char *const names[MZ_METRICS] = {"wall_s", "core_s", "core_reserved_s", "gpu_s", "gib_s", "cost"};
const char *mz_metric_name(mz_metric metric) { return names[metric]; }

static mz_status read_cell(mz_cell_series *cell, const cJSON *json, double *memory) {
  const cJSON *blocks = mz_json_item(json, "blocks"), *block;
  const size_t n = (size_t)cJSON_GetArraySize(blocks);
  for (int m = 0; m < MZ_METRICS; m++) cell->values[m] = memory + n * (size_t)m;
  cell->rounds = memory + n * MZ_METRICS;
  cell->digests = (uint64_t *)(memory + n * (MZ_METRICS + 1));
  cell->crashed = cJSON_IsString(mz_json_item(json, "crashed"));
  cell->refused = cJSON_IsString(mz_json_item(json, "refused"));
  cell->score = NAN;
  cJSON_ArrayForEach(block, blocks) {
    const int i = cell->blocks;
    double changes;
    for (int m = 0; m < MZ_METRICS; m++)
      if (m != MZ_METRIC_GPU || mz_json_item(block, keys[m])) /* earlier versions did not count GPUs */
        MZ_TRY(mz_json_get_number(block, keys[m], "a block of the comparison", MZ_E_CHECKPOINT, &cell->values[m][i]));
    MZ_TRY(mz_json_get_number(block, "rounds", "a block of the comparison", MZ_E_CHECKPOINT, &cell->rounds[i]));
    MZ_TRY(mz_json_get_number(block, "changes", "a block of the comparison", MZ_E_CHECKPOINT, &changes));
    MZ_TRY(mz_json_get_u64_hex(block, "digest", "a block of the comparison", MZ_E_CHECKPOINT, &cell->digests[i]));
    const cJSON *reason = mz_json_item(block, "reason"), *score = mz_json_item(block, "score");
    cell->reached = cJSON_IsString(reason) && strcmp(reason->valuestring, "score") == 0;
    if (cJSON_IsNumber(score)) cell->score = score->valuedouble;
    cell->blocks++;
    if (changes > 0) cell->settled = cell->blocks;
  }
  return MZ_OK;
}

mz_status mz_series_read(mz_series *out, const cJSON *seeds, int arms) {
  *out = (mz_series){.arms = arms, .seeds = cJSON_GetArraySize(seeds)};
  size_t blocks = 0, at = 0;
  const cJSON *seed, *cell;
  cJSON_ArrayForEach(seed, seeds) cJSON_ArrayForEach(cell, mz_json_item(seed, "cells")) blocks +=
      (size_t)cJSON_GetArraySize(mz_json_item(cell, "blocks"));
  const size_t width = MZ_METRICS + 2;
  mz_status status;
  MZ_TRY_CLEANUP(mz_alloc(&out->cells, (size_t)arms * (size_t)out->seeds, sizeof *out->cells));
  MZ_TRY_CLEANUP(mz_alloc(&out->storage, blocks * width, sizeof(double)));
  for (int s = 0; s < out->seeds; s++) {
    const cJSON *cells = mz_json_item(cJSON_GetArrayItem(seeds, s), "cells");
    if (cJSON_GetArraySize(cells) != arms)
      MZ_TRY_CLEANUP(mz_fail(MZ_E_CHECKPOINT, "a seed of the comparison has %d cells, not %d", cJSON_GetArraySize(cells), arms));
    for (int a = 0; a < arms; a++) {
      const cJSON *json = cJSON_GetArrayItem(cells, a);
      MZ_TRY_CLEANUP(read_cell(&out->cells[a * out->seeds + s], json, (double *)out->storage + at));
      at += (size_t)cJSON_GetArraySize(mz_json_item(json, "blocks")) * width;
    }
  }
  return MZ_OK;
cleanup:
  mz_series_free(out);
  return status;
}

void mz_series_free(mz_series *series) {
  free(series->cells);
  free(series->storage);
  *series = (mz_series){0};
}

const mz_cell_series *mz_series_cell(const mz_series *series, int arm, int seed) {
  return &series->cells[arm * series->seeds + seed];
}

int mz_series_common(const mz_series *series) {
  int least = INT_MAX;
  for (int i = 0; i < series->arms * series->seeds; i++)
    if (series->cells[i].blocks < least) least = series->cells[i].blocks;
  return least == INT_MAX ? 0 : least;
}

double mz_series_total(const mz_cell_series *cell, mz_metric metric, int from) {
  double sum = 0;
  for (int i = from; i < cell->blocks; i++) sum += cell->values[metric][i];
  return sum;
}

bool mz_series_censored(const mz_series *series, int arm) {
  bool any_reached = false, all = true;
  for (int i = 0; i < series->arms * series->seeds; i++) any_reached |= series->cells[i].reached;
  for (int s = 0; s < series->seeds; s++) all &= mz_series_cell(series, arm, s)->reached;
  return any_reached && !all;
}

int mz_series_differ(const mz_series *series, const mz_arm *arms, int *block) {
  for (int s = 0; s < series->seeds; s++) {
    const mz_cell_series *first = NULL;
    for (int a = 0; a < series->arms; a++) {
      const mz_cell_series *cell = mz_series_cell(series, a, s);
      if (!arms[a].exact || cell->crashed) continue;
      if (!first) first = cell;
      const int common = cell->blocks < first->blocks ? cell->blocks : first->blocks;
      for (int b = 0; b < common; b++) {
        if (cell->digests[b] == first->digests[b] && cell->rounds[b] == first->rounds[b]) continue;
        *block = b;
        return s;
      }
    }
  }
  return -1;
}
