/* analytic: T_ana (model/analytic.h), the one predictor that says something before anything was measured, from probes. */
#include "allocator/predictors/predictor.h"

typedef struct memory {
  mz_analytic model;
} memory;

static void fit(void *context, const mz_lessons *l) {
  memory *m = context;
  mz_analytic_init(&m->model, l->pipeline, l->cores);
  mz_analytic_fit(&m->model, l->observations, l->observation_count);
}

static mz_prediction predict(const void *context, const mz_plan *plan) {
  const memory *m = context;
  return mz_analytic_predict(&m->model, plan);
}

const mz_predictor mz_predictor_analytic = {.name = "analytic",
                                            .summary = "T_ana, the analytic model of stages and queues",
                                            .source = "queueing theory",
                                            .memory_bytes = sizeof(memory),
                                            .fit = fit,
                                            .predict = predict};
