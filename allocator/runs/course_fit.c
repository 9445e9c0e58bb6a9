#include "allocator/runs/course_fit.h"
#include "allocator/runs/course_plans.h"
#include "allocator/runs/epoch_score.h"
#include "base/text.h"
#include <math.h>
#include <stdarg.h>
#include <string.h>

static const double CEILING_ABOVE = 0.05, RISE_MIN = 1e-9, DEVIATION_MAX = 2, CHANGE = 0.1;

static void note(mz_fitted_course *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void note(mz_fitted_course *out, const char *format, ...) {
  const size_t used = strlen(out->notes);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(out->notes + used, sizeof out->notes - used, format, arguments);
  va_end(arguments);
}

/* ---- scores ---- */

static mz_status check_lengths(const mz_course_fit_options *o, int stages) {
  if (stages < MZ_FIT_STAGES_MIN || stages > MZ_COURSE_STAGES_MAX)
    return mz_fail(MZ_E_CONFIG, "course of %s: %d stages: out of range; %d … %d; nearest valid value: %d", o->env, stages,
                   MZ_FIT_STAGES_MIN, MZ_COURSE_STAGES_MAX,
                   stages < MZ_FIT_STAGES_MIN ? MZ_FIT_STAGES_MIN : MZ_COURSE_STAGES_MAX);
  if (o->epochs < stages)
    return mz_fail(MZ_E_CONFIG, "course of %s: %d epochs cannot be cut into %d stages; nearest valid value: %d", o->env,
                   o->epochs, stages, stages);
  return MZ_OK;
}

double mz_course_fit_ceiling(double least, double most) { return most + CEILING_ABOVE * (most - least); }

static mz_status find_range(const mz_curve *curves, int count, const mz_course_fit_options *o, mz_stage_pool *pool) {
  double least, most;
  if (!mz_curves_range(curves, count, &least, &most))
    return mz_fail(MZ_E_CONFIG,
                   "course of %s: no run with these settings was evaluated; `muzero profile %s --score` makes such runs", o->env,
                   o->env);
  pool->start = isfinite(o->start) ? o->start : least;
  if (!(most > pool->start))
    return mz_fail(
        MZ_E_CONFIG,
        "course of %s: no score ever rises above %.4g: there is nothing to decide; train longer, or change what is learned",
        o->env, pool->start);
  pool->ceiling = isfinite(o->ceiling) ? o->ceiling : mz_course_fit_ceiling(pool->start, most);
  if (pool->ceiling < most)
    return mz_fail(MZ_E_CONFIG, "course of %s: ceiling %.4g: a run reached %.4g; nearest valid value: %.4g", o->env,
                   pool->ceiling, most, most);
  if (o->target > most)
    return mz_fail(MZ_E_CONFIG,
                   "course of %s: target score %.4g: no run reached it; nearest valid value: %.4g, the most that one did", o->env,
                   o->target, most);
  if (o->target <= pool->start)
    return mz_fail(MZ_E_CONFIG,
                   "course of %s: target score %.4g: runs begin with %.4g; nearest valid value: above that, "
                   "and at most %.4g",
                   o->env, o->target, pool->start, most);
  return MZ_OK;
}

/* ---- the course ---- */

static void fill_cells(mz_course *course, const mz_stage_pool *pool, int p, const mz_course_choice *choice) {
  mz_course_plan *plan = &course->plan[p];
  plan->amounts[MZ_COURSE_CORES] = choice->plan.cores;
  plan->amounts[MZ_COURSE_GPUS] = choice->plan.gpus;
  plan->amounts[MZ_COURSE_MEMORY] = choice->memory;
  plan->batch_size = choice->plan.batch_size;
  for (int s = 0; s < course->stages; s++) {
    mz_course_cell *cell = &course->cell[s][p];
    cell->seconds = choice->seconds[s];
    cell->growth = choice->growths[s];
    for (int r = 0; r < MZ_COURSE_RESOURCES; r++) {
      cell->use[r] = mz_pool_use(pool, &choice->near, s, (mz_course_resource)r);
      cell->stall[r] = mz_pool_stall(pool, &choice->near, s, (mz_course_resource)r);
    }
  }
}

/* Batches of the middle size are taken to be as large as the noise scale, where no run measured that. */
static void fill_noise_scales(mz_fitted_course *out, const mz_stage_pool *pool) {
  mz_course *course = &out->course;
  for (int s = 0; s < course->stages; s++) {
    course->noise_scale[s] = mz_pool_noise_scale(pool, s);
    if (isfinite(course->noise_scale[s])) continue;
    double logs = 0;
    for (int p = 0; p < course->plans; p++) logs += log2(course->plan[p].batch_size) / course->plans;
    course->noise_scale[s] = exp2(logs);
    if (s == 0) note(out, "No run measured the gradient's noise scale: %.4g rows are assumed. ", course->noise_scale[s]);
  }
}

/* The deviation that is left when another one, independent of it, is taken out. */
static double without(double deviation, double other) { return sqrt(fmax(0, deviation * deviation - other * other)); }

static mz_status take_choices(mz_fitted_course *out, const mz_stage_pool *pool, const mz_course_fit_options *o,
                              const mz_course_choices *choices) {
  mz_course *course = &out->course;
  course->stages = pool->stages;
  course->plans = choices->count;
  memcpy(course->prices, o->prices, sizeof course->prices);
  course->budget = o->budget;
  course->target = o->target;
  course->score = pool->start;
  course->ceiling = pool->ceiling;
  course->spread = MZ_COURSE_SPREAD;
  double typical = INFINITY, stages = 0;
  for (int p = 0; p < choices->count; p++) {
    typical = fmin(typical, choices->items[p].until_cost);
    stages += choices->items[p].until_stages;
    fill_cells(course, pool, p, &choices->items[p]);
    out->plans[p] = choices->items[p].plan.plan;
    out->composed[p] = choices->items[p].composed;
  }
  course->bursts = mz_pool_bursts(pool);
  /* Deviation of the whole way that stages make by themselves. */
  const double uneven = course->bursts / sqrt(stages / choices->count);
  course->slower = without(course->slower, uneven);
  course->faster = without(course->faster, uneven);
  course->resize_penalty = fmin(1, CHANGE * typical / course->budget);
  fill_noise_scales(out, pool);
  char where[160];
  snprintf(where, sizeof where, "course of %.128s", o->env);
  return mz_course_prepare(course, where);
}

/* Names batch sizes that teach nothing: they are plans all the same where they are quick or cheap. */
static void note_flat(mz_fitted_course *out, const mz_stage_pool *pool, const mz_course_choices *choices) {
  for (int b = 0; b < choices->batch_count; b++)
    if (mz_pool_rise(pool, choices->batches[b]) <= RISE_MIN)
      note(out, "The score never rises with batches of %.6g. ", choices->batches[b]);
}

/* Runs end soon after the target, so late stages of a long run may have no time of their own. */
static void note_untimed(mz_fitted_course *out, const mz_stage_pool *pool) {
  int last = pool->stages;
  while (last > 0 && !mz_pool_is_timed(pool, last - 1)) last--;
  if (last > 0 && last < pool->stages)
    note(out, "No run was timed after stage %d of %d: later ones take what it took. ", last, pool->stages);
}

/* The games that end a run take time, too: its stages have what they leave of the deadline. Other machines' times tell nothing of it. */
static mz_status fit_deadline(mz_fitted_course *out, const mz_curve *curves, int count, const mz_course_fit_options *o) {
  double closing = 0;
  int closed = 0;
  for (int c = 0; c < count; c++) {
    const double closing_s = curves[c].timed && curves[c].count > 0 ? curves[c].epochs[curves[c].count - 1].closing_s : 0;
    if (closing_s > 0) closing += closing_s, closed++;
  }
  const double mean = closed > 0 ? closing / closed : 0;
  out->course.deadline_s = o->deadline_s - mean;
  if (o->deadline_s > 0 && out->course.deadline_s <= 0)
    return mz_fail(MZ_E_CONFIG,
                   "course of %s: deadline of %.4g s: the games that end a run take %.4g s; nearest valid value: above that",
                   o->env, o->deadline_s, mean);
  return MZ_OK;
}

/* How far runs differ in their pace. One seed shows no difference. */
static mz_status fit_pace(mz_fitted_course *out, const mz_curve *curves, int count, double target) {
  mz_epoch_score scores;
  MZ_TRY(mz_epoch_score_init(&scores, curves, count, target));
  if (isfinite(scores.slower)) {
    out->course.slower = fmin(scores.slower, DEVIATION_MAX);
    out->course.faster = fmin(scores.faster, DEVIATION_MAX);
  } else {
    note(out, "How far runs differ in their pace is not known: too few seeds. ");
  }
  mz_epoch_score_deinit(&scores);
  return MZ_OK;
}

static mz_status refuse_few(const mz_course_fit_options *o, const mz_course_choices *choices) {
  const mz_pool_plan *best = &choices->items[0].plan;
  if (choices->found > 1)
    return mz_fail(
        MZ_E_CONFIG,
        "course of %s: batches of %.6g on %g core%s beat the other %d plans in seconds, cost and score: there is nothing to "
        "decide; `muzero profile %s --score --grid` with larger or smaller ones makes runs to choose from",
        o->env, best->batch_size, best->cores, mz_plural(best->cores), choices->found - 1, o->env);
  if (choices->lacking[0] == '\0')
    return mz_fail(MZ_E_CONFIG,
                   "course of %s: %d plan: nothing to decide; `muzero profile %s --score --grid` with other batch sizes or cores "
                   "makes runs to choose from",
                   o->env, choices->count, o->env);
  return mz_fail(
      MZ_E_CONFIG,
      "course of %s: %d plan%s of two or more; runs are lacking: %s; `muzero profile %s --score --grid '%s'` makes them", o->env,
      choices->count, mz_plural(choices->count), choices->lacking, o->env, choices->grid);
}

static mz_status fit(mz_fitted_course *out, mz_stage_pool *pool, const mz_course_fit_options *o, mz_course_choices *choices) {
  MZ_TRY(mz_course_choose(choices, pool, &(mz_course_ask){.epochs = o->epochs, .target = o->target, .prices = o->prices}));
  if (choices->count < 2) return refuse_few(o, choices);
  note_flat(out, pool, choices);
  note_untimed(out, pool);
  if (choices->lacking[0] != '\0') note(out, "Left out for want of runs: %s. ", choices->lacking);
  MZ_TRY(take_choices(out, pool, o, choices));
  return mz_course_fit_error_of(pool, o->target, &out->error);
}

mz_status mz_course_fit(mz_fitted_course *out, const mz_curve *curves, int count, const mz_course_fit_options *o) {
  const int stages = o->stages > 0 ? o->stages : MZ_FIT_STAGES;
  memset(out, 0, sizeof *out);
  MZ_TRY(check_lengths(o, stages));
  snprintf(out->env, sizeof out->env, "%s", o->env);
  snprintf(out->network, sizeof out->network, "%s", o->network);
  snprintf(out->learning, sizeof out->learning, "%s", o->learning);
  snprintf(out->simulated, sizeof out->simulated, "%s", o->simulated ? o->simulated : "");
  out->epochs = o->epochs;
  out->course.ends_at_score = 1;
  MZ_TRY(fit_deadline(out, curves, count, o));
  MZ_TRY(fit_pace(out, curves, count, o->target));
  mz_stage_pool pool = {.pipeline = o->pipeline, .stages = stages};
  MZ_TRY(find_range(curves, count, o, &pool));
  mz_curve_stage *items;
  mz_course_choices *choices = NULL;
  MZ_TRY(mz_curve_stages(curves, count, o->epochs, stages, o->target, o->moves, &items, &pool.count));
  pool.items = items;
  mz_status status = mz_alloc(&choices, 1, sizeof *choices);
  if (status == MZ_OK) status = fit(out, &pool, o, choices);
  free(choices);
  free(items);
  return status;
}
