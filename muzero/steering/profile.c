#include "muzero/steering/profile.h"
#include "base/machine/clock.h"
#include "base/file/file.h"
#include "base/log.h"
#include "base/maths/streams.h"
#include "base/maths/statistics.h"
#include "muzero/steering/trainer_pipeline.h"
#include "muzero/run.h"
#include <errno.h>
#include <math.h>
#include <string.h>

enum { PLANS_MAX = 512, PASSES_MAX = 64, WARM_PHASES = 2, DEFAULT = 0, TWIN = 1, PLAIN = 2, FIRST_DRAWN = 3 };
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
} measured;

typedef struct profile {
  mz_run *run;
  const mz_pipeline *pipeline;
  measured *plans;
  int count;
  int finalists[FINALISTS + 1], finalist_count; /* the default, and the fastest */
} profile;

/* ---- the plans ---- */

/* A value of the knob at share u of its range, on the scale of its steps. */
static int64_t value_at(const mz_knob *knob, double u) {
  if (knob->scale == MZ_SCALE_CHOICE) return mz_knob_clamp(knob, knob->min + (int64_t)(u * (double)(knob->max - knob->min + 1)));
  const double low = log2((double)knob->min), high = log2((double)knob->max);
  return mz_knob_clamp(knob, (int64_t)llround(exp2(low + u * (high - low))));
}

/* Latin hypercube (McKay et al. 1979): in each knob, one plan falls into each of `count` equal parts of its range. */
static void draw_hypercube(profile *p, int first, int count, uint64_t seed) {
  for (int k = 0; k < p->pipeline->knob_count; k++) {
    if (mz_knob_packs(p->pipeline, k)) continue; /* memory, not speed, is what it is for */
    mz_rng rng = mz_stream_order(seed, MZ_ORDER_HYPERCUBE, k);
    int cell[PLANS_MAX];
    mz_rng_permutation(&rng, count, cell);
    for (int i = 0; i < count; i++)
      p->plans[first + i].plan.values[k] = value_at(&p->pipeline->knobs[k], (cell[i] + mz_rng_f64(&rng)) / count);
  }
  for (int i = 0; i < count; i++) p->plans[first + i].source = "hypercube";
}

static void draw_uniform(profile *p, int first, int count, uint64_t seed) {
  for (int i = 0; i < count; i++) {
    mz_rng rng = mz_stream_order(seed, MZ_ORDER_UNIFORM, i);
    for (int k = 0; k < p->pipeline->knob_count; k++)
      if (!mz_knob_packs(p->pipeline, k)) p->plans[first + i].plan.values[k] = value_at(&p->pipeline->knobs[k], mz_rng_f64(&rng));
    p->plans[first + i].source = "random";
  }
}

/* One knob of a grid, "name=v,v,…": every plan so far with each of its values. */
static mz_status cross(profile *p, const char *part, int *count) {
  const char *equals = strchr(part, '=');
  char name[MZ_NAME_MAX];
  int knob;
  if (!equals) return mz_fail(MZ_E_CONFIG, "--grid: '%s' is not knob=value,value,…", part);
  snprintf(name, sizeof name, "%.*s", (int)(equals - part), part);
  MZ_TRY(mz_pipeline_find_knob(p->pipeline, name, "--grid", &knob));
  const mz_knob *k = &p->pipeline->knobs[knob];
  const int before = *count;
  int values = 0;
  for (const char *at = equals + 1; *at; values++) {
    char *end;
    const long long value = strtoll(at, &end, 10);
    if (end == at || (*end && *end != ',') || value < k->min || value > k->max)
      return mz_fail(MZ_E_CONFIG, "--grid: %s: '%s': takes whole numbers from %lld to %lld", name, at, (long long)k->min,
                     (long long)k->max);
    if (before * (values + 1) > PLANS_MAX - FIRST_DRAWN)
      return mz_fail(MZ_E_CONFIG, "--grid: more than %d plans", PLANS_MAX - FIRST_DRAWN);
    for (int i = 0; i < before; i++) {
      measured *plan = &p->plans[FIRST_DRAWN + before * values + i];
      *plan = p->plans[FIRST_DRAWN + i];
      plan->plan.values[knob] = value;
    }
    at = *end ? end + 1 : end;
  }
  *count = before * values;
  return MZ_OK;
}

static mz_status choose_grid(profile *p, const char *grid) {
  int count = 1;
  p->plans[FIRST_DRAWN] = (measured){.plan = p->plans[DEFAULT].plan, .source = "grid"};
  for (const char *at = grid; *at;) {
    char part[256];
    const size_t length = strcspn(at, ";");
    if (length >= sizeof part) return mz_fail(MZ_E_CONFIG, "--grid: '%s' is too long", at);
    snprintf(part, sizeof part, "%.*s", (int)length, at);
    MZ_TRY(cross(p, part, &count));
    at += length + (at[length] == ';');
  }
  p->count = FIRST_DRAWN + count;
  return MZ_OK;
}

static mz_status choose_plans(profile *p, int drawn, const char *grid) {
  const uint64_t seed = mz_run_seed(p->run);
  p->plans[DEFAULT] = p->plans[TWIN] = (measured){.plan = mz_plan_of_knobs(&p->run->workers.knobs), .source = "default"};
  p->plans[PLAIN].source = "plain";
  p->plans[PLAIN].plan = p->plans[DEFAULT].plan;
  for (int k = 0; k < p->pipeline->knob_count; k++)
    if (!mz_knob_packs(p->pipeline, k)) p->plans[PLAIN].plan.values[k] = p->pipeline->knobs[k].min;
  if (grid) return choose_grid(p, grid);
  for (int i = 0; i < drawn; i++) p->plans[FIRST_DRAWN + i].plan = p->plans[DEFAULT].plan;
  const int uniform = drawn / 4;
  draw_hypercube(p, FIRST_DRAWN, drawn - uniform, seed);
  draw_uniform(p, FIRST_DRAWN + drawn - uniform, uniform, seed);
  p->count = FIRST_DRAWN + drawn;
  return MZ_OK;
}

/* ---- measuring ---- */

static mz_status play_phase(mz_run *run, double *unit_s, double *round_s) {
  const mz_limits endless = {.rounds = INT64_MAX};
  mz_phase phase;
  mz_reason reason;
  MZ_TRY(mz_run_phase(run, &endless, NULL, NULL, &phase, &reason));
  const mz_window *w = mz_steer_window(run->steer);
  double rounds[MZ_WINDOW_ROUNDS_MAX];
  memcpy(rounds, w->round_s, sizeof rounds);
  *unit_s = w->units > 0 ? w->wall_s / w->units : NAN;
  *round_s = w->round_count > 0 ? mz_median(rounds, w->round_count) : NAN;
  return MZ_OK;
}

static mz_status measure(profile *p, measured *plan, bool again, double *measured_s) {
  const mz_knobs knobs = mz_knobs_of_plan(&plan->plan);
  double unit_s, round_s;
  MZ_TRY(mz_run_resize(p->run, &knobs));
  MZ_TRY(play_phase(p->run, &unit_s, &round_s));
  if (!isfinite(unit_s)) MZ_TRY(play_phase(p->run, &unit_s, &round_s)); /* a phase of one round, the first under this plan */
  if (again) {
    plan->again_s[plan->again++] = round_s;
  } else {
    plan->unit_s[plan->count] = unit_s;
    plan->round_s[plan->count++] = round_s;
  }
  *measured_s = round_s;
  return MZ_OK;
}

/* Until replay is filled and a whole phase of full work has gone by. */
static mz_status warm_up(mz_run *run) {
  double unit_s = NAN, round_s;
  for (int full = 0; full < WARM_PHASES;) {
    MZ_TRY(play_phase(run, &unit_s, &round_s));
    full += isfinite(unit_s);
  }
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
  int order[PLANS_MAX];
  for (int pass = 0; pass < of->passes; pass++) {
    mz_rng rng = mz_stream_order(mz_run_seed(p->run), MZ_ORDER_PASSES, of->again ? options->passes + pass : pass);
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
  p->finalists[p->finalist_count++] = DEFAULT;
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

static mz_status measure_all(profile *p, const mz_profile_options *options, const mz_profile_watcher *watcher, bool *stopped) {
  int plans[PLANS_MAX];
  for (int i = 0; i < p->count; i++) plans[i] = i;
  const int final_passes = options->passes > FINAL_PASSES_LEAST ? options->passes : FINAL_PASSES_LEAST;
  course c = {.start_ns = mz_clock_ns(), .all = p->count * options->passes + (FINALISTS + 1) * final_passes};
  const passes first = {.plans = plans, .count = p->count, .passes = options->passes, .for_s = FIRST_SHARE * options->for_s};
  *stopped = false;
  MZ_TRY(measure_passes(p, options, watcher, &first, &c, stopped));
  if (watcher->stopping && watcher->stopping(watcher->context)) return MZ_OK;
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
  const measured *a = &p->plans[DEFAULT], *b = &p->plans[TWIN];
  const int n = a->count < b->count ? a->count : b->count;
  double sum = 0;
  for (int i = 0; i < n; i++) sum += pow(log(a->round_s[i] / b->round_s[i]), 2) / 2;
  return n ? sqrt(sum / n) : NAN;
}

/* How many times as fast as the default a finalist is. */
static mz_interval ratio_of(const profile *p, const measured *plan) {
  const measured *usual = &p->plans[DEFAULT];
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

static cJSON *plan_json(const profile *p, const measured *plan) {
  cJSON *row = cJSON_CreateObject();
  cJSON_AddItemToObject(row, "plan", mz_plan_to_json(p->pipeline, &plan->plan));
  cJSON_AddStringToObject(row, "source", plan->source);
  cJSON_AddItemToObject(row, "unit_s", cJSON_CreateDoubleArray(plan->unit_s, plan->count));
  cJSON_AddItemToObject(row, "round_s", cJSON_CreateDoubleArray(plan->round_s, plan->count));
  cJSON_AddNumberToObject(row, "median_s", median_of(plan->round_s, plan->count));
  if (plan->again == 0) return row;
  const mz_interval ratio = ratio_of(p, plan);
  cJSON_AddItemToObject(row, "again_s", cJSON_CreateDoubleArray(plan->again_s, plan->again));
  cJSON_AddNumberToObject(row, "ratio", ratio.estimate);
  cJSON_AddNumberToObject(row, "ratio_low", ratio.low);
  cJSON_AddNumberToObject(row, "ratio_high", ratio.high);
  return row;
}

static cJSON *result_json(const profile *p, bool stopped) {
  cJSON *o = cJSON_CreateObject();
  cJSON_AddStringToObject(o, "env", mz_run_env(p->run)->name);
  cJSON *plans = cJSON_AddArrayToObject(o, "plans");
  int best = DEFAULT;
  for (int i = 0; i < p->count; i++) {
    cJSON_AddItemToArray(plans, plan_json(p, &p->plans[i]));
    if (judged_s(p, &p->plans[i]) < judged_s(p, &p->plans[best])) best = i;
  }
  const mz_interval ratio = ratio_of(p, &p->plans[best]);
  cJSON_AddNumberToObject(o, "noise", noise_of(p));
  cJSON_AddItemToObject(o, "best", mz_plan_to_json(p->pipeline, &p->plans[best].plan));
  cJSON_AddNumberToObject(o, "best_s", judged_s(p, &p->plans[best]));
  cJSON_AddNumberToObject(o, "default_s", judged_s(p, &p->plans[DEFAULT]));
  cJSON_AddNumberToObject(o, "ratio", best == DEFAULT ? 1 : ratio.estimate);
  cJSON_AddNumberToObject(o, "ratio_low", best == DEFAULT ? 1 : ratio.low);
  cJSON_AddNumberToObject(o, "ratio_high", best == DEFAULT ? 1 : ratio.high);
  cJSON_AddBoolToObject(o, "stopped", stopped);
  return o;
}

/* ---- all of it ---- */

mz_status mz_profile(const mz_profile_options *options, const mz_profile_watcher *watcher, cJSON **out) {
  MZ_ASSERT(options->plans >= 0 && options->plans <= PLANS_MAX - FIRST_DRAWN && options->passes >= 1 &&
            options->passes <= PASSES_MAX);
  char made_up[512] = "";
  mz_run_options run = options->run;
  profile p = {0};
  bool stopped;
  mz_status status = MZ_OK;
  if (!run.dir) {
    MZ_TRY(mz_file_make_temporary("muzero-profile", made_up, sizeof made_up));
    run.dir = made_up;
  }
  run.allocate = "fixed";
  run.source = "profile";
  MZ_TRY_CLEANUP(mz_run_open(&p.run, &run));
  if (p.run->settings.learning.loop_count == 0)
    MZ_TRY_CLEANUP(mz_fail(MZ_E_CONFIG, "loop_count: 0: nothing is ever learned, so there is no unit of work to measure"));
  MZ_TRY_CLEANUP(mz_alloc(&p.plans, PLANS_MAX, sizeof *p.plans));
  p.pipeline = mz_steer_pipeline(p.run->steer);
  p.run->state.settings.allocation.window = p.run->settings.train.phase_rounds; /* a phase is a window */
  MZ_TRY_CLEANUP(choose_plans(&p, options->plans, options->grid));
  MZ_TRY_CLEANUP(warm_up(p.run));
  MZ_TRY_CLEANUP(measure_all(&p, options, watcher, &stopped));
  *out = result_json(&p, stopped);
cleanup:
  mz_run_close(p.run);
  free(p.plans);
  if (made_up[0] && mz_file_remove_tree(made_up) != MZ_OK) mz_log_write(MZ_LOG_WARNING, "%s", mz_message());
  return status;
}
