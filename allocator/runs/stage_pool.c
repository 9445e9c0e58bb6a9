#include "allocator/runs/stage_pool.h"
#include "allocator/model/isotonic.h"
#include "base/maths/statistics.h"
#include <math.h>
#include <stdalign.h>
#include <string.h>

enum { VALUES_MAX = 512, EVERY_STAGE = -1 };

/* Values whose median is asked for: the first VALUES_MAX count, which is more runs than a median needs. */
typedef struct values {
  int count;
  double items[VALUES_MAX];
} values;

static void add(values *v, double value) {
  if (isfinite(value) && v->count < VALUES_MAX) v->items[v->count++] = value;
}

static double median(values *v) { return v->count > 0 ? mz_median(v->items, v->count) : NAN; }

static bool counts(const mz_stage_pool *pool, const mz_curve_stage *item, int stage) {
  return (stage == EVERY_STAGE || item->stage == stage) && !(pool->leaves_out && item->seed == pool->left_out);
}

static bool runs_under(const mz_stage_pool *pool, const mz_curve_stage *item, const mz_pool_plan *plan) {
  return item->uniform && item->batch_size == plan->batch_size && item->amounts[MZ_COURSE_CORES] == plan->cores &&
         item->amounts[MZ_COURSE_GPUS] == plan->gpus && mz_plan_equal(pool->pipeline, &item->plan, &plan->plan);
}

/* ---- scores ---- */

/* The medians of the best scores at the stages' ends, and how many runs each is of; returns the number of stages up to the last
 * that a run reached. */
static int median_scores(const mz_stage_pool *pool, double batch_size, double *scores, double *weights) {
  int known = 0;
  for (int s = 0; s < pool->stages; s++) {
    values v = {0};
    bool reached = false;
    for (int i = 0; i < pool->count; i++) {
      const mz_curve_stage *item = &pool->items[i];
      if (!counts(pool, item, s) || !item->one_batch || item->batch_size != batch_size || item->repeats) continue;
      add(&v, item->end);
      reached = true;
    }
    if (!reached || (v.count == 0 && s + 1 == pool->stages)) break;
    scores[s] = v.count > 0 ? median(&v) : pool->start; /* nothing was evaluated so early */
    weights[s] = v.count > 0 ? v.count : 0.01;
    known = s + 1;
  }
  return known;
}

double mz_pool_rise(const mz_stage_pool *pool, double batch_size) {
  double scores[MZ_COURSE_STAGES_MAX], weights[MZ_COURSE_STAGES_MAX], most = NAN;
  const int known = median_scores(pool, batch_size, scores, weights);
  for (int s = 0; s < known; s++) most = fmax(most, scores[s]);
  return most - pool->start;
}

int mz_pool_growths(const mz_stage_pool *pool, double batch_size, double *growths) {
  double scores[MZ_COURSE_STAGES_MAX], weights[MZ_COURSE_STAGES_MAX], order[MZ_COURSE_STAGES_MAX], fitted[MZ_COURSE_STAGES_MAX];
  alignas(64) unsigned char scratch[MZ_ISOTONIC_SCRATCH_BYTES(MZ_COURSE_STAGES_MAX)];
  const int known = median_scores(pool, batch_size, scores, weights);
  for (int s = 0; s < pool->stages; s++) {
    order[s] = s;
    growths[s] = NAN;
  }
  if (known == 0) return 0;
  const mz_isotonic_points points = {.count = known, .axes = 1, .x = order, .y = scores, .weight = weights};
  mz_isotonic_fit(&points, fitted, scratch);
  double before = pool->start;
  for (int s = 0; s < known; s++) {
    const double left = pool->ceiling - before, now = fmax(before, fitted[s]);
    growths[s] = left > 0 ? fmin(1, (now - before) / left) : 0;
    before = now;
  }
  return known;
}

/* Adds the squares of what the stages of a run deviate by from their mean, relative to it, and their degrees of freedom. */
static void add_bursts(const mz_stage_pool *pool, const mz_curve_stage *run, int count, double *squares, double *degrees) {
  double growths[MZ_COURSE_STAGES_MAX], steps[MZ_COURSE_STAGES_MAX], place = 0;
  const int known = mz_pool_growths(pool, run->batch_size, growths);
  int stages = 0;
  for (; stages < count && run[stages].one_batch && !run[stages].over && isfinite(run[stages].end); stages++) {
    const double gained = (run[stages].end - pool->start) / (pool->ceiling - pool->start);
    const double now = mz_course_place(growths, known, mz_course_closes(fmax(0, gained)));
    if (now >= known) break; /* no curve tells how far beyond its end */
    steps[stages] = now - place;
    place = now;
  }
  if (stages < 2 || place <= 0) return;
  for (int s = 0; s < stages; s++) *squares += pow(steps[s] * stages / place - 1, 2);
  *degrees += stages - 1;
}

double mz_pool_bursts(const mz_stage_pool *pool) {
  double squares = 0, degrees = 0;
  for (int first = 0, next; first < pool->count; first = next) {
    for (next = first + 1; next < pool->count && pool->items[next].curve == pool->items[first].curve;) next++;
    if (!pool->items[first].repeats) add_bursts(pool, &pool->items[first], next - first, &squares, &degrees);
  }
  return degrees > 0 ? fmin(1, sqrt(squares / degrees)) : 0;
}

/* ---- seconds ---- */

double mz_pool_seconds(const mz_stage_pool *pool, const mz_pool_plan *plan, int stage) {
  values v = {0};
  for (int i = 0; i < pool->count; i++)
    if (counts(pool, &pool->items[i], stage) && runs_under(pool, &pool->items[i], plan)) add(&v, pool->items[i].seconds);
  return median(&v);
}

bool mz_pool_is_timed(const mz_stage_pool *pool, int stage) {
  for (int i = 0; i < pool->count; i++)
    if (counts(pool, &pool->items[i], stage) && pool->items[i].uniform && isfinite(pool->items[i].seconds)) return true;
  return false;
}

/* The median of what runs that went through both stages under one plan took in `stage` over `from`. */
static double ratio_of_stages(const mz_stage_pool *pool, int stage, int from) {
  values v = {0};
  if (!mz_pool_is_timed(pool, stage)) return 1;
  for (int i = 0; i < pool->count; i++) {
    const mz_curve_stage *item = &pool->items[i];
    if (!counts(pool, item, stage) || !item->uniform) continue;
    const mz_pool_plan plan = {.cores = item->amounts[MZ_COURSE_CORES],
                               .gpus = item->amounts[MZ_COURSE_GPUS],
                               .batch_size = item->batch_size,
                               .plan = item->plan};
    const int first = i > pool->stages ? i - pool->stages : 0; /* those of a curve lie together */
    for (int k = first; k < pool->count && k <= i + pool->stages; k++) {
      const mz_curve_stage *other = &pool->items[k];
      if (other->curve == item->curve && counts(pool, other, from) && runs_under(pool, other, &plan))
        add(&v, item->seconds / other->seconds);
    }
  }
  return median(&v);
}

double mz_pool_seconds_from_near(const mz_stage_pool *pool, const mz_pool_plan *plan, int stage) {
  for (int distance = 0; distance < pool->stages; distance++) {
    for (int side = -1; side <= 1; side += 2) {
      const int from = stage + side * distance;
      if (from < 0 || from >= pool->stages) continue;
      const double seconds = mz_pool_seconds(pool, plan, from);
      const double found = distance > 0 && isfinite(seconds) ? seconds * ratio_of_stages(pool, stage, from) : seconds;
      if (isfinite(found)) return found;
    }
  }
  return NAN;
}

/* ---- what else was measured ---- */

double mz_pool_noise_scale(const mz_stage_pool *pool, int stage) {
  for (int distance = 0; distance < pool->stages; distance++) {
    values v = {0};
    for (int i = 0; i < pool->count; i++)
      if (counts(pool, &pool->items[i], EVERY_STAGE) && abs(pool->items[i].stage - stage) == distance)
        add(&v, pool->items[i].noise_scale);
    if (v.count > 0) return median(&v);
  }
  return NAN;
}

static double share(const mz_stage_pool *pool, const mz_pool_plan *plan, int stage, size_t offset) {
  values v = {0};
  for (int i = 0; i < pool->count; i++) {
    double value;
    memcpy(&value, (const char *)&pool->items[i] + offset, sizeof value);
    if (counts(pool, &pool->items[i], stage) && runs_under(pool, &pool->items[i], plan)) add(&v, value);
  }
  if (v.count == 0) return stage == EVERY_STAGE ? 0 : share(pool, plan, EVERY_STAGE, offset);
  return fmax(0, fmin(1, median(&v)));
}

double mz_pool_use(const mz_stage_pool *pool, const mz_pool_plan *plan, int stage, mz_course_resource resource) {
  return share(pool, plan, stage, offsetof(mz_curve_stage, use) + (size_t)resource * sizeof(double));
}

double mz_pool_stall(const mz_stage_pool *pool, const mz_pool_plan *plan, int stage, mz_course_resource resource) {
  return share(pool, plan, stage, offsetof(mz_curve_stage, stall) + (size_t)resource * sizeof(double));
}

double mz_pool_memory(const mz_stage_pool *pool, const mz_pool_plan *plan) {
  double most = 0;
  for (int i = 0; i < pool->count; i++)
    if (counts(pool, &pool->items[i], EVERY_STAGE) && runs_under(pool, &pool->items[i], plan))
      most = fmax(most, pool->items[i].amounts[MZ_COURSE_MEMORY]);
  return most;
}
