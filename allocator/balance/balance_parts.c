#include "allocator/balance/balance_parts.h"
#include <math.h>

int64_t mz_balance_step_threads(const mz_pipeline *p, const mz_plan *plan, int step, int device) {
  int64_t threads = 0;
  for (int s = 0; s < p->stage_count; s++)
    if (p->stages[s].step == step && (device < 0 || mz_stage_device(p, s, plan) == device))
      threads += mz_stage_threads(p, s, plan);
  return threads;
}

int64_t mz_balance_threads(const mz_pipeline *p, const mz_plan *plan) {
  int64_t most = 0;
  for (int step = 0; step < MZ_STAGES_MAX; step++) {
    const int64_t threads = mz_balance_step_threads(p, plan, step, -1);
    if (threads > most) most = threads;
  }
  return most;
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* Cores of the stage's device that no thread has, or that nobody used while the stage worked. Threads that feed a GPU run on whatever cores
 * there are. */
static int64_t idle_cores(const mz_load *load, const mz_situation *situation, int stage) {
  const mz_pipeline *p = situation->pipeline;
  const int d = mz_stage_device(p, stage, situation->plan), step = p->stages[stage].step;
  const bool cpu = p->devices[d].kind == MZ_DEVICE_CPU;
  const double there = cpu ? fmin(p->devices[d].cores, load->capacity) : load->capacity;
  double used = (double)mz_balance_step_threads(p, situation->plan, step, cpu ? d : -1);
  for (int i = 0; i < load->pool_count; i++)
    if (load->pools[i].knob == p->stages[stage].threads) used = fmin(used, load->pools[i].cores_used);
  return (int64_t)floor(there - used + 0.5);
}

int64_t mz_balance_room(const mz_load *load, const mz_situation *situation, int stage) {
  const mz_pipeline *p = situation->pipeline;
  const mz_pipeline_stage *s = &p->stages[stage];
  const int64_t threads = mz_stage_threads(p, stage, situation->plan);
  if (!mz_balance_movable(p, s->threads)) return 0;
  int64_t room = least(p->knobs[s->threads].max - threads, idle_cores(load, situation, stage));
  if (s->groups > 0) /* one with more threads than tasks lets some idle */
    room = least(room, (int64_t)ceil(s->groups / (double)mz_stage_batch(p, stage, situation->plan)) - threads);
  mz_plan more = *situation->plan;
  for (; room > 0; room--) {
    more.values[s->threads] = threads + room;
    if (mz_plan_cores(p, &more) <= situation->bounds->cpu_max) return room;
  }
  return 0;
}

int mz_balance_gpu_knob(const mz_situation *situation, int stage, int *device) {
  const mz_pipeline *p = situation->pipeline;
  const int knob = p->stages[stage].device;
  const int gpus = mz_plan_gpus(p, situation->plan);
  if (knob < 0 || p->knobs[knob].class_ != MZ_EXACT || gpus + 1 > situation->bounds->gpu_max) return -1;
  for (int64_t d = p->knobs[knob].min; d <= p->knobs[knob].max; d++) {
    mz_plan moved = *situation->plan;
    moved.values[knob] = d;
    if (p->devices[d].kind != MZ_DEVICE_CUDA || mz_plan_gpus(p, &moved) <= gpus) continue;
    *device = (int)d;
    return knob;
  }
  return -1;
}
