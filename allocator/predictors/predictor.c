#include "allocator/predictors/predictor.h"
#include <math.h>
#include <string.h>

static const double NORMAL_90 = 1.6448536269514722;

const mz_predictor *const mz_predictors[] = {
    &mz_predictor_last_value, &mz_predictor_nearest, &mz_predictor_ridge, &mz_predictor_isotonic,       &mz_predictor_analytic,
    &mz_predictor_residual,   &mz_predictor_mlp,     &mz_predictor_graph, &mz_predictor_graph_residual, NULL};
enum { PREDICTORS = sizeof mz_predictors / sizeof *mz_predictors - 1 };
_Static_assert((int)PREDICTORS <= (int)MZ_PREDICTORS_MAX, "contests have room for all");

const char *mz_predictor_name(int index) { return index >= 0 && index < PREDICTORS ? mz_predictors[index]->name : NULL; }

mz_status mz_predictor_find(const char *name, const char *where, const mz_predictor **out) {
  int index;
  MZ_TRY(mz_find_named(name, "predictor", mz_predictor_name, where, &index));
  *out = mz_predictors[index];
  return MZ_OK;
}

/* Names what allocate.predictor may be: auto, then the predictors. */
static const char *choice_name(int index) { return index == 0 ? "auto" : mz_predictor_name(index - 1); }

mz_status mz_predictor_chosen(const char *setting, const mz_predictor **out) {
  int index;
  *out = NULL;
  MZ_TRY(mz_find_named(setting, "predictor", choice_name, "allocate.predictor", &index));
  if (index > 0) *out = mz_predictors[index - 1];
  return MZ_OK;
}

size_t mz_predictor_memory_most(void) {
  size_t most = 0;
  for (int i = 0; i < PREDICTORS; i++)
    if (mz_predictors[i]->memory_bytes > most) most = mz_predictors[i]->memory_bytes;
  return most;
}

mz_prediction mz_prediction_of(double log_s, double sigma) {
  if (!isfinite(log_s)) return (mz_prediction)MZ_UNPREDICTED;
  return (mz_prediction){.unit_s = exp(log_s), .low = exp(log_s - NORMAL_90 * sigma), .high = exp(log_s + NORMAL_90 * sigma)};
}
