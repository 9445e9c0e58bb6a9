/* Seconds per epoch of runs that have not run, from curves of those that have: the static strategy's first model (docs/plans.md,
 * "Static"). Isotonic regression of their logarithm: time does not rise with cores and GPUs, nor with the rows of a batch, and does not
 * fall with the moves of an epoch. Where a permutation test refutes that of cores, GPUs or batches, what lies beyond the fastest is left
 * out, and `cut` says so. Seconds are means over the first epochs of a run, its opening and its evaluations included, so that e epochs
 * take e times as long. */
#pragma once
#include "allocator/model/monotone.h"
#include "allocator/runs/curve.h"

enum { MZ_EPOCH_TIME_AXES = 4, MZ_EPOCH_TIME_POINTS_MAX = 256 };

/* A place where time was measured. Among knob plans with the same cores and GPUs the fastest is kept. */
typedef struct mz_epoch_place {
  double cores, gpus, memory_gib; /* held */
  double moves, batch_size;
  mz_plan plan;
  int runs;
  double log_s; /* mean over the runs of log seconds per epoch */
} mz_epoch_place;

typedef struct mz_epoch_time {
  int count;
  mz_epoch_place places[MZ_EPOCH_TIME_POINTS_MAX];
  double fitted[MZ_EPOCH_TIME_POINTS_MAX];
  double x[MZ_EPOCH_TIME_POINTS_MAX][MZ_EPOCH_TIME_AXES];
  double noise;     /* standard deviation of a run's log seconds around the fit, or its place's; NAN: no two runs were alike */
  double degrees;   /* of freedom behind it */
  double closing_s; /* of the evaluation that ends a run, mean; 0: none was seen */
  mz_monotone axes[MZ_EPOCH_TIME_AXES]; /* cores, GPUs, moves, batch */
  char cut[3][200];                     /* "": nothing */
} mz_epoch_time;

/* Names of the axes: "cores", "gpus", "moves", "batch_size". */
extern const char *const mz_epoch_time_axes[MZ_EPOCH_TIME_AXES];

/* Fits to the steady curves that are `timed`; longer ones count with their first `epochs`, shorter ones as if they had gone on as in
 * their second half. Those with less than a quarter of the epochs are left out where there are longer ones. MZ_E_MEMORY. */
mz_status mz_epoch_time_fit(mz_epoch_time *out, const mz_curve *curves, int count, const mz_pipeline *pipeline, int epochs);
/* Returns whether batches of so many rows are left out, because smaller ones take less time. */
bool mz_epoch_time_cuts_batch(const mz_epoch_time *model, double batch_size);
/* Seconds per epoch of one more run at a place: estimate, and the interval that holds it with probability `level`; open where nothing
 * bounds it. */
mz_interval mz_epoch_time_at(const mz_epoch_time *model, double cores, double gpus, double moves, double batch_size,
                             double level);
