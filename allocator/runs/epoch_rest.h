/* Seconds of an epoch besides its rounds, for runs that have not run: the evaluation, and what else there is (the opening, records,
 * checkpoints). They are medians of measured curves. More cores than were measured change nothing: a longer run takes as long an
 * epoch as its last one that was measured. Plain struct; reading is thread safe. */
#pragma once
#include "allocator/runs/curve.h"

enum { MZ_EPOCH_REST_PLACES_MAX = 128 };

typedef struct mz_epoch_rest_place {
  double cores, batch_size; /* that its curves ran on, and in batches of */
  int epochs;
  const double *evaluation_s, *other_s; /* [epochs], of the first epoch on */
} mz_epoch_rest_place;

typedef struct mz_epoch_rest {
  int count;
  mz_epoch_rest_place places[MZ_EPOCH_REST_PLACES_MAX];
  double *numbers; /* that the places point to */
} mz_epoch_rest;

/* Reads the curves that are timed, learned and kept their setup without a GPU. A count of 0: there are none. mz_epoch_rest_deinit.
 * MZ_E_MEMORY. */
mz_status mz_epoch_rest_init(mz_epoch_rest *rest, const mz_curve *curves, int count);
void mz_epoch_rest_deinit(mz_epoch_rest *rest);
/* Return the seconds of an epoch (from 1 on) on so many cores: as measured on the most cores that are no more, otherwise on the fewest;
 * there in the nearest batch size. NAN where nothing was measured. */
double mz_epoch_rest_evaluation_s(const mz_epoch_rest *rest, double cores, double batch_size, double epoch);
double mz_epoch_rest_other_s(const mz_epoch_rest *rest, double cores, double batch_size, double epoch);
/* Returns those of the longest evaluation of any epoch there. */
double mz_epoch_rest_longest_evaluation_s(const mz_epoch_rest *rest, double cores, double batch_size);
/* Returns the most cores that were measured; 0: none were. */
double mz_epoch_rest_cores(const mz_epoch_rest *rest);
