#include "allocator/model/isotonic_chains.h"
#include "base/arena.h"
#include <math.h>
#include <stdbool.h>

enum { SWEEPS_BETWEEN_CHECKS = 4, MERGES_MAX = 8 };

/* Pool: neighbours to which a projection gives one value. */
typedef struct pool {
  double sum, weight;
  int count;
} pool;

typedef struct solver {
  const mz_isotonic_chains *chains;
  double *x;            /* [points]: the last projection */
  double *moved;        /* by member: what the chain's last projection took from it */
  bool *joined;         /* by member: pooled with the next one of the chain */
  pool *pools;          /* [points] */
  int *parent;          /* [points]: level sets, as trees */
  double *sum, *weight; /* [points]: of level sets, by root */
} solver;

/* ---- projections ---- */

/* Takes back what the chain's last projection did, and projects anew. */
static void project(solver *s, int chain) {
  const mz_isotonic_chains *c = s->chains;
  const int first = c->start[chain], end = c->start[chain + 1];
  int pools = 0;
  for (int m = first; m < end; m++) {
    const int i = c->member[m];
    pool p = {c->weight[i] * (s->x[i] + s->moved[m]), c->weight[i], 1};
    while (pools > 0 && s->pools[pools - 1].sum * p.weight > p.sum * s->pools[pools - 1].weight) {
      pools--;
      p = (pool){s->pools[pools].sum + p.sum, s->pools[pools].weight + p.weight, s->pools[pools].count + p.count};
    }
    s->pools[pools++] = p;
  }
  int m = first;
  for (int k = 0; k < pools; k++) {
    const double value = s->pools[k].sum / s->pools[k].weight;
    for (const int last = m + s->pools[k].count - 1; m <= last; m++) {
      const int i = c->member[m];
      if (s->pools[k].count > 1) {
        s->moved[m] += s->x[i] - value;
        s->x[i] = value;
      } else {
        s->x[i] += s->moved[m];
        s->moved[m] = 0;
      }
      s->joined[m] = m < last;
    }
  }
}

/* ---- level sets ---- */

static int root_of(solver *s, int i) {
  while (s->parent[i] != i) i = s->parent[i] = s->parent[s->parent[i]];
  return i;
}

static void join(solver *s, int a, int b) { s->parent[root_of(s, a)] = root_of(s, b); }

/* Gives each level set the mean of its observations. */
static void set_means(solver *s, double *fitted) {
  const mz_isotonic_chains *c = s->chains;
  for (int i = 0; i < c->points; i++) s->sum[i] = s->weight[i] = 0;
  for (int i = 0; i < c->points; i++) {
    const int root = root_of(s, i);
    s->sum[root] += c->weight[i] * (c->y[i] - c->y[root]); /* differences: large values that hardly differ lose nothing */
    s->weight[root] += c->weight[i];
  }
  for (int i = 0; i < c->points; i++) {
    const int root = root_of(s, i);
    fitted[i] = c->y[root] + s->sum[root] / s->weight[root];
  }
}

/* Joins level sets that violate the order; returns whether there were any. */
static bool join_violators(solver *s, const double *fitted) {
  const mz_isotonic_chains *c = s->chains;
  bool any = false;
  for (int k = 0; k < c->count; k++) {
    for (int m = c->start[k]; m + 1 < c->start[k + 1]; m++) {
      if (fitted[c->member[m]] <= fitted[c->member[m + 1]]) continue;
      join(s, c->member[m], c->member[m + 1]);
      any = true;
    }
  }
  return any;
}

/* Makes an answer in which the order holds exactly: means of the sets that pools connect. Returns false if that took more than
 * `merges` merges, as it does far from the optimum. */
static bool make_levels(solver *s, int merges, double *fitted) {
  const mz_isotonic_chains *c = s->chains;
  for (int i = 0; i < c->points; i++) s->parent[i] = i;
  for (int k = 0; k < c->count; k++)
    for (int m = c->start[k]; m + 1 < c->start[k + 1]; m++)
      if (s->joined[m]) join(s, c->member[m], c->member[m + 1]);
  for (int n = 0; n < merges; n++) {
    set_means(s, fitted);
    if (!join_violators(s, fitted)) return true;
  }
  return false;
}

/* Returns the upper bound of the error. */
static double error_of(solver *s, const double *fitted) {
  /* What the projections took lies in the polar of the monotone cone and is orthogonal to an answer that is constant over pools.
   * The answer f is therefore the projection of f + taken. A projection moves no farther than its argument does, here from f +
   * taken to y. */
  const mz_isotonic_chains *c = s->chains;
  double squares = 0, least_weight = INFINITY;
  for (int i = 0; i < c->points; i++) s->sum[i] = c->y[i] - fitted[i];
  for (int m = 0; m < c->start[c->count]; m++) s->sum[c->member[m]] -= s->moved[m];
  for (int i = 0; i < c->points; i++) {
    squares += c->weight[i] * s->sum[i] * s->sum[i];
    least_weight = fmin(least_weight, c->weight[i]);
  }
  return c->points > 0 ? sqrt(squares / least_weight) : 0;
}

mz_status mz_isotonic_chains_fit(const mz_isotonic_chains *c, int sweeps, double tolerance, double *fitted,
                                 mz_isotonic_fitted *found) {
  MZ_ASSERT(c->points >= 0 && c->count >= 0 && sweeps >= 1);
  solver s = {.chains = c};
  const size_t points = (size_t)c->points, members = (size_t)c->start[c->count];
  mz_carver carver = {0};
  void *block;
  mz_carve(&carver, &s.x, points, sizeof *s.x);
  mz_carve(&carver, &s.moved, members, sizeof *s.moved);
  mz_carve(&carver, &s.joined, members, sizeof *s.joined);
  mz_carve(&carver, &s.pools, points, sizeof *s.pools);
  mz_carve(&carver, &s.parent, points, sizeof *s.parent);
  mz_carve(&carver, &s.sum, points, sizeof *s.sum);
  mz_carve(&carver, &s.weight, points, sizeof *s.weight);
  MZ_TRY(mz_carve_commit(&carver, &block));
  for (int i = 0; i < c->points; i++) {
    MZ_ASSERT(isfinite(c->y[i]) && isfinite(c->weight[i]) && c->weight[i] > 0);
    s.x[i] = c->y[i];
  }
  *found = (mz_isotonic_fitted){.error = INFINITY};
  while (found->error > tolerance && found->sweeps < sweeps) {
    for (int k = 0; k < c->count; k++) project(&s, k);
    found->sweeps++;
    const bool is_last = found->sweeps == sweeps;
    if (!is_last && found->sweeps % SWEEPS_BETWEEN_CHECKS != 1) continue;
    if (make_levels(&s, is_last ? c->points + 1 : MERGES_MAX, fitted)) found->error = error_of(&s, fitted);
  }
  free(block);
  return MZ_OK;
}
