/* Isotonic regression under the componentwise order: of all functions that do not fall where every coordinate rises, the one
 * nearest to weighted observations in least squares (Barlow et al. 1972). Points may lie anywhere. The fit is exact but for
 * rounding, by recursive partition: the maximum flow tells which upper set of a block exceeds the block's mean by most (Spouge,
 * Wan & Wilbur 2003; Luss & Rosset 2014). Between points nothing is known but bounds: the largest value below and the smallest
 * above. Plain structs, deterministic. isotonic_grid.h fits grids. */
#pragma once
#include "base/maths/statistics.h"
#include <stdbool.h>
#include <stdint.h>

enum { MZ_ISOTONIC_POINTS_MAX = 1024, MZ_ISOTONIC_AXES_MAX = 16 };

/* Observations, in the caller's arrays. A coordinate of which less is more is handed over negated. All numbers are finite. */
typedef struct mz_isotonic_points {
  int count, axes;
  const double *x;      /* [count, axes] */
  const double *y;      /* [count] */
  const double *weight; /* [count], > 0 */
} mz_isotonic_points;

/* Bytes of memory that a fit of `count` points works in: 13 kB for 64 points, 2.4 MB for 1024. */
#define MZ_ISOTONIC_WORDS(count) (((size_t)(count) + 63) / 64)
#define MZ_ISOTONIC_FLOWS(count) ((size_t)(count) * (size_t)(count) / 4)
#define MZ_ISOTONIC_SCRATCH_BYTES(count)                                                                                         \
  (8 * (MZ_ISOTONIC_FLOWS(count) + (2 * (size_t)(count) + 3) * MZ_ISOTONIC_WORDS(count) + 8 * (size_t)(count)))

/* Fills in fitted [count]. The order holds to the last bit, and points that are equal in every coordinate get one value.
 * `scratch` has MZ_ISOTONIC_SCRATCH_BYTES(count), aligned as mz_alloc's. */
void mz_isotonic_fit(const mz_isotonic_points *points, double *fitted, void *scratch);
/* Sets *low to the largest fitted value of points at or below x, −INFINITY where there is none, and *high to the smallest of
 * those at or above x, INFINITY where there is none. */
void mz_isotonic_bounds(const mz_isotonic_points *points, const double *fitted, const double *x, double *low, double *high);

/* Noise, by which bounds are widened: absolute + relative · |bound|. Both >= 0, relative < 1. */
typedef struct mz_isotonic_noise {
  double absolute, relative;
} mz_isotonic_noise;

/* Makes an estimate and an interval from bounds. The estimate is the middle of the bounds. Where one of them is missing, the
 * least or the greatest of all fitted values takes its place: were the other bound alone the estimate, the estimate could fall
 * where x rises. The interval is the bounds widened by `noise`, and infinite where a bound is missing. */
mz_interval mz_isotonic_envelope(double low, double high, double least, double most, mz_isotonic_noise noise);
