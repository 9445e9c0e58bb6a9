/* isotonic: time does not rise where a plan has more of everything, up to what can help: threads beyond the cores, and slots beyond
 * the independent items, count as none (thesis: monotone models). Between measured plans it answers with the middle of its bounds. */
#include "allocator/model/isotonic.h"
#include "allocator/predictors/predictor.h"
#include <math.h>

enum { N = MZ_DRIFT_PLANS_MAX };

typedef struct memory {
  const mz_pipeline *pipeline;
  double cores, slowest, fastest, sigma; /* speeds: minus log seconds */
  int count;
  double x[N * MZ_PLAN_KNOBS_MAX], y[N], weight[N], fitted[N];
  uint64_t scratch[MZ_ISOTONIC_SCRATCH_BYTES(N) / sizeof(uint64_t)];
} memory;
_Static_assert((int)MZ_ISOTONIC_POINTS_MAX >= (int)N && (int)MZ_ISOTONIC_AXES_MAX >= (int)MZ_PLAN_KNOBS_MAX,
               "every lesson has room");

static mz_isotonic_points points_of(const memory *m) {
  return (mz_isotonic_points){.count = m->count, .axes = m->pipeline->knob_count, .x = m->x, .y = m->y, .weight = m->weight};
}

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
  m->count = l->count;
  if (l->count == 0) return;
  for (int i = 0; i < l->count; i++) {
    take(m, &l->items[i].plan, &m->x[i * l->pipeline->knob_count]);
    m->y[i] = -l->items[i].log_s; /* speed rises with resources */
    m->weight[i] = 1 / (l->items[i].sigma * l->items[i].sigma);
  }
  const mz_isotonic_points points = points_of(m);
  mz_isotonic_fit(&points, m->fitted, m->scratch);
  double squares = 0;
  m->slowest = INFINITY;
  m->fastest = -INFINITY;
  for (int i = 0; i < l->count; i++) {
    squares += pow(m->y[i] - m->fitted[i], 2);
    m->slowest = fmin(m->slowest, m->fitted[i]);
    m->fastest = fmax(m->fastest, m->fitted[i]);
  }
  m->sigma = sqrt(squares / l->count);
}

/* Beyond all plans that were measured, the fastest and the slowest of them are the bounds: so the order holds everywhere. */
static mz_prediction predict(const void *context, const mz_plan *plan) {
  const memory *m = context;
  double x[MZ_PLAN_KNOBS_MAX], low, high;
  if (m->count == 0) return (mz_prediction)MZ_UNPREDICTED;
  take(m, plan, x);
  const mz_isotonic_points points = points_of(m);
  mz_isotonic_bounds(&points, m->fitted, x, &low, &high);
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
