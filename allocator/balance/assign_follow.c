/* A plan that uses no more than is assigned. */
#include "allocator/balance/assign.h"
#include <math.h>

enum { HALVINGS = 60 };

/* ---- GPUs ---- */

/* Moves every stage from one device to another. False: a stage runs there that no exact knob can move. */
static bool move_stages(const mz_pipeline *p, int from, int to, mz_plan *plan) {
  for (int s = 0; s < p->stage_count; s++) {
    if (mz_stage_device(p, s, plan) != from) continue;
    const int k = p->stages[s].device;
    if (k < 0 || p->knobs[k].class_ != MZ_EXACT || mz_knob_clamp(&p->knobs[k], to) != to) return false;
    plan->values[k] = to;
  }
  return true;
}

static bool in_use(const mz_pipeline *p, const mz_plan *plan, int device) {
  for (int s = 0; s < p->stage_count; s++)
    if (mz_stage_device(p, s, plan) == device) return true;
  return false;
}

/* The first device to which the stages of `from` may move: a GPU that is in use where one is to be kept, otherwise a CPU device. */
static bool leave_device(const mz_pipeline *p, int from, bool keeps_gpus, mz_plan *plan) {
  for (int d = 0; d < p->device_count; d++) {
    const bool gpu = p->devices[d].kind == MZ_DEVICE_CUDA;
    mz_plan moved = *plan;
    if (d == from || gpu != keeps_gpus || (gpu && !in_use(p, plan, d)) || !move_stages(p, from, d, &moved)) continue;
    *plan = moved;
    return true;
  }
  return false;
}

static void follow_gpus(const mz_pipeline *p, double gpus, mz_plan *plan) {
  for (int d = p->device_count - 1; d >= 0 && mz_plan_gpus(p, plan) > ceil(gpus); d--)
    if (p->devices[d].kind == MZ_DEVICE_CUDA && in_use(p, plan, d)) leave_device(p, d, gpus > 0, plan);
}

/* ---- cores ---- */

static bool is_pool(const mz_pipeline *p, int knob) {
  if (p->knobs[knob].class_ != MZ_EXACT || p->knobs[knob].scale != MZ_SCALE_LOG2) return false;
  for (int s = 0; s < p->stage_count; s++)
    if (p->stages[s].threads == knob) return true;
  return false;
}

/* Every pool with so large a share of its threads, rounded down. */
static mz_plan scaled(const mz_pipeline *p, const mz_plan *plan, double share) {
  mz_plan out = *plan;
  for (int k = 0; k < p->knob_count; k++)
    if (is_pool(p, k)) out.values[k] = mz_knob_clamp(&p->knobs[k], (int64_t)floor((double)plan->values[k] * share));
  return out;
}

/* Gives back what rounding took, and pools that were not too large: as long as the cores suffice. */
static void restore(const mz_pipeline *p, double cores, const mz_plan *before, mz_plan *plan) {
  for (int k = 0; k < p->knob_count; k++) {
    mz_plan whole = *plan;
    whole.values[k] = before->values[k];
    if (mz_plan_cores(p, &whole) <= cores) *plan = whole;
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (int k = 0; k < p->knob_count; k++) {
      mz_plan more = *plan;
      if (!is_pool(p, k) || plan->values[k] >= before->values[k]) continue;
      more.values[k]++;
      if (mz_plan_cores(p, &more) > cores) continue;
      *plan = more;
      changed = true;
    }
  }
}

static void follow_cores(const mz_pipeline *p, double cores, mz_plan *plan) {
  const mz_plan before = *plan;
  if (mz_plan_cores(p, plan) <= cores) return;
  double fits = 0, exceeds = 1;
  for (int i = 0; i < HALVINGS; i++) {
    const double middle = (fits + exceeds) / 2;
    const mz_plan trial = scaled(p, &before, middle);
    if (mz_plan_cores(p, &trial) <= cores)
      fits = middle;
    else
      exceeds = middle;
  }
  *plan = scaled(p, &before, fits);
  if (mz_plan_cores(p, plan) <= cores) restore(p, cores, &before, plan);
}

bool mz_assign_follow(const mz_pipeline *p, const mz_assignment *assignment, mz_plan *plan) {
  follow_gpus(p, assignment->gpu, plan);
  follow_cores(p, assignment->cpu, plan);
  const bool fits = mz_plan_shrink(p, assignment->memory, plan);
  return fits && mz_plan_cores(p, plan) <= assignment->cpu && mz_plan_gpus(p, plan) <= ceil(assignment->gpu);
}
