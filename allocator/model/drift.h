/* How a pipeline's level of cost wanders while plans change: what windows took beyond a model's prediction, split into what
 * belongs to each window's plan and a level that all plans share (a random walk; Harvey 1989, the local level model). Costs of an
 * agent that learns drift by tens of percent in a minute, plans differ by a few: windows far apart say little about which plan is
 * better, neighbouring ones much; windows of different runs nothing: agent and machine were others. Pure function of plain structs. */
#pragma once

enum { MZ_DRIFT_WINDOWS_MAX = 128, MZ_DRIFT_PLANS_MAX = 64 };

typedef struct mz_drift {
  int count;
  double residual[MZ_DRIFT_WINDOWS_MAX]; /* log(observed / predicted), in order of time, either way */
  double variance[MZ_DRIFT_WINDOWS_MAX]; /* of its noise, > 0 */
  int plan[MZ_DRIFT_WINDOWS_MAX];        /* below MZ_DRIFT_PLANS_MAX; −1: unknown, counts for nothing */
  int run[MZ_DRIFT_WINDOWS_MAX];         /* any number for each run: where it changes, the level may jump */
  /* Found: */
  double step;                        /* standard deviation of the level from one window to the next */
  double level[MZ_DRIFT_WINDOWS_MAX]; /* relative to the first window's */
} mz_drift;

/* plan_sigma: standard deviation of what plans are expected to differ by. O(windows · plans + plans³ / 6). */
void mz_drift_fit(mz_drift *drift, double plan_sigma);
