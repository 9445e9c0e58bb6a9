/* What makes a simulated machine differ from one that only shares its cores: each effect a pure function of a few numbers, with its
 * source and the range over which it is swept. Where the effect's own parameter is 0 it changes nothing. */
#pragma once
#include "base/maths/rng.h"
#include <stdbool.h>

/* Two hardware threads of a core do `smt` cores' worth of work together, and the system fills whole cores first:
 *   n for n ≤ C/2; C/2 + (n − C/2)(smt − 1) beyond.
 * Returns the cores' worth of work that `busy` of `threads` hardware threads do. smt 1 … 2; 0: they are whole cores. (Marr et al.,
 * Hyper-Threading Technology, Intel Technology Journal 6(1), 2002: up to 1.3; code that keeps the multipliers busy gains less.) */
double mz_sim_smt_cores(double smt, double threads, double busy);

/* One kind of threads that draw on a node's memory. */
typedef struct mz_sim_draw {
  double threads; /* cores' worth that run */
  double waits;   /* share of their time, alone, that waits for memory */
} mz_sim_draw;
/* A node's memory serves `bandwidth` GB/s, a core alone draws waits · core_bandwidth. Where that is more in all, the part of the
 * time that waits for memory is stretched for everybody until it fits:
 *   Σ threads · waits · core_bandwidth / (1 − waits + waits · stretch) = bandwidth.
 * Returns the stretch, 1 or more. bandwidth 0: without end. (Roofline: Williams et al., CACM 52(4), 2009; saturation as in the ECM
 * model: Hager et al., Concurrency and Computation 28(2), 2016.) */
double mz_sim_memory_stretch(double bandwidth, double core_bandwidth, const mz_sim_draw *draws, int count);
/* Returns how many times as long work takes: 1 − waits + waits · stretch · (1 + remote). remote: for memory of another node (Molka et
 * al., PACT 2009, and Cache coherence protocol and memory performance of Haswell-EP, ICPP 2015: 0.4 … 1.2), 0 for one's own. */
double mz_sim_memory_slowness(double waits, double stretch, double remote);

/* Each thread that drives a stage in lockstep has a core to itself: threads that are woken beside it keep off that core, but for those that
 * fill what every core leaves idle, one a core. min(drivers, cores − 1); none where `others`, processes of somebody else, leave the rest no
 * core: then the system moves threads to whatever core is free. placed 1: as the trainer does (base/threads/core.h); 0: all threads share
 * all cores. */
int mz_sim_own_cores(double placed, int cores, int drivers, double others);
/* Whether the nth of threads that fill cores is on one of those: nth mod cores ≥ cores − own, since drivers go where the fewest are. */
bool mz_sim_fills_own(int nth, int cores, int own);

/* A batch of more bytes than the cache holds finds the rest outside of it, as uniform references do:
 *   1 + miss · max(0, 1 − size / bytes). miss 0 … 8: 0, or a cache of no size, is none. */
double mz_sim_cache_slowness(double miss, double size, double bytes);

/* Factors of mean 1 with the given relative deviation: log-normal. `items` vary independently, so many of them vary less. */
double mz_sim_spread(double deviation, double items, mz_rng *rng);

/* A share of all tasks is hit and takes 1 … 100 times as long: Pareto, P(more than x) = x^−shape. (Dean and Barroso, The tail at scale,
 * CACM 56(2), 2013; shape 1.1 … 10.) Draws even where it is off, so that a change of the share changes no other draw. */
double mz_sim_tail(double share, double shape, mz_rng *rng);

/* Seconds of a call on a GPU: latency + copies + max(batch, full) · item / speed. item_s: on a core; bytes: of an item. The time is flat
 * in the batch until the GPU is full, and linear beyond; latency 0 … 10 ms. */
typedef struct mz_sim_gpu {
  double latency_s, speed, full, link, bytes; /* link: bytes a second */
} mz_sim_gpu;
double mz_sim_gpu_call_s(const mz_sim_gpu *gpu, double batch, double item_s);

/* Costs that grow over a run, in a straight line: 1 + drift · progress. drift −0.9 … 20, progress 0 … 1. */
double mz_sim_drift(double drift, double progress);

/* A control group's quota is counted period by period; when it is used up, everything stands until the period ends. (Linux, CFS bandwidth
 * control: Turner et al., CPU bandwidth control for CFS, Linux Symposium 2010; periods 1 ms … 1 s.) */
typedef struct mz_sim_quota {
  double cores, period_s; /* cores 0: none */
  double now_s, used_s;   /* in the present period */
} mz_sim_quota;
bool mz_sim_quota_stands(const mz_sim_quota *quota);
/* Returns the seconds until the next change at so many cores in use; INFINITY: none. */
double mz_sim_quota_left_s(const mz_sim_quota *quota, double in_use);
void mz_sim_quota_pass(mz_sim_quota *quota, double seconds, double in_use);
