#include "allocator/model/analytic_costs.h"
#include <math.h>
#include <string.h>

enum {
  FIT_MAX = MZ_DRIFT_WINDOWS_MAX,
  GAMMAS = 13,
  CONTENTIONS = 5,
  SHAPES = 2 /* gamma, contention: degrees of freedom that they take */
};
static const double AGE_HALF = 32;        /* observations; what is older weighs half as much */
static const double NOISE_USUAL = 0.05;   /* of a round; windows much noisier than that weigh less */
static const double RESIDUAL_DOUBT = 0.5; /* of one plan measured two steps away a third of the residual is taken over */
static const double SERIAL_WEIGHT = 0.1;  /* of the pipeline's own word */
static const double SCALE_DOUBT = 0.1;    /* plans' worth of a prior at 0: pipelines are off as a whole rather than by plan */
static const double SHAPE_WEIGHT = 0.01;  /* of the priors of gamma and contention */
static const double SIGMA_UNKNOWN = 0.25; /* with one plan or none; with more a prior worth one plan */
static const double NOISE_LEAST = 0.01;   /* no window is known better than that */
static const double GAMMA_USUAL = 8, GAMMA_MAX = 10, CONTENTION_USUAL = 1, CONTENTION_MAX = 2, VARIATION_USUAL = 0.02;

static bool is_positive(double value) { return value > 0 && isfinite(value); }

void mz_analytic_init(mz_analytic *model, const mz_pipeline *pipeline, double cores) {
  *model = (mz_analytic){.pipeline = pipeline,
                         .cores = cores,
                         .gamma = GAMMA_USUAL,
                         .contention = CONTENTION_USUAL,
                         .variation = VARIATION_USUAL,
                         .sigma = SIGMA_UNKNOWN};
  for (int s = 0; s < pipeline->stage_count; s++) {
    const mz_pipeline_stage *p = &pipeline->stages[s];
    mz_analytic_stage *stage = &model->stages[s];
    *stage = (mz_analytic_stage){.items = is_positive(p->items) ? p->items : 0, .serial = p->serial};
    for (int kind = 0; kind < MZ_DEVICE_KINDS; kind++) stage->costs[kind] = mz_analytic_probed(&p->probes[kind]);
  }
}

/* ---- serial share ---- */

/* The share that explains how long a stage was at work, its threads' waiting for cores taken out. It shows the more of itself,
 * the more threads there were. A producer's threads wait for room while it is at work: its elapsed time says nothing; nor does that
 * of a stage on a GPU, which has part of it. */
static void fit_serial(mz_analytic *model, const mz_analytic_point *points, int count) {
  const mz_pipeline *pipeline = model->pipeline;
  double serial[MZ_STAGES_MAX] = {0}, weights[MZ_STAGES_MAX] = {0};
  for (int i = 0; i < count; i++) {
    mz_analytic_parts parts;
    mz_analytic_take_apart(model, &points[i].seen->plan, &parts);
    for (int s = 0; s < pipeline->stage_count; s++) {
      const mz_stage_sample *sample = &points[i].seen->stages[s];
      if (!is_positive(sample->elapsed_s) || !is_positive(sample->cpu_s) || parts.share[s] > 0.95 || sample->device_s > 0 ||
          mz_analytic_feeds_queue(pipeline, s))
        continue;
      const double slowed = is_positive(sample->busy_s) ? fmax(sample->busy_s / sample->cpu_s, 1) : 1;
      const double share = sample->elapsed_s / (sample->cpu_s * slowed), shows = 1 - parts.share[s];
      const double weight = points[i].weight * shows * shows;
      serial[s] += weight * fmin(fmax((share - parts.share[s]) / shows, 0), 1);
      weights[s] += weight;
    }
  }
  for (int s = 0; s < pipeline->stage_count; s++)
    model->stages[s].serial = (serial[s] + SERIAL_WEIGHT * pipeline->stages[s].serial) / (weights[s] + SERIAL_WEIGHT);
}

/* ---- overlap, contention, scale ---- */

/* Sums of log(observed / predicted) over points. */
typedef struct residuals {
  double weight, sum, squares;
} residuals;

static void residuals_add(residuals *r, double residual, double weight) {
  r->weight += weight;
  r->sum += weight * residual;
  r->squares += weight * residual * residual;
}

/* A stage that had nothing to do, as evaluation between phases that evaluate; where no stage was seen at work, nothing is known. */
static bool had_nothing_to_do(const mz_pipeline *pipeline, const mz_observation *seen, int stage) {
  if (!(seen->stages[stage].items == 0 && seen->stages[stage].busy_s == 0)) return false;
  for (int s = 0; s < pipeline->stage_count; s++)
    if (mz_analytic_item_cpu_s(&seen->stages[s]) > 0) return true;
  return false;
}

/* Each observation has its own items. */
static void take_items(mz_analytic *model, const mz_observation *seen) {
  for (int s = 0; s < model->pipeline->stage_count; s++) {
    if (mz_analytic_item_cpu_s(&seen->stages[s]) > 0)
      model->stages[s].items = seen->stages[s].items;
    else if (had_nothing_to_do(model->pipeline, seen, s))
      model->stages[s].items = 0;
  }
}

/* Each observation at its own level of cost. */
static void take_apart(mz_analytic *model, mz_analytic_point *points, int count) {
  mz_analytic_cost newest[MZ_STAGES_MAX][MZ_DEVICE_KINDS];
  for (int s = 0; s < model->pipeline->stage_count; s++) memcpy(newest[s], model->stages[s].costs, sizeof newest[s]);
  for (int i = count - 1; i >= 0; i--) {
    mz_analytic_parts parts;
    take_items(model, points[i].seen);
    for (int s = 0; s < model->pipeline->stage_count; s++)
      for (int kind = 0; kind < MZ_DEVICE_KINDS; kind++)
        model->stages[s].costs[kind] = mz_analytic_cost_at(&newest[s][kind], &points[i].levels[s]);
    mz_analytic_take_apart(model, &points[i].seen->plan, &parts);
    points[i].steps = parts.steps;
  }
  for (int s = 0; s < model->pipeline->stage_count; s++) memcpy(model->stages[s].costs, newest[s], sizeof newest[s]);
}

/* A unit is expected to have the newest observation's items, of a stage that has work now and then so many as it has in the mean. */
static void expect_items(mz_analytic *model, const mz_analytic_point *points, int count) {
  for (int s = 0; s < model->pipeline->stage_count; s++) {
    double newest = 0, at_work = 0, known = 0;
    for (int i = count - 1; i >= 0; i--) {
      const bool works = mz_analytic_item_cpu_s(&points[i].seen->stages[s]) > 0;
      if (!works && !had_nothing_to_do(model->pipeline, points[i].seen, s)) continue;
      known += points[i].weight;
      if (!works) continue;
      at_work += points[i].weight;
      newest = points[i].seen->stages[s].items;
    }
    if (at_work > 0) model->stages[s].items = newest * at_work / known;
  }
}

static double point_s(const mz_analytic_steps *steps, const double *overlap_s, double contention) {
  double seconds = 0;
  for (int step = 0; step < steps->count; step++)
    if (!steps->apart[step]) seconds += fmax(overlap_s[step], mz_analytic_cores_s(steps, step, contention));
  return seconds;
}

/* Over a grid: gamma by ratios of 10^(1/12), contention by halves; the scale follows from either. */
static void fit_shape(mz_analytic *model, const mz_analytic_point *points, int count) {
  double best = INFINITY;
  for (int g = 0; g < GAMMAS; g++) {
    const double gamma = pow(GAMMA_MAX, (double)g / (GAMMAS - 1));
    residuals of[CONTENTIONS] = {{0}};
    for (int i = 0; i < count; i++) {
      double overlap_s[MZ_STAGES_MAX], before = -1, residual = 0;
      for (int step = 0; step < points[i].steps.count; step++)
        overlap_s[step] = mz_analytic_overlap_s(model->pipeline, &points[i].steps, step, gamma);
      for (int c = 0; c < CONTENTIONS; c++) {
        const double seconds = point_s(&points[i].steps, overlap_s, CONTENTION_MAX * c / (CONTENTIONS - 1));
        if (!is_positive(seconds)) break;
        if (seconds != before) residual = points[i].log_s - log(seconds);
        residuals_add(&of[c], residual, points[i].weight);
        before = seconds;
      }
    }
    for (int c = 0; c < CONTENTIONS; c++) {
      const double contention = CONTENTION_MAX * c / (CONTENTIONS - 1);
      const double off_gamma = log(gamma / GAMMA_USUAL), off_contention = contention - CONTENTION_USUAL;
      const double loss = of[c].squares - of[c].sum * of[c].sum / (of[c].weight + SCALE_DOUBT) +
                          SHAPE_WEIGHT * (off_gamma * off_gamma + off_contention * off_contention);
      if (!(loss < best)) continue;
      best = loss;
      model->gamma = gamma;
      model->contention = contention;
      model->log_scale = of[c].sum / (of[c].weight + SCALE_DOUBT);
    }
  }
}

/* ---- drift ---- */

static double predicted_s(const mz_analytic *model, const mz_analytic_steps *steps) {
  double overlap_s[MZ_STAGES_MAX];
  for (int step = 0; step < steps->count; step++)
    overlap_s[step] = mz_analytic_overlap_s(model->pipeline, steps, step, model->gamma);
  return point_s(steps, overlap_s, model->contention);
}

/* Brings every point to the newest one's level of cost, as if all had been measured now. */
static void take_out_drift(mz_analytic *model, mz_analytic_point *points, int count) {
  mz_drift drift = {.count = count};
  for (int i = 0; i < count; i++) {
    const double seconds = predicted_s(model, &points[i].steps);
    drift.plan[i] = is_positive(seconds) ? points[i].plan : -1;
    drift.residual[i] = is_positive(seconds) ? points[i].log_s - log(seconds) : 0;
    drift.variance[i] = points[i].variance;
    drift.run[i] = points[i].seen->run;
  }
  mz_drift_fit(&drift, SIGMA_UNKNOWN);
  for (int i = 0; i < count; i++) points[i].log_s -= drift.level[i];
  model->drift = drift.step;
}

/* ---- plans ---- */

double mz_analytic_residual_nearby(const mz_analytic *model, const mz_plan *plan, int but) {
  double sum = 0, weights = RESIDUAL_DOUBT;
  for (int p = 0; p < model->plan_count; p++) {
    if (p == but) continue;
    const double weight = exp2(-mz_plan_distance(model->pipeline, plan, &model->plans[p].plan));
    sum += weight * model->plans[p].residual;
    weights += weight;
  }
  return sum / weights;
}

/* Computes each plan's residuals less the scale, and how far a plan that was not measured may be off: each plan is
 * predicted by all others, as such a plan would be. */
static void fit_plans(mz_analytic *model, const mz_analytic_point *points, int count) {
  residuals all = {0}, of[MZ_RESIDUALS_MAX] = {{0}};
  double noise[MZ_RESIDUALS_MAX] = {0}, noise_all = 0;
  for (int i = 0; i < count; i++) {
    const double seconds = predicted_s(model, &points[i].steps), variance = points[i].variance;
    if (points[i].plan < 0 || !is_positive(seconds)) continue;
    const double residual = points[i].log_s - log(seconds);
    residuals_add(&all, residual, points[i].weight);
    residuals_add(&of[points[i].plan], residual, points[i].weight);
    noise[points[i].plan] += points[i].weight * variance;
    noise_all += points[i].weight * variance;
  }
  double squares = 0;
  int plans = 0;
  for (int p = 0; p < model->plan_count; p++)
    model->plans[p].residual = of[p].weight > 0 ? of[p].sum / of[p].weight - model->log_scale : 0;
  for (int p = 0; p < model->plan_count; p++) {
    if (of[p].weight == 0) continue;
    const double error = model->plans[p].residual - mz_analytic_residual_nearby(model, &model->plans[p].plan, p);
    squares += error * error;
    plans++;
  }
  if (plans == 0) return;
  if (plans >= 2) model->sigma = sqrt((squares + SIGMA_UNKNOWN * SIGMA_UNKNOWN) / (plans + 1 - SHAPES));
  model->sigma = fmax(model->sigma, sqrt(noise_all / all.weight));
  for (int p = 0; p < model->plan_count; p++) {
    if (of[p].weight == 0) continue;
    const double between = model->sigma * model->sigma, drift = model->drift * model->drift;
    const double within = drift + noise[p] / of[p].weight / model->plans[p].count;
    model->plans[p].residual *= between / (between + within);
    model->plans[p].sigma = sqrt(between * within / (between + within));
  }
}

/* Index in model->plans, where it is added while there is room. */
static int number_plan(mz_analytic *model, const mz_plan *plan) {
  for (int p = 0; p < model->plan_count; p++) {
    if (!mz_plan_equal(model->pipeline, plan, &model->plans[p].plan)) continue;
    model->plans[p].count++;
    return p;
  }
  if (model->plan_count == MZ_RESIDUALS_MAX) return -1;
  model->plans[model->plan_count].plan = *plan;
  model->plans[model->plan_count].sigma = model->sigma;
  model->plans[model->plan_count].count = 1;
  return model->plan_count++;
}

/* CPU time passes for both threads of a core while they share its work: returns how much of a whole core's a thread did. */
static double speed_of(const mz_analytic *model, const mz_observation *seen) {
  const mz_analytic_cores all = mz_analytic_all_cores(model);
  double cpu_s = 0;
  for (int s = 0; s < model->pipeline->stage_count; s++)
    if (!model->pipeline->stages[s].apart && is_positive(seen->stages[s].cpu_s)) cpu_s += seen->stages[s].cpu_s;
  const double busy = fmin(cpu_s / seen->unit_s + (is_positive(seen->others) ? seen->others : 0), all.threads);
  return busy > all.whole ? mz_analytic_rate(&all, busy) / busy : 1;
}

/* Newest first. Windows of one plan agree with one another more than with the model: together they weigh less than 1, so that a
 * plan that ran for long does not drown the others. */
static int collect(mz_analytic *model, const mz_observation *observations, int count, mz_analytic_point points[FIT_MAX]) {
  double together[MZ_RESIDUALS_MAX] = {0};
  int used = 0;
  for (int i = count - 1; i >= 0 && used < FIT_MAX; i--) {
    const mz_observation *seen = &observations[i];
    if (!is_positive(seen->unit_s)) continue;
    const double spread = is_positive(seen->noise) ? seen->noise / NOISE_USUAL : 0;
    mz_analytic_point *p = &points[used];
    p->seen = seen;
    p->log_s = log(seen->unit_s);
    p->speed = speed_of(model, seen);
    p->variance =
        fmax(is_positive(seen->noise) ? seen->noise * seen->noise / fmax(seen->rounds, 1) : 0, NOISE_LEAST * NOISE_LEAST);
    p->weight = exp2(-used / AGE_HALF) / (1 + spread * spread / fmax(seen->rounds, 1));
    p->plan = number_plan(model, &seen->plan);
    if (p->plan >= 0) together[p->plan] += p->weight;
    used++;
  }
  for (int i = 0; i < used; i++) points[i].weight /= 1 + (points[i].plan >= 0 ? together[points[i].plan] : 0);
  return used;
}

void mz_analytic_fit(mz_analytic *model, const mz_observation *observations, int count) {
  mz_analytic_point points[FIT_MAX];
  const double variation = model->variation;
  mz_analytic_init(model, model->pipeline, model->cores);
  model->variation = variation;
  model->observations = collect(model, observations, count, points);
  if (model->observations == 0) return;
  mz_analytic_fit_costs(model, points, model->observations);
  fit_serial(model, points, model->observations);
  take_apart(model, points, model->observations);
  expect_items(model, points, model->observations);
  fit_shape(model, points, model->observations);
  take_out_drift(model, points, model->observations);
  fit_shape(model, points, model->observations);
  fit_plans(model, points, model->observations);
}
