#include "base/course/course.h"
#include "base/maths/digest.h"
#include "base/maths/maths.h"
#include "base/maths/streams.h"
#include <math.h>
#include <string.h>

const char *const mz_course_resource_names[MZ_COURSE_RESOURCES] = {"cores", "gpus", "memory_gib"};

/* Bounds are sums in another order than a run's, so a hair more than a limit is not proof. */
static const double PROOF = 1 + 1e-9;

static const double CLOSED = 50, STRETCH_MAX = 8, YIELD_MAX = 4;

/* ---- draws ---- */

static double draw(const mz_course *course, uint64_t seed, mz_course_use use, int index) {
  if (course->spread <= 0) return 0;
  mz_rng rng = mz_stream_course(seed, use, index);
  return course->spread * (2 * mz_rng_f64(&rng) - 1);
}

double mz_course_draw_noise_scale(const mz_course *course, uint64_t seed, int stage) {
  return course->noise_scale[stage] * (1 + draw(course, seed, MZ_COURSE_NOISE, stage));
}

double mz_course_closes(double growth) { return growth < 1 ? fmin(-mz_log(1 - growth), CLOSED) : CLOSED; }

double mz_course_place(const double *growths, int stages, double closed) {
  for (int s = 0; s < stages; s++) {
    const double closes = mz_course_closes(growths[s]);
    if (closed <= closes) return closes > 0 ? s + closed / closes : s;
    closed -= closes;
  }
  return stages;
}

double mz_course_score_after(const mz_course *course, double score, double growth) {
  return growth < 1 ? fmin(score + growth * (course->ceiling - score), course->ceiling) : course->ceiling; /* not a hair less */
}

double mz_course_draw_stretch(const mz_course *course, uint64_t seed) {
  if (course->spread <= 0) return 1;
  mz_rng rng = mz_stream_course(seed, MZ_COURSE_PACE, 0);
  double z = -6;
  for (int i = 0; i < 12; i++) z += mz_rng_f64(&rng);
  return fmax(1 / STRETCH_MAX, fmin(STRETCH_MAX, mz_exp((z > 0 ? course->slower : course->faster) * z)));
}

/* How much more a stage teaches with this batch size, because its noise scale is drawn larger. */
static double draw_efficiency(const mz_course *course, uint64_t seed, int stage, int plan) {
  const double batch = course->plan[plan].batch_size;
  return (1 + batch / course->noise_scale[stage]) / (1 + batch / mz_course_draw_noise_scale(course, seed, stage));
}

bool mz_course_has_pace(const mz_course *course) {
  return course->spread > 0 && (course->slower > 0 || course->faster > 0 || course->bursts > 0);
}

/* How far a stage goes along the mean's curve, in its stages. */
static double draw_advance(const mz_course *course, uint64_t seed, int stage, double stretch) {
  mz_rng rng = mz_stream_course(seed, MZ_COURSE_BURST, stage);
  const double burst = 1 - course->bursts - course->bursts * mz_log(1 - mz_rng_f64(&rng));
  return burst * (1 + draw(course, seed, MZ_COURSE_GROWTH, stage)) / stretch;
}

/* Logarithm of the distance that the mean closes from one place to another, counted in its stages. */
static double closed_between(const mz_course *course, int plan, double from, double to) {
  double closes = 0;
  for (int s = (int)fmin(from, course->stages); s < course->stages && s < to; s++)
    closes += (fmin(to, s + 1) - fmax(from, s)) * mz_course_closes(course->cell[s][plan].growth);
  return closes;
}

static double draw_paced_growth(const mz_course *course, uint64_t seed, int stage, int plan) {
  const double stretch = mz_course_draw_stretch(course, seed);
  double from = 0;
  for (int s = 0; s < stage; s++) from += draw_advance(course, seed, s, stretch);
  const double to = from + draw_advance(course, seed, stage, stretch);
  return 1 - mz_exp(-closed_between(course, plan, from, to) * draw_efficiency(course, seed, stage, plan));
}

mz_course_cell mz_course_draw(const mz_course *course, uint64_t seed, int stage, int plan) {
  mz_course_cell cell = course->cell[stage][plan];
  cell.seconds *= 1 + (draw(course, seed, MZ_COURSE_STAGE_TIME, stage) + draw(course, seed, MZ_COURSE_PLAN_TIME, plan)) / 2;
  if (mz_course_has_pace(course)) {
    cell.growth = draw_paced_growth(course, seed, stage, plan);
  } else {
    cell.growth *= 1 + draw(course, seed, MZ_COURSE_GROWTH, stage);
    cell.growth *= draw_efficiency(course, seed, stage, plan);
  }
  cell.growth = fmin(cell.growth, 1);
  return cell;
}

/* ---- episodes ---- */

void mz_course_begin(const mz_course *course, uint64_t seed, mz_course_state *out) {
  memset(out, 0, sizeof *out);
  out->seed = seed;
  out->plan = -1;
  out->score = course->score;
  out->noise_scale = mz_course_draw_noise_scale(course, seed, 0);
  out->pace = out->yield = 1;
}

int mz_course_violations(const mz_course *course, double seconds, double cost, double score) {
  return (seconds > course->deadline_s) + (cost > course->budget) + (score < course->target);
}

bool mz_course_is_over(const mz_course *course, const mz_course_state *state) {
  return state->stage >= course->stages || (course->ends_at_score && state->score >= course->target);
}

mz_course_result mz_course_step(const mz_course *course, mz_course_state *state, int plan) {
  MZ_ASSERT(state->stage >= 0 && state->stage < course->stages && plan >= 0 && plan < course->plans);
  const mz_course_cell *mean = &course->cell[state->stage][plan];
  const mz_course_cell cell = mz_course_draw(course, state->seed, state->stage, plan);
  mz_course_result result = {.seconds = cell.seconds,
                             .cost = cell.seconds * course->plan[plan].cost_per_s,
                             .growth = cell.growth * (course->ceiling - state->score),
                             .resized = state->plan >= 0 && state->plan != plan};
  state->seconds += result.seconds;
  state->cost += result.cost;
  state->score = mz_course_score_after(course, state->score, cell.growth);
  state->slope = result.growth / result.seconds;
  memcpy(state->use, cell.use, sizeof state->use);
  memcpy(state->stall, cell.stall, sizeof state->stall);
  state->pace = cell.seconds / mean->seconds;
  state->yield = mean->growth > 0 ? fmin(cell.growth / mean->growth, YIELD_MAX) : 1;
  state->plan = plan;
  state->stage++;
  result.ended = mz_course_is_over(course, state);
  if (result.ended) result.violations = mz_course_violations(course, state->seconds, state->cost, state->score);
  if (state->stage < course->stages) state->noise_scale = mz_course_draw_noise_scale(course, state->seed, state->stage);
  result.reward =
      -result.cost / course->budget - (result.resized ? course->resize_penalty : 0) - MZ_COURSE_LIMIT_PENALTY * result.violations;
  return result;
}

int mz_course_mask(const mz_course *course, const mz_course_state *state, uint8_t *mask) {
  memset(mask, 0, (size_t)course->plans);
  if (mz_course_is_over(course, state)) return 0;
  int broken[MZ_COURSE_PLANS_MAX], fewest = 2, count = 0;
  const double least = 1 - course->spread, after = course->ends_at_score ? 0 : least;
  const double seconds_left = course->deadline_s * PROOF - state->seconds - after * course->seconds_left[state->stage + 1],
               cost_left = course->budget * PROOF - state->cost - after * course->cost_left[state->stage + 1];
  for (int p = 0; p < course->plans; p++) {
    const double seconds = least * course->cell[state->stage][p].seconds;
    broken[p] = (seconds > seconds_left) + (seconds * course->plan[p].cost_per_s > cost_left);
    if (broken[p] < fewest) fewest = broken[p];
  }
  for (int p = 0; p < course->plans; p++) {
    mask[p] = broken[p] == fewest;
    count += mask[p];
  }
  return count;
}

static bool within(double value, double low, double high) { return value >= low && value <= high; } /* false for NaN */

bool mz_course_state_valid(const mz_course *course, const mz_course_state *s) {
  const double far = 1e24; /* no run within the ranges of prepare comes near; far below what single precision holds */
  if (s->stage < 0 || mz_course_is_over(course, s) || s->plan < -1 || s->plan >= course->plans) return false;
  if ((s->plan < 0) != (s->stage == 0)) return false;
  for (int r = 0; r < MZ_COURSE_RESOURCES; r++)
    if (!within(s->use[r], 0, 1) || !within(s->stall[r], 0, 1)) return false;
  return within(s->seconds, 0, far) && within(s->cost, 0, far) && within(s->score, course->score, course->ceiling) &&
         within(s->slope, 0, far) && within(s->noise_scale, 0, far) && s->noise_scale > 0 && within(s->pace, 0, 2) &&
         within(s->yield, 0, YIELD_MAX);
}

/* ---- observation ---- */

static float bounded(double value) { return (float)fmax(-4, fmin(4, value)); }

/* How far a run that ends so keeps within its limits, as shares of them. */
typedef struct margins {
  double of[3]; /* time, cost, score */
} margins;

static margins margins_at(const mz_course *course, double seconds, double cost, double score) {
  return (margins){
      {1 - seconds / course->deadline_s, 1 - cost / course->budget, (score - course->target) / (course->target - course->score)}};
}

/* Stages that the mean takes from this score to the target under a plan; where it never gets there, to the end of its curve. */
static double stages_to_target(const mz_course *course, int plan, double score) {
  const double far = course->ceiling - course->score;
  double growths[MZ_COURSE_STAGES_MAX];
  for (int s = 0; s < course->stages; s++) growths[s] = course->cell[s][plan].growth;
  return fmax(0, mz_course_place(growths, course->stages, mz_course_closes((course->target - course->score) / far)) -
                     mz_course_place(growths, course->stages, mz_course_closes((score - course->score) / far)));
}

/* A run goes on under one plan: to the end or, where the score ends it, as far as the mean takes to the target. */
static margins kept_margins(const mz_course *course, const mz_course_state *state, int plan) {
  const int left = course->stages - state->stage;
  double seconds = 0, gap = course->ceiling - state->score, rest = left;
  if (course->ends_at_score) rest = stages_to_target(course, plan, state->score);
  for (int s = 0; s < rest; s++) {
    const mz_course_cell *cell = &course->cell[s < left ? state->stage + s : course->stages - 1][plan];
    seconds += fmin(1, rest - s) * cell->seconds;
    gap *= 1 - cell->growth;
  }
  margins m =
      margins_at(course, state->seconds + seconds, state->cost + seconds * course->plan[plan].cost_per_s, course->ceiling - gap);
  if (course->ends_at_score) m.of[2] = (left - rest) / course->stages;
  return m;
}

static margins best_margins(const mz_course *course, const mz_course_state *state) {
  const int s = state->stage;
  if (!course->ends_at_score)
    return margins_at(course, state->seconds + course->seconds_left[s], state->cost + course->cost_left[s],
                      course->ceiling - (course->ceiling - state->score) * course->gap_left[s]);
  margins best = kept_margins(course, state, 0);
  for (int p = 1; p < course->plans; p++) {
    const margins m = kept_margins(course, state, p);
    for (int limit = 0; limit < 3; limit++) best.of[limit] = fmax(best.of[limit], m.of[limit]);
  }
  return best;
}

static void observe_margins(const mz_course *course, margins m, float *out) {
  for (int limit = 0; limit < 3; limit++) {
    out[2 * limit] = bounded(m.of[limit] * course->stages);
    out[2 * limit + 1] = bounded(m.of[limit] * course->stages * 8);
  }
}

void mz_course_observe(const mz_course *course, const mz_course_state *state, float *out) {
  memset(out, 0, MZ_COURSE_OBSERVATION * sizeof *out);
  const double asked = course->target - course->score;
  const double time_left = (course->deadline_s - state->seconds) / course->deadline_s,
               budget_left = (course->budget - state->cost) / course->budget;
  out[0] = bounded((double)state->stage / course->stages);
  out[1] = bounded((state->score - course->score) / asked);
  out[2] = bounded(state->slope * course->deadline_s / asked);
  out[3] = bounded(mz_log(state->noise_scale) / (16 * 0.6931471805599453)); /* ln 2 */
  for (int r = 0; r < MZ_COURSE_RESOURCES; r++) {
    out[4 + r] = bounded(state->use[r]);
    out[4 + MZ_COURSE_RESOURCES + r] = bounded(state->stall[r]);
  }
  out[10] = bounded(time_left);
  out[11] = bounded(budget_left);
  out[12] = bounded(time_left - course->seconds_left[state->stage] / course->deadline_s);
  out[13] = bounded(budget_left - course->cost_left[state->stage] / course->budget);
  out[14] = bounded(state->pace - 1);
  out[15] = bounded(state->yield - 1);
  if (state->stage < course->stages) out[16 + state->stage] = 1; /* else the run has ended */
  if (state->plan >= 0) out[16 + MZ_COURSE_STAGES_MAX + state->plan] = 1;
  float *margin = out + MZ_COURSE_OBSERVATION - MZ_COURSE_MARGINS;
  observe_margins(course, best_margins(course, state), margin);
  if (state->plan >= 0) observe_margins(course, kept_margins(course, state, state->plan), margin + MZ_COURSE_MARGINS / 2);
}

/* ---- what follows from a course's numbers ---- */

typedef struct range {
  double low, high;
  bool above; /* low itself is not allowed */
} range;

static mz_status check(double value, range r, const char *where, const char *what) {
  if (value >= r.low && value <= r.high && !(r.above && value <= r.low)) return MZ_OK;
  char low[MZ_JSON_NUMBER_MAX], high[MZ_JSON_NUMBER_MAX], nearest[MZ_JSON_NUMBER_MAX + 8], shown[MZ_JSON_NUMBER_MAX];
  mz_json_number(r.low, low);
  mz_json_number(r.high, high);
  mz_json_number(value, shown);
  if (value > r.high)
    snprintf(nearest, sizeof nearest, "%s", high);
  else
    snprintf(nearest, sizeof nearest, r.above ? "above %s" : "%s", low);
  return mz_fail(MZ_E_CONFIG, "%s: %s %s: out of range; %s%s … %s; nearest valid value: %s", where, what, shown,
                 r.above ? "above " : "", low, high, nearest);
}

/* Ratios to what is above 0 stay finite, in single precision, too. */
static const range POSITIVE = {1e-6, 1e12, false}, SHARE = {0, 1, false}, AMOUNT = {0, 1e6, false}, DEVIATION = {0, 2, false};

static mz_status check_plan(const mz_course *course, int p, const char *where) {
  char what[64];
  for (int r = 0; r < MZ_COURSE_RESOURCES; r++) {
    snprintf(what, sizeof what, "plans[%d].%s", p, mz_course_resource_names[r]);
    MZ_TRY(check(course->plan[p].amounts[r], AMOUNT, where, what));
  }
  snprintf(what, sizeof what, "plans[%d].batch_size", p);
  return check(course->plan[p].batch_size, (range){1, 1e9, false}, where, what);
}

static mz_status check_stage(const mz_course *course, int s, const char *where) {
  char what[64];
  snprintf(what, sizeof what, "stages[%d].noise_scale", s);
  MZ_TRY(check(course->noise_scale[s], (range){1e-6, 1e9, false}, where, what));
  for (int p = 0; p < course->plans; p++) {
    const mz_course_cell *cell = &course->cell[s][p];
    snprintf(what, sizeof what, "stages[%d].seconds[%d]", s, p);
    MZ_TRY(check(cell->seconds, (range){1e-6, 1e9, false}, where, what));
    snprintf(what, sizeof what, "stages[%d].growth[%d]", s, p);
    MZ_TRY(check(cell->growth, SHARE, where, what));
    for (int r = 0; r < MZ_COURSE_RESOURCES; r++) {
      snprintf(what, sizeof what, "stages[%d].use.%s[%d]", s, mz_course_resource_names[r], p);
      MZ_TRY(check(cell->use[r], SHARE, where, what));
      snprintf(what, sizeof what, "stages[%d].stall.%s[%d]", s, mz_course_resource_names[r], p);
      MZ_TRY(check(cell->stall[r], SHARE, where, what));
    }
  }
  return MZ_OK;
}

static mz_status check_whole(const mz_course *course, const char *where) {
  static const char *const prices[] = {"prices.core_hour", "prices.gpu_hour", "prices.gib_hour"};
  MZ_TRY(check(course->stages, (range){1, MZ_COURSE_STAGES_MAX, false}, where, "number of stages"));
  MZ_TRY(check(course->plans, (range){1, MZ_COURSE_PLANS_MAX, false}, where, "number of plans"));
  MZ_TRY(check(course->spread, (range){0, 0.5, false}, where, "spread"));
  MZ_TRY(check(course->slower, DEVIATION, where, "pace.slower"));
  MZ_TRY(check(course->faster, DEVIATION, where, "pace.faster"));
  MZ_TRY(check(course->bursts, SHARE, where, "pace.bursts"));
  MZ_TRY(check(course->resize_penalty, SHARE, where, "resize_penalty"));
  for (int r = 0; r < MZ_COURSE_RESOURCES; r++) MZ_TRY(check(course->prices[r], AMOUNT, where, prices[r]));
  MZ_TRY(check(course->deadline_s, POSITIVE, where, "limits.deadline_s"));
  MZ_TRY(check(course->budget, POSITIVE, where, "limits.budget"));
  MZ_TRY(check(course->ceiling, (range){-1e6, 1e6, false}, where, "score.ceiling"));
  MZ_TRY(check(course->score, (range){-1e6, course->ceiling, false}, where, "score.start"));
  MZ_TRY(check(course->target, (range){course->score, course->ceiling, true}, where, "limits.score"));
  for (int p = 0; p < course->plans; p++) MZ_TRY(check_plan(course, p, where));
  for (int s = 0; s < course->stages; s++) MZ_TRY(check_stage(course, s, where));
  return MZ_OK;
}

mz_status mz_course_prepare(mz_course *course, const char *where) {
  MZ_TRY(check_whole(course, where));
  for (int p = 0; p < course->plans; p++) {
    mz_course_plan *plan = &course->plan[p];
    plan->cost_per_s = 0;
    for (int r = 0; r < MZ_COURSE_RESOURCES; r++) plan->cost_per_s += plan->amounts[r] * course->prices[r] / 3600;
    if (plan->cost_per_s <= 0)
      return mz_fail(MZ_E_CONFIG, "%s: plans[%d] costs nothing; give its resources an amount and prices above 0", where, p);
  }
  memset(course->seconds_left, 0, sizeof course->seconds_left);
  memset(course->cost_left, 0, sizeof course->cost_left);
  for (int s = 0; s <= MZ_COURSE_STAGES_MAX; s++) course->gap_left[s] = 1;
  for (int s = course->stages - 1; s >= 0; s--) {
    double seconds = INFINITY, cost = INFINITY, growth = 0;
    for (int p = 0; p < course->plans; p++) {
      seconds = fmin(seconds, course->cell[s][p].seconds);
      cost = fmin(cost, course->cell[s][p].seconds * course->plan[p].cost_per_s);
      growth = fmax(growth, course->cell[s][p].growth);
    }
    course->seconds_left[s] = course->seconds_left[s + 1] + seconds;
    course->cost_left[s] = course->cost_left[s + 1] + cost;
    course->gap_left[s] = course->gap_left[s + 1] * (1 - growth);
  }
  course->digest = mz_hash(course, offsetof(mz_course, seconds_left), 0);
  if (course->digest == 0) course->digest = 1;
  return MZ_OK;
}
