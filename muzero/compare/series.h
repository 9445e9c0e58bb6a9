/* The cells of a comparison as numbers: arms × seeds × blocks. */
#pragma once
#include "base/json/json.h"
#include "muzero/compare/arm.h"

typedef enum mz_metric {
  MZ_METRIC_WALL,
  MZ_METRIC_CORE,
  MZ_METRIC_RESERVED,
  MZ_METRIC_GPU,
  MZ_METRIC_GIB,
  MZ_METRIC_COST,
  MZ_METRICS
} mz_metric;
/* The metric's name in the summary: "wall_s", "core_s", "core_reserved_s", "gpu_s", "gib_s", "cost". */
const char *mz_metric_name(mz_metric metric);

typedef struct mz_cell_series {
  int blocks;
  double *values[MZ_METRICS];     /* [blocks]; into one block of memory */
  double *rounds;                 /* [blocks]: at their ends */
  uint64_t *digests;              /* [blocks] */
  int settled;                    /* first block after the last change of the plan; blocks when none came after */
  bool reached, crashed, refused; /* refused: it has no block */
  double score;
} mz_cell_series;

typedef struct mz_series {
  int arms, seeds;
  mz_cell_series *cells; /* [arms][seeds] */
  void *storage;
} mz_series;

/* MZ_E_CHECKPOINT naming what is missing in a block. */
mz_status mz_series_read(mz_series *out, const cJSON *seeds, int arms);
void mz_series_free(mz_series *series);
const mz_cell_series *mz_series_cell(const mz_series *series, int arm, int seed);
/* Blocks that every arm played in every seed. */
int mz_series_common(const mz_series *series);
double mz_series_total(const mz_cell_series *cell, mz_metric metric, int from);
/* Returns whether an arm missed the target in some seed, where others reached it: its times are lower bounds. */
bool mz_series_censored(const mz_series *series, int arm);
/* Arms that are exact learn alike: -1 when all their digests agree block by block, otherwise the first seed in which they do not;
 * *block names the block. */
int mz_series_differ(const mz_series *series, const mz_arm *arms, int *block);
