/* The score of runs that have not run, from curves of those that have: the static strategy's second model (docs/plans.md, "Static"). The
 * score of a run is the best of its evaluations so far, which its best checkpoint keeps. Isotonic regression of the runs' median on a
 * grid (of a seed's runs in one batch size one counts, for all have one curve): it does not fall with epochs, nor rise with the rows of a
 * batch. Where a permutation test refutes the latter, batches smaller than the best are left out, and `cut` says so.
 *
 * Runs differ in their pace more than in the shape of their curves. So what one more run reaches is bounded along the epochs: at least
 * the median of epoch e / stretch, at most that of epoch e · stretch. The stretch follows from the epochs that runs took to a target
 * against the median's, whose logarithms are taken as normal on either side. A run that never reached it counts with twice its epochs,
 * unless it is shorter than the median's: then it tells nothing. */
#pragma once
#include "allocator/model/isotonic_grid.h"
#include "allocator/model/monotone.h"
#include "allocator/runs/curve.h"

enum { MZ_EPOCH_SCORE_BATCHES_MAX = 32, MZ_EPOCH_SCORE_SEEDS_MIN = 3 };

typedef struct mz_epoch_score_batch {
  double rows;
  int runs, epochs; /* that ran in such batches; the longest */
  int reached;      /* of these reached the target */
  double typical;   /* epochs to the target, of the median; INFINITY: it never gets there */
} mz_epoch_score_batch;

typedef struct mz_epoch_score {
  int batches, epochs, runs;                              /* epochs: of the longest run; runs: that are fitted to */
  mz_epoch_score_batch batch[MZ_EPOCH_SCORE_BATCHES_MAX]; /* rising rows */
  double target;
  double slower, faster,
      degrees; /* spread of one more run's log stretch where it is slower, or faster, than the median; degrees of freedom. NAN: unknown */
  double start, best;    /* the lowest and the highest score of all runs */
  mz_monotone axis;      /* batches */
  char cut[200];         /* "": nothing */
  mz_isotonic_grid grid; /* batch, epoch */
  double *numbers;       /* that the grid points to */
  bool *counted;         /* of each curve: whether it is one of those fitted to */
} mz_epoch_score;

/* Fits to the curves that are `learned` and kept one batch size. mz_epoch_score_deinit. MZ_E_MEMORY. */
mz_status mz_epoch_score_init(mz_epoch_score *model, const mz_curve *curves, int count, double target);
void mz_epoch_score_deinit(mz_epoch_score *model);
/* Returns whether batches of so many rows are left out, because larger ones learn better. */
bool mz_epoch_score_cuts_batch(const mz_epoch_score *model, double batch_size);
/* Times as many epochs as typical that one more run may need, with probability `level` (one-sided); INFINITY: not known. */
double mz_epoch_score_stretch(const mz_epoch_score *model, double level);
/* Score after `epochs` in batches of so many rows: the median's, and the interval that holds one more run's with probability `level`. Low
 * is −INFINITY, high is INFINITY where nothing bounds it. */
mz_interval mz_epoch_score_at(const mz_epoch_score *model, double batch_size, double epochs, double level);
