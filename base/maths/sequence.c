#include "base/maths/sequence.h"
#include <math.h>

static const double PRIOR = 10; /* variance of the effect: intervals become finite early and are narrowest at some 10 values */

void mz_sequence_add(mz_sequence *s, double value) {
  const double from = value - s->mean;
  s->mean += from / ++s->count;
  s->squares += from * (value - s->mean);
}

/* Solves factor(t) = 1 / (1 − confidence) for t, where with r = 1 + count · PRIOR and u = t² / (count − 1)
 * factor = r^(−1/2) · ((1 + u) / (1 + u / r))^(count / 2). */
mz_interval mz_sequence_interval(const mz_sequence *s, double confidence) {
  MZ_ASSERT(confidence > 0 && confidence < 1);
  mz_interval out = {.estimate = s->count > 0 ? s->mean : NAN, .low = -INFINITY, .high = INFINITY};
  if (s->count < 2) return out;
  const double r = 1 + s->count * PRIOR, power = pow(sqrt(r) / (1 - confidence), 2.0 / s->count);
  if (power >= r) return out; /* no t is large enough */
  const double u = (power - 1) / (1 - power / r), reach = sqrt(u * s->squares / s->count);
  out.low = s->mean - reach;
  out.high = s->mean + reach;
  return out;
}
