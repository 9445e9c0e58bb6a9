/* The baseline run: the first quiet windows at the start plan, in which nothing is searched. The first of them shows how far the predictor
 * was off with what it knew before, the others how far once it has seen the plan. From then on every quiet window under a plan that was
 * measured before is checked: two in a row that are off by more than 4 standard deviations are a change of the costs, not of chance, and a
 * baseline begins anew.
 *
 *   r = log(measured / predicted)      σ² = max(of the window's noise and the usual drift, mean of r² of the windows before)
 *
 * No bias is kept here: predictions begin at the level of cost of the newest windows (model/drift.h), which follows r by a share that grows
 * with the drift and falls with the noise. A window that something else disturbed checks nothing. A plain struct that starts zeroed, pure
 * functions. */
#pragma once
#include <stdbool.h>

enum {
  MZ_BASELINE_QUIET = 2,   /* windows of a baseline, that nothing disturbed */
  MZ_BASELINE_WINDOWS = 8, /* windows of it at the most, whatever happens in them */
  MZ_BASELINE_FAR = 4,     /* standard deviations that a prediction may be off */
  MZ_BASELINE_OUTSIDE = 2, /* windows in a row that are off by more: costs have changed */
};

typedef struct mz_baseline {
  bool over;
  int windows, quiet; /* of the present baseline, or the last one: all; quiet ones */
  double before;      /* r of its first quiet window, with what was known before it; NAN: nothing was predicted */
  double after;       /* r of its last one; NAN: there was only one */
  int outside;        /* windows in a row, since, that were off by more than 4 σ */
  double squares;     /* mean of r², of windows since; a reset doubles it: where many are far off, that is chance */
} mz_baseline;

typedef enum mz_baseline_event {
  MZ_BASELINE_CONTINUES, /* the baseline is not over */
  MZ_BASELINE_ENDS,      /* with this window */
  MZ_BASELINE_HOLDS,     /* it is over, and predictions hold */
  MZ_BASELINE_RESETS     /* costs have changed: predictions begin at this window and the one before, and so does a baseline */
} mz_baseline_event;

/* A window under the plan in force, outside of trials. error: r, NAN where nothing was predicted; sigma: standard deviation that noise and
 * drift give it; quiet: nothing else disturbed it. */
mz_baseline_event mz_baseline_window(mz_baseline *baseline, double error, double sigma, bool quiet);
