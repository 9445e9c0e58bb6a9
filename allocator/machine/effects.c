#include "allocator/machine/effects.h"
#include <math.h>

static const double TAIL_MOST = 100; /* a task that takes longer is a fault, not a tail */
static const double NOTHING_S = 1e-12;

double mz_sim_smt_cores(double smt, double threads, double busy) {
  const double n = fmin(busy, threads), whole = threads / 2;
  return smt == 0 || n <= whole ? n : whole + (n - whole) * (smt - 1);
}

/* Newton's method from 1 on: the sum is convex and falls with the stretch, so every step stays below the root. */
double mz_sim_memory_stretch(double bandwidth, double core_bandwidth, const mz_sim_draw *draws, int count) {
  enum { STEPS = 30 };
  double stretch = 1;
  for (int step = 0; bandwidth > 0 && step < STEPS; step++) {
    double drawn = 0, slope = 0;
    for (int i = 0; i < count; i++) {
      const double slowness = mz_sim_memory_slowness(draws[i].waits, stretch, 0);
      const double part = draws[i].threads * draws[i].waits * core_bandwidth / slowness;
      drawn += part;
      slope += part * draws[i].waits / slowness;
    }
    if (drawn <= bandwidth * (1 + 1e-9)) break;
    stretch += (drawn - bandwidth) / slope;
  }
  return stretch;
}

double mz_sim_memory_slowness(double waits, double stretch, double remote) { return 1 - waits + waits * stretch * (1 + remote); }

int mz_sim_own_cores(double placed, int cores, int drivers, double others) {
  const int own = drivers < cores ? drivers : cores > 0 ? cores - 1 : 0;
  return placed == 0 || (others > 0 && others >= cores - own) ? 0 : own;
}

bool mz_sim_fills_own(int nth, int cores, int own) { return nth % cores >= cores - own; }

double mz_sim_cache_slowness(double miss, double size, double bytes) {
  return miss > 0 && size > 0 && bytes > size ? 1 + miss * (1 - size / bytes) : 1;
}

double mz_sim_spread(double deviation, double items, mz_rng *rng) {
  const double variance = log1p(deviation * deviation / fmax(items, 1));
  return deviation > 0 ? exp(sqrt(variance) * mz_rng_normal(rng) - variance / 2) : 1;
}

double mz_sim_tail(double share, double shape, mz_rng *rng) {
  const double hit = mz_rng_f64(rng), rank = 1 - mz_rng_f64(rng);
  return hit < share ? fmin(pow(rank, -1 / shape), TAIL_MOST) : 1;
}

double mz_sim_gpu_call_s(const mz_sim_gpu *gpu, double batch, double item_s) {
  return gpu->latency_s + batch * gpu->bytes / gpu->link + fmax(batch, gpu->full) * item_s / gpu->speed;
}

double mz_sim_drift(double drift, double progress) { return 1 + drift * fmin(fmax(progress, 0), 1); }

/* ---- quota ---- */

static double budget_s(const mz_sim_quota *q) { return q->cores * q->period_s - q->used_s; }

bool mz_sim_quota_stands(const mz_sim_quota *q) { return q->cores > 0 && budget_s(q) <= NOTHING_S; }

double mz_sim_quota_left_s(const mz_sim_quota *q, double in_use) {
  if (!(q->cores > 0)) return INFINITY;
  const double ends_s = q->period_s - q->now_s;
  return in_use > 0 ? fmin(ends_s, budget_s(q) / in_use) : ends_s;
}

void mz_sim_quota_pass(mz_sim_quota *q, double seconds, double in_use) {
  if (!(q->cores > 0)) return;
  q->now_s += seconds;
  q->used_s += seconds * in_use;
  if (q->period_s - q->now_s <= NOTHING_S) q->now_s = q->used_s = 0;
}
