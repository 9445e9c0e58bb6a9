#include "allocator/model/monotone.h"
#include "base/arena.h"
#include "base/maths/statistics.h"
#include "base/maths/streams.h"
#include <math.h>
#include <string.h>

enum { G = MZ_MONOTONE_GROUPS_MAX, STRETCHES = G * (G - 1) / 2, DRAWS = MZ_MONOTONE_PERMUTATIONS + 1, EFFECT_SWEEPS = 200 };

/* Test at work. Draw 0 is the observations as they are. */
typedef struct trial {
  const mz_isotonic_points *points;
  int axis, groups, strata;
  double last[G];           /* greatest coordinate of each group */
  int *group, *stratum;     /* [count] */
  int *member;              /* [count]: points, stratum after stratum */
  int *begin;               /* [count + 1]: of each stratum in `member` */
  int *from;                /* [count]: the point whose observation a member has */
  double *value;            /* [count]: observations, or residuals */
  double *sorted;           /* [count] */
  double *rest;             /* [count, axes − 1]: the other coordinates */
  double *effect;           /* [count]: of strata */
  void *scratch;            /* of the regression that residuals are taken from */
  double (*sum)[STRETCHES]; /* [DRAWS]: rising minus falling pairs within each stretch of groups */
} trial;

static double coordinate(const trial *t, int point) { return t->points->x[point * t->points->axes + t->axis]; }

/* ---- groups and strata ---- */

static void find_groups(trial *t) {
  const int n = t->points->count;
  int distinct = 0;
  for (int i = 0; i < n; i++) t->sorted[i] = coordinate(t, i);
  mz_sort(t->sorted, n);
  for (int i = 0; i < n; i++)
    if (i == 0 || t->sorted[i] != t->sorted[i - 1]) t->sorted[distinct++] = t->sorted[i];
  t->groups = distinct < G ? distinct : G;
  for (int g = 0; g < t->groups; g++) t->last[g] = t->sorted[(g + 1) * distinct / t->groups - 1];
  for (int i = 0; i < n; i++)
    while (coordinate(t, i) > t->last[t->group[i]]) t->group[i]++;
}

static bool equal_elsewhere(const trial *t, int a, int b) {
  const int axes = t->points->axes;
  for (int k = 0; k < axes; k++)
    if (k != t->axis && t->points->x[a * axes + k] != t->points->x[b * axes + k]) return false;
  return true;
}

static void find_strata(trial *t) {
  const int n = t->points->count;
  t->strata = 0;
  for (int i = 0; i < n; i++) t->stratum[i] = -1;
  for (int i = 0, members = 0; i < n; i++) {
    if (t->stratum[i] >= 0) continue;
    for (int j = i; j < n; j++) {
      if (t->stratum[j] >= 0 || !equal_elsewhere(t, i, j)) continue;
      t->stratum[j] = t->strata;
      t->member[members++] = j;
    }
    t->begin[++t->strata] = members;
  }
}

static int count_pairs(const trial *t) {
  int pairs = 0;
  for (int s = 0; s < t->strata; s++)
    for (int a = t->begin[s]; a < t->begin[s + 1]; a++)
      for (int b = t->begin[s]; b < a; b++) pairs += t->group[t->member[a]] != t->group[t->member[b]];
  return pairs;
}

/* Takes away what the other axes explain, and makes all points one stratum. */
static void take_residuals(trial *t) {
  const mz_isotonic_points *p = t->points;
  const mz_isotonic_points others = {.count = p->count, .axes = p->axes - 1, .x = t->rest, .y = p->y, .weight = p->weight};
  for (int i = 0, written = 0; i < p->count; i++)
    for (int a = 0; a < p->axes; a++)
      if (a != t->axis) t->rest[written++] = p->x[i * p->axes + a];
  mz_isotonic_fit(&others, t->value, t->scratch);
  for (int i = 0; i < p->count; i++) {
    t->value[i] = p->y[i] - t->value[i];
    t->member[i] = i;
    t->stratum[i] = 0;
  }
  t->strata = 1;
  t->begin[1] = p->count;
}

/* ---- permutations ---- */

static void permute(trial *t, uint64_t seed, int draw) {
  mz_rng rng = mz_stream_permutation(seed, t->axis, draw);
  for (int s = 0; s < t->strata; s++) {
    for (int a = t->begin[s + 1] - 1; a > t->begin[s]; a--) {
      const int b = t->begin[s] + (int)mz_rng_below(&rng, (uint32_t)(a - t->begin[s] + 1));
      const int swapped = t->from[a];
      t->from[a] = t->from[b];
      t->from[b] = swapped;
    }
  }
}

/* Returns a stretch's number: stretches with the same first group follow each other, the shortest first. */
static int stretch_of(const trial *t, int first, int last) { return first * (2 * t->groups - first - 1) / 2 + last - first - 1; }

/* Sums the signs of differences within each stretch. A pair's weight is the inverse of its difference's variance. */
static void sum_signs(const trial *t, double sum[STRETCHES]) {
  double between[G][G] = {{0}};
  for (int s = 0; s < t->strata; s++) {
    for (int a = t->begin[s]; a < t->begin[s + 1]; a++) {
      const int group = t->group[t->member[a]];
      const double value = t->value[t->from[a]], weight = t->points->weight[t->from[a]];
      for (int b = t->begin[s]; b < a; b++) {
        const int other = t->group[t->member[b]];
        const double rise = value - t->value[t->from[b]], other_weight = t->points->weight[t->from[b]];
        const double signed_weight = ((rise > 0) - (rise < 0)) * weight / (weight + other_weight) * other_weight;
        if (group > other) between[other][group] += signed_weight;
        if (group < other) between[group][other] -= signed_weight;
      }
    }
  }
  for (int first = 0; first < t->groups; first++) {
    double total = 0;
    for (int last = first + 1; last < t->groups; last++) {
      for (int g = first; g < last; g++) total += between[g][last];
      sum[stretch_of(t, first, last)] = total;
    }
  }
}

static double weight_of_pairs(const trial *t) {
  double total = 0;
  for (int s = 0; s < t->strata; s++) {
    for (int a = t->begin[s]; a < t->begin[s + 1]; a++) {
      for (int b = t->begin[s]; b < a; b++) {
        const double first = t->points->weight[t->member[a]], second = t->points->weight[t->member[b]];
        if (t->group[t->member[a]] != t->group[t->member[b]]) total += first / (first + second) * second;
      }
    }
  }
  return total;
}

/* ---- the verdict ---- */

/* Scales each stretch's sums by their spread over all draws: each is as likely to be the clearest by chance. */
static void standardize(trial *t, int stretches) {
  for (int k = 0; k < stretches; k++) {
    double squares = 0;
    for (int d = 0; d < DRAWS; d++) squares += t->sum[d][k] * t->sum[d][k];
    const double spread = sqrt(squares / DRAWS);
    for (int d = 0; d < DRAWS; d++) t->sum[d][k] = spread > 0 ? t->sum[d][k] / spread : 0;
  }
}

static void judge(trial *t, double alpha, mz_monotone *found) {
  const double close = 1e-9; /* equal but for the order of a sum */
  const int stretches = t->groups * (t->groups - 1) / 2, whole = stretch_of(t, 0, t->groups - 1);
  int rises = 0, falls = 0;
  double clearest = 0;
  found->concordance = t->sum[0][whole] / weight_of_pairs(t);
  standardize(t, stretches);
  for (int d = 0; d < DRAWS; d++) {
    double least = INFINITY;
    for (int k = 0; k < stretches; k++) least = fmin(least, t->sum[d][k]);
    if (d == 0) clearest = least;
    falls += least <= clearest + close;
    rises += t->sum[d][whole] >= t->sum[0][whole] - close;
  }
  found->rise_p = (double)rises / DRAWS;
  found->fall_p = (double)falls / DRAWS;
  for (int first = t->groups - 1; first >= 0; first--) {
    for (int last = first + 1; last < t->groups; last++) {
      if (t->sum[0][stretch_of(t, first, last)] > clearest) continue;
      found->fall_from = t->last[first];
      found->fall_to = t->last[last];
    }
  }
  if (found->fall_p <= alpha) {
    found->verdict = MZ_MONOTONE_REFUTED;
  } else if (found->rise_p <= alpha) {
    found->verdict = MZ_MONOTONE_CONFIRMED;
  }
}

/* Returns the group with the greatest effect, by least squares with one effect for each stratum and one for each group. */
static int peak_of(trial *t) {
  const mz_isotonic_points *p = t->points;
  double effect[G] = {0};
  int peak = 0;
  for (int sweep = 0; sweep < EFFECT_SWEEPS; sweep++) {
    for (int s = 0; s < t->strata; s++) {
      double sum = 0, weights = 0;
      for (int a = t->begin[s]; a < t->begin[s + 1]; a++) {
        const int i = t->member[a];
        sum += p->weight[i] * (t->value[i] - effect[t->group[i]]);
        weights += p->weight[i];
      }
      t->effect[s] = sum / weights;
    }
    double sums[G] = {0}, weights[G] = {0};
    for (int i = 0; i < p->count; i++) {
      sums[t->group[i]] += p->weight[i] * (t->value[i] - t->effect[t->stratum[i]]);
      weights[t->group[i]] += p->weight[i];
    }
    for (int g = 0; g < t->groups; g++) effect[g] = sums[g] / weights[g];
  }
  for (int g = 1; g < t->groups; g++)
    if (effect[g] > effect[peak]) peak = g;
  return peak;
}

static mz_status allocate(trial *t, void **block) {
  const size_t n = (size_t)t->points->count, axes = (size_t)t->points->axes;
  mz_carver carver = {0};
  mz_carve(&carver, &t->group, n, sizeof *t->group);
  mz_carve(&carver, &t->stratum, n, sizeof *t->stratum);
  mz_carve(&carver, &t->member, n, sizeof *t->member);
  mz_carve(&carver, &t->begin, n + 1, sizeof *t->begin);
  mz_carve(&carver, &t->from, n, sizeof *t->from);
  mz_carve(&carver, &t->value, n, sizeof *t->value);
  mz_carve(&carver, &t->sorted, n, sizeof *t->sorted);
  mz_carve(&carver, &t->rest, n * axes, sizeof *t->rest);
  mz_carve(&carver, &t->effect, n, sizeof *t->effect);
  mz_carve(&carver, &t->scratch, MZ_ISOTONIC_SCRATCH_BYTES(n), 1);
  mz_carve(&carver, &t->sum, DRAWS, sizeof *t->sum);
  return mz_carve_commit(&carver, block);
}

mz_status mz_monotone_test(const mz_isotonic_points *p, int axis, double alpha, uint64_t seed, mz_monotone *found) {
  MZ_ASSERT(p->count >= 0 && p->count <= MZ_ISOTONIC_POINTS_MAX && p->axes <= MZ_ISOTONIC_AXES_MAX && axis >= 0 &&
            axis < p->axes);
  trial t = {.points = p, .axis = axis};
  void *block;
  *found = (mz_monotone){.rise_p = 1, .fall_p = 1};
  if (p->count == 0) return MZ_OK;
  MZ_TRY(allocate(&t, &block));
  for (int i = 0; i < p->count; i++) {
    MZ_ASSERT(isfinite(coordinate(&t, i)) && isfinite(p->y[i]) && isfinite(p->weight[i]) && p->weight[i] > 0);
    t.value[i] = p->y[i];
  }
  find_groups(&t);
  find_strata(&t);
  found->peak = found->fall_from = found->fall_to = t.last[0];
  if (t.groups > 1) {
    found->pairs = count_pairs(&t);
    found->by_residuals = found->pairs == 0;
    if (found->by_residuals) take_residuals(&t);
    if (found->by_residuals) found->pairs = count_pairs(&t);
    memcpy(t.from, t.member, (size_t)p->count * sizeof *t.from);
    for (int d = 0; d < DRAWS; d++) {
      if (d > 0) permute(&t, seed, d);
      sum_signs(&t, t.sum[d]);
    }
    judge(&t, alpha, found);
    found->peak = t.last[peak_of(&t)];
    for (int i = 0; i < p->count; i++) found->beyond += coordinate(&t, i) > found->peak;
  }
  free(block);
  return MZ_OK;
}

bool mz_monotone_cuts(const mz_monotone *found, double at) { return found->verdict == MZ_MONOTONE_REFUTED && at > found->peak; }

void mz_monotone_say_cut(const mz_monotone *found, const char *what, const char *axis, char *out, size_t size) {
  if (found->beyond > 0) {
    snprintf(out, size, "%s beyond %s = %g (p = %.2g): plans beyond it are left out", what, axis, found->peak, found->fall_p);
  } else {
    snprintf(out, size, "%s between %s = %g and %g (p = %.2g), but the best is at the end, %g: no plans are left out", what, axis,
             found->fall_from, found->fall_to, found->fall_p, found->peak);
  }
}
