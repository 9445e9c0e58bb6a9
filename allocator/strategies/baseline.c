#include "allocator/strategies/baseline.h"
#include <math.h>

static const double SQUARES_RATE = 0.1; /* share of a new r² in the mean */

static double reach(const mz_baseline *b, double sigma) { return MZ_BASELINE_FAR * sqrt(fmax(sigma * sigma, b->squares)); }

static mz_baseline_event continue_baseline(mz_baseline *b, double error, double sigma, bool quiet) {
  if (b->windows++ == 0) b->before = b->after = NAN;
  if (quiet) {
    if (b->quiet++ == 0)
      b->before = error;
    else
      b->after = error;
  }
  const bool holds = b->quiet >= MZ_BASELINE_QUIET && !(fabs(b->after) > reach(b, sigma));
  b->over = holds || b->windows >= MZ_BASELINE_WINDOWS;
  return b->over ? MZ_BASELINE_ENDS : MZ_BASELINE_CONTINUES;
}

mz_baseline_event mz_baseline_window(mz_baseline *b, double error, double sigma, bool quiet) {
  if (!b->over) return continue_baseline(b, error, sigma, quiet);
  if (!quiet || !isfinite(error)) return MZ_BASELINE_HOLDS;
  if (fabs(error) <= reach(b, sigma)) {
    b->outside = 0;
    b->squares += SQUARES_RATE * (error * error - b->squares);
    return MZ_BASELINE_HOLDS;
  }
  if (++b->outside < MZ_BASELINE_OUTSIDE) return MZ_BASELINE_HOLDS;
  *b = (mz_baseline){.before = NAN, .after = NAN, .squares = 2 * fmax(sigma * sigma, b->squares)};
  return MZ_BASELINE_RESETS;
}
