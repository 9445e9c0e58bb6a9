#include "muzero/compare/agreement.h"
#include "base/maths/statistics.h"
#include <math.h>

/* ---- what was measured ---- */

/* Every `step`th measurement of the plan from the `first` on; NAN: none. */
static double median_of(const mz_pipeline *p, const mz_plan *plan, const mz_observation *seen, int count, int first, int step,
                        double *room) {
  int n = 0, number = 0;
  for (int i = 0; i < count; i++) {
    if (!mz_plan_equal(p, &seen[i].plan, plan)) continue;
    if (number >= first && (number - first) % step == 0) room[n++] = seen[i].unit_s;
    number++;
  }
  return n > 0 ? mz_median(room, n) : NAN;
}

static mz_agreed_plan *find(const mz_agreement *agreement, const mz_pipeline *p, const mz_plan *plan) {
  for (int i = 0; i < agreement->count; i++)
    if (mz_plan_equal(p, &agreement->plans[i].plan, plan)) return &agreement->plans[i];
  return NULL;
}

mz_status mz_agreement_of(mz_agreement *out, const mz_pipeline *pipeline, const mz_observation *seen, int count) {
  double *room = NULL;
  mz_status status;
  *out = (mz_agreement){0};
  MZ_TRY_CLEANUP(mz_alloc(&room, (size_t)count + 1, sizeof *room));
  MZ_TRY_CLEANUP(mz_alloc(&out->plans, (size_t)count + 1, sizeof *out->plans));
  for (int i = 0; i < count; i++) {
    mz_agreed_plan *plan = find(out, pipeline, &seen[i].plan);
    if (!plan) {
      plan = &out->plans[out->count++];
      *plan = (mz_agreed_plan){.plan = seen[i].plan, .simulated_s = NAN};
      plan->measured_s = median_of(pipeline, &plan->plan, seen, count, 0, 1, room);
      plan->even_s = median_of(pipeline, &plan->plan, seen, count, 0, 2, room);
      plan->odd_s = median_of(pipeline, &plan->plan, seen, count, 1, 2, room);
    }
    plan->measurements++;
  }
cleanup:
  free(room);
  if (status != MZ_OK) mz_agreement_free(out);
  return status;
}

void mz_agreement_free(mz_agreement *agreement) {
  free(agreement->plans);
  *agreement = (mz_agreement){0};
}

/* ---- the summary ---- */

static double error_of(const mz_agreed_plan *plan) { return plan->simulated_s / plan->measured_s - 1; }

static double error_size(const mz_agreed_plan *plan) { return fabs(error_of(plan)); }

static double noise_size(const mz_agreed_plan *plan) { return fabs(plan->even_s / plan->odd_s - 1); }

/* Quantile over the plans of which there is a value. */
static double quantile_of(const mz_agreement *a, double (*value)(const mz_agreed_plan *), double p, double *room) {
  int n = 0;
  for (int i = 0; i < a->count; i++) {
    const double one = value(&a->plans[i]);
    if (isfinite(one)) room[n++] = one;
  }
  return n > 0 ? mz_quantile(room, n, p) : NAN;
}

static double measured_s(const mz_agreed_plan *plan) { return plan->measured_s; }
static double simulated_s(const mz_agreed_plan *plan) { return plan->simulated_s; }
static double even_s(const mz_agreed_plan *plan) { return plan->even_s; }
static double odd_s(const mz_agreed_plan *plan) { return plan->odd_s; }

/* Regret of the plan that one time calls fastest, by the other time; NAN: some plan lacks one. */
static double regret_of(const mz_agreement *a, double (*chosen_s)(const mz_agreed_plan *),
                        double (*true_s)(const mz_agreed_plan *)) {
  const mz_agreed_plan *chosen = &a->plans[0];
  double best = INFINITY;
  for (int i = 0; i < a->count; i++) {
    if (isnan(chosen_s(&a->plans[i])) || isnan(true_s(&a->plans[i]))) return NAN;
    if (chosen_s(&a->plans[i]) < chosen_s(chosen)) chosen = &a->plans[i];
    best = fmin(best, true_s(&a->plans[i]));
  }
  return true_s(chosen) / best - 1;
}

static cJSON *plan_json(const mz_agreed_plan *plan, const mz_pipeline *pipeline) {
  cJSON *row = cJSON_CreateObject();
  mz_json_add(row, "plan", mz_plan_to_json(pipeline, &plan->plan));
  mz_plan_add_text(row, "text", pipeline, &plan->plan);
  cJSON_AddNumberToObject(row, "measured_s", plan->measured_s);
  cJSON_AddNumberToObject(row, "measurements", plan->measurements);
  cJSON_AddNumberToObject(row, "simulated_s", plan->simulated_s);
  cJSON_AddNumberToObject(row, "error", error_of(plan));
  return row;
}

mz_status mz_agreement_json(const mz_agreement *agreement, const mz_pipeline *pipeline, cJSON **out) {
  double *room;
  MZ_TRY(mz_alloc(&room, (size_t)agreement->count, sizeof *room));
  cJSON *o = cJSON_CreateObject(), *plans = cJSON_AddArrayToObject(o, "plans");
  for (int i = 0; i < agreement->count; i++) cJSON_AddItemToArray(plans, plan_json(&agreement->plans[i], pipeline));
  cJSON_AddNumberToObject(o, "median_error", quantile_of(agreement, error_size, 0.5, room));
  cJSON_AddNumberToObject(o, "p90_error", quantile_of(agreement, error_size, 0.9, room));
  cJSON_AddNumberToObject(o, "worst_error", quantile_of(agreement, error_size, 1, room));
  cJSON_AddNumberToObject(o, "bias", quantile_of(agreement, error_of, 0.5, room));
  cJSON_AddNumberToObject(o, "regret", regret_of(agreement, simulated_s, measured_s));
  cJSON_AddNumberToObject(o, "noise_median", quantile_of(agreement, noise_size, 0.5, room));
  cJSON_AddNumberToObject(o, "noise_p90", quantile_of(agreement, noise_size, 0.9, room));
  cJSON_AddNumberToObject(o, "noise_regret", (regret_of(agreement, even_s, odd_s) + regret_of(agreement, odd_s, even_s)) / 2);
  free(room);
  *out = o;
  return MZ_OK;
}
