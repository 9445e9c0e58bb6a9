#include "allocator/model/analytic_costs.h"
#include "base/maths/statistics.h"
#include <math.h>

static const double PROBE_WEIGHT = 1;   /* of a probe, against an observation's 1 */
static const double FIXED_DOUBT = 1e-3; /* only one batch size seen: its cost is per item until there is evidence otherwise */
static const double PLAN_SIGMA = 0.25;  /* by which an item's cost differs between plans: caches, hardware threads */

static const double NOISE_USUAL = 0.03, NOISE_LEAST = 0.005, NOISE_MOST = 0.3; /* of a window's cost of an item */
static const double NORMAL_MEDIAN = 0.6745;                                    /* of |x|, x normal */
enum { PAIRS_MIN = 4, TRIPLES_MIN = 16 };

static bool is_positive(double value) { return value > 0 && isfinite(value); }

/* ---- a line ---- */

/* Weighted least squares of y = fixed · x + item on relative errors, both at least 0. */
typedef struct line {
  double xx, x, one, xy, y; /* sums of w·x²/y², w·x/y², w/y², w·x/y, w/y */
} line;

static void line_add(line *l, double x, double y, double weight) {
  l->xx += weight * x * x / (y * y);
  l->x += weight * x / (y * y);
  l->one += weight / (y * y);
  l->xy += weight * x / y;
  l->y += weight / y;
}

static void line_solve(const line *l, double *fixed, double *item) {
  *fixed = *item = 0;
  if (!(l->one > 0)) return;
  const double xx = l->xx * (1 + FIXED_DOUBT), determinant = xx * l->one - l->x * l->x;
  *fixed = (l->xy * l->one - l->x * l->y) / determinant;
  *item = (xx * l->y - l->x * l->xy) / determinant;
  if (!(*fixed >= 0)) {
    *fixed = 0;
    *item = l->y / l->one;
  } else if (!(*item >= 0)) {
    *fixed = l->xy / xx;
    *item = 0;
  }
}

/* ---- probes ---- */

/* seconds: of the probes, on cores or on the device. */
static void add_probes(line *l, const mz_probes *probes, const double *seconds, double level, double weight) {
  for (int i = 0; i < mz_probes_count(probes); i++)
    if (is_positive(seconds[i])) line_add(l, 1 / probes->batch[i], level * seconds[i], weight);
}

mz_analytic_cost mz_analytic_probed(const mz_probes *probes) {
  mz_analytic_cost cost;
  line on_cores = {0}, on_device = {0};
  add_probes(&on_cores, probes, probes->cpu_s, 1, 1);
  add_probes(&on_device, probes, probes->device_s, 1, 1);
  line_solve(&on_cores, &cost.fixed_s, &cost.item_s);
  line_solve(&on_device, &cost.device_fixed_s, &cost.device_item_s);
  return cost;
}

/* ---- observations ---- */

static double possible_s(double seconds, double items) {
  const double item_s = seconds / items;
  return is_positive(items) && item_s > 1e-12 && item_s < 1e12 ? item_s : 0;
}

/* A clock of CPU time may be missing, one of wall time never is. */
double mz_analytic_item_cpu_s(const mz_stage_sample *sample) {
  return possible_s(is_positive(sample->cpu_s) ? sample->cpu_s : sample->busy_s - sample->device_s, sample->items);
}
static double item_device_s(const mz_stage_sample *sample) { return possible_s(sample->device_s, sample->items); }

/* Measured times of a stage's items: on its cores, or on its devices. */
typedef struct costs {
  int count;
  double seconds[MZ_DRIFT_WINDOWS_MAX]; /* per item, on whole cores; 0: nothing was seen */
  double calls[MZ_DRIFT_WINDOWS_MAX];   /* per item */
  double level[MZ_DRIFT_WINDOWS_MAX];   /* above the newest */
  mz_device_kind kind[MZ_DRIFT_WINDOWS_MAX];
  const mz_analytic_point *points;
} costs;

static void read_costs(costs *c, const mz_pipeline *pipeline, int s, bool on_device, const mz_analytic_point *points, int count) {
  double (*const item_s)(const mz_stage_sample *) = on_device ? item_device_s : mz_analytic_item_cpu_s;
  c->count = count;
  c->points = points;
  for (int i = 0; i < count; i++) {
    c->seconds[i] = item_s(&points[i].seen->stages[s]) * (on_device ? 1 : points[i].speed);
    c->calls[i] = mz_analytic_calls(pipeline, s, &points[i].seen->plan);
    c->kind[i] = mz_stage_kind(pipeline, s, &points[i].seen->plan);
    c->level[i] = 0;
  }
}

/* A line for each kind of device: CPU seconds, or seconds of the device. */
typedef struct lines {
  double fixed[MZ_DEVICE_KINDS], item[MZ_DEVICE_KINDS];
  double log_level[MZ_DEVICE_KINDS]; /* of what was observed, now, above the probes */
  double weight[MZ_DEVICE_KINDS];    /* of what was observed; 0: the line is the probes' */
} lines;

/* Probes were timed alone, on an idle machine: their shape over batch sizes counts, brought to the level that was observed. */
static void fit_line(lines *out, mz_device_kind kind, const costs *c, const mz_probes *probes, const double *probe_s) {
  double sum = 0, *weight = &out->weight[kind];
  line probed = {0}, l = {0};
  add_probes(&probed, probes, probe_s, 1, 1);
  line_solve(&probed, &out->fixed[kind], &out->item[kind]);
  *weight = 0;
  for (int i = 0; i < c->count; i++) {
    if (!(c->seconds[i] > 0) || c->kind[i] != kind) continue;
    const double now_s = c->seconds[i] * exp(-c->level[i]), probed_s = c->calls[i] * out->fixed[kind] + out->item[kind];
    line_add(&l, c->calls[i], now_s, c->points[i].weight);
    *weight += c->points[i].weight;
    if (probed_s > 0) sum += c->points[i].weight * log(now_s / probed_s);
  }
  if (*weight == 0) return;
  out->log_level[kind] = sum / *weight;
  add_probes(&l, probes, probe_s, exp(out->log_level[kind]), PROBE_WEIGHT);
  line_solve(&l, &out->fixed[kind], &out->item[kind]);
}

/* Returns the variance of one window's cost about its level. Where windows follow one another under one plan, first differences are noise
 * twice and a step of the level, second differences noise six times and two steps (by medians, as drift.h); without second ones all is
 * taken for noise. */
static double noise_variance(const mz_drift *d) {
  double first[MZ_DRIFT_WINDOWS_MAX], second[MZ_DRIFT_WINDOWS_MAX];
  int pairs = 0, triples = 0;
  for (int i = 1; i < d->count; i++) {
    if (d->plan[i] < 0 || d->plan[i - 1] != d->plan[i] || d->run[i - 1] != d->run[i]) continue;
    first[pairs++] = fabs(d->residual[i] - d->residual[i - 1]);
    if (i + 1 == d->count || d->plan[i + 1] != d->plan[i] || d->run[i + 1] != d->run[i]) continue;
    second[triples++] = fabs(d->residual[i + 1] - 2 * d->residual[i] + d->residual[i - 1]);
  }
  if (pairs < PAIRS_MIN) return NOISE_USUAL * NOISE_USUAL;
  const double once = mz_median(first, pairs) / NORMAL_MEDIAN;
  const double twice = triples < TRIPLES_MIN ? sqrt(3) * once : mz_median(second, triples) / NORMAL_MEDIAN;
  const double noise = sqrt(fmax(twice * twice / 2 - once * once, 0));
  return pow(fmin(fmax(noise, NOISE_LEAST), NOISE_MOST), 2);
}

/* Costs drift while an agent learns, one stage's more than another's: finds how far each window's were above the newest's, whatever its
 * plan adds to them. */
static void find_levels(costs *c, const lines *l) {
  mz_drift drift = {.count = c->count};
  for (int i = 0; i < c->count; i++) {
    const double line_s = c->calls[i] * l->fixed[c->kind[i]] + l->item[c->kind[i]];
    const bool seen = c->seconds[i] > 0 && line_s > 0;
    drift.plan[i] = seen ? c->points[i].plan : -1;
    drift.residual[i] = seen ? log(c->seconds[i] / line_s) : 0;
    drift.run[i] = c->points[i].seen->run;
  }
  const double variance = 2 * noise_variance(&drift); /* what is not clearly a step of the level is taken for noise */
  for (int i = 0; i < c->count; i++) drift.variance[i] = variance;
  mz_drift_fit(&drift, PLAN_SIGMA);
  for (int i = 0; i < c->count; i++) c->level[i] = drift.level[i];
}

static void fit_lines(lines *out, costs *c, const mz_pipeline_stage *stage, bool on_device) {
  for (int pass = 0; pass < 2; pass++) {
    if (pass > 0) find_levels(c, out);
    for (int kind = 0; kind < MZ_DEVICE_KINDS; kind++) {
      const mz_probes *probes = &stage->probes[kind];
      fit_line(out, kind, c, probes, on_device ? probes->device_s : probes->cpu_s);
    }
  }
}

/* Threads that share cores, and an agent that learns, change what an item costs on cores alike on any kind of device: what was seen on one
 * kind brings the probes of the other to its level. What an item costs on a device is seen there alone. */
static void share_level(lines *l, const mz_pipeline_stage *stage) {
  double sum = 0, weight = 0;
  for (int kind = 0; kind < MZ_DEVICE_KINDS; kind++) {
    if (l->weight[kind] == 0 || mz_probes_count(&stage->probes[kind]) == 0) continue;
    sum += l->weight[kind] * l->log_level[kind];
    weight += l->weight[kind];
  }
  for (int kind = 0; kind < MZ_DEVICE_KINDS; kind++) {
    if (l->weight[kind] > 0 || weight == 0) continue;
    l->fixed[kind] *= exp(sum / weight);
    l->item[kind] *= exp(sum / weight);
  }
}

void mz_analytic_fit_costs(mz_analytic *model, mz_analytic_point *points, int count) {
  costs c;
  for (int s = 0; s < model->pipeline->stage_count; s++) {
    const mz_pipeline_stage *stage = &model->pipeline->stages[s];
    lines on_cores = {0}, on_device = {0};
    read_costs(&c, model->pipeline, s, false, points, count);
    fit_lines(&on_cores, &c, stage, false);
    share_level(&on_cores, stage);
    for (int i = 0; i < count; i++) points[i].levels[s].cpu = c.level[i];
    read_costs(&c, model->pipeline, s, true, points, count);
    fit_lines(&on_device, &c, stage, true);
    for (int i = 0; i < count; i++) points[i].levels[s].device = c.level[i];
    for (int kind = 0; kind < MZ_DEVICE_KINDS; kind++)
      model->stages[s].costs[kind] =
          (mz_analytic_cost){on_cores.fixed[kind], on_cores.item[kind], on_device.fixed[kind], on_device.item[kind]};
  }
}

mz_analytic_cost mz_analytic_cost_at(const mz_analytic_cost *cost, const mz_analytic_level *level) {
  const double cpu = exp(level->cpu), device = exp(level->device);
  return (mz_analytic_cost){cost->fixed_s * cpu, cost->item_s * cpu, cost->device_fixed_s * device, cost->device_item_s * device};
}
