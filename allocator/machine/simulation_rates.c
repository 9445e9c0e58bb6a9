/* How fast the threads at work progress, and where they are. */
#include "allocator/machine/core_shares.h"
#include "allocator/machine/simulation_state.h"
#include <math.h>

static const double KIB = 1024, MIB = 1024 * 1024;

/* ---- places ---- */

static bool is_gpu(const mz_sim_step *u, int device) { return u->pipeline->devices[device].kind == MZ_DEVICE_CUDA; }

static int home_of(const mz_sim_step *u, int s) { return mz_device_home(u->pipeline, mz_stage_device(u->pipeline, s, u->plan)); }

/* Replay and weights lie where the stage that ends a chain of queues works; without such a stage everybody's lie at home. */
static double remote_of(const mz_sim_step *u, int s) {
  for (int q = 0; q < u->pipeline->queue_count; q++) {
    const int last = u->pipeline->queues[q].to;
    if (u->simulation->stages[last].lockstep) return home_of(u, last) == home_of(u, s) ? 0 : u->simulation->machine.remote;
  }
  return 0;
}

static double batch_bytes(const mz_sim_step *u, int s) {
  const mz_pipeline_stage *p = &u->pipeline->stages[s];
  const double batch = (double)mz_stage_batch(u->pipeline, s, u->plan);
  return batch * p->bytes_slot + fmin(batch, p->tile) * p->bytes_tile;
}

/* A thread's batch in its core's cache; those of all threads of the step on the node in the shared one. */
static double cache_of(const mz_sim_step *u, int s) {
  const mz_sim_machine *m = &u->simulation->machine;
  const double own = batch_bytes(u, s);
  double all = 0;
  for (int i = 0; i < u->pipeline->stage_count; i++)
    if (u->pipeline->stages[i].step == u->step && home_of(u, i) == home_of(u, s))
      all += batch_bytes(u, i) * (double)mz_stage_threads(u->pipeline, i, u->plan);
  if (!(own > 0)) return 1;
  return mz_sim_cache_slowness(m->l2_miss, m->l2 * KIB, own) * mz_sim_cache_slowness(m->l3_miss, m->l3 * MIB, all);
}

void mz_sim_place_stage(mz_sim_step *u, int s) {
  mz_sim_stage *stage = &u->stages[s];
  const int device = mz_stage_device(u->pipeline, s, u->plan);
  stage->on_gpu = is_gpu(u, device);
  stage->cache = cache_of(u, s);
  for (int lane = 0; lane < MZ_SIM_GPU; lane++) {
    stage->lanes[lane].device = mz_device_home(u->pipeline, device);
    stage->lanes[lane].waits = u->simulation->machine.streaming;
    stage->lanes[lane].remote = remote_of(u, s);
  }
  stage->lanes[MZ_SIM_GPU].device = device;
}

/* The neighbours' processes on a device, a part of one included: they go to cores that the pipeline may not use first, then spread
 * evenly, and keep off the cores that drivers have for their own. */
typedef struct crowd {
  double computing, streaming;
} crowd;

static crowd crowd_on(const mz_sim_step *u, int device) {
  const mz_sim_machine *m = &u->simulation->machine;
  const double all = m->neighbour + m->stream;
  if (!(all > 0)) return (crowd){0, 0};
  const double ours = mz_pipeline_cores(u->pipeline);
  const double among_us = fmax(all - fmax(m->cores - ours, 0), 0) * u->pipeline->devices[device].cores / ours;
  return (crowd){among_us * m->neighbour / all, among_us * m->stream / all};
}

void mz_sim_place_cores(mz_sim_step *u) {
  for (int d = 0; d < u->pipeline->device_count; d++) {
    const int cores = u->pipeline->devices[d].cores;
    const crowd others = crowd_on(u, d);
    int drivers = 0;
    for (int s = 0; s < u->pipeline->stage_count; s++)
      drivers += u->stages[s].runs && u->simulation->stages[s].lockstep && home_of(u, s) == d;
    u->own[d] = mz_sim_own_cores(u->simulation->machine.placed, cores, drivers, others.computing + others.streaming);
    u->sleeps[d][MZ_SIM_CPU] = cores > 1; /* only one thread was at work before the step */
    u->sleeps[d][MZ_SIM_OWN] = false;
  }
}

int mz_sim_thread_lane(const mz_sim_step *u, int s, int nth) {
  const int device = home_of(u, s), own = u->own[device];
  const bool fills = u->pipeline->stages[s].gives_way && u->stages[s].threads > 1;
  if (own == 0) return MZ_SIM_CPU;
  if (u->simulation->stages[s].lockstep) return nth == 0 ? MZ_SIM_OWN : MZ_SIM_CPU;
  return fills && mz_sim_fills_own(nth, u->pipeline->devices[device].cores, own) ? MZ_SIM_OWN : MZ_SIM_CPU;
}

/* ---- shares ---- */

enum { CLAIMS_MAX = MZ_STAGES_MAX + 2 };

/* The lanes at work on some cores of a device, or on a GPU, and the neighbours there as the last two claims. */
typedef struct meeting {
  mz_sim_lane *lanes[MZ_STAGES_MAX];
  mz_core_claim claims[CLAIMS_MAX];
  double shares[CLAIMS_MAX];
  int lane_count, count;
} meeting;

static void gather(mz_sim_step *u, int device, int lane, meeting *out) {
  *out = (meeting){0};
  for (int s = 0; s < u->pipeline->stage_count; s++) {
    mz_sim_lane *l = &u->stages[s].lanes[lane];
    if (!u->stages[s].runs || l->device != device || l->count == 0) continue;
    out->claims[out->lane_count] = (mz_core_claim){l->count, lane == MZ_SIM_GPU ? 1 : u->simulation->stages[s].weight};
    out->lanes[out->lane_count++] = l;
  }
  out->count = out->lane_count;
}

static void share_gpu(mz_sim_step *u, int device) {
  meeting m;
  gather(u, device, MZ_SIM_GPU, &m);
  mz_core_shares(1, m.claims, m.count, m.shares);
  for (int i = 0; i < m.lane_count; i++) {
    m.lanes[i]->share = m.shares[i];
    m.lanes[i]->speed = 1;
  }
}

/* By how much the device's threads are slowed down by each other: hardware threads of one core, and the node's memory. */
static void set_speeds(const mz_sim_step *u, int device, const meeting meetings[MZ_SIM_GPU]) {
  const mz_sim_machine *machine = &u->simulation->machine;
  mz_sim_draw draws[MZ_SIM_GPU * CLAIMS_MAX];
  double busy = 0;
  int count = 0;
  for (int lane = 0; lane < MZ_SIM_GPU; lane++) {
    const meeting *m = &meetings[lane];
    for (int i = 0; i < m->count; i++) {
      const double threads = m->claims[i].threads * m->shares[i];
      busy += threads;
      draws[count++] = (mz_sim_draw){threads, i < m->lane_count ? m->lanes[i]->waits : i == m->lane_count ? 0 : 1};
    }
  }
  const double whole = busy > 0 ? mz_sim_smt_cores(machine->smt, u->pipeline->devices[device].cores, busy) / busy : 1;
  const double stretch = mz_sim_memory_stretch(machine->bandwidth, machine->core_bandwidth, draws, count);
  for (int lane = 0; lane < MZ_SIM_GPU; lane++)
    for (int i = 0; i < meetings[lane].lane_count; i++) {
      mz_sim_lane *l = meetings[lane].lanes[i];
      l->speed = whole / mz_sim_memory_slowness(l->waits, stretch, l->remote);
    }
}

/* The lanes of these cores, and their neighbours. */
static void share_some(mz_sim_step *u, int device, int lane, double cores, bool stands, meeting *m) {
  const crowd others = lane == MZ_SIM_OWN ? (crowd){0, 0} : crowd_on(u, device);
  double threads = 0, busy = 0;
  gather(u, device, lane, m);
  if (stands) m->lane_count = m->count = 0;
  m->claims[m->count++] = (mz_core_claim){others.computing, u->simulation->machine.neighbour_weight};
  m->claims[m->count++] = (mz_core_claim){others.streaming, u->simulation->machine.neighbour_weight};
  mz_core_shares(cores, m->claims, m->count, m->shares);
  for (int i = 0; i < m->count; i++) {
    const double in_use = m->claims[i].threads * m->shares[i];
    threads += m->claims[i].threads;
    busy += in_use;
    if (i < m->lane_count) m->lanes[i]->share = m->shares[i];
    *(i < m->lane_count ? &u->in_use : &u->others) += in_use;
  }
  u->sleeps[device][lane] = busy < cores - 1e-9;
  u->crowded = u->crowded || threads > cores;
}

static void share_cores(mz_sim_step *u, int device, bool stands) {
  const double cores = u->pipeline->devices[device].cores, own = u->own[device];
  meeting meetings[MZ_SIM_GPU];
  share_some(u, device, MZ_SIM_CPU, cores - own, stands, &meetings[MZ_SIM_CPU]);
  share_some(u, device, MZ_SIM_OWN, own, stands, &meetings[MZ_SIM_OWN]);
  set_speeds(u, device, meetings);
}

void mz_sim_share(mz_sim_step *u) {
  const bool stands = mz_sim_quota_stands(&u->quota);
  u->in_use = u->others = 0;
  u->crowded = false;
  for (int s = 0; s < u->pipeline->stage_count; s++)
    for (int lane = 0; lane < MZ_SIM_GPU; lane++) u->stages[s].lanes[lane].share = 0;
  for (int d = 0; d < u->pipeline->device_count; d++) {
    if (is_gpu(u, d))
      share_gpu(u, d);
    else
      share_cores(u, d, stands);
  }
}
