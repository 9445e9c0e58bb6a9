#include "muzero/evaluation/ratings.h"
#include "base/arena.h"
#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { STEPS_MAX = 100 };
static const double PRIOR_GAMES = 1;
static const double SHORT = 1e-3, ENOUGH = 1e-10; /* steps of Newton's, in natural units; the last one */

typedef struct fit {
  const mz_pairing *pairings;
  int count, n, anchor;
  double *theta, *trial; /* [n] natural ratings: log odds */
  double *gradient;      /* [n], then the step */
  double *information;   /* [n][n], then its Cholesky factor, in the lower half */
  void *block;
} fit;

static double log_sigmoid(double x) { return x > 0 ? -log1p(exp(-x)) : x - log1p(exp(x)); }

static double log_likelihood(const fit *f, const double *theta) {
  double sum = 0;
  for (int i = 0; i < f->count; i++) {
    const mz_pairing *p = &f->pairings[i];
    const double points = p->points + 0.5 * PRIOR_GAMES, games = p->games + PRIOR_GAMES, x = theta[p->a] - theta[p->b];
    sum += points * log_sigmoid(x) + (games - points) * log_sigmoid(-x);
  }
  return sum;
}

/* Gradient and information; the anchor's row is the identity's, so that it stays where it is. */
static void differentiate(fit *f) {
  const int n = f->n;
  memset(f->gradient, 0, (size_t)n * sizeof *f->gradient);
  memset(f->information, 0, (size_t)n * (size_t)n * sizeof *f->information);
  for (int i = 0; i < f->count; i++) {
    const mz_pairing *p = &f->pairings[i];
    const double games = p->games + PRIOR_GAMES, share = 1 / (1 + exp(f->theta[p->b] - f->theta[p->a]));
    const double surplus = p->points + 0.5 * PRIOR_GAMES - games * share, weight = games * share * (1 - share);
    f->gradient[p->a] += surplus;
    f->gradient[p->b] -= surplus;
    f->information[p->a * n + p->a] += weight;
    f->information[p->b * n + p->b] += weight;
    f->information[p->a * n + p->b] -= weight;
    f->information[p->b * n + p->a] -= weight;
  }
  for (int i = 0; i < n; i++) f->information[f->anchor * n + i] = f->information[i * n + f->anchor] = i == f->anchor;
  f->gradient[f->anchor] = 0;
}

static void factorise(double *a, int n) {
  for (int j = 0; j < n; j++) {
    for (int i = j; i < n; i++) {
      double sum = a[i * n + j];
      for (int k = 0; k < j; k++) sum -= a[i * n + k] * a[j * n + k];
      MZ_ASSERT(i > j || sum > 0); /* else some rating is not joined to the anchor's */
      a[i * n + j] = i == j ? sqrt(sum) : sum / a[j * n + j];
    }
  }
}

/* x := (L Lᵀ)⁻¹ x */
static void solve(const double *l, int n, double *x) {
  for (int i = 0; i < n; i++) {
    for (int k = 0; k < i; k++) x[i] -= l[i * n + k] * x[k];
    x[i] /= l[i * n + i];
  }
  for (int i = n - 1; i >= 0; i--) {
    for (int k = i + 1; k < n; k++) x[i] -= l[k * n + i] * x[k];
    x[i] /= l[i * n + i];
  }
}

/* One step of Newton's, a long one halved until the likelihood does not fall; its length. Of short ones the comparison would be
 * rounding's. */
static double improve(fit *f) {
  differentiate(f);
  factorise(f->information, f->n);
  solve(f->information, f->n, f->gradient);
  const double before = log_likelihood(f, f->theta);
  double longest = 0;
  for (int i = 0; i < f->n; i++) longest = fmax(longest, fabs(f->gradient[i]));
  for (double scale = 1;; scale /= 2) {
    for (int i = 0; i < f->n; i++) f->trial[i] = f->theta[i] + scale * f->gradient[i];
    if (longest * scale > SHORT && log_likelihood(f, f->trial) < before) continue;
    memcpy(f->theta, f->trial, (size_t)f->n * sizeof *f->theta);
    return longest * scale;
  }
}

mz_status mz_ratings_fit(const mz_pairing *pairings, int count, int n, int anchor, double *ratings, double *covariance) {
  MZ_ASSERT(n >= 1 && anchor >= 0 && anchor < n);
  fit f = {.pairings = pairings, .count = count, .n = n, .anchor = anchor};
  const size_t size = (size_t)n;
  mz_carver carver = {0};
  mz_carve(&carver, &f.theta, size, sizeof *f.theta);
  mz_carve(&carver, &f.trial, size, sizeof *f.trial);
  mz_carve(&carver, &f.gradient, size, sizeof *f.gradient);
  mz_carve(&carver, &f.information, size * size, sizeof *f.information);
  MZ_TRY(mz_carve_commit(&carver, &f.block));
  for (int step = 0; step < STEPS_MAX && improve(&f) > ENOUGH; step++) continue;

  const double elo = 400 / log(10);
  differentiate(&f);
  factorise(f.information, n);
  for (int i = 0; i < n; i++) {
    ratings[i] = elo * f.theta[i];
    double *row = covariance + (size_t)i * size;
    for (int j = 0; j < n; j++) row[j] = i == j ? elo * elo : 0;
    solve(f.information, n, row);
  }
  for (int i = 0; i < n; i++) covariance[anchor * n + i] = covariance[i * n + anchor] = 0;
  free(f.block);
  return MZ_OK;
}

double mz_ratings_error(const double *covariance, int n, int a, int b) {
  return sqrt(fmax(covariance[a * n + a] + covariance[b * n + b] - 2 * covariance[a * n + b], 0));
}
