/* Plans that were kept while the machine granted something else, for when it grants that again. Plain structs, pure functions. */
#pragma once
#include "muzero/knobs.h"

enum { MZ_KEPT_MAX = 8 };

typedef struct mz_kept_grant {
  double cores;
  uint64_t memory; /* bytes */
} mz_kept_grant;

typedef struct mz_kept { /* zeroed: none */
  int count;
  struct {
    mz_kept_grant grant;
    mz_knobs knobs;
  } plans[MZ_KEPT_MAX]; /* the last ones */
} mz_kept;

/* The machine grants `now` instead of `before`: remembers the plan in force, and returns the one that was kept when as much was granted
 * last; where that was never so, the one in force, with as many threads for each core as it had, unless the plan is `fixed`. */
mz_knobs mz_kept_plan(mz_kept *kept, const mz_pipeline *pipeline, const mz_knobs *in_force, mz_kept_grant before,
                      mz_kept_grant now, bool fixed);
