#include "allocator/runs/run_plan.h"
#include <math.h>
#include <stdlib.h>

enum { HOUR_S = 3600, STRETCH_MOST = 4 };

/* ---- what must be there ---- */

static mz_status check_limits(const mz_run_limits *l) {
  double prices = 0;
  for (int r = 0; r < MZ_COURSE_RESOURCES; r++) prices += l->price[r];
  if (!(prices > 0))
    return mz_fail(MZ_E_CONFIG,
                   "prices.core_hour, prices.gpu_hour, prices.gib_hour: all are 0, so every plan costs the same; set one "
                   "above 0, for example prices.core_hour=1");
  if (!(l->deadline_s > 0)) return mz_fail(MZ_E_CONFIG, "deadline: %g seconds; a run needs more than 0", l->deadline_s);
  if (l->epochs > MZ_RUN_EPOCHS_MAX)
    return mz_fail(
        MZ_E_CONFIG,
        "train.rounds: they are %lld epochs, and a plan of a whole run has %d at most; set fewer, or 0 to have the plan "
        "choose them",
        (long long)l->epochs, MZ_RUN_EPOCHS_MAX);
  if (!(l->budget > 0)) return mz_fail(MZ_E_CONFIG, "budget: %g; a run costs more than 0", l->budget);
  return MZ_OK;
}

static mz_status check_score(const mz_epoch_score *m, const mz_run_limits *l, const char *fill) {
  int most = 0;
  if (m->batches == 0) return mz_fail(MZ_E_CONFIG, "no learning curve of these settings is known: %s measures some", fill);
  for (int b = 0; b < m->batches; b++) most = m->batch[b].runs > most ? m->batch[b].runs : most;
  if (l->batch_size > 0) {
    int b = 0;
    while (b < m->batches && m->batch[b].rows != l->batch_size) b++;
    if (b == m->batches)
      return mz_fail(MZ_E_CONFIG,
                     "batch_size: no run in batches of %g rows is known, but in %g to %g: %s --grid batch_size=%g measures it",
                     l->batch_size, m->batch[0].rows, m->batch[m->batches - 1].rows, fill, l->batch_size);
  }
  if (most < MZ_EPOCH_SCORE_SEEDS_MIN)
    return mz_fail(
        MZ_E_CONFIG,
        "learning curves: the history has %d of one batch size, and %d are needed to tell how runs differ: %s measures "
        "them",
        most, MZ_EPOCH_SCORE_SEEDS_MIN, fill);
  if (!(m->best > m->start))
    return mz_fail(MZ_E_CONFIG,
                   "scores never rise: all evaluations of all runs gave %g; longer runs (%s --epochs) or other settings may "
                   "learn",
                   m->best, fill);
  return MZ_OK;
}

static bool may_hold(const mz_run_limits *l, const mz_epoch_place *p) {
  return p->cores >= l->cores_min && p->cores <= l->cores_max && p->gpus >= l->gpus_min && p->gpus <= l->gpus_max;
}

static mz_status check_time(const mz_epoch_time *m, const mz_run_limits *l, const char *fill) {
  int within = 0, below = 0;
  if (m->count == 0)
    return mz_fail(MZ_E_CONFIG, "cores: no run of steady plan and batches is known on this machine: %s measures some", fill);
  for (int i = 0; i < m->count; i++) {
    within += may_hold(l, &m->places[i]);
    below += m->places[i].cores <= l->cores_max && m->places[i].gpus <= l->gpus_max;
  }
  if (within == 0 && below > 0)
    return mz_fail(MZ_E_CONFIG,
                   "cores, gpus: no run on %g cores and %g GPUs or more, within the limits, is known (limits.cpu_min, "
                   "limits.gpu_min): lower them, or measure such runs by %s",
                   l->cores_min, l->gpus_min, fill);
  if (within == 0)
    return mz_fail(MZ_E_CONFIG,
                   "cores: no run on %g cores or fewer is known (limits.cpu_max, --threads): %s --grid cores=%g measures it",
                   l->cores_max, fill, l->cores_max);
  if (isnan(m->noise))
    return mz_fail(
        MZ_E_CONFIG,
        "cores, batch_size: no two runs agree in both and in all knobs, so the noise of times is unknown: %s measures more seeds",
        fill);
  return MZ_OK;
}

/* Scores may rise up to batches of which the times rise again. */
static mz_status check_batches(const mz_epoch_score *score, const mz_epoch_time *time, const char *fill) {
  for (int b = 0; b < score->batches; b++)
    if (!mz_epoch_time_cuts_batch(time, score->batch[b].rows)) return MZ_OK;
  return mz_fail(MZ_E_CONFIG,
                 "batch_size: %s%sseconds per epoch rise again beyond smaller batches: none is left; set batch_size, or measure "
                 "others by %s --grid",
                 score->cut, score->cut[0] ? ", and " : "", fill);
}

/* ---- the grid ---- */

typedef struct search {
  const mz_run_limits *limits;
  mz_run_planning *out;
  double need_deadline, need_target, need_budget; /* best with the other limits kept; NAN: none */
} search;

/* The first place with these resources that is nearest in its batch. */
static const mz_epoch_place *knobs_for(const mz_epoch_time *m, const mz_epoch_place *like, double batch_size) {
  const mz_epoch_place *best = like;
  for (int i = 0; i < m->count; i++) {
    const mz_epoch_place *p = &m->places[i];
    if (p->cores == like->cores && p->gpus == like->gpus &&
        fabs(log(p->batch_size / batch_size)) < fabs(log(best->batch_size / batch_size)))
      best = p;
  }
  return best;
}

static mz_run_plan make(const search *s, const mz_epoch_time *time, const mz_epoch_place *place, double batch_size, int epochs) {
  const mz_run_limits *l = s->limits;
  const mz_epoch_place *like = knobs_for(time, place, batch_size);
  mz_run_plan plan = {
      .batch_size = batch_size, .epochs = epochs, .amounts = {place->cores, place->gpus, like->memory_gib}, .knobs = like->plan};
  const mz_interval each = mz_epoch_time_at(time, place->cores, place->gpus, l->moves, batch_size, l->level);
  const double closing = time->closing_s;
  plan.seconds = (mz_interval){epochs * each.estimate + closing, epochs * each.low + closing, epochs * each.high + closing};
  double price_s = 0;
  for (int r = 0; r < MZ_COURSE_RESOURCES; r++) price_s += l->price[r] * plan.amounts[r] / HOUR_S;
  plan.cost = (mz_interval){price_s * plan.seconds.estimate, price_s * plan.seconds.low, price_s * plan.seconds.high};
  plan.score = mz_epoch_score_at(&s->out->score, batch_size, epochs, l->level);
  return plan;
}

static void look_at(search *s, const mz_run_plan *plan) {
  const mz_run_limits *l = s->limits;
  mz_run_planning *out = s->out;
  const bool in_time = plan->seconds.high <= l->deadline_s, reaches = plan->score.low >= l->target,
             affordable = plan->cost.high <= l->budget;
  out->looked_at++;
  if (reaches && affordable && isfinite(plan->seconds.high)) s->need_deadline = fmin(s->need_deadline, plan->seconds.high);
  if (reaches && in_time && isfinite(plan->cost.high)) s->need_budget = fmin(s->need_budget, plan->cost.high);
  if (in_time && affordable && isfinite(plan->score.low)) s->need_target = fmax(s->need_target, plan->score.low);
  if (in_time && reaches && affordable) {
    if (!out->feasible || plan->cost.high < out->best.cost.high) out->best = *plan;
    out->feasible = true;
  } else if (!out->feasible && (out->best.epochs == 0 || plan->score.low > out->best.score.low)) {
    out->best = *plan;
  }
}

/* For a picture: of each of resources and batch the fewest epochs that reach the target. */
static void remember(mz_run_planning *out, const mz_run_plan *plan, double target) {
  int i = 0;
  while (i < out->count && !(out->choices[i].amounts[MZ_COURSE_CORES] == plan->amounts[MZ_COURSE_CORES] &&
                             out->choices[i].amounts[MZ_COURSE_GPUS] == plan->amounts[MZ_COURSE_GPUS] &&
                             out->choices[i].batch_size == plan->batch_size))
    i++;
  if (i == MZ_RUN_CHOICES_MAX) return;
  if (i == out->count)
    out->count++;
  else if (out->choices[i].score.low >= target)
    return;
  out->choices[i] = *plan;
}

static void look_at_epochs(search *s, const mz_epoch_time *time, int epochs) {
  const mz_run_limits *l = s->limits;
  for (int i = 0; i < time->count; i++) {
    const mz_epoch_place *place = &time->places[i];
    bool seen = !may_hold(l, place);
    for (int j = 0; j < i && !seen; j++) seen = time->places[j].cores == place->cores && time->places[j].gpus == place->gpus;
    if (seen) continue;
    for (int b = 0; b < s->out->score.batches; b++) {
      const double rows = s->out->score.batch[b].rows;
      if ((l->batch_size > 0 && rows != l->batch_size) || mz_epoch_time_cuts_batch(time, rows)) continue;
      const mz_run_plan plan = make(s, time, place, rows, epochs);
      look_at(s, &plan);
      remember(s->out, &plan, l->target);
    }
  }
}

/* Epochs beyond the longest run teach nothing of scores, but a slow run may need them for what the typical one has reached. */
static int longest(const search *s) {
  const double stretch = fmin(mz_epoch_score_stretch(&s->out->score, (1 + s->limits->level) / 2), STRETCH_MOST);
  return (int)ceil(s->out->score.epochs * stretch);
}

static mz_status look_at_all(search *s, const mz_curve *curves, int count, const mz_pipeline *pipeline) {
  mz_epoch_time *time;
  mz_status status = MZ_OK;
  const int first = s->limits->epochs > 0 ? (int)s->limits->epochs : 1, last = s->limits->epochs > 0 ? first : longest(s);
  MZ_TRY(mz_alloc(&time, 1, sizeof *time));
  for (int e = first; e <= last && status == MZ_OK; e++) {
    status = mz_epoch_time_fit(time, curves, count, pipeline, e);
    if (status == MZ_OK) look_at_epochs(s, time, e);
  }
  free(time);
  return status;
}

/* Beside one long run the others tell nothing of as many epochs, but of fewer. */
static mz_status fit(mz_run_planning *p, const mz_curve *curves, int count, const mz_pipeline *pipeline, double target) {
  MZ_TRY(mz_epoch_score_init(&p->score, curves, count, target));
  for (int epochs = p->score.epochs;; epochs /= 2) {
    MZ_TRY(mz_epoch_time_fit(&p->time, curves, count, pipeline, epochs));
    if (isfinite(p->time.noise) || epochs <= 1) return MZ_OK;
  }
}

/* Whether the models leave out the batch size that the user set: then its own runs alone tell of it. */
static bool stands_alone(const mz_run_planning *p, const mz_curve *curves, int count, double batch_size) {
  bool ran = false;
  for (int c = 0; c < count && batch_size > 0; c++) ran = ran || mz_curve_batch_size(&curves[c]) == batch_size;
  return ran && (mz_epoch_score_cuts_batch(&p->score, batch_size) || mz_epoch_time_cuts_batch(&p->time, batch_size));
}

static mz_status make_in_one_batch(mz_run_planning **out, const mz_curve *curves, int count, const mz_pipeline *pipeline,
                                   const mz_run_limits *limits, const char *fill) {
  mz_curve *kept; /* their epochs stay those of `curves` */
  int found = 0;
  MZ_TRY(mz_alloc(&kept, (size_t)count, sizeof *kept));
  for (int c = 0; c < count; c++)
    if (mz_curve_batch_size(&curves[c]) == limits->batch_size) kept[found++] = curves[c];
  const mz_status status = mz_run_planning_make(out, kept, found, pipeline, limits, fill); /* one size is not cut */
  free(kept);
  return status;
}

mz_status mz_run_planning_make(mz_run_planning **out, const mz_curve *curves, int count, const mz_pipeline *pipeline,
                               const mz_run_limits *limits, const char *fill) {
  mz_run_planning *made;
  mz_status status;
  *out = NULL;
  MZ_TRY(check_limits(limits));
  MZ_TRY(mz_alloc(&made, 1, sizeof *made));
  search s = {.limits = limits, .out = made, .need_deadline = INFINITY, .need_target = -INFINITY, .need_budget = INFINITY};
  MZ_TRY_CLEANUP(fit(made, curves, count, pipeline, limits->target));
  if (stands_alone(made, curves, count, limits->batch_size)) {
    status = make_in_one_batch(out, curves, count, pipeline, limits, fill);
    goto cleanup;
  }
  MZ_TRY_CLEANUP(check_score(&made->score, limits, fill));
  MZ_TRY_CLEANUP(check_time(&made->time, limits, fill));
  MZ_TRY_CLEANUP(check_batches(&made->score, &made->time, fill));
  MZ_TRY_CLEANUP(look_at_all(&s, curves, count, pipeline));
  made->shortfall = (mz_run_shortfall){.deadline_s = isfinite(s.need_deadline) ? s.need_deadline : NAN,
                                       .target = isfinite(s.need_target) ? s.need_target : NAN,
                                       .budget = isfinite(s.need_budget) ? s.need_budget : NAN};
  *out = made;
  made = NULL;
cleanup:
  mz_run_planning_free(made);
  return status;
}

void mz_run_planning_free(mz_run_planning *planning) {
  if (!planning) return;
  mz_epoch_score_deinit(&planning->score);
  free(planning);
}
