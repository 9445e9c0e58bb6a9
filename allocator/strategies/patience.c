#include "allocator/strategies/patience.h"

enum { PATIENCE_LEAST = 2, PATIENCE_MOST = 64 };

void mz_patience_follow(mz_patience *p, const mz_pipeline *pipeline, const mz_plan *plan) {
  const bool kept = p->exploring && mz_plan_equal(pipeline, &p->explored, plan);
  if (p->wait == 0 || kept)
    p->wait = PATIENCE_LEAST;
  else if (p->exploring && p->wait < PATIENCE_MOST)
    p->wait *= 2;
  p->exploring = false;
}

bool mz_patience_due(const mz_patience *p, bool explored_enough) { return !explored_enough && p->quiet >= p->wait; }

void mz_patience_quiet(mz_patience *p, bool quiet) { p->quiet = quiet ? p->quiet + 1 : 0; }

void mz_patience_explores(mz_patience *p, const mz_plan *plan) {
  *p = (mz_patience){.wait = p->wait, .exploring = true, .explored = *plan};
}
