/* Threads at work on a device, in the order in which they end: a binary heap. */
#include "allocator/machine/simulation_state.h"
#include <math.h>

static const double NOTHING_S = 1e-12;

static double end_of(const mz_sim_step *u, const mz_sim_lane *lane, int at) { return u->threads[lane->threads[at]].end; }

static void swap(mz_sim_lane *lane, int a, int b) {
  const int held = lane->threads[a];
  lane->threads[a] = lane->threads[b];
  lane->threads[b] = held;
}

void mz_sim_lane_push(mz_sim_step *u, mz_sim_lane *lane, int thread, double work) {
  int at = lane->count++;
  u->threads[thread].end = lane->progress + work;
  lane->threads[at] = thread;
  for (; at > 0 && end_of(u, lane, at) < end_of(u, lane, (at - 1) / 2); at = (at - 1) / 2) swap(lane, at, (at - 1) / 2);
}

int mz_sim_lane_pop(mz_sim_step *u, mz_sim_lane *lane) {
  MZ_ASSERT(lane->count > 0);
  const int first = lane->threads[0];
  lane->threads[0] = lane->threads[--lane->count];
  for (int at = 0;;) {
    int least = at;
    for (int child = 2 * at + 1; child <= 2 * at + 2; child++)
      if (child < lane->count && end_of(u, lane, child) < end_of(u, lane, least)) least = child;
    if (least == at) return first;
    swap(lane, at, least);
    at = least;
  }
}

double mz_sim_lane_left_s(const mz_sim_step *u, const mz_sim_lane *lane) {
  if (lane->count == 0 || !(lane->share > 0)) return INFINITY;
  return fmax(end_of(u, lane, 0) - lane->progress, 0) / (lane->share * lane->speed);
}

bool mz_sim_lane_ended(const mz_sim_step *u, const mz_sim_lane *lane) {
  return lane->count > 0 && end_of(u, lane, 0) - lane->progress <= NOTHING_S;
}
