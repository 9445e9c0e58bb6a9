/* A confidence sequence: an interval for the mean of values that come one by one, valid at all times together, so that one may look
 * after every value and stop whenever one likes. A plain struct, pure functions.
 *
 * Values are taken as independent and normal, of unknown variance. The interval holds every mean against which Student's t, with a
 * normal prior of variance 10 on the effect in standard deviations, has a Bayes factor below 1 / (1 − confidence). Under that mean
 * the factor is a martingale (Lai 1976, "On confidence sequences"; Wang & Ramdas 2025, "Anytime-valid t-tests and confidence
 * sequences for Gaussian means with unknown variance"; the factor: Gönen et al. 2005), and Ville's inequality bounds how often it
 * ever gets there. */
#pragma once
#include "base/maths/statistics.h"

/* Zeroed: no value yet. */
typedef struct mz_sequence {
  int count;
  double mean, squares; /* squares: of the differences from the mean */
} mz_sequence;

void mz_sequence_add(mz_sequence *sequence, double value);
/* confidence in (0, 1). Infinite to both sides while there are too few values (three for 90 %); the estimate is the mean, NAN without
 * any. */
mz_interval mz_sequence_interval(const mz_sequence *sequence, double confidence);
