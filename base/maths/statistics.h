/* Statistics behind claims: medians and interquartile means, stratified bootstrap intervals, Holm's correction, and the interval
 * of a speed ratio that a trial is judged by. Pure functions of their arguments: the seed is one of them. Values are finite
 * unless said otherwise. */
#pragma once
#include "base/status.h"
#include <stdint.h>

/* Sorts, the least first. */
void mz_sort(double *values, int n);
/* The mean, and the median, of n >= 1 values, which may be left in another order. */
double mz_mean(double *values, int n);
double mz_median(double *values, int n);
/* p in [0, 1]; linear between order statistics, h = (n − 1) p (Hyndman & Fan 1996, type 7). */
double mz_quantile(double *values, int n, double p);
/* Interquartile mean: of the middle half, where the values at its ends count by the share that lies within (Agarwal et al. 2021).
 * Its breakdown point is 25 %, its variance well below the median's. */
double mz_iqm(double *values, int n);

typedef struct mz_interval {
  double estimate, low, high;
} mz_interval;

/* ---- bootstrap ---- */

typedef struct mz_resampling {
  int resamples; /* 10000 for a claim */
  double level;  /* 0.95 */
  double null;   /* value of the statistic that `p` speaks about: 1 for a ratio, 0 for its logarithm */
  int run; /* consecutive values of a stratum are drawn in runs of so many, for values that depend on their neighbours; 0: singly */
  uint64_t seed;
} mz_resampling;

typedef struct mz_bootstrapped {
  mz_interval interval; /* the statistic of the sample; percentiles of the resampled statistics */
  double p; /* two-sided, of "the statistic is `null`": 2 (1 + resamples on the other side) / (1 + resamples), at most 1 */
} mz_bootstrapped;

/* A statistic of n >= 1 values, which it may reorder: mz_mean, mz_median, mz_iqm or the caller's own. */
typedef double (*mz_statistic)(double *values, int n);

/* Stratified bootstrap (Efron 1979; Agarwal et al. 2021): each resample draws, within each stratum, as many values as there are,
 * with replacement. stratum NULL: all are one. The order of values within a stratum does not matter, to the bit, unless they are
 * drawn in runs (circular block bootstrap, Politis & Romano 1992). Percentile
 * intervals are a little narrow (95 % ones held the truth for 93–94 % of our samples of 40, from three strata), and much too narrow
 * for a handful of values: below 10 nothing should be claimed from one. MZ_E_MEMORY. */
mz_status mz_bootstrap(const double *values, const int *stratum, int n, mz_statistic statistic, const mz_resampling *how,
                       mz_bootstrapped *out);
/* The same for Σ numerators / Σ denominators, where (numerator, denominator) pairs are drawn. Denominators have a positive sum; a
 * resample of which they have none counts as infinite, with the sign of its numerators' sum. */
mz_status mz_bootstrap_ratio(const double *numerators, const double *denominators, const int *stratum, int n,
                             const mz_resampling *how, mz_bootstrapped *out);

/* Holm's step-down correction (1979) of n p-values, in place: the adjusted ones may be compared with the level as they are.
 * MZ_E_MEMORY leaves them as they were. */
mz_status mz_holm(double *p, int n);

/* ---- trials ---- */

/* Quantile of Student's distribution; p in (0, 1), degrees > 0, not necessarily whole. Relative error below 1e-9 up to 1e6
 * degrees. */
double mz_student_quantile(double p, double degrees);

/* How many times as fast `after` is as `before`, from seconds of equal pieces of work: exp(mean log before − mean log after), with
 * Welch's interval (1947) of the logarithms. The lowest and highest tenth of each sample are winsorised, and the variances and
 * degrees of freedom are Dixon & Tukey's (1968) for that, so one slow piece among ten does not decide. Pieces are taken as
 * independent. Seconds that are not finite and positive are left out; of more than 1024 pieces the last ones count. With fewer than
 * two on either side the interval is (0, INFINITY), and with none the estimate is NAN. */
mz_interval mz_speed_ratio(const double *before_s, int before_count, const double *after_s, int after_count, double confidence);
