#include "muzero/steering/kept.h"
#include <math.h>
#include <string.h>

static bool same(mz_kept_grant a, mz_kept_grant b) { return a.cores == b.cores && a.memory == b.memory; }

/* As many threads for each core, at least one. */
static mz_knobs scaled(const mz_pipeline *pipeline, const mz_knobs *knobs, double ratio) {
  const mz_plan before = mz_plan_of_knobs(knobs);
  mz_plan plan = before;
  for (int i = 0; i < pipeline->stage_count; i++) {
    const int k = pipeline->stages[i].threads;
    if (k >= 0) plan.values[k] = (int64_t)ceil((double)before.values[k] * ratio);
  }
  return mz_knobs_of_plan(&plan);
}

static void remember(mz_kept *kept, mz_kept_grant grant, const mz_knobs *knobs) {
  int at = 0;
  while (at < kept->count && !same(kept->plans[at].grant, grant)) at++;
  if (at == MZ_KEPT_MAX) {
    at--;
    memmove(kept->plans, kept->plans + 1, (size_t)at * sizeof kept->plans[0]);
  }
  if (at == kept->count) kept->count++;
  kept->plans[at].grant = grant;
  kept->plans[at].knobs = *knobs;
}

mz_knobs mz_kept_plan(mz_kept *kept, const mz_pipeline *pipeline, const mz_knobs *in_force, mz_kept_grant before,
                      mz_kept_grant now, bool fixed) {
  mz_knobs found = fixed ? *in_force : scaled(pipeline, in_force, now.cores / before.cores);
  for (int i = 0; i < kept->count; i++)
    if (same(kept->plans[i].grant, now)) found = kept->plans[i].knobs;
  remember(kept, before, in_force);
  return found;
}
