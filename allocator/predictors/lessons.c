#include "allocator/predictors/lessons.h"
#include <math.h>
#include <string.h>

static const double PLAN_SIGMA = 0.5; /* by which plans are expected to differ, as a logarithm */
static const double NOISE_LEAST = 0.01;
enum { PLAN_UNKNOWN = -1 };

static double noise_variance(const mz_observation *o) {
  const double noise = o->noise > 0 && o->rounds > 0 ? o->noise * o->noise / o->rounds : 0;
  return fmax(noise, NOISE_LEAST * NOISE_LEAST);
}

static int find_plan(mz_lessons *l, const mz_plan *plan) {
  for (int p = 0; p < l->count; p++)
    if (mz_plan_equal(l->pipeline, plan, &l->items[p].plan)) return p;
  if (l->count == MZ_DRIFT_PLANS_MAX) return PLAN_UNKNOWN;
  l->items[l->count] = (mz_lesson){.plan = *plan};
  return l->count++;
}

/* Newest first, so that levels are relative to the newest one. */
static void collect(mz_lessons *l, mz_drift *d) {
  for (int i = l->observation_count - 1; i >= 0 && d->count < MZ_DRIFT_WINDOWS_MAX; i--) {
    const mz_observation *o = &l->observations[i];
    if (!(o->unit_s > 0) || !isfinite(o->unit_s)) continue;
    const int at = d->count++;
    d->plan[at] = find_plan(l, &o->plan);
    d->residual[at] = log(o->unit_s);
    d->variance[at] = noise_variance(o);
    d->run[at] = o->run;
  }
}

/* Levels are estimated about the mean: the walk begins anywhere. */
static void centre(mz_drift *d, double *mean) {
  *mean = 0;
  for (int i = 0; i < d->count; i++) *mean += d->residual[i] / d->count;
  for (int i = 0; i < d->count; i++) d->residual[i] -= *mean;
}

void mz_lessons_init(mz_lessons *l, const mz_pipeline *pipeline, double cores, const mz_observation *observations, int count) {
  mz_drift drift = {0};
  double mean;
  *l = (mz_lessons){.pipeline = pipeline, .cores = cores, .observations = observations, .observation_count = count};
  collect(l, &drift);
  centre(&drift, &mean);
  mz_drift_fit(&drift, PLAN_SIGMA);
  double precision[MZ_DRIFT_PLANS_MAX] = {0};
  for (int i = 0; i < drift.count; i++) {
    if (drift.plan[i] == PLAN_UNKNOWN) continue;
    mz_lesson *lesson = &l->items[drift.plan[i]];
    const double weight = 1 / drift.variance[i];
    lesson->log_s += weight * (mean + drift.residual[i] - drift.level[i]);
    lesson->noise += drift.variance[i];
    lesson->windows++;
    precision[drift.plan[i]] += weight;
  }
  for (int p = 0; p < l->count; p++) {
    l->items[p].log_s /= precision[p];
    l->items[p].sigma = sqrt(1 / precision[p]);
    l->items[p].noise = sqrt(l->items[p].noise / l->items[p].windows);
  }
}

void mz_lessons_without(mz_lessons *out, const mz_lessons *l, int left_out, mz_observation *room) {
  const mz_plan *plan = &l->items[left_out].plan;
  *out = *l;
  out->observations = room;
  out->observation_count = 0;
  for (int i = 0; i < l->observation_count; i++)
    if (!mz_plan_equal(l->pipeline, plan, &l->observations[i].plan)) room[out->observation_count++] = l->observations[i];
  memmove(&out->items[left_out], &out->items[left_out + 1], (size_t)(l->count - left_out - 1) * sizeof *out->items);
  out->count--;
}
