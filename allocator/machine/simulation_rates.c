/* How fast the threads at work progress, and where they are. */
#include "allocator/machine/core_shares.h"
#include "allocator/machine/simulation_state.h"
#include <math.h>

static const double KIB = 1024, MIB = 1024 * 1024;

/* ---- places ---- */

static bool is_gpu(const mz_sim_step *u, int device) { return u->pipeline->devices[device].kind == MZ_DEVICE_CUDA; }

/* GPUs hang on the nodes in turn. */
static int node_of(const mz_sim_step *u, int device) {
  int nodes = 0, before = 0, nth = 0;
  for (int d = 0; d < u->pipeline->device_count; d++) nodes += !is_gpu(u, d);
  if (!is_gpu(u, device)) return device;
  for (int d = 0; d < device; d++) before += is_gpu(u, d);
  for (int d = 0; d < u->pipeline->device_count; d++)
    if (!is_gpu(u, d) && nth++ == before % nodes) return d;
  return 0; /* no core at all: mz_pipeline_check refuses that */
}

static int home_of(const mz_sim_step *u, int s) { return node_of(u, mz_stage_device(u->pipeline, s, u->plan)); }

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
  stage->lanes[MZ_SIM_CPU].device = node_of(u, device);
  stage->lanes[MZ_SIM_CPU].waits = u->simulation->machine.streaming;
  stage->lanes[MZ_SIM_CPU].remote = remote_of(u, s);
  stage->lanes[MZ_SIM_GPU].device = device;
}

/* ---- shares ---- */

/* The neighbours' processes on a device: they go to cores that the pipeline may not use first, then spread evenly. */
typedef struct crowd {
  double computing, streaming; /* processes, a part of one included */
} crowd;

static crowd crowd_on(const mz_sim_step *u, int device) {
  const mz_sim_machine *m = &u->simulation->machine;
  const double all = m->neighbour + m->stream;
  double ours = 0;
  for (int d = 0; d < u->pipeline->device_count; d++) ours += is_gpu(u, d) ? 0 : u->pipeline->devices[d].cores;
  const double among_us = fmax(all - fmax(m->cores - ours, 0), 0) * u->pipeline->devices[device].cores / ours;
  return all > 0 ? (crowd){among_us * m->neighbour / all, among_us * m->stream / all} : (crowd){0, 0};
}

enum { CLAIMS_MAX = MZ_STAGES_MAX + 2 };

/* The lanes at work on a device, and its neighbours as the last two claims. */
typedef struct meeting {
  mz_sim_lane *lanes[MZ_STAGES_MAX];
  mz_core_claim claims[CLAIMS_MAX];
  double shares[CLAIMS_MAX];
  int lane_count, count;
} meeting;

static void gather(mz_sim_step *u, int device, meeting *out) {
  const int lane = is_gpu(u, device) ? MZ_SIM_GPU : MZ_SIM_CPU;
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
  gather(u, device, &m);
  mz_core_shares(1, m.claims, m.count, m.shares);
  for (int i = 0; i < m.lane_count; i++) {
    m.lanes[i]->share = m.shares[i];
    m.lanes[i]->speed = 1;
  }
}

/* By how much the device's threads are slowed down by each other: hardware threads of one core, and the node's memory. */
static void set_speeds(const mz_sim_step *u, int device, const meeting *m) {
  const mz_sim_machine *machine = &u->simulation->machine;
  mz_sim_draw draws[CLAIMS_MAX];
  double busy = 0;
  for (int i = 0; i < m->count; i++) {
    const double threads = m->claims[i].threads * m->shares[i];
    busy += threads;
    draws[i] = (mz_sim_draw){threads, i < m->lane_count ? m->lanes[i]->waits : i == m->lane_count ? 0 : 1};
  }
  const double whole = busy > 0 ? mz_sim_smt_cores(machine->smt, u->pipeline->devices[device].cores, busy) / busy : 1;
  const double stretch = mz_sim_memory_stretch(machine->bandwidth, machine->core_bandwidth, draws, m->count);
  for (int i = 0; i < m->lane_count; i++)
    m->lanes[i]->speed = whole / mz_sim_memory_slowness(m->lanes[i]->waits, stretch, m->lanes[i]->remote);
}

static void share_cores(mz_sim_step *u, int device, bool stands) {
  const crowd others = crowd_on(u, device);
  const double cores = u->pipeline->devices[device].cores;
  double threads = 0;
  meeting m;
  gather(u, device, &m);
  if (stands) m.lane_count = m.count = 0;
  m.claims[m.count++] = (mz_core_claim){others.computing, u->simulation->machine.neighbour_weight};
  m.claims[m.count++] = (mz_core_claim){others.streaming, u->simulation->machine.neighbour_weight};
  mz_core_shares(cores, m.claims, m.count, m.shares);
  set_speeds(u, device, &m);
  for (int i = 0; i < m.count; i++) {
    const double in_use = m.claims[i].threads * m.shares[i];
    threads += m.claims[i].threads;
    if (i < m.lane_count) m.lanes[i]->share = m.shares[i];
    *(i < m.lane_count ? &u->in_use : &u->others) += in_use;
  }
  u->crowded = u->crowded || threads > cores;
}

void mz_sim_share(mz_sim_step *u) {
  const bool stands = mz_sim_quota_stands(&u->quota);
  u->in_use = u->others = 0;
  u->crowded = false;
  for (int s = 0; s < u->pipeline->stage_count; s++) u->stages[s].lanes[MZ_SIM_CPU].share = 0;
  for (int d = 0; d < u->pipeline->device_count; d++) {
    if (is_gpu(u, d))
      share_gpu(u, d);
    else
      share_cores(u, d, stands);
  }
}
