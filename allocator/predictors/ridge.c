/* ridge: a quadratic of the knobs' logarithms, by ridge regression on log seconds (kernel_ridge.h). */
#include "allocator/predictors/kernel_ridge.h"
#include "allocator/predictors/predictor.h"

typedef struct memory {
  mz_kernel_ridge ridge;
} memory;

static void fit(void *context, const mz_lessons *l) {
  memory *m = context;
  double y[MZ_DRIFT_PLANS_MAX];
  for (int i = 0; i < l->count; i++) y[i] = l->items[i].log_s;
  mz_kernel_ridge_fit(&m->ridge, MZ_KERNEL_QUADRATIC, l, y);
}

static mz_prediction predict(const void *context, const mz_plan *plan) {
  const memory *m = context;
  return mz_prediction_of(mz_kernel_ridge_at(&m->ridge, plan), m->ridge.sigma);
}

const mz_predictor mz_predictor_ridge = {.name = "ridge",
                                         .summary = "a quadratic of the knobs' logarithms, by ridge regression",
                                         .source = "baseline",
                                         .memory_bytes = sizeof(memory),
                                         .fit = fit,
                                         .predict = predict};
