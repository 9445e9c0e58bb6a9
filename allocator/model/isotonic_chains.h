/* Isotonic regression under an order that chains of points generate, by Dykstra's cyclic projections (1983): each chain is
 * projected by pooling adjacent violators (Barlow et al. 1972). Fast where chains are few and long, as the lines of a grid
 * are. */
#pragma once
#include "base/status.h"

/* Points and chains, in the caller's arrays. Chain k holds the points member[start[k] … start[k + 1] − 1], whose values shall not
 * fall in this order. All numbers are finite. */
typedef struct mz_isotonic_chains {
  int points, count;
  const double *y, *weight; /* [points], weight > 0 */
  const int *start;         /* [count + 1] */
  const int *member;
} mz_isotonic_chains;

typedef struct mz_isotonic_fitted {
  int sweeps;   /* projections on every chain */
  double error; /* upper bound of a value's distance from the optimum, but for rounding */
} mz_isotonic_fitted;

/* Fills in fitted [points], in which the order holds to the last bit. Ends after `sweeps` or as soon as the error is at most
 * `tolerance`. MZ_E_MEMORY. */
mz_status mz_isotonic_chains_fit(const mz_isotonic_chains *chains, int sweeps, double tolerance, double *fitted,
                                 mz_isotonic_fitted *found);
