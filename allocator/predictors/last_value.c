/* last value: the time of the plan measured last, whatever the plan. What a predictor has to beat. */
#include "allocator/predictors/predictor.h"
#include <math.h>

typedef struct memory {
  double log_s, sigma;
} memory;

static void fit(void *context, const mz_lessons *l) {
  memory *m = context;
  double squares = 0;
  m->log_s = l->count > 0 ? l->items[0].log_s : NAN;
  for (int i = 0; i < l->count; i++) squares += (l->items[i].log_s - m->log_s) * (l->items[i].log_s - m->log_s);
  m->sigma = l->count > 1 ? sqrt(squares / (l->count - 1)) : 1;
}

static mz_prediction predict(const void *context, const mz_plan *plan) {
  const memory *m = context;
  (void)plan;
  return mz_prediction_of(m->log_s, m->sigma);
}

const mz_predictor mz_predictor_last_value = {.name = "last",
                                              .summary = "the time of the plan measured last",
                                              .source = "baseline",
                                              .memory_bytes = sizeof(memory),
                                              .fit = fit,
                                              .predict = predict};
