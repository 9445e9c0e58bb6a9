#include "allocator/runs/course_error.h"
#include "base/maths/statistics.h"
#include <math.h>

enum { PAIRS_MAX = 1 << 16 };
static const double ROOT_2 = 1.41421356237309504880;

/* Distances whose median is asked for; [PAIRS_MAX] at the most. */
typedef struct distances {
  double *items;
  int count;
} distances;

static void add(distances *d, double value) {
  if (isfinite(value) && d->count < PAIRS_MAX) d->items[d->count++] = value;
}

static double median_of(distances *d, int *count) {
  if (count) *count = d->count;
  const double median = d->count > 0 ? mz_median(d->items, d->count) : NAN;
  d->count = 0;
  return median;
}

static double start_of(const mz_stage_pool *pool, const mz_curve_stage *item) {
  return isfinite(item->start) ? fmin(pool->ceiling, fmax(pool->start, item->start)) : pool->start;
}

static mz_pool_plan plan_of(const mz_curve_stage *item) {
  return (mz_pool_plan){.cores = item->amounts[MZ_COURSE_CORES],
                        .gpus = item->amounts[MZ_COURSE_GPUS],
                        .batch_size = item->batch_size,
                        .plan = item->plan};
}

static mz_stage_pool without(const mz_stage_pool *pool, uint64_t seed) {
  mz_stage_pool rest = *pool;
  rest.leaves_out = true;
  rest.left_out = seed;
  return rest;
}

/* ---- what the rest foretells of a run ---- */

static void foretell_seconds(const mz_stage_pool *pool, distances *d) {
  for (int i = 0; i < pool->count; i++) {
    const mz_curve_stage *item = &pool->items[i];
    if (!item->uniform || !isfinite(item->seconds)) continue;
    const mz_stage_pool rest = without(pool, item->seed);
    const mz_pool_plan plan = plan_of(item);
    add(d, fabs(mz_pool_seconds(&rest, &plan, item->stage) - item->seconds) / item->seconds);
  }
}

static void foretell_scores(const mz_stage_pool *pool, double target, distances *d) {
  double growths[MZ_COURSE_STAGES_MAX], batch_size = NAN;
  uint64_t seed = 0;
  for (int i = 0; i < pool->count; i++) {
    const mz_curve_stage *item = &pool->items[i];
    if (!item->uniform || item->over || !isfinite(item->end)) continue;
    if (!(item->batch_size == batch_size) || item->seed != seed) {
      const mz_stage_pool rest = without(pool, item->seed);
      batch_size = item->batch_size;
      seed = item->seed;
      mz_pool_growths(&rest, batch_size, growths);
    }
    const double start = start_of(pool, item), foretold = start + growths[item->stage] * (pool->ceiling - start);
    add(d, fabs(foretold - item->end) / (target - pool->start));
  }
}

/* ---- how far runs are apart ---- */

/* Two runs of different seeds at the same stage with the same batch size. */
static bool alike(const mz_curve_stage *a, const mz_curve_stage *b) {
  return a->uniform && b->uniform && !a->over && !b->over && a->stage == b->stage && a->seed != b->seed &&
         a->batch_size == b->batch_size;
}

static void compare_seconds(const mz_stage_pool *pool, distances *d) {
  for (int i = 0; i < pool->count; i++)
    for (int k = 0; k < i; k++) {
      const mz_curve_stage *a = &pool->items[i], *b = &pool->items[k];
      if (!alike(a, b) || a->amounts[MZ_COURSE_CORES] != b->amounts[MZ_COURSE_CORES] ||
          a->amounts[MZ_COURSE_GPUS] != b->amounts[MZ_COURSE_GPUS] || !mz_plan_equal(pool->pipeline, &a->plan, &b->plan))
        continue;
      add(d, fabs(a->seconds - b->seconds) / ((a->seconds + b->seconds) / 2) / ROOT_2);
    }
}

/* The share of the distance that a run closed in a stage; NAN: there was none to close, or no score. */
static double closed(const mz_stage_pool *pool, const mz_curve_stage *item) {
  const double start = start_of(pool, item);
  return pool->ceiling > start ? (item->end - start) / (pool->ceiling - start) : NAN;
}

/* The ends that both would have had from the middle of their starts. */
static void compare_scores(const mz_stage_pool *pool, double target, distances *d) {
  for (int i = 0; i < pool->count; i++)
    for (int k = 0; k < i; k++) {
      const mz_curve_stage *a = &pool->items[i], *b = &pool->items[k];
      if (!alike(a, b)) continue;
      const double left = pool->ceiling - (start_of(pool, a) + start_of(pool, b)) / 2;
      add(d, fabs(closed(pool, a) - closed(pool, b)) * left / (target - pool->start) / ROOT_2);
    }
}

bool mz_course_fit_error_is_small(const mz_course_fit_error *error) {
  return error->seconds <= MZ_FIT_ERROR_MAX && error->score <= MZ_FIT_ERROR_MAX; /* false for NAN */
}

mz_status mz_course_fit_error_of(const mz_stage_pool *pool, double target, mz_course_fit_error *out) {
  distances d = {0};
  MZ_TRY(mz_alloc(&d.items, PAIRS_MAX, sizeof *d.items));
  *out = (mz_course_fit_error){0};
  foretell_seconds(pool, &d);
  out->seconds = median_of(&d, &out->seconds_count);
  foretell_scores(pool, target, &d);
  out->score = median_of(&d, &out->score_count);
  compare_seconds(pool, &d);
  out->seconds_noise = median_of(&d, NULL);
  compare_scores(pool, target, &d);
  out->score_noise = median_of(&d, NULL);
  out->usable = mz_course_fit_error_is_small(out);
  free(d.items);
  return MZ_OK;
}
