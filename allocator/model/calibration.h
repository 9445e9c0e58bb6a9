/* Calibrates 90 % prediction intervals by what came of them: after each miss they get wider, after each hit a little narrower, so that
 * in the long run nine in ten hold, whatever the model leaves out and whatever else happens on the machine. (Gibbs & Candès 2021,
 * adaptive conformal inference, on the logarithm of the intervals' width.) A plain struct, pure functions. */
#pragma once
#include "allocator/model/analytic.h"

typedef struct mz_calibration {
  double log_widening;  /* 0: intervals as the model has them */
  int64_t judged, held; /* predictions whose outcome was seen; those whose interval held it */
} mz_calibration;

/* The prediction with its interval widened, or narrowed; one without an interval stays as it is. */
mz_prediction mz_calibrated(const mz_calibration *calibration, const mz_prediction *prediction);
/* predicted: as mz_calibrated gave it. Either not finite: nothing is learned. */
void mz_calibration_add(mz_calibration *calibration, const mz_prediction *predicted, double observed_s);
