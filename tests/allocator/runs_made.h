/* Curves of runs that are made up: a world whose times and scores are known. Seconds per epoch are 2 / cores^0.8 · (1 + 64 / batch), times
 * noise; a run's score rises as 1 − exp(−epoch / (10 · pace · (1 + batch / 512))), where its pace is lognormal by its seed. */
#pragma once
#include "allocator/runs/curve.h"
#include "base/maths/rng.h"
#include "tests/allocator/invented.h"
#include <math.h>
#include <stdlib.h>

typedef struct made_world {
  double time_noise, pace_noise; /* standard deviations of logarithms */
  int epochs;
  bool unordered; /* more than 4 cores slow a run down */
} made_world;

static inline double made_normal(uint64_t seed, int use, double a, double b) {
  mz_rng rng = mz_rng_at(seed, MZ_RNG_TEST, (uint32_t)use, (uint64_t)(1000 * a + b));
  return mz_rng_normal(&rng);
}

static inline double made_seconds(const made_world *w, double cores, double batch) {
  const double used = w->unordered && cores > 4 ? 16 / cores : cores;
  return 2 / pow(used, 0.8) * (1 + 64 / batch);
}

static inline double made_score(double epoch, double batch, double pace) {
  return 1 - exp(-epoch / (10 * pace * (1 + batch / 512)));
}

static inline mz_curve made_curve(const made_world *w, double cores, double batch, uint64_t seed) {
  mz_curve curve = {.seed = seed, .moves = 5120, .timed = true, .learned = true, .count = w->epochs};
  curve.epochs = calloc((size_t)w->epochs, sizeof *curve.epochs);
  const double slow = exp(w->time_noise * made_normal(seed, 1, cores, batch)),
               pace = exp(w->pace_noise * made_normal(seed, 2, 0, batch));
  for (int e = 0; e < w->epochs; e++)
    curve.epochs[e] = (mz_epoch){.number = e + 1,
                                 .score = made_score(e + 1, batch, pace),
                                 .wall_s = (e + 1) * slow * made_seconds(w, cores, batch),
                                 .batch_size = batch,
                                 .amounts = {cores, 0, 0.5},
                                 .plan = bakery_plan()};
  return curve;
}

/* `seeds` runs of each batch on the most cores, one on each fewer. Returns how many. */
static inline int made_grid(const made_world *w, const double *cores, int core_count, const double *batches, int batch_count,
                            int seeds, uint64_t first, mz_curve *out) {
  int count = 0;
  for (int c = 0; c < core_count; c++)
    for (int b = 0; b < batch_count; b++)
      for (int s = 0; s < (c == core_count - 1 ? seeds : 1); s++)
        out[count++] = made_curve(w, cores[c], batches[b], first + (uint64_t)s);
  return count;
}

static inline void made_free(mz_curve *curves, int count) {
  for (int i = 0; i < count; i++) free(curves[i].epochs);
}
