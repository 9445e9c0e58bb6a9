#include "muzero/steering/profile.h"
#include "base/machine/clock.h"
#include "base/maths/statistics.h"
#include "base/maths/streams.h"
#include <math.h>
#include <string.h>

enum { PASSES_MAX = 64 };
enum { FINALISTS = 5, FINAL_PASSES_LEAST = 5 };
static const double FIRST_SHARE = 0.7; /* of a limited time, for the first measurements */
static const double CONFIDENCE = 0.9;  /* that all finalists' intervals hold together (Bonferroni) */

typedef struct measured {
  mz_plan plan;
  const char *source;
  double unit_s[PASSES_MAX], round_s[PASSES_MAX];
  int count;
  double again_s[PASSES_MAX]; /* round_s of a finalist, measured once more: the best of many is lucky, too */
  int again;
  mz_stage_sample stages[MZ_STAGES_MAX]; /* per unit of work, sums over the passes */
} measured;

typedef struct profile {
  const mz_profile_subject *subject;
  const mz_pipeline *pipeline;
  measured *plans;
  int count;
  int finalists[FINALISTS + 1], finalist_count; /* the default, and the fastest */
} profile;

/* ---- measuring ---- */

static mz_status measure(profile *p, measured *plan, bool again, double *measured_s) {
  mz_observation seen;
  MZ_TRY(p->subject->measure(p->subject->context, &plan->plan, &seen));
  if (again) {
    plan->again_s[plan->again++] = seen.round_s;
  } else {
    plan->unit_s[plan->count] = seen.unit_s;
    plan->round_s[plan->count++] = seen.round_s;
    for (int s = 0; s < MZ_STAGES_MAX; s++) mz_stage_sample_add(&plan->stages[s], &seen.stages[s], 1);
  }
  *measured_s = seen.round_s;
  return MZ_OK;
}

typedef struct passes { /* over some of the plans */
  const int *plans;
  int count, passes;
  bool again;
  double for_s; /* no measurement begins later; 0: no limit */
} passes;

typedef struct course { /* how far all measurements are */
  uint64_t start_ns;
  int done, all;
} course;

static void tell(const profile *p, const mz_profile_options *options, const mz_profile_watcher *watcher, const course *c,
                 const measured *plan, double round_s) {
  mz_profile_progress progress = {.done = c->done, .all = c->all, .round_s = round_s};
  const double so_far = (double)(mz_clock_ns() - c->start_ns) * 1e-9;
  progress.left_s = so_far / c->done * (c->all - c->done);
  if (options->for_s > 0) progress.left_s = fmin(progress.left_s, fmax(0, options->for_s - so_far));
  mz_plan_text(p->pipeline, &plan->plan, NULL, progress.plan, sizeof progress.plan);
  if (watcher->progress) watcher->progress(watcher->context, &progress);
}

static mz_status measure_passes(profile *p, const mz_profile_options *options, const mz_profile_watcher *watcher,
                                const passes *of, course *c, bool *stopped) {
  int order[MZ_PROFILE_PLANS_MAX];
  for (int pass = 0; pass < of->passes; pass++) {
    mz_rng rng = mz_stream_order(p->subject->seed, MZ_ORDER_PASSES, of->again ? options->passes + pass : pass);
    mz_rng_permutation(&rng, of->count, order);
    for (int i = 0; i < of->count; i++) {
      measured *plan = &p->plans[of->plans[order[i]]];
      double round_s;
      const double elapsed = (double)(mz_clock_ns() - c->start_ns) * 1e-9;
      const bool asked = watcher->stopping && watcher->stopping(watcher->context);
      *stopped = asked || (of->for_s > 0 && elapsed >= of->for_s);
      if (*stopped) return MZ_OK;
      MZ_TRY(measure(p, plan, of->again, &round_s));
      c->done++;
      tell(p, options, watcher, c, plan, round_s);
    }
  }
  return MZ_OK;
}

/* Returns the seconds of rounds; evaluations are apart, because their time follows the score. */
static double median_of(const double *round_s, int count) {
  double copy[PASSES_MAX];
  memcpy(copy, round_s, sizeof copy);
  return count ? mz_median(copy, count) : NAN;
}

/* The default, and the plans with the least medians; a plan that was measured twice over is there once. */
static void choose_finalists(profile *p) {
  p->finalists[p->finalist_count++] = MZ_PROFILE_DEFAULT;
  while (p->finalist_count <= FINALISTS) {
    int best = -1;
    double least = INFINITY;
    for (int i = 0; i < p->count; i++) {
      bool is_in = false;
      for (int f = 0; f < p->finalist_count; f++)
        is_in = is_in || mz_plan_equal(p->pipeline, &p->plans[i].plan, &p->plans[p->finalists[f]].plan);
      const double median = median_of(p->plans[i].round_s, p->plans[i].count);
      if (!is_in && median < least) best = i, least = median;
    }
    if (best < 0) return;
    p->finalists[p->finalist_count++] = best;
  }
}

static int final_passes_of(const mz_profile_options *options) {
  if (options->again != MZ_PROFILE_AGAIN_CHOSEN) return options->again;
  return options->passes > FINAL_PASSES_LEAST ? options->passes : FINAL_PASSES_LEAST;
}

static mz_status measure_all(profile *p, const mz_profile_options *options, const mz_profile_watcher *watcher, bool *stopped) {
  int plans[MZ_PROFILE_PLANS_MAX];
  for (int i = 0; i < p->count; i++) plans[i] = i;
  const int final_passes = final_passes_of(options);
  course c = {.start_ns = mz_clock_ns(), .all = p->count * options->passes + (FINALISTS + 1) * final_passes};
  const passes first = {.plans = plans, .count = p->count, .passes = options->passes, .for_s = FIRST_SHARE * options->for_s};
  *stopped = false;
  MZ_TRY(measure_passes(p, options, watcher, &first, &c, stopped));
  if (final_passes == 0 || (watcher->stopping && watcher->stopping(watcher->context))) return MZ_OK;
  choose_finalists(p);
  c.all = c.done + p->finalist_count * final_passes;
  const passes last = {
      .plans = p->finalists, .count = p->finalist_count, .passes = final_passes, .again = true, .for_s = options->for_s};
  bool cut_short = false;
  MZ_TRY(measure_passes(p, options, watcher, &last, &c, &cut_short));
  *stopped = *stopped || cut_short;
  return MZ_OK;
}

/* ---- the result ---- */

/* Returns the deviation of one measurement: from the default and its twin, pass by pass; the difference of two has √2 times the
 * deviation of one. */
static double noise_of(const profile *p) {
  const measured *a = &p->plans[MZ_PROFILE_DEFAULT], *b = &p->plans[MZ_PROFILE_TWIN];
  const int n = a->count < b->count ? a->count : b->count;
  double sum = 0;
  for (int i = 0; i < n; i++) sum += pow(log(a->round_s[i] / b->round_s[i]), 2) / 2;
  return n ? sqrt(sum / n) : NAN;
}

/* How many times as fast as the default a finalist is. */
static mz_interval ratio_of(const profile *p, const measured *plan) {
  const measured *usual = &p->plans[MZ_PROFILE_DEFAULT];
  const double each = 1 - (1 - CONFIDENCE) / FINALISTS;
  if (usual->again == 0 || plan->again == 0) return (mz_interval){NAN, NAN, NAN};
  return mz_speed_ratio(usual->again_s, usual->again, plan->again_s, plan->again, each);
}

/* By the last measurements; by the first where one is missing. */
static double judged_s(const profile *p, const measured *plan) {
  bool again = p->finalist_count > 0;
  for (int i = 0; i < p->finalist_count; i++) again = again && p->plans[p->finalists[i]].again > 0;
  return again ? median_of(plan->again_s, plan->again) : median_of(plan->round_s, plan->count);
}

/* Those that did something. */
static cJSON *stages_json(const profile *p, const measured *plan) {
  cJSON *o = cJSON_CreateObject();
  for (int i = 0; i < p->pipeline->stage_count; i++) {
    const mz_stage_sample *sum = &plan->stages[i];
    if (!(sum->items > 0) || p->pipeline->stages[i].apart) continue;
    cJSON *stage = cJSON_AddObjectToObject(o, p->pipeline->stages[i].name);
    cJSON_AddNumberToObject(stage, "items", sum->items / plan->count);
    cJSON_AddNumberToObject(stage, "busy_s", sum->busy_s / plan->count);
    cJSON_AddNumberToObject(stage, "cpu_s", sum->cpu_s / plan->count);
    cJSON_AddNumberToObject(stage, "elapsed_s", sum->elapsed_s / plan->count);
  }
  return o;
}

static cJSON *plan_json(const profile *p, const measured *plan) {
  cJSON *row = cJSON_CreateObject();
  mz_json_add(row, "plan", mz_plan_to_json(p->pipeline, &plan->plan));
  mz_plan_add_text(row, "text", p->pipeline, &plan->plan);
  cJSON_AddStringToObject(row, "source", plan->source);
  mz_json_add(row, "unit_s", cJSON_CreateDoubleArray(plan->unit_s, plan->count));
  mz_json_add(row, "round_s", cJSON_CreateDoubleArray(plan->round_s, plan->count));
  cJSON_AddNumberToObject(row, "median_s", median_of(plan->round_s, plan->count));
  mz_json_add(row, "stages", stages_json(p, plan));
  if (plan->again == 0) return row;
  const mz_interval ratio = ratio_of(p, plan);
  mz_json_add(row, "again_s", cJSON_CreateDoubleArray(plan->again_s, plan->again));
  cJSON_AddNumberToObject(row, "ratio", ratio.estimate);
  cJSON_AddNumberToObject(row, "ratio_low", ratio.low);
  cJSON_AddNumberToObject(row, "ratio_high", ratio.high);
  return row;
}

static cJSON *result_json(const profile *p, bool stopped) {
  cJSON *o = cJSON_CreateObject();
  cJSON_AddStringToObject(o, "env", p->subject->env);
  cJSON *plans = cJSON_AddArrayToObject(o, "plans");
  int best = MZ_PROFILE_DEFAULT;
  for (int i = 0; i < p->count; i++) {
    cJSON_AddItemToArray(plans, plan_json(p, &p->plans[i]));
    const double own = judged_s(p, &p->plans[i]), least = judged_s(p, &p->plans[best]); /* NAN: not measured */
    if (own < least || (isnan(least) && isfinite(own))) best = i;
  }
  mz_interval ratio = ratio_of(p, &p->plans[best]);
  if (best == MZ_PROFILE_DEFAULT && p->plans[best].again > 0) ratio = (mz_interval){1, 1, 1};
  cJSON_AddNumberToObject(o, "noise", noise_of(p));
  mz_json_add(o, "best", mz_plan_to_json(p->pipeline, &p->plans[best].plan));
  mz_plan_add_text(o, "best_text", p->pipeline, &p->plans[best].plan);
  cJSON_AddNumberToObject(o, "best_s", judged_s(p, &p->plans[best]));
  cJSON_AddNumberToObject(o, "default_s", judged_s(p, &p->plans[MZ_PROFILE_DEFAULT]));
  cJSON_AddNumberToObject(o, "ratio", ratio.estimate);
  cJSON_AddNumberToObject(o, "ratio_low", ratio.low);
  cJSON_AddNumberToObject(o, "ratio_high", ratio.high);
  cJSON_AddBoolToObject(o, "stopped", stopped);
  return o;
}

/* ---- all of it ---- */

static mz_status choose_plans(profile *p, const mz_profile_options *options) {
  mz_profile_plan *plans;
  MZ_TRY(mz_alloc(&plans, MZ_PROFILE_PLANS_MAX, sizeof *plans));
  const mz_status status =
      mz_profile_plans(p->pipeline, &p->subject->usual, p->subject->seed, options->plans, options->grid, plans, &p->count);
  for (int i = 0; i < p->count && status == MZ_OK; i++)
    p->plans[i] = (measured){.plan = plans[i].plan, .source = plans[i].source};
  free(plans);
  return status;
}

mz_status mz_profile_measure(const mz_profile_subject *subject, const mz_profile_options *options,
                             const mz_profile_watcher *watcher, cJSON **out) {
  MZ_ASSERT(options->plans >= 0 && options->plans <= MZ_PROFILE_PLANS_MAX - MZ_PROFILE_DRAWN && options->passes >= 1 &&
            options->passes <= PASSES_MAX && options->again <= PASSES_MAX);
  profile p = {.subject = subject, .pipeline = subject->pipeline};
  bool stopped;
  mz_status status;
  MZ_TRY(mz_alloc(&p.plans, MZ_PROFILE_PLANS_MAX, sizeof *p.plans));
  MZ_TRY_CLEANUP(choose_plans(&p, options));
  if (subject->warm_up) MZ_TRY_CLEANUP(subject->warm_up(subject->context));
  MZ_TRY_CLEANUP(measure_all(&p, options, watcher, &stopped));
  *out = result_json(&p, stopped);
cleanup:
  free(p.plans);
  return status;
}
