/* Isotonic regression on a grid: least squares under the order of its axes, by Dykstra's cyclic projections (1983) over the lines
 * of one axis after the other, each projected by pooling adjacent violators (Barlow et al. 1972). A fit ends when its distance
 * from the optimum is proved to be small; where that takes long, isotonic.h fits the cells. A cell without an observation
 * constrains nothing. Plain structs, deterministic. */
#pragma once
#include "allocator/model/isotonic.h"
#include "base/status.h"

enum { MZ_ISOTONIC_GRID_AXES_MAX = 8, MZ_ISOTONIC_CELLS_MAX = 1 << 20 };

typedef struct mz_isotonic_grid_axis {
  int count;        /* >= 1 */
  const double *at; /* [count], each greater than the one before */
  bool falls;       /* values do not rise along the axis; otherwise they do not fall */
} mz_isotonic_grid_axis;

/* A grid, in the caller's arrays over cells, the last axis fastest. All numbers are finite. */
typedef struct mz_isotonic_grid {
  int axes;
  mz_isotonic_grid_axis axis[MZ_ISOTONIC_GRID_AXES_MAX];
  const double *y;      /* [cells], any number where the weight is 0 */
  const double *weight; /* [cells], >= 0; 0: no observation */
  /* Found: */
  double *fitted;     /* [cells]; in cells without an observation the middle of their bounds */
  double *low;        /* [cells]: the largest value of observed cells at or below the cell, −INFINITY where there is none */
  double *high;       /* [cells]: the smallest value of observed cells at or above the cell, INFINITY where there is none */
  double least, most; /* of the values of observed cells; 0 where there is none */
  double error;       /* upper bound of a value's distance from the optimum, but for rounding */
  int sweeps;         /* projections on every axis */
  bool partitioned;   /* isotonic.h fitted the cells: sweeps came too slowly to the optimum, or few cells are observed */
} mz_isotonic_grid;

/* Returns the number of cells. */
int mz_isotonic_grid_cells(const mz_isotonic_grid *grid);
/* Fills in what is found. The order holds to the last bit. The error is at most 1e-10 of the range of y, unless more than
 * MZ_ISOTONIC_POINTS_MAX cells are observed and 10,000 sweeps do not come so far; `error` says so. MZ_E_MEMORY. */
mz_status mz_isotonic_grid_fit(mz_isotonic_grid *grid);
/* Returns estimate and interval at any x [axes], on lines of the grid, between or beyond them. Beyond the outermost lines the
 * estimate is that of the nearest point of the grid, and the interval is open on one side. The estimate keeps the order for all
 * x, and so do both ends of the interval. With no observation at all the estimate is 0. */
mz_interval mz_isotonic_grid_at(const mz_isotonic_grid *grid, const double *x, mz_isotonic_noise noise);
