#include "allocator/model/analytic_parts.h"
#include <math.h>

static const double NORMAL_95 = 1.6449; /* 90 % of a normal distribution lie within so many standard deviations */

/* Of a unit; *apart_s: of the steps that are in no unit's time. */
static double add_steps(const mz_analytic *model, const mz_analytic_steps *steps, double *step_s, double *apart_s) {
  double sum = 0;
  *apart_s = 0;
  for (int step = 0; step < steps->count; step++) {
    const double overlap_s = mz_analytic_overlap_s(model->pipeline, steps, step, model->gamma);
    const double seconds = fmax(overlap_s, mz_analytic_cores_s(steps, step, model->contention));
    if (step_s != NULL) step_s[step] = exp(model->log_scale) * seconds;
    *(steps->apart[step] ? apart_s : &sum) += seconds;
  }
  return sum;
}

bool mz_analytic_measured(const mz_analytic *model, const mz_plan *plan) {
  for (int p = 0; p < model->plan_count; p++)
    if (mz_plan_equal(model->pipeline, plan, &model->plans[p].plan)) return true;
  return false;
}

mz_prediction mz_analytic_predict(const mz_analytic *model, const mz_plan *plan) {
  mz_analytic_parts parts;
  mz_analytic_take_apart(model, plan, &parts);
  double apart_s;
  const double seconds = add_steps(model, &parts.steps, NULL, &apart_s);
  if (!mz_analytic_covers(model, plan) || !(seconds > 0) || !isfinite(seconds)) return (mz_prediction)MZ_UNPREDICTED;
  const double scaled = log(seconds) + model->log_scale;
  double log_s = NAN, sigma = model->sigma;
  for (int p = 0; p < model->plan_count && isnan(log_s); p++) {
    if (!mz_plan_equal(model->pipeline, plan, &model->plans[p].plan)) continue;
    log_s = scaled + model->plans[p].residual;
    sigma = model->plans[p].sigma;
  }
  if (isnan(log_s)) log_s = scaled + mz_analytic_residual_nearby(model, plan, -1);
  return (mz_prediction){exp(log_s), exp(log_s - NORMAL_95 * sigma), exp(log_s + NORMAL_95 * sigma), apart_s};
}

void mz_analytic_explain(const mz_analytic *model, const mz_plan *plan, mz_analysis *out) {
  const mz_pipeline *pipeline = model->pipeline;
  mz_analytic_parts parts;
  *out = (mz_analysis){.bottleneck = -1};
  mz_analytic_take_apart(model, plan, &parts);
  double apart_s;
  add_steps(model, &parts.steps, out->step_s, &apart_s);
  int longest = 0;
  while (longest < parts.steps.count - 1 && parts.steps.apart[longest]) longest++;
  for (int step = longest + 1; step < parts.steps.count; step++)
    if (!parts.steps.apart[step] && out->step_s[step] > out->step_s[longest]) longest = step;
  double chain_s = 0;
  for (int s = 0; s < pipeline->stage_count; s++) {
    out->demand_s[s] = exp(model->log_scale) * parts.alone_s[s];
    out->cpu_s[s] = exp(model->log_scale) * parts.cpu_s[s];
    out->device_s[s] = exp(model->log_scale) * parts.device_s[s];
    if (pipeline->stages[s].step != longest) continue;
    chain_s = fmax(chain_s, exp(parts.steps.log_chain[s]));
    if (out->bottleneck < 0 || out->demand_s[s] > out->demand_s[out->bottleneck]) out->bottleneck = s;
  }
  for (int q = 0; q < pipeline->queue_count; q++) out->starved[q] = parts.starved[q];
  if (parts.steps.least_s[longest] > chain_s) out->bottleneck = -1;
  out->shared = parts.steps.least_on[longest];
}

double mz_queue_empty(double offered, int64_t capacity) {
  if (!(offered > 0) || capacity < 1) return 1; /* nothing ever comes */
  const double places = (double)capacity;
  if (fabs(offered - 1) < 1e-9) return 1 / (places + 1);
  return expm1(log(offered)) / expm1((places + 1) * log(offered));
}
