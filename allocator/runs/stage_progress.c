#include "allocator/runs/stage_progress.h"
#include <math.h>

static const double PACE_MAX = 2, YIELD_MAX = 4, NOISE_SCALE_MAX = 1e9;

void mz_stage_progress_add(mz_stage_progress *p, const mz_epoch *epoch) {
  p->epochs++;
  p->score = fmax(p->score, epoch->score);
  for (int r = 0; r < MZ_COURSE_RESOURCES; r++) {
    if (isfinite(epoch->use[r])) p->use[r].sum += epoch->use[r], p->use[r].count++;
    if (isfinite(epoch->stall[r])) p->stall[r].sum += epoch->stall[r], p->stall[r].count++;
  }
  if (isfinite(epoch->noise_scale) && epoch->noise_scale > 0)
    p->noise_scale.sum += log2(epoch->noise_scale), p->noise_scale.count++;
}

static double held(double value, double low, double high) { return fmin(fmax(value, low), high); }

static double mean_share(double sum, int count) { return count > 0 ? held(sum / count, 0, 1) : 0; }

/* The noise scale that the next stage begins with; after the last one that of the last. */
static double noise_scale_of(const mz_stage_progress *p, const mz_course *course, int next) {
  if (p->noise_scale.count > 0) return held(exp2(p->noise_scale.sum / p->noise_scale.count), 1, NOISE_SCALE_MAX);
  return course->noise_scale[next < course->stages ? next : course->stages - 1];
}

void mz_stage_progress_end(const mz_stage_progress *p, const mz_course *course, const mz_stage_end *end, mz_course_state *state) {
  MZ_ASSERT(state->stage < course->stages && end->plan >= 0 && end->plan < course->plans);
  const mz_course_cell *mean = &course->cell[state->stage][end->plan];
  const double score = held(isfinite(p->score) ? p->score : state->score, state->score, course->ceiling);
  const double seconds = fmax(0, end->seconds - state->seconds), left = course->ceiling - state->score;
  const double growth = left > 0 ? (score - state->score) / left : 0;
  *state = (mz_course_state){.stage = state->stage + 1,
                             .plan = end->plan,
                             .seconds = fmax(end->seconds, state->seconds),
                             .cost = fmax(end->cost, state->cost),
                             .score = score,
                             .slope = seconds > 0 ? (score - state->score) / seconds : 0,
                             .noise_scale = noise_scale_of(p, course, state->stage + 1),
                             .pace = held(seconds / mean->seconds, 0, PACE_MAX),
                             .yield = mean->growth > 0 ? held(growth / mean->growth, 0, YIELD_MAX) : 1};
  for (int r = 0; r < MZ_COURSE_RESOURCES; r++) {
    state->use[r] = mean_share(p->use[r].sum, p->use[r].count);
    state->stall[r] = mean_share(p->stall[r].sum, p->stall[r].count);
  }
}

int mz_course_nearest_plan(const mz_course *course, double batch_size, double cores, double gpus) {
  static const double BATCH_FIRST = 1e6, GPUS_NEXT = 1e3;
  double nearest = INFINITY;
  int at = 0;
  for (int p = 0; p < course->plans; p++) {
    const mz_course_plan *plan = &course->plan[p];
    const double distance = BATCH_FIRST * fabs(log2(plan->batch_size / batch_size)) +
                            GPUS_NEXT * fabs(plan->amounts[MZ_COURSE_GPUS] - gpus) +
                            fabs(log2(fmax(1, plan->amounts[MZ_COURSE_CORES]) / fmax(1, cores)));
    if (distance >= nearest) continue;
    nearest = distance;
    at = p;
  }
  return at;
}
