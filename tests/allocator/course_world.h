/* An invented world whose course is known, and runs of it: for tests of what is fitted to them. */
#pragma once
#include "plant.h"
#include "allocator/runs/course_file.h"
#include <stdio.h>
#include <stdlib.h>

enum { EPOCHS = 40, STAGES = 8, EPOCHS_A_STAGE = EPOCHS / STAGES, SEEDS = 6, CURVES_MAX = 64 };

static plant p;

/* ---- the world ---- */

static const double batches[] = {64, 256, 1024};

/* Seconds of an epoch and the share of the distance that a stage closes. Large batches take less time; they teach less in early stages
 * and more in late ones. */
static inline double world_seconds(int stage, double batch, double on) {
  return (2 + 0.1 * stage) * pow(64 / batch, 0.3) * pow(on, -0.8);
}
static inline double world_growth(int stage, double batch) {
  const double noise_scale = 32 * pow(2, stage);
  return 0.35 / (1 + batch / noise_scale);
}

static mz_curve curves[CURVES_MAX];
static int count;
static double time_noise, score_noise;

static inline double spread(mz_rng *rng, double by) { return 1 + by * (2 * mz_rng_f64(rng) - 1); }

/* Runs the world for `epochs` epochs. */
static inline void run(uint64_t seed, double batch, double on, int epochs) {
  mz_curve *curve = &curves[count++];
  mz_rng rng = mz_rng_at(seed, MZ_RNG_TEST, (uint32_t)on, (uint64_t)batch),
         learning = mz_rng_at(seed, MZ_RNG_TEST, 1000, (uint64_t)batch);
  assert_true(count <= CURVES_MAX);
  *curve = (mz_curve){.seed = seed, .timed = true, .learned = true, .moves = 100, .count = epochs};
  curve->epochs = calloc((size_t)epochs, sizeof *curve->epochs);
  assert_non_null(curve->epochs);
  double score = 0, wall = 0;
  for (int e = 0; e < epochs; e++) {
    const int stage = e / EPOCHS_A_STAGE;
    mz_epoch *at = &curve->epochs[e];
    const double share = 1 - pow(1 - world_growth(stage, batch), 1.0 / EPOCHS_A_STAGE);
    score += (1 - score) * share * spread(&learning, score_noise);
    const double seconds = world_seconds(stage, batch, on) * spread(&rng, time_noise);
    wall += seconds;
    *at = (mz_epoch){.number = e + 1,
                     .score = score,
                     .wall_s = wall,
                     .rounds_s = 0.9 * seconds,
                     .evaluation_s = 0.1 * seconds,
                     .batch_size = batch,
                     .amounts = {on, 0, 0.5},
                     .use = {0.8, NAN, NAN},
                     .stall = {0.1, NAN, NAN},
                     .noise_scale = 32 * pow(2, stage),
                     .plan = p.plan};
    at->plan.values[MAKERS] = (int64_t)on;
  }
}

static inline void forget_runs(void) {
  for (int c = 0; c < count; c++) free(curves[c].epochs);
  count = 0;
}

/* The grid: every batch size on two cores, the middle one on all. */
static inline void run_grid(double noise_of_time, double noise_of_score) {
  forget_runs();
  time_noise = noise_of_time;
  score_noise = noise_of_score;
  for (uint64_t seed = 1; seed <= SEEDS; seed++) {
    for (int b = 0; b < 3; b++) run(seed, batches[b], 2, EPOCHS);
    run(seed, 256, 1, EPOCHS);
    run(seed, 256, 4, EPOCHS);
  }
}

static inline mz_course_fit_options asked(void) {
  return (mz_course_fit_options){.pipeline = &p.pipeline,
                                 .env = "world",
                                 .network = "mlp 8",
                                 .learning = "0123",
                                 .epochs = EPOCHS,
                                 .prices = {1, 20, 0.1},
                                 .deadline_s = 200,
                                 .budget = 0.2,
                                 .target = 0.6,
                                 .start = 0,
                                 .ceiling = 1};
}

static mz_fitted_course fitted;

static inline int plan_of(const mz_course *course, double batch, double on) {
  for (int i = 0; i < course->plans; i++)
    if (course->plan[i].batch_size == batch && course->plan[i].amounts[MZ_COURSE_CORES] == on) return i;
  return -1;
}

static inline int setup(void **unused) {
  (void)unused;
  plant_init(&p, 4);
  return 0;
}
