/* mlp, graph, graph_residual: networks that were trained on other pipelines (pretrained.h) predict a plan's log time, alone or over T_ana;
 * kernel ridge regression over the knobs corrects them by what the measured plans show. So they know something before anything was
 * measured, and are adapted in closed form, without a step of training in the run. */
#include "allocator/predictors/kernel_ridge.h"
#include "allocator/predictors/predictor.h"
#include "allocator/predictors/pretrained.h"
#include <math.h>

typedef struct memory {
  mz_pretrained *pretrained; /* the lessons'; NULL: there is none, nothing can be predicted */
  mz_analytic model;
  mz_observation newest;
  bool seen; /* there is a newest */
  mz_kernel_ridge ridge;
} memory;

/* mean: NAN where nothing is known of any stage. */
static mz_ensemble_output ask(const memory *m, mz_ensemble_kind kind, const mz_plan *plan) {
  const bool explained = mz_ensemble_explained(kind);
  const mz_graph_situation situation = {.model = &m->model, .explained = explained, .newest = m->seen ? &m->newest : NULL};
  const double analytic_s = mz_analytic_predict(&m->model, plan).unit_s;
  mz_graph graph;
  if (!isfinite(analytic_s)) return (mz_ensemble_output){.mean = NAN};
  mz_graph_init(&graph, &situation, plan);
  mz_ensemble_output y = mz_pretrained_ask(m->pretrained, kind, &graph, MZ_PRETRAINED_MEMBERS);
  if (explained) y.mean += log(analytic_s);
  return y;
}

static void fit(void *context, const mz_lessons *l, mz_ensemble_kind kind) {
  memory *m = context;
  double y[MZ_DRIFT_PLANS_MAX];
  m->pretrained = l->pretrained;
  if (m->pretrained == NULL) return;
  mz_analytic_init(&m->model, l->pipeline, l->cores);
  mz_analytic_fit(&m->model, l->observations, l->observation_count);
  m->model.plan_count = 0;
  m->seen = l->observation_count > 0;
  if (m->seen) m->newest = l->observations[l->observation_count - 1];
  for (int i = 0; i < l->count; i++) y[i] = l->items[i].log_s - ask(m, kind, &l->items[i].plan).mean;
  mz_kernel_ridge_fit(&m->ridge, MZ_KERNEL_NEARBY, l, y);
}

static mz_prediction predict(const void *context, const mz_plan *plan, mz_ensemble_kind kind) {
  const memory *m = context;
  if (m->pretrained == NULL) return (mz_prediction)MZ_UNPREDICTED;
  const mz_ensemble_output y = ask(m, kind, plan);
  if (m->ridge.count == 0) return mz_prediction_of(y.mean, y.spread);
  return mz_prediction_of(y.mean + mz_kernel_ridge_at(&m->ridge, plan), hypot(m->ridge.sigma, y.spread));
}

static void fit_mlp(void *context, const mz_lessons *l) { fit(context, l, MZ_ENSEMBLE_MLP); }
static void fit_graph(void *context, const mz_lessons *l) { fit(context, l, MZ_ENSEMBLE_GRAPH); }
static void fit_residual(void *context, const mz_lessons *l) { fit(context, l, MZ_ENSEMBLE_RESIDUAL); }
static mz_prediction predict_mlp(const void *context, const mz_plan *plan) { return predict(context, plan, MZ_ENSEMBLE_MLP); }
static mz_prediction predict_graph(const void *context, const mz_plan *plan) { return predict(context, plan, MZ_ENSEMBLE_GRAPH); }
static mz_prediction predict_residual(const void *context, const mz_plan *plan) {
  return predict(context, plan, MZ_ENSEMBLE_RESIDUAL);
}

const mz_predictor mz_predictor_mlp = {.name = "mlp",
                                       .summary = "T_ana, corrected by a pretrained multilayer perceptron over its parts",
                                       .source = "baseline",
                                       .pretrained = true,
                                       .memory_bytes = sizeof(memory),
                                       .fit = fit_mlp,
                                       .predict = predict_mlp};
const mz_predictor mz_predictor_graph = {.name = "graph",
                                         .summary = "a pretrained graph attention network",
                                         .source = "patent",
                                         .pretrained = true,
                                         .memory_bytes = sizeof(memory),
                                         .fit = fit_graph,
                                         .predict = predict_graph};
const mz_predictor mz_predictor_graph_residual = {.name = "graph_residual",
                                                  .summary = "T_ana, corrected by a pretrained graph attention network",
                                                  .source = "patent",
                                                  .pretrained = true,
                                                  .memory_bytes = sizeof(memory),
                                                  .fit = fit_residual,
                                                  .predict = predict_residual};
