#include "allocator/model/isotonic.h"
#include "base/status.h"
#include <math.h>
#include <stdint.h>
#include <string.h>

enum { SWEEPS_MAX = 10000, N = MZ_ISOTONIC_POINTS_MAX };
static const double CLOSE = 1e-10; /* relative to the range of y */

static bool is_below(const double *a, const double *b, int axes) {
  for (int i = 0; i < axes; i++)
    if (a[i] > b[i]) return false;
  return true;
}

/* ---- the order ---- */

typedef struct pair {
  uint8_t lower, upper;
  double moved; /* by the last projection: weight times what the lower point gave; the upper one took as much */
} pair;

typedef struct order {
  bool below[N][N];
  int count;
  pair pairs[N * N];
} order;

/* Pairs with no point between them; equal points bound each other both ways. */
static void find_pairs(order *o, const mz_isotonic *s) {
  for (int i = 0; i < s->count; i++)
    for (int j = 0; j < s->count; j++) o->below[i][j] = i != j && is_below(s->x[i], s->x[j], s->axes);
  o->count = 0;
  for (int i = 0; i < s->count; i++) {
    for (int j = 0; j < s->count; j++) {
      bool direct = o->below[i][j];
      for (int k = 0; direct && k < s->count; k++)
        direct = !(o->below[i][k] && o->below[k][j] && !o->below[k][i] && !o->below[j][k]);
      if (direct) o->pairs[o->count++] = (pair){.lower = (uint8_t)i, .upper = (uint8_t)j};
    }
  }
}

/* ---- projections ---- */

/* Takes the pair's last correction back and projects anew; returns by how much a value has changed. */
static double project(const mz_isotonic *s, pair *p, double fitted[N]) {
  const double lower_weight = s->weight[p->lower], upper_weight = s->weight[p->upper];
  const double lower = fitted[p->lower] + p->moved / lower_weight, upper = fitted[p->upper] - p->moved / upper_weight;
  p->moved = lower > upper ? (lower - upper) / (1 / lower_weight + 1 / upper_weight) : 0;
  const double before = fitted[p->lower], before_upper = fitted[p->upper];
  fitted[p->lower] = lower - p->moved / lower_weight;
  fitted[p->upper] = upper + p->moved / upper_weight;
  return fmax(fabs(fitted[p->lower] - before), fabs(fitted[p->upper] - before_upper));
}

void mz_isotonic_fit(mz_isotonic *s) {
  MZ_ASSERT(s->count >= 0 && s->count <= N && s->axes >= 0 && s->axes <= MZ_ISOTONIC_AXES_MAX);
  order o;
  double least = INFINITY, most = -INFINITY;
  find_pairs(&o, s);
  memcpy(s->fitted, s->y, sizeof s->fitted);
  for (int i = 0; i < s->count; i++) {
    least = fmin(least, s->y[i]);
    most = fmax(most, s->y[i]);
  }
  for (int sweep = 0; sweep < SWEEPS_MAX; sweep++) {
    double change = 0;
    for (int p = 0; p < o.count; p++) change = fmax(change, project(s, &o.pairs[p], s->fitted));
    if (change <= CLOSE * (most - least)) return;
  }
}

void mz_isotonic_bounds(const mz_isotonic *s, const double *x, double *low, double *high) {
  *low = -INFINITY;
  *high = INFINITY;
  for (int i = 0; i < s->count; i++) {
    if (is_below(s->x[i], x, s->axes)) *low = fmax(*low, s->fitted[i]);
    if (is_below(x, s->x[i], s->axes)) *high = fmin(*high, s->fitted[i]);
  }
}
