/* residual: T_ana, times what ridge regression makes of how far measured plans are from it (kernel_ridge.h): the model of the stages
 * says most, the knobs what it does not know. What T_ana itself keeps of measured plans is left out of it here. */
#include "allocator/predictors/kernel_ridge.h"
#include "allocator/predictors/predictor.h"
#include <math.h>

typedef struct memory {
  mz_analytic model;
  mz_kernel_ridge ridge;
} memory;

static void fit(void *context, const mz_lessons *l) {
  memory *m = context;
  double y[MZ_DRIFT_PLANS_MAX];
  mz_analytic_init(&m->model, l->pipeline, l->cores);
  mz_analytic_fit(&m->model, l->observations, l->observation_count);
  m->model.plan_count = 0;
  for (int i = 0; i < l->count; i++) y[i] = l->items[i].log_s - log(mz_analytic_predict(&m->model, &l->items[i].plan).unit_s);
  mz_kernel_ridge_fit(&m->ridge, MZ_KERNEL_NEARBY, l, y);
}

static mz_prediction predict(const void *context, const mz_plan *plan) {
  const memory *m = context;
  const mz_prediction analytic = mz_analytic_predict(&m->model, plan);
  return m->ridge.count > 0 ? mz_prediction_of(log(analytic.unit_s) + mz_kernel_ridge_at(&m->ridge, plan), m->ridge.sigma)
                            : analytic;
}

const mz_predictor mz_predictor_residual = {.name = "residual",
                                            .summary = "T_ana, corrected by ridge regression",
                                            .source = "baseline",
                                            .memory_bytes = sizeof(memory),
                                            .fit = fit,
                                            .predict = predict};
