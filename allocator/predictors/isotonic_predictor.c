/* isotonic: time does not rise where a plan has more of everything, up to what can help: threads beyond the cores, and slots beyond
 * the independent items, count as none (thesis: monotone models). Between measured plans it answers with the middle of its bounds. */
#include "allocator/model/isotonic.h"
#include "allocator/predictors/predictor.h"
#include <math.h>

typedef struct memory {
  const mz_pipeline *pipeline;
  double cores, slowest, fastest, sigma; /* speeds: minus log seconds */
  mz_isotonic fit;
} memory;
_Static_assert((int)MZ_ISOTONIC_POINTS_MAX >= (int)MZ_DRIFT_PLANS_MAX && (int)MZ_ISOTONIC_AXES_MAX >= (int)MZ_PLAN_KNOBS_MAX,
               "every lesson has room");

/* The most of a knob that can help. */
static double useful(const memory *m, int knob) {
  double most = INFINITY;
  for (int s = 0; s < m->pipeline->stage_count; s++) {
    const mz_pipeline_stage *stage = &m->pipeline->stages[s];
    if (stage->threads == knob) most = m->cores;
    if (stage->batch == knob && stage->groups > 0) most = stage->groups;
  }
  return most;
}

static void take(const memory *m, const mz_plan *plan, double *x) {
  for (int k = 0; k < m->pipeline->knob_count; k++) x[k] = fmin((double)plan->values[k], useful(m, k));
}

static void fit(void *context, const mz_lessons *l) {
  memory *m = context;
  m->pipeline = l->pipeline;
  m->cores = l->cores;
  m->fit = (mz_isotonic){.count = l->count, .axes = l->pipeline->knob_count};
  if (l->count == 0) return;
  for (int i = 0; i < l->count; i++) {
    take(m, &l->items[i].plan, m->fit.x[i]);
    m->fit.y[i] = -l->items[i].log_s; /* speed rises with resources */
    m->fit.weight[i] = 1 / (l->items[i].sigma * l->items[i].sigma);
  }
  mz_isotonic_fit(&m->fit);
  double squares = 0;
  m->slowest = INFINITY;
  m->fastest = -INFINITY;
  for (int i = 0; i < l->count; i++) {
    squares += pow(m->fit.y[i] - m->fit.fitted[i], 2);
    m->slowest = fmin(m->slowest, m->fit.fitted[i]);
    m->fastest = fmax(m->fastest, m->fit.fitted[i]);
  }
  m->sigma = sqrt(squares / l->count);
}

/* Beyond all plans that were measured, the fastest and the slowest of them are the bounds: so the order holds everywhere. */
static mz_prediction predict(const void *context, const mz_plan *plan) {
  const memory *m = context;
  double x[MZ_PLAN_KNOBS_MAX], low, high;
  if (m->fit.count == 0) return (mz_prediction)MZ_UNPREDICTED;
  take(m, plan, x);
  mz_isotonic_bounds(&m->fit, x, &low, &high);
  low = fmax(low, m->slowest);
  high = fmin(high, m->fastest);
  return mz_prediction_of(-(low + high) / 2, m->sigma + (high - low) / 4);
}

const mz_predictor mz_predictor_isotonic = {.name = "isotonic",
                                            .summary = "monotone in every resource",
                                            .source = "thesis",
                                            .memory_bytes = sizeof(memory),
                                            .fit = fit,
                                            .predict = predict};
