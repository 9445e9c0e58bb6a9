/* Isotonic regression under the componentwise order: of all functions that do not fall where every coordinate rises, the one nearest
 * to weighted observations in least squares (Barlow et al. 1972), found by Dykstra's cyclic projections (1983) on ordered pairs.
 * Between points nothing is known but bounds: the largest value below and the smallest above. Plain structs, deterministic. */
#pragma once
#include <stdbool.h>

enum { MZ_ISOTONIC_POINTS_MAX = 64, MZ_ISOTONIC_AXES_MAX = 16 };

/* Filled in by the caller but for `fitted`. A coordinate of which less is more is handed over negated. */
typedef struct mz_isotonic {
  int count, axes;
  double x[MZ_ISOTONIC_POINTS_MAX][MZ_ISOTONIC_AXES_MAX];
  double y[MZ_ISOTONIC_POINTS_MAX], weight[MZ_ISOTONIC_POINTS_MAX]; /* weight > 0 */
  double fitted[MZ_ISOTONIC_POINTS_MAX];
} mz_isotonic;

/* Points that are equal in every coordinate get one value. Within 1e-9 of the optimum, or 10,000 sweeps: at most 64 points take some
 * milliseconds. */
void mz_isotonic_fit(mz_isotonic *s);
/* *low: the largest fitted value of points at or below x, −INFINITY where there is none; *high: the smallest at or above, INFINITY. */
void mz_isotonic_bounds(const mz_isotonic *s, const double *x, double *low, double *high);
