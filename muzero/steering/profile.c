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

typedef struct measured {
  mz_plan plan;
  const char *source;
  double unit_s[PASSES_MAX], round_s[PASSES_MAX];
  int count;
} measured;

typedef struct profile {
  mz_run *run;
  const mz_pipeline *pipeline;
  measured *plans;
  int count;
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

static mz_status measure(profile *p, measured *plan) {
  const mz_knobs knobs = mz_knobs_of_plan(&plan->plan);
  MZ_TRY(mz_run_resize(p->run, &knobs));
  double *unit_s = &plan->unit_s[plan->count], *round_s = &plan->round_s[plan->count];
  MZ_TRY(play_phase(p->run, unit_s, round_s));
  if (!isfinite(*unit_s))
    MZ_TRY(play_phase(p->run, unit_s, round_s)); /* a phase of one round, which was the first under this plan */
  plan->count++;
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

static mz_status measure_all(profile *p, const mz_profile_options *options, const mz_profile_watcher *watcher, bool *stopped) {
  const uint64_t start = mz_clock_ns();
  const int all = p->count * options->passes;
  int order[PLANS_MAX], done = 0;
  *stopped = false;
  for (int pass = 0; pass < options->passes; pass++) {
    mz_rng rng = mz_stream_order(mz_run_seed(p->run), MZ_ORDER_PASSES, pass);
    mz_rng_permutation(&rng, p->count, order);
    for (int i = 0; i < p->count; i++) {
      measured *plan = &p->plans[order[i]];
      const double elapsed = (double)(mz_clock_ns() - start) * 1e-9;
      *stopped = (options->for_s > 0 && elapsed >= options->for_s) || (watcher->stopping && watcher->stopping(watcher->context));
      if (*stopped) return MZ_OK;
      MZ_TRY(measure(p, plan));
      mz_profile_progress progress = {.done = ++done, .all = all, .round_s = plan->round_s[plan->count - 1]};
      const double so_far = (double)(mz_clock_ns() - start) * 1e-9;
      progress.left_s = so_far / done * (all - done);
      if (options->for_s > 0) progress.left_s = fmin(progress.left_s, fmax(0, options->for_s - so_far));
      mz_plan_text(p->pipeline, &plan->plan, NULL, progress.plan, sizeof progress.plan);
      if (watcher->progress) watcher->progress(watcher->context, &progress);
    }
  }
  return MZ_OK;
}

/* ---- the result ---- */

/* Returns the seconds of rounds; evaluations are apart, because their time follows the score. */
static double median_of(const measured *plan) {
  double copy[PASSES_MAX];
  memcpy(copy, plan->round_s, sizeof copy);
  return plan->count ? mz_median(copy, plan->count) : NAN;
}

/* Returns the deviation of one measurement: from the default and its twin, pass by pass; the difference of two has √2 times the
 * deviation of one. */
static double noise_of(const profile *p) {
  const measured *a = &p->plans[DEFAULT], *b = &p->plans[TWIN];
  const int n = a->count < b->count ? a->count : b->count;
  double sum = 0;
  for (int i = 0; i < n; i++) sum += pow(log(a->round_s[i] / b->round_s[i]), 2) / 2;
  return n ? sqrt(sum / n) : NAN;
}

static cJSON *result_json(const profile *p, bool stopped) {
  cJSON *o = cJSON_CreateObject();
  cJSON_AddStringToObject(o, "env", mz_run_env(p->run)->name);
  cJSON *plans = cJSON_AddArrayToObject(o, "plans");
  int best = DEFAULT;
  for (int i = 0; i < p->count; i++) {
    const measured *plan = &p->plans[i];
    cJSON *row = cJSON_CreateObject();
    cJSON_AddItemToObject(row, "plan", mz_plan_to_json(p->pipeline, &plan->plan));
    cJSON_AddStringToObject(row, "source", plan->source);
    cJSON_AddItemToObject(row, "unit_s", cJSON_CreateDoubleArray(plan->unit_s, plan->count));
    cJSON_AddItemToObject(row, "round_s", cJSON_CreateDoubleArray(plan->round_s, plan->count));
    cJSON_AddNumberToObject(row, "median_s", median_of(plan));
    cJSON_AddItemToArray(plans, row);
    if (median_of(plan) < median_of(&p->plans[best])) best = i;
  }
  cJSON_AddNumberToObject(o, "noise", noise_of(p));
  cJSON_AddItemToObject(o, "best", mz_plan_to_json(p->pipeline, &p->plans[best].plan));
  cJSON_AddNumberToObject(o, "best_s", median_of(&p->plans[best]));
  cJSON_AddNumberToObject(o, "default_s", median_of(&p->plans[DEFAULT]));
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
