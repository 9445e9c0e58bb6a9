#include "allocator/strategies/budget.h"
#include <math.h>

static const double SMOOTHING = 0.25, CHANGE_LEAST = 0.05, NOISES = 3;

void mz_budget_round(mz_budget *b, double seconds, double usual_s) {
  b->run_s += seconds;
  if (usual_s > 0) b->exploring_s = fmax(0, b->exploring_s + seconds - usual_s); /* noise cancels out */
}

void mz_budget_decided(mz_budget *b, double seconds) { b->deciding_s += seconds; }

int mz_budget_refill(const mz_budget *b) {
  int windows = MZ_REFILL_WINDOWS;
  for (int i = MZ_REVERTS_MAX; i < b->undone && windows < MZ_REFILL_WINDOWS_MAX; i++) windows *= 2;
  return windows;
}

void mz_budget_window(mz_budget *b) {
  if (b->spent == 0 || ++b->windows < mz_budget_refill(b)) return;
  b->windows = 0;
  b->spent--;
}

void mz_budget_revert(mz_budget *b) {
  if (b->spent == 0) b->windows = 0;
  if (b->spent < MZ_REVERTS_MAX) b->spent++;
  b->undone++;
  b->base = b->level;
}

void mz_budget_keep(mz_budget *b) {
  b->undone = 0;
  b->measured = false;
}

void mz_budget_cost(mz_budget *b, double unit_s, double noise) {
  if (!(unit_s > 0) || !isfinite(unit_s)) return;
  const double log_s = log(unit_s);
  if (!b->measured) b->level = b->base = log_s;
  b->measured = true;
  b->level += SMOOTHING * (log_s - b->level);
  if (fabs(b->level - b->base) < fmax(CHANGE_LEAST, NOISES * noise)) return;
  b->base = b->level;
  if (b->spent == 0) return;
  b->spent--;
  b->windows = 0;
}

int mz_budget_wait(const mz_budget *b) { return b->spent < MZ_REVERTS_MAX ? 0 : mz_budget_refill(b) - b->windows; }

bool mz_budget_explores(const mz_budget *b) { return b->exploring_s < MZ_EXPLORING_SHARE * b->run_s; }

bool mz_budget_decides(const mz_budget *b) { return b->deciding_s <= MZ_DECIDING_SHARE * b->run_s; }
