#include "allocator/model/evidence.h"
#include <math.h>
#include <string.h>

enum { NOISE_WINDOWS = 8 };
static const double NOISE_LEAST = 0.01; /* of a window, relative: what rounds do not show */

void mz_evidence_init(mz_evidence *e, const mz_pipeline *pipeline, double cores) {
  memset(e, 0, sizeof *e);
  e->pipeline = *pipeline;
  mz_analytic_init(&e->model, &e->pipeline, cores);
  for (int s = 0; s < pipeline->stage_count; s++) mz_forecaster_init(&e->utilisation[s]);
  mz_forecaster_init(&e->cores);
  mz_forecaster_init(&e->memory);
}

/* ---- observations ---- */

/* Index of the one that makes room; -1: there is room. */
static int index_to_leave(const mz_evidence *e, const mz_plan *plan) {
  int same = 0, oldest = -1;
  for (int i = e->count - 1; i >= 0; i--) {
    if (!mz_plan_equal(&e->pipeline, plan, &e->observations[i].plan)) continue;
    same++;
    oldest = i;
  }
  if (same >= MZ_OBSERVATIONS_PLAN_MAX) return oldest;
  return e->count == MZ_OBSERVATIONS_MAX ? 0 : -1;
}

void mz_evidence_add(mz_evidence *e, const mz_observation *observation) {
  const int leaves = index_to_leave(e, &observation->plan);
  if (leaves >= 0) {
    e->count--;
    memmove(&e->observations[leaves], &e->observations[leaves + 1], (size_t)(e->count - leaves) * sizeof *e->observations);
  }
  e->observations[e->count++] = *observation;
}

void mz_evidence_fit(mz_evidence *e) { mz_analytic_fit(&e->model, e->observations, e->count); }

void mz_evidence_slow(mz_evidence *e, const mz_plan *plan, const mz_plan *old, double slowness, int rounds) {
  for (int i = e->count - 1; i >= 0; i--) {
    const mz_observation *o = &e->observations[i];
    if (!mz_plan_equal(&e->pipeline, old, &o->plan)) continue;
    const mz_observation slow = {.plan = *plan,
                                 .unit_s = o->unit_s * slowness,
                                 .round_s = o->round_s * slowness,
                                 .noise = o->noise,
                                 .rounds = rounds,
                                 .cpu_s = NAN,
                                 .rss_bytes = NAN,
                                 .others = NAN,
                                 .waiting = NAN,
                                 .throttled = NAN,
                                 .training = mz_training_stage_unknown()};
    mz_evidence_add(e, &slow);
    return;
  }
}

void mz_evidence_reset(mz_evidence *e, int kept) {
  int earlier = 0;
  for (int i = 0; i < e->count; i++)
    if (e->observations[i].run > earlier) earlier = e->observations[i].run;
  for (int i = e->count - 1; i >= 0; i--)
    if (e->observations[i].run == 0 && --kept < 0) e->observations[i].run = earlier + 1;
  mz_evidence_fit(e);
}

double mz_evidence_sigma(const mz_evidence *e) {
  return sqrt(pow(mz_evidence_noise(e), 2) + pow(e->model.drift, 2) + NOISE_LEAST * NOISE_LEAST);
}

double mz_evidence_noise(const mz_evidence *e) {
  double squares = 0, degrees = 0;
  for (int i = e->count - 1; i >= 0 && i >= e->count - NOISE_WINDOWS; i--) {
    const mz_observation *o = &e->observations[i];
    if (o->rounds < 2) continue;
    squares += o->noise * o->noise * (o->rounds - 1);
    degrees += o->rounds - 1;
  }
  return degrees > 0 ? sqrt(squares / degrees / fmax(1, e->observations[e->count - 1].rounds)) : 0;
}

/* ---- windows ---- */

static void follow_items(mz_evidence *e, const mz_observation *o) {
  for (int s = 0; s < e->pipeline.stage_count; s++) {
    if (o->stages[s].items > 0) e->pipeline.stages[s].items = o->stages[s].items;
  }
}

/* Forecasters skip what a sensor could not tell. */
static void forecast(mz_evidence *e, const mz_plan *plan, const mz_window *window) {
  for (int s = 0; s < e->pipeline.stage_count; s++) {
    const double capacity = (double)mz_stage_threads(&e->pipeline, s, plan) * window->wall_s;
    mz_forecaster_observe(&e->utilisation[s], window->stages[s].busy_s / capacity);
  }
  const mz_usage *u = &window->usage;
  mz_forecaster_observe(&e->cores, mz_usage_lacks(u, MZ_SENSOR_CPU) ? NAN : u->cpu_s / u->wall_s);
  mz_forecaster_observe(&e->memory, mz_usage_lacks(u, MZ_SENSOR_RSS) ? NAN : u->rss_bytes);
}

double mz_evidence_window(mz_evidence *e, const mz_plan *plan, const mz_window *window) {
  mz_observation o;
  if (!mz_observation_from_window(&o, plan, window)) return NAN;
  mz_evidence_add(e, &o);
  follow_items(e, &o);
  mz_evidence_fit(e);
  forecast(e, plan, window);
  return o.unit_s;
}
