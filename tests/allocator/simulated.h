/* A print shop, run by formula: typesetting, printing and binding at the same time with two queues between them, then shipping.
 * Rounds take what the formula says and some noise from a counter, so that a run is the same every time. The formula is of another
 * kind than T_ana: the slowest stage, a part of the others, what small queues cost, and what every thread costs to be woken. */
#pragma once
#include "allocator/allocator.h"
#include "base/maths/rng.h"
#include <math.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { SETTERS, PRESSES, SHEETS, BINDERS, PLATES, PILES, SHOP_KNOBS };
enum { SET, PRINT, BIND, SHIP, SHOP_STAGES };
enum { SHOP_CORES = 8, SHOP_ROUNDS = 10 };

typedef struct shop {
  mz_pipeline pipeline;
  mz_allocation_settings settings;
  mz_bounds bounds;
  uint64_t seed;
  double noise; /* standard deviation of log round seconds */
  int64_t phase, round;
  double seconds; /* of all phases so far */
} shop;

static inline mz_pipeline shop_pipeline(void) {
  return (mz_pipeline){
      .name = "print shop",
      .unit_samples = 64,
      .bytes_fixed = 64 << 20,
      .stage_count = SHOP_STAGES,
      .queue_count = 2,
      .device_count = 1,
      .knob_count = SHOP_KNOBS,
      .stages = {[SET] = {.name = "set",
                          .threads = SETTERS,
                          .batch = -1,
                          .device = -1,
                          .items = 64,
                          .groups = 64,
                          .probes = {{.batch = {1}, .cpu_s = {2e-3}}},
                          .bytes_thread = 1 << 20},
                 [PRINT] = {.name = "print",
                            .threads = PRESSES,
                            .batch = SHEETS,
                            .device = -1,
                            .items = 256,
                            .groups = 256,
                            .probes = {{.batch = {1, 8, 32}, .cpu_s = {2.2e-3, 1.15e-3, 1.03e-3}}},
                            .bytes_thread = 4 << 20,
                            .bytes_slot = 256 << 10},
                 [BIND] = {.name = "bind",
                           .threads = BINDERS,
                           .batch = -1,
                           .device = -1,
                           .items = 32,
                           .groups = 32,
                           .serial = 0.1,
                           .probes = {{.batch = {1}, .cpu_s = {3e-3}}},
                           .bytes_thread = 1 << 20},
                 [SHIP] = {.name = "ship", .step = 1, .threads = -1, .batch = -1, .device = -1, .items = 1}},
      .queues = {{.name = "plates", .from = SET, .to = PRINT, .capacity = PLATES, .items = 64, .bytes = 1 << 20},
                 {.name = "piles", .from = PRINT, .to = BIND, .capacity = PILES, .items = 32, .bytes = 1 << 20}},
      .devices = {{.name = "cpu:0", .kind = MZ_DEVICE_CPU, .cores = SHOP_CORES}},
      .knobs = {[SETTERS] = {"setters", MZ_EXACT, MZ_SCALE_LOG2, 1, 8},
                [PRESSES] = {"presses", MZ_EXACT, MZ_SCALE_LOG2, 1, 8},
                [SHEETS] = {"sheets", MZ_EXACT, MZ_SCALE_LOG2, 1, 64},
                [BINDERS] = {"binders", MZ_EXACT, MZ_SCALE_LOG2, 1, 8},
                [PLATES] = {"plates", MZ_EXACT, MZ_SCALE_LOG2, 1, 8},
                [PILES] = {"piles", MZ_EXACT, MZ_SCALE_LOG2, 1, 8}},
  };
}

static inline mz_plan shop_plain(void) { return (mz_plan){.values = {1, 1, 1, 1, 1, 1}}; }

static inline shop shop_open(const char *strategy, double noise, uint64_t seed) {
  shop s = {.pipeline = shop_pipeline(), .seed = seed, .noise = noise};
  mz_settings_table table = mz_allocation_table;
  table.base = 0;
  mz_config config = {.tables = &table, .table_count = 1, .values = &s.settings};
  mz_config_defaults(&config);
  snprintf(s.settings.strategy, sizeof s.settings.strategy, "%s", strategy);
  const mz_grants grants = {.cores = SHOP_CORES, .memory_bytes = 0x1p34, .available_bytes = 0x1p33};
  assert_int_equal(mz_bounds_resolve(&s.bounds, &s.settings, &grants), MZ_OK);
  return s;
}

static inline mz_allocator_options shop_options(const shop *s, const mz_plan *start) {
  return (mz_allocator_options){.pipeline = &s->pipeline, .settings = &s->settings, .bounds = s->bounds, .start = *start};
}

static inline mz_allocator *shop_allocator(const shop *s, const mz_plan *start, const mz_strategy *strategy) {
  mz_allocator_options options = shop_options(s, start);
  options.strategy = strategy;
  mz_allocator *allocator = NULL;
  if (mz_allocator_create(&allocator, &options) != MZ_OK) fail_msg("%s", mz_message());
  return allocator;
}

/* ---- how long a round takes ---- */

static inline double shop_stage_s(const mz_plan *plan, int stage, double *cpu_s) {
  const int64_t *v = plan->values;
  switch (stage) {
    case SET: *cpu_s = 64 * 2e-3; return *cpu_s / (double)v[SETTERS];
    case PRINT: {
      const double tasks = ceil(256.0 / (double)v[SHEETS]);
      *cpu_s = 256 * 1e-3 + tasks * 1.2e-3; /* a run of the press has to be set up */
      return *cpu_s * ceil(tasks / (double)v[PRESSES]) / tasks;
    }
    case BIND: *cpu_s = 32 * 3e-3; return *cpu_s * (0.1 + 0.9 / (double)v[BINDERS]);
    default: *cpu_s = 5e-3; return *cpu_s;
  }
}

/* Seconds of a round (a unit of work), all steps; stages (may be NULL): what telemetry would show. */
static inline double shop_round_s(const mz_plan *plan, mz_stage_sample *stages) {
  double time[SHOP_STAGES], cpu[SHOP_STAGES], most = 0, sum = 0, all = 0;
  const double items[SHOP_STAGES] = {64, 256, 32, 1};
  const double threads[SHOP_STAGES] = {(double)plan->values[SETTERS], (double)plan->values[PRESSES],
                                       (double)plan->values[BINDERS], 1};
  for (int i = 0; i < SHIP; i++) {
    time[i] = shop_stage_s(plan, i, &cpu[i]);
    most = fmax(most, time[i]);
    sum += time[i];
    all += cpu[i];
  }
  time[SHIP] = shop_stage_s(plan, SHIP, &cpu[SHIP]);
  const double stalls = 0.08 / (double)(1 + plan->values[PLATES]) + 0.04 / (double)(1 + plan->values[PILES]);
  double step = most + 0.1 * (sum - most) + stalls * most + 1e-4 * (threads[SET] + threads[PRINT] + threads[BIND]);
  step = fmax(step, all / SHOP_CORES);
  for (int i = 0; stages != NULL && i < SHOP_STAGES; i++) {
    const double wall = i == SHIP ? time[SHIP] : step, idle = fmax(0, threads[i] * wall - cpu[i]);
    stages[i] =
        (mz_stage_sample){.items = items[i], .busy_s = fmin(cpu[i], threads[i] * wall), .cpu_s = cpu[i], .elapsed_s = wall};
    if (i == BIND || i == PRINT) stages[i].wait_in_s = idle / 2;
    if (i == SET || i == PRINT) stages[i].wait_out_s = idle / 2;
  }
  return step + time[SHIP];
}

static inline double six_digits(double value) {
  char text[32];
  snprintf(text, sizeof text, "%.6g", value);
  return strtod(text, NULL);
}

/* The best plan within the bounds, by time or by price, found by trying all. */
static inline double shop_optimum(const shop *s, mz_plan *best) {
  double least = INFINITY;
  mz_plan plan = {{0}};
  const mz_pipeline *p = &s->pipeline;
  for (int k = 0; k < SHOP_KNOBS; k++) plan.values[k] = p->knobs[k].min;
  for (int k = 0; k < SHOP_KNOBS;) {
    if (mz_plan_refused(p, &s->bounds, &plan) == NULL) {
      double cost = shop_round_s(&plan, NULL);
      if (s->settings.objective == MZ_OBJECTIVE_COST) cost *= mz_plan_price_s(p, &s->settings, &plan);
      if (cost < least) least = cost, *best = plan;
    }
    for (k = 0; k < SHOP_KNOBS; k++) {
      if (plan.values[k] < p->knobs[k].max) {
        plan.values[k] = mz_knob_step(&p->knobs[k], plan.values[k], 1);
        break;
      }
      plan.values[k] = p->knobs[k].min;
    }
  }
  return least;
}

/* ---- phases ---- */

typedef struct shop_phase {
  mz_window window;
  double rounds[64]; /* what the allocator was told */
  int round_count;
  int given_up; /* the round that ended a trial; 0: none did */
} shop_phase;

static inline void shop_add_round(mz_window *w, const mz_plan *plan, double seconds, double slowness) {
  mz_stage_sample stages[SHOP_STAGES];
  shop_round_s(plan, stages);
  w->units++;
  w->wall_s += seconds;
  w->round_s[w->round_count++] = seconds;
  for (int i = 0; i < SHOP_STAGES; i++) {
    w->stages[i].items += stages[i].items;
    w->stages[i].busy_s += stages[i].busy_s * slowness;
    w->stages[i].cpu_s += stages[i].cpu_s * slowness;
    w->stages[i].wait_in_s += stages[i].wait_in_s * slowness;
    w->stages[i].wait_out_s += stages[i].wait_out_s * slowness;
    w->stages[i].elapsed_s += stages[i].elapsed_s * slowness;
    w->usage.cpu_s += stages[i].cpu_s * slowness;
  }
}

/* SHOP_ROUNDS rounds under whatever plan the allocator wants; slowness (may be NULL): of a plan, beside the formula's. */
static inline void shop_work(shop *s, mz_allocator *allocator, double (*slowness)(const mz_plan *), shop_phase *out) {
  *out = (shop_phase){.window = {.phase = ++s->phase, .score = NAN}};
  mz_window *w = &out->window;
  for (int i = 0; i < SHOP_ROUNDS; i++) {
    const mz_plan plan = *mz_allocator_plan(allocator);
    mz_rng rng = mz_rng_at(s->seed, MZ_RNG_TEST, (uint32_t)s->round++, 0);
    const double factor = exp(s->noise * mz_rng_normal(&rng)) * (slowness != NULL ? slowness(&plan) : 1);
    const double seconds = six_digits(shop_round_s(&plan, NULL) * factor);
    s->seconds += seconds;
    shop_add_round(w, &plan, seconds, factor);
    out->rounds[out->round_count++] = seconds;
    if (!mz_allocator_round(allocator, seconds)) continue;
    *w = (mz_window){.phase = s->phase, .score = NAN}; /* what was measured belongs to a plan that is no more */
    out->given_up = i + 1;
  }
  w->round = s->round;
  w->usage.wall_s = w->wall_s;
  w->usage.rss_bytes = w->usage.rss_peak_bytes = mz_plan_bytes(&s->pipeline, mz_allocator_plan(allocator), NULL, 0);
  w->usage.missing = 1u << MZ_SENSOR_GPU | 1u << MZ_SENSOR_PRESSURE | 1u << MZ_SENSOR_MEMORY;
  mz_window_quantise(w);
}
