#include "allocator/model/isotonic_grid.h"
#include "allocator/model/isotonic_chains.h"
#include "base/arena.h"
#include <math.h>

enum { SWEEPS_MAX = 10000, SWEEPS_PATIENCE = 24, SPARSE = 8, AXES = MZ_ISOTONIC_GRID_AXES_MAX };
static const double CLOSE = 1e-10; /* relative to the range of y */

int mz_isotonic_grid_cells(const mz_isotonic_grid *g) {
  int64_t cells = 1;
  MZ_ASSERT(g->axes >= 0 && g->axes <= AXES);
  for (int a = 0; a < g->axes; a++) {
    MZ_ASSERT(g->axis[a].count >= 1);
    cells *= g->axis[a].count;
    MZ_ASSERT(cells <= MZ_ISOTONIC_CELLS_MAX);
  }
  return (int)cells;
}

/* ---- the order of observed cells, as chains ---- */

/* Order of the observed cells. Ranks number cells so that values rise along each axis; points are the observed cells, by rank. */
typedef struct order {
  const mz_isotonic_grid *grid;
  int cells, points, stride[AXES];
  int *cell_of;                /* [cells]: the caller's number, by rank */
  int *point_at;               /* [cells]: by rank; −1: no observation */
  int *rank_of;                /* [points] */
  double *y, *weight, *fitted; /* [points] */
  int *seen;                   /* [cells]: the point from which a walk came by last, by rank */
  int *walk;                   /* [cells]: ranks, a stack */
  int *start, *member;         /* chains */
  int chain_room, member_room, chains, members;
} order;

static int position(const order *o, int rank, int axis) { return rank / o->stride[axis] % o->grid->axis[axis].count; }

static void number_cells(order *o) {
  const mz_isotonic_grid *g = o->grid;
  for (int rank = 0; rank < o->cells; rank++) {
    int cell = 0;
    for (int a = 0; a < g->axes; a++) {
      const int k = position(o, rank, a);
      cell += o->stride[a] * (g->axis[a].falls ? g->axis[a].count - 1 - k : k);
    }
    MZ_ASSERT(g->weight[cell] >= 0);
    o->cell_of[rank] = cell;
    o->point_at[rank] = -1;
    o->seen[rank] = -1;
    if (g->weight[cell] == 0) continue;
    o->point_at[rank] = o->points;
    o->rank_of[o->points] = rank;
    o->y[o->points] = g->y[cell];
    o->weight[o->points++] = g->weight[cell];
  }
}

static mz_status append(order *o, int point) {
  MZ_TRY(mz_reserve_one(&o->member, &o->member_room, o->members, sizeof *o->member));
  o->member[o->members++] = point;
  return MZ_OK;
}

/* Ends the chain that was appended last; one of fewer than two points says nothing. */
static mz_status end_chain(order *o) {
  if (o->members - o->start[o->chains] < 2) {
    o->members = o->start[o->chains];
    return MZ_OK;
  }
  MZ_TRY(mz_reserve_one(&o->start, &o->chain_room, o->chains + 1, sizeof *o->start));
  o->start[++o->chains] = o->members;
  return MZ_OK;
}

static mz_status add_lines(order *o, int axis) {
  for (int first = 0; first < o->cells; first++) {
    if (position(o, first, axis) > 0) continue;
    for (int k = 0; k < o->grid->axis[axis].count; k++) {
      const int point = o->point_at[first + k * o->stride[axis]];
      if (point >= 0) MZ_TRY(append(o, point));
    }
    MZ_TRY(end_chain(o));
  }
  return MZ_OK;
}

/* Returns whether the lines say that the second rank is not below the first: both on one, or an observed cell between them. */
static bool is_known(const order *o, int low, int high) {
  int span[AXES], differ = 0, step[AXES] = {0}, rank = low;
  for (int a = 0; a < o->grid->axes; a++) {
    span[a] = position(o, high, a) - position(o, low, a);
    differ += span[a] > 0;
  }
  if (differ < 2) return true;
  for (;;) {
    int a = o->grid->axes - 1;
    while (a >= 0 && step[a] == span[a]) {
      rank -= o->stride[a] * step[a];
      step[a--] = 0;
    }
    if (a < 0) return false;
    step[a]++;
    rank += o->stride[a];
    if (rank != high && o->point_at[rank] >= 0) return true;
  }
}

/* Adds a pair for each observed cell that is reached from a point through cells without observations alone, off its lines. */
static mz_status add_pairs_through_gaps(order *o, int point) {
  int depth = 0;
  o->walk[depth++] = o->rank_of[point];
  while (depth > 0) {
    const int rank = o->walk[--depth];
    for (int a = 0; a < o->grid->axes; a++) {
      const int next = rank + o->stride[a];
      if (position(o, rank, a) + 1 == o->grid->axis[a].count || o->seen[next] == point) continue;
      o->seen[next] = point;
      if (o->point_at[next] < 0) {
        o->walk[depth++] = next;
      } else if (!is_known(o, o->rank_of[point], next)) {
        MZ_TRY(append(o, point));
        MZ_TRY(append(o, o->point_at[next]));
        MZ_TRY(end_chain(o));
      }
    }
  }
  return MZ_OK;
}

static mz_status find_chains(order *o) {
  MZ_TRY(mz_reserve_one(&o->start, &o->chain_room, 0, sizeof *o->start));
  o->start[0] = 0;
  for (int a = 0; a < o->grid->axes; a++) MZ_TRY(add_lines(o, a));
  for (int p = 0; p < o->points && o->points < o->cells; p++) MZ_TRY(add_pairs_through_gaps(o, p));
  return MZ_OK;
}

/* ---- the fit ---- */

static mz_status partition(order *o) {
  const int axes = o->grid->axes;
  double *x;
  void *block, *scratch;
  mz_carver carver = {0};
  mz_carve(&carver, &x, (size_t)o->points * (size_t)axes, sizeof *x);
  mz_carve(&carver, &scratch, MZ_ISOTONIC_SCRATCH_BYTES(o->points), 1);
  MZ_TRY(mz_carve_commit(&carver, &block));
  for (int p = 0; p < o->points; p++)
    for (int a = 0; a < axes; a++) x[p * axes + a] = position(o, o->rank_of[p], a);
  mz_isotonic_fit(&(mz_isotonic_points){.count = o->points, .axes = axes, .x = x, .y = o->y, .weight = o->weight}, o->fitted,
                  scratch);
  free(block);
  return MZ_OK;
}

static mz_status fit_points(order *o, mz_isotonic_grid *g) {
  const bool can_partition = o->points <= MZ_ISOTONIC_POINTS_MAX;
  if (can_partition && o->cells > SPARSE * o->points) { /* walks through the gaps would take longer */
    g->partitioned = true;
    g->sweeps = 0;
    g->error = 0;
    return partition(o);
  }
  MZ_TRY(find_chains(o));
  const mz_isotonic_chains chains = {
      .points = o->points, .count = o->chains, .y = o->y, .weight = o->weight, .start = o->start, .member = o->member};
  double least = INFINITY, most = -INFINITY;
  for (int p = 0; p < o->points; p++) {
    least = fmin(least, o->y[p]);
    most = fmax(most, o->y[p]);
  }
  const double tolerance = CLOSE * (most - least);
  mz_isotonic_fitted found;
  MZ_TRY(mz_isotonic_chains_fit(&chains, can_partition ? SWEEPS_PATIENCE : SWEEPS_MAX, tolerance, o->fitted, &found));
  g->sweeps = found.sweeps;
  g->error = found.error;
  g->partitioned = found.error > tolerance && can_partition;
  if (!g->partitioned) return MZ_OK;
  g->error = 0;
  return partition(o);
}

/* Fills in the bounds of every cell, from those of its neighbours, and the values of cells without observations. */
static void fill_in(const order *o, mz_isotonic_grid *g) {
  g->least = o->points > 0 ? INFINITY : 0;
  g->most = o->points > 0 ? -INFINITY : 0;
  for (int p = 0; p < o->points; p++) {
    g->least = fmin(g->least, o->fitted[p]);
    g->most = fmax(g->most, o->fitted[p]);
  }
  for (int rank = 0; rank < o->cells; rank++) {
    double low = o->point_at[rank] >= 0 ? o->fitted[o->point_at[rank]] : -INFINITY;
    for (int a = 0; a < g->axes; a++)
      if (position(o, rank, a) > 0) low = fmax(low, g->low[o->cell_of[rank - o->stride[a]]]);
    g->low[o->cell_of[rank]] = low;
  }
  for (int rank = o->cells - 1; rank >= 0; rank--) {
    const int cell = o->cell_of[rank];
    double high = o->point_at[rank] >= 0 ? o->fitted[o->point_at[rank]] : INFINITY;
    for (int a = 0; a < g->axes; a++)
      if (position(o, rank, a) + 1 < g->axis[a].count) high = fmin(high, g->high[o->cell_of[rank + o->stride[a]]]);
    g->high[cell] = high;
    g->fitted[cell] = mz_isotonic_envelope(g->low[cell], high, g->least, g->most, (mz_isotonic_noise){0}).estimate;
  }
}

mz_status mz_isotonic_grid_fit(mz_isotonic_grid *g) {
  order o = {.grid = g, .cells = mz_isotonic_grid_cells(g)};
  for (int a = g->axes - 1, stride = 1; a >= 0; stride *= g->axis[a--].count) {
    o.stride[a] = stride;
    for (int k = 0; k < g->axis[a].count; k++)
      MZ_ASSERT(isfinite(g->axis[a].at[k]) && (k == 0 || g->axis[a].at[k] > g->axis[a].at[k - 1]));
  }
  mz_status status;
  mz_carver carver = {0};
  void *block = NULL;
  int **const by_cell[] = {&o.cell_of, &o.point_at, &o.rank_of, &o.seen, &o.walk};
  double **const by_point[] = {&o.y, &o.weight, &o.fitted};
  for (int k = 0; k < 5; k++) mz_carve(&carver, by_cell[k], (size_t)o.cells, sizeof(int));
  for (int k = 0; k < 3; k++) mz_carve(&carver, by_point[k], (size_t)o.cells, sizeof(double));
  MZ_TRY(mz_carve_commit(&carver, &block));
  number_cells(&o);
  MZ_TRY_CLEANUP(fit_points(&o, g));
  fill_in(&o, g);
cleanup:
  free(o.start);
  free(o.member);
  free(block);
  return status;
}

/* ---- between cells ---- */

/* Returns the last line at or below x, −1 where there is none. */
static int line_below(const mz_isotonic_grid_axis *axis, double x) {
  int low = -1, high = axis->count; /* at[low] <= x < at[high] */
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    if (axis->at[middle] <= x) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

/* Returns the cell from which x is bounded; beyond the outermost lines −1 or, if `clamped`, the nearest line's. */
static int corner(const mz_isotonic_grid *g, const double *x, bool upper, bool clamped) {
  int cell = 0;
  for (int a = 0; a < g->axes; a++) {
    const mz_isotonic_grid_axis *axis = &g->axis[a];
    int line = line_below(axis, x[a]);
    if (upper != axis->falls && (line < 0 || axis->at[line] < x[a])) line++;
    if (!clamped && (line < 0 || line == axis->count)) return -1;
    if (line < 0) line = 0;
    if (line == axis->count) line--;
    cell = cell * axis->count + line;
  }
  return cell;
}

mz_interval mz_isotonic_grid_at(const mz_isotonic_grid *g, const double *x, mz_isotonic_noise noise) {
  for (int a = 0; a < g->axes; a++) MZ_ASSERT(!isnan(x[a]));
  const int lower = corner(g, x, false, false), upper = corner(g, x, true, false);
  const double low = lower < 0 ? -INFINITY : g->low[lower], high = upper < 0 ? INFINITY : g->high[upper];
  const double inner_low = g->low[corner(g, x, false, true)], inner_high = g->high[corner(g, x, true, true)];
  mz_interval answer = mz_isotonic_envelope(low, high, g->least, g->most, noise);
  answer.estimate = mz_isotonic_envelope(inner_low, inner_high, g->least, g->most, noise).estimate;
  return answer;
}
