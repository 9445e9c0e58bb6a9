#include "allocator/strategies/outlook.h"
#include <math.h>

static const double CAUTION = 0.3; /* share of the way to the upper end of its interval that a far plan's prediction is taken for:
                                       half a standard deviation */
static const double STEPS_HALF = 2; /* half as much at so many steps */

/* Steps between two plans that make predictions doubtful; how deep queues are does not. */
static double steps_between(const mz_pipeline *pipeline, const mz_plan *plan, const mz_plan *from) {
  mz_plan as_deep = *plan;
  for (int q = 0; q < pipeline->queue_count; q++) {
    const int capacity = pipeline->queues[q].capacity;
    if (capacity >= 0) as_deep.values[capacity] = from->values[capacity];
  }
  return mz_plan_distance(pipeline, &as_deep, from);
}

mz_outlook mz_outlook_of(const mz_situation *situation, const mz_plan *plan) {
  mz_outlook o = {.prediction = MZ_UNPREDICTED, .cost = NAN};
  if (!mz_analytic_covers(situation->model, plan)) return o;
  o.prediction = mz_predict(situation->champion, situation->model, plan);
  const double steps = steps_between(situation->pipeline, plan, situation->plan), unit_s = o.prediction.unit_s;
  o.cost = unit_s * pow(o.prediction.high / unit_s, CAUTION * steps / (steps + STEPS_HALF)) + o.prediction.apart_s;
  if (situation->settings->objective == MZ_OBJECTIVE_COST)
    o.cost *= mz_plan_price_s(situation->pipeline, situation->settings, plan);
  return o;
}

static int64_t threads_of(const mz_pipeline *pipeline, const mz_plan *plan) {
  int64_t sum = 0;
  for (int s = 0; s < pipeline->stage_count; s++) sum += mz_stage_threads(pipeline, s, plan);
  return sum;
}

double mz_outlook_reserved(const mz_situation *situation, const mz_plan *a, const mz_plan *b) {
  const mz_pipeline *pipeline = situation->pipeline;
  const double least = situation->bounds->memory_min;
  const int gpus = mz_plan_gpus(pipeline, a) - mz_plan_gpus(pipeline, b);
  const int cores = mz_plan_cores(pipeline, a) - mz_plan_cores(pipeline, b);
  if (gpus != 0) return gpus;
  if (cores != 0) return cores;
  const double bytes = fmax(mz_plan_bytes(pipeline, a, NULL, 0), least) - fmax(mz_plan_bytes(pipeline, b, NULL, 0), least);
  return bytes != 0 ? bytes : (double)(threads_of(pipeline, a) - threads_of(pipeline, b));
}

void mz_outlook_why_not(const mz_situation *situation, const mz_plan *plan, double cost, const mz_plan *chosen,
                        double chosen_cost, char out[64]) {
  const bool time = situation->settings->objective != MZ_OBJECTIVE_COST;
  const double percent = 100 * (cost / chosen_cost - 1);
  if (percent >= 100 * MZ_OUTLOOK_TIE)
    snprintf(out, 64, "predicted %.2g %% %s", percent, time ? "slower" : "dearer");
  else if (mz_outlook_reserved(situation, plan, chosen) > 0)
    snprintf(out, 64, "predicted no better, reserves more");
  else
    snprintf(out, 64, "predicted no better");
}

const char *mz_outlook_text(double seconds, char out[MZ_OUTLOOK_TEXT]) {
  static const struct {
    double least, unit;
    const char *name;
  } units[] = {{1, 1, "s"}, {1e-3, 1e-3, "ms"}, {0, 1e-6, "us"}};
  int i = 0;
  while (seconds < units[i].least) i++;
  snprintf(out, MZ_OUTLOOK_TEXT, "%.3g %s", seconds / units[i].unit, units[i].name);
  return out;
}
