#include "allocator/model/drift.h"
#include "base/maths/statistics.h"
#include <math.h>
#include <string.h>

static const double STEP_LEAST = 0.003, STEP_MOST = 0.1; /* of the level; the least also where nothing says how large it is */
static const double RUN_STEP = 0.3;                      /* from one run to another */
static const double NORMAL_MEDIAN = 0.6745;              /* of |x|, x normal */
enum { N = MZ_DRIFT_WINDOWS_MAX, P = MZ_DRIFT_PLANS_MAX, PAIRS_MIN = 4 };

/* From windows that follow one another under one plan: their differences are noise and the level's step. By medians, because a
 * change of another kind (an evaluation, a neighbour on the machine, the end of an earlier run's windows) is no step. */
static double step_of(const mz_drift *d) {
  double apart[N], noise[N];
  int pairs = 0;
  for (int i = 0; i + 1 < d->count; i++) {
    if (d->plan[i] < 0 || d->plan[i] != d->plan[i + 1] || d->run[i] != d->run[i + 1]) continue;
    apart[pairs] = fabs(d->residual[i + 1] - d->residual[i]) / NORMAL_MEDIAN;
    noise[pairs++] = d->variance[i] + d->variance[i + 1];
  }
  if (pairs < PAIRS_MIN) return STEP_LEAST;
  const double usual = mz_median(apart, pairs), square = usual * usual - mz_median(noise, pairs);
  return fmin(fmax(sqrt(fmax(square, 0)), STEP_LEAST), STEP_MOST);
}

/* ---- levels, given the plans ---- */

/* The precision of observed levels that a walk joins: tridiagonal, factored once (Thomas). */
typedef struct walk {
  int count;
  double weight[N];    /* of observations */
  double diagonal[N];  /* after elimination */
  double stiffness[N]; /* 1 / step² between a window and the next: minus the off-diagonal */
} walk;

static void factor(walk *w, const mz_drift *d) {
  w->count = d->count;
  for (int i = 0; i < d->count; i++) {
    const double step = i + 1 < d->count && d->run[i] == d->run[i + 1] ? d->step : fmax(d->step, RUN_STEP);
    const double before = i > 0 ? w->stiffness[i - 1] : 0;
    w->stiffness[i] = i + 1 < d->count ? 1 / (step * step) : 0;
    w->weight[i] = d->plan[i] < 0 ? 0 : 1 / d->variance[i];
    w->diagonal[i] = w->weight[i] + before + w->stiffness[i];
    if (i > 0) w->diagonal[i] -= before * before / w->diagonal[i - 1];
  }
}

/* x becomes the levels that weighted observations x would give. */
static void smooth(const walk *w, double x[N]) {
  for (int i = 0; i < w->count; i++) {
    x[i] *= w->weight[i];
    if (i > 0) x[i] += x[i - 1] * w->stiffness[i - 1] / w->diagonal[i - 1];
  }
  for (int i = w->count - 1; i >= 0; i--) {
    if (i + 1 < w->count) x[i] += w->stiffness[i] * x[i + 1];
    x[i] /= w->diagonal[i];
  }
}

/* The observations less the levels, weighted and summed by plan. */
static void left_by_plan(const mz_drift *d, const walk *w, const double *observed, const double *level, double out[P]) {
  memset(out, 0, P * sizeof *out);
  for (int i = 0; i < d->count; i++)
    if (d->plan[i] >= 0) out[d->plan[i]] += w->weight[i] * (observed[i] - level[i]);
}

/* ---- plans, with the levels eliminated ---- */

/* Symmetric and positive definite: Cholesky, in place; b becomes the solution. */
static void solve(double a[P][P], int n, double b[P]) {
  for (int j = 0; j < n; j++) {
    for (int i = j; i < n; i++) {
      for (int k = 0; k < j; k++) a[i][j] -= a[i][k] * a[j][k];
      a[i][j] = i == j ? sqrt(a[j][j]) : a[i][j] / a[j][j];
    }
    for (int k = 0; k < j; k++) b[j] -= a[j][k] * b[k];
    b[j] /= a[j][j];
  }
  for (int j = n - 1; j >= 0; j--) {
    for (int k = j + 1; k < n; k++) b[j] -= a[k][j] * b[k];
    b[j] /= a[j][j];
  }
}

static void fit_plans(const mz_drift *d, const walk *w, double plan_sigma, double worth[P]) {
  double precision[P][P], observed[N], level[N];
  int plans = 0;
  for (int i = 0; i < d->count; i++)
    if (d->plan[i] >= plans) plans = d->plan[i] + 1;
  for (int p = 0; p < plans; p++) {
    for (int i = 0; i < d->count; i++) observed[i] = level[i] = d->plan[i] == p;
    smooth(w, level);
    left_by_plan(d, w, observed, level, precision[p]);
    precision[p][p] += 1 / (plan_sigma * plan_sigma);
  }
  memcpy(level, d->residual, sizeof level);
  smooth(w, level);
  left_by_plan(d, w, d->residual, level, worth);
  solve(precision, plans, worth);
}

void mz_drift_fit(mz_drift *d, double plan_sigma) {
  walk w;
  double worth[P];
  if (d->count == 0) return;
  d->step = step_of(d);
  factor(&w, d);
  int known = 0;
  for (int i = 0; i < d->count; i++) known += d->plan[i] >= 0;
  memset(d->level, 0, sizeof d->level);
  if (known == 0) return;
  fit_plans(d, &w, plan_sigma, worth);
  for (int i = 0; i < d->count; i++) d->level[i] = d->plan[i] < 0 ? 0 : d->residual[i] - worth[d->plan[i]];
  smooth(&w, d->level);
  const double first = d->level[0];
  for (int i = 0; i < d->count; i++) d->level[i] -= first;
}
