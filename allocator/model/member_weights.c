#include "allocator/model/member_weights.h"
#include "base/status.h"
#include <math.h>

static const double ALPHA = 0.3, FLOOR = 0.5, CHANGE_MAX = 0.2;
enum { BISECTIONS = 64 }; /* a double has no more bits to find */

void mz_weights_init(double *weights, int count) {
  MZ_ASSERT(count >= 1 && count <= MZ_WEIGHTS_MAX);
  for (int i = 0; i < count; i++) weights[i] = 1.0 / count;
}

static double clamp(double x, double low, double high) { return fmin(fmax(x, low), high); }

/* Where one weight may go from where it is. */
static double lowest(double weight, int count) { return fmin(weight, fmax(weight * (1 - CHANGE_MAX), FLOOR / count)); }
static double highest(double weight) { return weight * (1 + CHANGE_MAX); }

static double shifted_sum(const double *weights, const double *target, int count, double shift) {
  double sum = 0;
  for (int i = 0; i < count; i++) sum += clamp(target[i] + shift, lowest(weights[i], count), highest(weights[i]));
  return sum;
}

/* The point nearest to `target` that the bounds allow and whose sum is 1: one shift for all, then each clamped to its bounds
 * (Euclidean projection). There is one: the weights themselves are within the bounds. */
static void project(double *weights, const double *target, int count) {
  double low = -1, high = 1; /* shifts beyond these put every weight at a bound */
  for (int i = 0; i < BISECTIONS; i++) {
    const double middle = 0.5 * (low + high);
    if (shifted_sum(weights, target, count, middle) < 1)
      low = middle;
    else
      high = middle;
  }
  for (int i = 0; i < count; i++) weights[i] = clamp(target[i] + high, lowest(weights[i], count), highest(weights[i]));
}

void mz_weights_update(double *weights, const double *performance, int count) {
  MZ_ASSERT(count >= 1 && count <= MZ_WEIGHTS_MAX);
  double performed = 0, held = 0; /* by those that were measured */
  for (int i = 0; i < count; i++) {
    if (!isfinite(performance[i])) continue;
    MZ_ASSERT(performance[i] >= 0);
    performed += performance[i];
    held += weights[i];
  }
  if (!(performed > 0)) return;
  double target[MZ_WEIGHTS_MAX];
  for (int i = 0; i < count; i++) {
    const double share = isfinite(performance[i]) ? performance[i] / performed * held : weights[i];
    target[i] = weights[i] + ALPHA * (share - weights[i]);
  }
  project(weights, target, count);
}
