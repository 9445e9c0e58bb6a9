/* A function of the knobs' logarithms, by ridge regression in its dual form (Saunders et al. 1998): with the kernel (1 + z·z' / knobs)² a
 * quadratic, z being the logarithms, standardised over the plans and kept to the range of each knob that was measured; with the kernel
 * exp(−‖x − x'‖² / 2ℓ²), x being the logarithms to base 2 and ℓ two doublings, a correction that ends a few steps from what was measured,
 * as a Gaussian process's does. How strongly it is pulled to the mean is what predicts each plan best from the others, in closed form
 * (Allen's PRESS, 1974). A plain struct, deterministic. */
#pragma once
#include "allocator/predictors/lessons.h"

typedef enum mz_kernel { MZ_KERNEL_QUADRATIC, MZ_KERNEL_NEARBY } mz_kernel;

typedef struct mz_kernel_ridge {
  mz_kernel kernel;
  int count, knobs;
  int knob[MZ_PLAN_KNOBS_MAX]; /* that vary over the plans */
  double mean[MZ_PLAN_KNOBS_MAX], deviation[MZ_PLAN_KNOBS_MAX], z[MZ_DRIFT_PLANS_MAX][MZ_PLAN_KNOBS_MAX];
  double least[MZ_PLAN_KNOBS_MAX], most[MZ_PLAN_KNOBS_MAX]; /* of z, over the plans */
  double level, weights[MZ_DRIFT_PLANS_MAX];
  double sigma; /* of plans predicted from the others; 1 where there is one plan */
} mz_kernel_ridge;

/* y[i]: the value of l->items[i]. Without lessons everything is NAN. Some milliseconds for 64 plans. */
void mz_kernel_ridge_fit(mz_kernel_ridge *m, mz_kernel kind, const mz_lessons *l, const double *y);
double mz_kernel_ridge_at(const mz_kernel_ridge *m, const mz_plan *plan);
