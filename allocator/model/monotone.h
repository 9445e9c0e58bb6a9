/* Tests whether observations rise along one axis: a permutation test (Fisher 1935; Good 2005) of the signs of differences
 * (Kendall 1938) between points that differ in this axis alone. An axis along which they fall is cut at its peak. Signs, and not
 * differences, are summed, so that a steep rise hides no slight fall beyond it. Pure functions of plain structs and a seed. */
#pragma once
#include "allocator/model/isotonic.h"
#include "base/status.h"

enum { MZ_MONOTONE_PERMUTATIONS = 999, MZ_MONOTONE_GROUPS_MAX = 16 };

typedef enum mz_monotone_verdict {
  MZ_MONOTONE_NOT_REFUTED, /* neither of the others */
  MZ_MONOTONE_CONFIRMED,   /* they rise over the axis, and fall over no stretch of it */
  MZ_MONOTONE_REFUTED,     /* they fall over a stretch of the axis */
} mz_monotone_verdict;

typedef struct mz_monotone {
  mz_monotone_verdict verdict;
  int pairs;          /* compared: points that differ in this axis alone or, if `by_residuals`, in this axis */
  bool by_residuals;  /* no points differ in this axis alone: residuals from a monotone function of the other axes are compared */
  double concordance; /* weight of pairs that rise minus that of pairs that fall, of all: in [−1, 1] */
  double rise_p;      /* probability of so great a concordance where y does not depend on the axis */
  double fall_p;      /* probability there of so clear a fall over any stretch */
  double fall_from, fall_to; /* coordinates between which the fall is clearest */
  double peak;               /* coordinate at which values are greatest, other axes being equal */
  int beyond;                /* points at greater coordinates */
} mz_monotone;

/* Tests one axis of points whose values are thought to rise along it; where they are thought to fall, y is handed over negated. A
 * verdict other than NOT_REFUTED is given where the probability is at most `alpha`. Observations and their weights change places
 * among points that are equal in the other axes. An axis of more than MZ_MONOTONE_GROUPS_MAX coordinates is divided into as many
 * groups of neighbouring ones. Takes time in proportion to `pairs` · MZ_MONOTONE_PERMUTATIONS. Without points, or with one
 * coordinate, probabilities are 1. MZ_E_MEMORY. */
mz_status mz_monotone_test(const mz_isotonic_points *points, int axis, double alpha, uint64_t seed, mz_monotone *found);
/* Returns whether a refuted axis is cut so that points at this coordinate are left out. */
bool mz_monotone_cuts(const mz_monotone *found, double coordinate);
/* Says what is cut from a refuted axis. `what` says what happens beyond the peak ("seconds per epoch rise again"). */
void mz_monotone_say_cut(const mz_monotone *found, const char *what, const char *axis, char *out, size_t size);
