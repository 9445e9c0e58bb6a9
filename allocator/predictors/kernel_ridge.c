#include "allocator/predictors/kernel_ridge.h"
#include <math.h>

enum { N = MZ_DRIFT_PLANS_MAX, K = MZ_PLAN_KNOBS_MAX };
static const double PENALTIES[] = {1e-3, 1e-2, 1e-1, 1, 10}, REACH = 2;

static double feature(int64_t value) { return log2(1 + (double)value); }

static void standardise(mz_kernel_ridge *m, const mz_lessons *l) {
  for (int k = 0; k < l->pipeline->knob_count; k++) {
    double sum = 0, squares = 0;
    for (int i = 0; i < l->count; i++) sum += feature(l->items[i].plan.values[k]);
    const double mean = sum / l->count;
    for (int i = 0; i < l->count; i++) squares += pow(feature(l->items[i].plan.values[k]) - mean, 2);
    if (!(squares > 0)) continue;
    m->knob[m->knobs] = k;
    m->mean[m->knobs] = mean;
    m->deviation[m->knobs++] = sqrt(squares / l->count);
  }
}

static void take(const mz_kernel_ridge *m, const mz_plan *plan, double z[K]) {
  for (int k = 0; k < m->knobs; k++) z[k] = (feature(plan->values[m->knob[k]]) - m->mean[k]) / m->deviation[k];
}

static double kernel(const mz_kernel_ridge *m, const double a[K], const double b[K]) {
  double sum = 0;
  if (m->kernel == MZ_KERNEL_NEARBY) {
    for (int k = 0; k < m->knobs; k++) sum += pow((a[k] - b[k]) * m->deviation[k], 2);
    return exp(-sum / (2 * REACH * REACH));
  }
  for (int k = 0; k < m->knobs; k++) sum += a[k] * b[k];
  const double linear = 1 + sum / (m->knobs > 0 ? m->knobs : 1);
  return linear * linear;
}

/* The inverse of a symmetric, positive definite matrix, in place (Gauss–Jordan without pivots). */
static void invert(double a[N][N], int n) {
  for (int p = 0; p < n; p++) {
    const double pivot = 1 / a[p][p];
    a[p][p] = 1;
    for (int j = 0; j < n; j++) a[p][j] *= pivot;
    for (int i = 0; i < n; i++) {
      if (i == p) continue;
      const double factor = a[i][p];
      a[i][p] = 0;
      for (int j = 0; j < n; j++) a[i][j] -= factor * a[p][j];
    }
  }
}

/* With weights = (kernel + penalty)⁻¹ (y − level), the error of lesson i predicted from all others is weights[i] / inverse[i][i]. */
static double try_penalty(mz_kernel_ridge *m, const double *y, double penalty) {
  double inverse[N][N], error = 0;
  for (int i = 0; i < m->count; i++) {
    for (int j = 0; j < m->count; j++) inverse[i][j] = kernel(m, m->z[i], m->z[j]) + (i == j ? penalty : 0);
  }
  invert(inverse, m->count);
  for (int i = 0; i < m->count; i++) {
    m->weights[i] = 0;
    for (int j = 0; j < m->count; j++) m->weights[i] += inverse[i][j] * (y[j] - m->level);
    const double left_out = m->weights[i] / inverse[i][i];
    error += left_out * left_out / m->count;
  }
  return error;
}

static void find_range(mz_kernel_ridge *m) {
  for (int k = 0; k < m->knobs; k++) {
    m->least[k] = m->most[k] = m->z[0][k];
    for (int i = 1; i < m->count; i++) {
      m->least[k] = fmin(m->least[k], m->z[i][k]);
      m->most[k] = fmax(m->most[k], m->z[i][k]);
    }
  }
}

void mz_kernel_ridge_fit(mz_kernel_ridge *m, mz_kernel kind, const mz_lessons *l, const double *y) {
  *m = (mz_kernel_ridge){.kernel = kind, .count = l->count, .level = NAN};
  if (l->count == 0) return;
  m->level = 0;
  for (int i = 0; i < l->count; i++) m->level += y[i] / l->count;
  standardise(m, l);
  for (int i = 0; i < l->count; i++) take(m, &l->items[i].plan, m->z[i]);
  find_range(m);
  double best = INFINITY, chosen = 1;
  for (size_t p = 0; p < sizeof PENALTIES / sizeof *PENALTIES; p++) {
    const double error = try_penalty(m, y, PENALTIES[p]);
    if (!(error < best)) continue;
    best = error;
    chosen = PENALTIES[p];
  }
  const double error = try_penalty(m, y, chosen);
  m->sigma = l->count > 1 ? sqrt(error) : 1;
}

/* A quadratic says nothing beyond the range of each knob that was measured. */
static void keep_inside(const mz_kernel_ridge *m, double z[K]) {
  for (int k = 0; k < m->knobs; k++) z[k] = fmin(fmax(z[k], m->least[k]), m->most[k]);
}

double mz_kernel_ridge_at(const mz_kernel_ridge *m, const mz_plan *plan) {
  double z[K], value = m->level;
  take(m, plan, z);
  if (m->kernel == MZ_KERNEL_QUADRATIC) keep_inside(m, z);
  for (int i = 0; i < m->count; i++) value += m->weights[i] * kernel(m, z, m->z[i]);
  return value;
}
