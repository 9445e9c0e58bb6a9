#include "muzero/steering/profile_plans.h"
#include "base/maths/streams.h"
#include <math.h>
#include <string.h>

typedef struct plan_list {
  const mz_pipeline *pipeline;
  mz_profile_plan *plans;
  int count;
} plan_list;

/* A value of the knob at share u of its range, on the scale of its steps. */
static int64_t value_at(const mz_knob *knob, double u) {
  if (knob->scale == MZ_SCALE_CHOICE) return mz_knob_clamp(knob, knob->min + (int64_t)(u * (double)(knob->max - knob->min + 1)));
  const double low = log2((double)knob->min), high = log2((double)knob->max);
  return mz_knob_clamp(knob, (int64_t)llround(exp2(low + u * (high - low))));
}

/* Latin hypercube (McKay et al. 1979): in each knob, one plan falls into each of `count` equal parts of its range. */
static void draw_hypercube(plan_list *p, int first, int count, uint64_t seed) {
  for (int k = 0; k < p->pipeline->knob_count; k++) {
    if (mz_knob_packs(p->pipeline, k)) continue; /* memory, not speed, is what it is for */
    mz_rng rng = mz_stream_order(seed, MZ_ORDER_HYPERCUBE, k);
    int cell[MZ_PROFILE_PLANS_MAX];
    mz_rng_permutation(&rng, count, cell);
    for (int i = 0; i < count; i++)
      p->plans[first + i].plan.values[k] = value_at(&p->pipeline->knobs[k], (cell[i] + mz_rng_f64(&rng)) / count);
  }
  for (int i = 0; i < count; i++) p->plans[first + i].source = "hypercube";
}

static void draw_uniform(plan_list *p, int first, int count, uint64_t seed) {
  for (int i = 0; i < count; i++) {
    mz_rng rng = mz_stream_order(seed, MZ_ORDER_UNIFORM, i);
    for (int k = 0; k < p->pipeline->knob_count; k++)
      if (!mz_knob_packs(p->pipeline, k)) p->plans[first + i].plan.values[k] = value_at(&p->pipeline->knobs[k], mz_rng_f64(&rng));
    p->plans[first + i].source = "random";
  }
}

mz_status mz_grid_read(const char *grid, mz_status (*take)(void *context, const char *part), void *context) {
  for (const char *at = grid; *at;) {
    char part[256];
    const size_t length = strcspn(at, ";");
    if (length >= sizeof part) return mz_fail(MZ_E_CONFIG, "--grid: '%s' is too long", at);
    snprintf(part, sizeof part, "%.*s", (int)length, at);
    MZ_TRY(take(context, part));
    at += length + (at[length] == ';');
  }
  return MZ_OK;
}

/* One knob of a grid, "name=v,v,…": every plan so far with each of its values. */
static mz_status cross(void *context, const char *part) {
  plan_list *p = context;
  const char *equals = strchr(part, '=');
  char name[MZ_NAME_MAX];
  int knob;
  if (!equals) return mz_fail(MZ_E_CONFIG, "--grid: '%s' is not knob=value,value,…", part);
  snprintf(name, sizeof name, "%.*s", (int)(equals - part), part);
  MZ_TRY(mz_pipeline_find_knob(p->pipeline, name, "--grid", &knob));
  const mz_knob *k = &p->pipeline->knobs[knob];
  const int before = p->count - MZ_PROFILE_DRAWN;
  int values = 0;
  for (const char *at = equals + 1; *at; values++) {
    char *end;
    const long long value = strtoll(at, &end, 10);
    if (end == at || (*end && *end != ',') || value < k->min || value > k->max)
      return mz_fail(MZ_E_CONFIG, "--grid: %s: '%s': takes whole numbers from %lld to %lld", name, at, (long long)k->min,
                     (long long)k->max);
    if (before * (values + 1) > MZ_PROFILE_PLANS_MAX - MZ_PROFILE_DRAWN)
      return mz_fail(MZ_E_CONFIG, "--grid: more than %d plans", MZ_PROFILE_PLANS_MAX - MZ_PROFILE_DRAWN);
    for (int i = 0; i < before; i++) {
      mz_profile_plan *plan = &p->plans[MZ_PROFILE_DRAWN + before * values + i];
      *plan = p->plans[MZ_PROFILE_DRAWN + i];
      plan->plan.values[knob] = value;
    }
    at = *end ? end + 1 : end;
  }
  if (values == 0)
    return mz_fail(MZ_E_CONFIG, "--grid: %s: no value; takes whole numbers from %lld to %lld", name, (long long)k->min,
                   (long long)k->max);
  p->count = MZ_PROFILE_DRAWN + before * values;
  return MZ_OK;
}

static mz_status choose_grid(plan_list *p, const char *grid) {
  p->plans[MZ_PROFILE_DRAWN] = (mz_profile_plan){.plan = p->plans[MZ_PROFILE_DEFAULT].plan, .source = "grid"};
  p->count = MZ_PROFILE_DRAWN + 1;
  return mz_grid_read(grid, cross, p);
}

mz_status mz_profile_plans(const mz_pipeline *pipeline, const mz_plan *usual, uint64_t seed, int drawn, const char *grid,
                           mz_profile_plan *out, int *count) {
  plan_list list = {.pipeline = pipeline, .plans = out}, *p = &list;
  p->plans[MZ_PROFILE_DEFAULT] = p->plans[MZ_PROFILE_TWIN] = (mz_profile_plan){.plan = *usual, .source = "default"};
  p->plans[MZ_PROFILE_PLAIN] = (mz_profile_plan){.plan = *usual, .source = "plain"};
  for (int k = 0; k < pipeline->knob_count; k++)
    if (!mz_knob_packs(pipeline, k)) p->plans[MZ_PROFILE_PLAIN].plan.values[k] = pipeline->knobs[k].min;
  if (grid) {
    MZ_TRY(choose_grid(p, grid));
  } else {
    for (int i = 0; i < drawn; i++) p->plans[MZ_PROFILE_DRAWN + i].plan = *usual;
    const int uniform = drawn / 4;
    draw_hypercube(p, MZ_PROFILE_DRAWN, drawn - uniform, seed);
    draw_uniform(p, MZ_PROFILE_DRAWN + drawn - uniform, uniform, seed);
    p->count = MZ_PROFILE_DRAWN + drawn;
  }
  *count = p->count;
  return MZ_OK;
}
