#include "allocator/predictors/predictor.h"
#include <math.h>
#include <string.h>

static const double NORMAL_90 = 1.6448536269514722;

const mz_predictor *const mz_predictors[] = {&mz_predictor_last_value,
                                             &mz_predictor_nearest,
                                             &mz_predictor_ridge,
                                             &mz_predictor_isotonic,
                                             &mz_predictor_analytic,
                                             &mz_predictor_residual,
                                             NULL};
enum { PREDICTORS = sizeof mz_predictors / sizeof *mz_predictors - 1 };

const char *mz_predictor_name(int index) { return index >= 0 && index < PREDICTORS ? mz_predictors[index]->name : NULL; }

mz_status mz_predictor_find(const char *name, const char *where, const mz_predictor **out) {
  const char *names[PREDICTORS];
  char all[256] = "";
  for (size_t i = 0, length = 0; i < PREDICTORS; i++) {
    names[i] = mz_predictors[i]->name;
    if (strcmp(name, names[i]) == 0) {
      *out = mz_predictors[i];
      return MZ_OK;
    }
    length += (size_t)snprintf(all + length, sizeof all - length, "%s%s", i > 0 ? ", " : "", names[i]);
    MZ_ASSERT(length < sizeof all);
  }
  const char *nearest = mz_nearest(name, names, PREDICTORS);
  if (nearest) return mz_fail(MZ_E_CONFIG, "%s: '%.80s' is no predictor; did you mean %s?", where, name, nearest);
  return mz_fail(MZ_E_CONFIG, "%s: '%.80s' is no predictor; there are %s", where, name, all);
}

mz_prediction mz_prediction_of(double log_s, double sigma) {
  if (!isfinite(log_s)) return (mz_prediction)MZ_UNPREDICTED;
  return (mz_prediction){.unit_s = exp(log_s), .low = exp(log_s - NORMAL_90 * sigma), .high = exp(log_s + NORMAL_90 * sigma)};
}
