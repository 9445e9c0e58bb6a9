/* Learning curves in the history (history.h): a row for every run, and one for each of its epochs. What holds for a history's
 * measurements holds here: damage, other versions, other processes, a file that cannot be used. Of
 * more than MZ_HISTORY_RUNS_MAX runs the oldest are removed when a file is opened. */
#pragma once
#include "allocator/records/history.h"
#include "allocator/runs/curve.h"

typedef struct mz_curve_key {
  char machine[560], env[128], network[128]; /* as in mz_history_key */
  char learning[17];                         /* hash of the settings that learning depends on, batches excepted */
  char timing[17];                           /* of those that an epoch's time depends on, its moves and batches excepted */
} mz_curve_key;

/* Sets *id to the row of a run: of one that is resumed, its own, where there is one; otherwise a new one. 0: nothing is kept. Reads run,
 * source, seed and moves. MZ_E_MEMORY. */
mz_status mz_history_begin_curve(mz_history *history, const mz_curve_key *key, const mz_curve *curve, bool resumes, int64_t *id);
/* Adds an epoch of it; one of the same number is replaced, as a resumed run passes it again, and later ones go, which it has not passed
 * again yet. id: of the curve that was begun last; epochs
 * of others are left out. Where another file has taken the history's place the curve is begun again there: it then lacks its first
 * epochs. MZ_E_MEMORY. */
mz_status mz_history_add_epoch(mz_history *history, const mz_pipeline *pipeline, int64_t id, const mz_epoch *epoch);
/* The newest `max` curves that are timed or learned (curve.h) for this key, oldest first; those without epochs, and epochs whose plans
 * are not the pipeline's, or which end before the one before them, are left out. mz_curves_free. MZ_E_MEMORY. */
mz_status mz_history_curves(mz_history *history, const mz_curve_key *key, const mz_pipeline *pipeline, int max, mz_curve **curves,
                            int *count);
