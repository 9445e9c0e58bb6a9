/* The stages of many runs taken together: how long a stage takes under a plan, and how much of the distance to the ceiling it
 * closes with a batch size. Both are medians over runs. Plain structs, pure functions. */
#pragma once
#include "allocator/runs/curve_stage.h"

typedef struct mz_stage_pool {
  const mz_pipeline *pipeline;
  const mz_curve_stage *items; /* [count] */
  int count, stages;
  double start, ceiling; /* scores */
  bool leaves_out;       /* runs of the seed `left_out` count as if they had not been made */
  uint64_t left_out;
} mz_stage_pool;

/* A plan of a run: how many cores and GPUs, which batch size, and the knobs. */
typedef struct mz_pool_plan {
  double cores, gpus, batch_size;
  mz_plan plan;
} mz_pool_plan;

/* Sets growths [stages] to the shares of the distance to the ceiling that the stages close in runs that kept this batch size from
 * their beginning. They are those of one curve: the medians, over seeds, of the best scores at the stages' ends, made monotone. A seed
 * counts once. Returns how many stages are known; the growth of the others, at the end, is NAN. */
int mz_pool_growths(const mz_stage_pool *pool, double batch_size, double *growths);
/* Returns the most that the medians of that curve come above the start, as they are before they are made monotone; NAN: none. */
double mz_pool_rise(const mz_stage_pool *pool, double batch_size);
/* Returns how unevenly runs go along that curve, at most 1: the deviation of what a stage goes further, in means of its run's stages. 0
 * where no run has two stages before the one in which it reached its end. */
double mz_pool_bursts(const mz_stage_pool *pool);
/* Returns the median seconds of a stage under a plan; NAN: no run of it was timed there. */
double mz_pool_seconds(const mz_stage_pool *pool, const mz_pool_plan *plan, int stage);
/* Returns whether any run of one plan was timed in that stage: late ones may have none, for runs end when they have reached the
 * target. */
bool mz_pool_is_timed(const mz_stage_pool *pool, int stage);
/* Returns the same as mz_pool_seconds; where no run was timed there, from the nearest stage in which one was, scaled by the median
 * ratio of both stages under all plans that have both, and by 1 where no run of any plan was timed. NAN: there are none. */
double mz_pool_seconds_from_near(const mz_stage_pool *pool, const mz_pool_plan *plan, int stage);
/* Returns the median noise scale of a stage; where it was not measured, of the nearest stage in which it was; NAN: of none. */
double mz_pool_noise_scale(const mz_stage_pool *pool, int stage);
/* Return the medians of use and stall of a resource in a stage under a plan, or over all stages where that is not known; 0: in none. */
double mz_pool_use(const mz_stage_pool *pool, const mz_pool_plan *plan, int stage, mz_course_resource resource);
double mz_pool_stall(const mz_stage_pool *pool, const mz_pool_plan *plan, int stage, mz_course_resource resource);
/* Returns the most GiB that runs of a plan held. */
double mz_pool_memory(const mz_stage_pool *pool, const mz_pool_plan *plan);
