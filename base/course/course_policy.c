#include "base/course/course_policy.h"
#include <math.h>

static const uint64_t FIRST_SEED = 1ull << 63; /* episodes draw theirs: hardly ever one of these */

/* ---- the outlook ---- */

/* Logarithm of the distance to the ceiling that a drawn run has closed before `stage`, under one plan. */
static double closed_before(const mz_course *course, uint64_t seed, int stage, int plan) {
  double closed = 0;
  for (int s = 0; s < stage; s++) closed += mz_course_closes(mz_course_draw(course, seed, s, plan).growth);
  return closed;
}

/* Keeps the nearest so far, in order; of equally near ones the first. */
static void insert(mz_course_outlook *out, double *distances, uint64_t seed, double distance) {
  int at = out->count < MZ_COURSE_OUTLOOK ? out->count++ : MZ_COURSE_OUTLOOK;
  for (; at > 0 && distances[at - 1] > distance; at--) {
    if (at == MZ_COURSE_OUTLOOK) continue;
    distances[at] = distances[at - 1];
    out->seeds[at] = out->seeds[at - 1];
  }
  if (at == MZ_COURSE_OUTLOOK) return;
  distances[at] = distance;
  out->seeds[at] = seed;
}

void mz_course_outlook_find(const mz_course *course, const mz_course_state *state, mz_course_outlook *out) {
  double distances[MZ_COURSE_OUTLOOK];
  const double far = course->ceiling - course->score, closed = mz_course_closes((state->score - course->score) / far);
  out->course = *course;
  out->count = 0;
  if (!mz_course_has_pace(course)) {
    out->course.spread = 0;
    out->seeds[out->count++] = 0;
    return;
  }
  for (uint64_t seed = FIRST_SEED; seed < FIRST_SEED + MZ_COURSE_DRAWS; seed++) {
    const double reached = state->plan >= 0 ? closed_before(course, seed, state->stage, state->plan) : 0;
    insert(out, distances, seed, fabs(reached - closed));
  }
}

/* ---- the plan redone ---- */

/* Adds what the best run that begins with `plan` is worth, as `seed` draws it. */
static mz_status add_value(mz_course_oracle *oracle, const mz_course_outlook *outlook, int i, const mz_course_state *state,
                           int plan, double *value) {
  mz_course_state next = *state;
  mz_course_answer rest = {0};
  next.seed = outlook->seeds[i];
  const mz_course_result result = mz_course_step(&outlook->course, &next, plan);
  if (!result.ended) MZ_TRY(mz_course_solve(oracle, &outlook->course, &next, &rest));
  *value += (result.reward + (result.ended ? 0 : rest.value)) / outlook->count;
  return MZ_OK;
}

mz_status mz_course_values(mz_course_oracle *oracle, const mz_course *course, const mz_course_state *state, double *values) {
  uint8_t mask[MZ_COURSE_PLANS_MAX];
  mz_course_outlook outlook;
  mz_course_mask(course, state, mask);
  mz_course_outlook_find(course, state, &outlook);
  for (int p = 0; p < course->plans; p++) {
    values[p] = mask[p] ? 0 : -INFINITY;
    for (int i = 0; mask[p] && i < outlook.count; i++) MZ_TRY(add_value(oracle, &outlook, i, state, p, &values[p]));
  }
  return MZ_OK;
}

int mz_course_best(const double *values, int plans) {
  int best = 0;
  for (int p = 1; p < plans; p++)
    if (values[p] > values[best]) best = p;
  return best;
}

mz_status mz_course_replan(mz_course_oracle *oracle, const mz_course *course, const mz_course_state *state, int *plan) {
  double values[MZ_COURSE_PLANS_MAX];
  MZ_TRY(mz_course_values(oracle, course, state, values));
  *plan = mz_course_best(values, course->plans);
  return MZ_OK;
}

/* ---- rules ---- */

static bool changes(const mz_course_state *state, int plan) { return state->plan >= 0 && state->plan != plan; }

int mz_course_greedy(const mz_course *course, const mz_course_state *state) {
  uint8_t mask[MZ_COURSE_PLANS_MAX];
  double values[MZ_COURSE_PLANS_MAX];
  mz_course_mask(course, state, mask);
  for (int p = 0; p < course->plans; p++) {
    const mz_course_cell *cell = &course->cell[state->stage][p];
    const double cost = cell->seconds * course->plan[p].cost_per_s / course->budget;
    values[p] = mask[p] ? mz_course_closes(cell->growth) / (cost + (changes(state, p) ? course->resize_penalty : 0)) : -1;
  }
  return mz_course_best(values, course->plans);
}

/* The sum of rewards, over the outlook, of a run that keeps this plan. */
static double kept_value(const mz_course_outlook *outlook, const mz_course_state *state, int plan) {
  double value = 0;
  for (int i = 0; i < outlook->count; i++) {
    mz_course_state run = *state;
    run.seed = outlook->seeds[i];
    while (!mz_course_is_over(&outlook->course, &run))
      value += mz_course_step(&outlook->course, &run, plan).reward / outlook->count;
  }
  return value;
}

int mz_course_static(const mz_course *course, const mz_course_state *state) {
  uint8_t mask[MZ_COURSE_PLANS_MAX];
  double values[MZ_COURSE_PLANS_MAX];
  mz_course_outlook outlook;
  mz_course_mask(course, state, mask);
  if (state->plan >= 0 && mask[state->plan]) return state->plan;
  mz_course_outlook_find(course, state, &outlook);
  for (int p = 0; p < course->plans; p++) values[p] = mask[p] ? kept_value(&outlook, state, p) : -INFINITY;
  return mz_course_best(values, course->plans);
}
