#include "allocator/model/calibration.h"
#include <math.h>

static const double MISSES = 0.1;      /* that a 90 % interval may have */
static const double RATE = 0.3;        /* a miss makes intervals 31 % wider, a hit 3 % narrower; */
static const double RATE_FIRST = 1.2;  /* the first miss by four times, as nothing is known of them yet */
static const double LOG_MOST = 3;      /* 20 times as wide or as narrow */
static const double LEAST_SIDE = 1e-3; /* of an interval, in logarithms: what has no width could not become wider */

mz_prediction mz_calibrated(const mz_calibration *c, const mz_prediction *p) {
  if (!(p->unit_s > 0) || !(p->low > 0) || !isfinite(p->high) || c->judged == 0) return *p;
  const double widening = exp(c->log_widening);
  const double down = fmax(log(p->unit_s / p->low), LEAST_SIDE) * widening;
  const double up = fmax(log(p->high / p->unit_s), LEAST_SIDE) * widening;
  return (mz_prediction){p->unit_s, p->unit_s * exp(-down), p->unit_s * exp(up), p->apart_s};
}

void mz_calibration_add(mz_calibration *c, const mz_prediction *predicted, double observed_s) {
  if (!(predicted->low > 0) || !isfinite(predicted->high) || !isfinite(observed_s)) return;
  const bool held = predicted->low <= observed_s && observed_s <= predicted->high;
  const double rate = RATE + RATE_FIRST / (double)++c->judged;
  c->held += held;
  c->log_widening = fmin(fmax(c->log_widening + rate * (held ? -MISSES : 1 - MISSES), -LOG_MOST), LOG_MOST);
}
