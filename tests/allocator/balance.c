/* The balance factor of a plant, and what is advised about it. */
#include "allocator/balance/balance_advice.h"
#include "tests/allocator/plant.h"

enum { OVEN = PLANT_KNOBS, CORES = 16, DRAWS = 5000 };
static const double TINY = 1e-9;

/* A plant, its last window, what came of it. */
typedef struct seen {
  plant p;
  mz_balance balance;
  mz_balance_memory memory;
  mz_advice advice;
} seen;

static mz_situation situation_of(const seen *s) { return plant_situation(&s->p); }

static void read_balance(seen *s) {
  for (int i = 0; i < 2; i++) {
    const double time_s = (double)mz_stage_threads(&s->p.pipeline, i, &s->p.plan) * s->p.window.wall_s;
    mz_forecaster_observe(&s->p.utilisation[i], s->p.window.stages[i].busy_s / time_s);
  }
  const mz_situation situation = situation_of(s);
  mz_balance_read(&s->balance, &situation, NULL);
}

static const mz_advice *next_advice(seen *s) {
  s->p.window.number++;
  read_balance(s);
  const mz_situation situation = situation_of(s);
  mz_balance_advise(&s->balance, &situation, &s->memory, &s->advice);
  return &s->advice;
}

static const mz_resource_balance *resource_of(const seen *s, mz_resource r) { return &s->balance.resources[r]; }

/* busy, waiting for input, waiting for room: shares of the time of a stage's threads. */
static void set_stage(seen *s, int stage, double busy, double in, double out) {
  const double time_s = (double)mz_stage_threads(&s->p.pipeline, stage, &s->p.plan) * s->p.window.wall_s;
  s->p.window.stages[stage] = (mz_stage_sample){.items = 1,
                                                .busy_s = busy * time_s,
                                                .cpu_s = busy * time_s,
                                                .wait_in_s = in * time_s,
                                                .wait_out_s = out * time_s,
                                                .elapsed_s = s->p.window.wall_s};
}

static void set_cores(seen *s, double cores) {
  s->p.window.usage.core_share_p95 = cores / s->p.bounds.cpu_max;
  s->p.window.usage.cpu_s = cores * s->p.window.wall_s;
}

static void set_resident(seen *s, double share) {
  s->p.window.usage.rss_bytes = s->p.window.usage.rss_peak_bytes = share * mz_plan_bytes(&s->p.pipeline, &s->p.plan, NULL, 0);
}

/* 8 makers, 4 users, 16 cores; nobody waits, everything that is reserved is used. */
static seen balanced(void) {
  seen s = {.memory = {.turns = {0}}};
  plant_init(&s.p, CORES);
  s.p.settings.core_hour = 1, s.p.settings.gpu_hour = 20, s.p.settings.gib_hour = 0.1;
  s.p.bounds.memory_max = 0x1p34;
  s.p.plan = (mz_plan){.values = {8, 8, 4, 16, 0}};
  s.p.pipeline.stages[MAKE].groups = 0; /* as many tasks as there are threads for */
  s.p.window = (mz_window){.units = 10, .wall_s = 10, .score = NAN, .usage = {.wall_s = 10, .available_bytes = 0x1p33}};
  s.p.window.usage.missing = 1u << MZ_SENSOR_GPU;
  set_stage(&s, MAKE, 1, 0, 0);
  set_stage(&s, USE, 1, 0, 0);
  s.p.window.stages[SWEEP] = (mz_stage_sample){0};
  set_cores(&s, 12);
  set_resident(&s, 1);
  return s;
}

/* Users work on a GPU; there are `count`. */
static seen with_gpus(int count) {
  seen s = balanced();
  mz_pipeline *p = &s.p.pipeline;
  for (int i = 0; i < count; i++) {
    p->devices[1 + i] = (mz_device){.kind = MZ_DEVICE_CUDA};
    snprintf(p->devices[1 + i].name, sizeof p->devices[1 + i].name, "cuda:%d", i);
  }
  p->device_count = 1 + count;
  p->knobs[OVEN] = (mz_knob){"oven", MZ_EXACT, MZ_SCALE_CHOICE, 0, count, ""};
  p->knob_count = OVEN + 1;
  p->stages[USE].device = OVEN;
  s.p.plan.values[OVEN] = 1;
  s.p.bounds.gpu_max = count;
  s.p.window.usage.missing = 0;
  s.p.window.usage.gpu_busy = 1;
  assert_int_equal(mz_pipeline_check(p), MZ_OK);
  return s;
}

static void expect_text(const char *text, const char *words) {
  if (!strstr(text, words)) fail_msg("'%s' is not in: %s", words, text);
}

/* ---- the factor ---- */

static void what_is_used_is_needed(void **state) {
  (void)state;
  seen s = balanced();
  read_balance(&s);
  assert_true(fabs(s.balance.beta - 1) < TINY);
  assert_true(resource_of(&s, MZ_RESOURCE_CPU)->allocated == 12);
  set_cores(&s, 6);
  set_resident(&s, 0.25);
  read_balance(&s);
  const mz_resource_balance *cpu = resource_of(&s, MZ_RESOURCE_CPU), *memory = resource_of(&s, MZ_RESOURCE_MEMORY);
  assert_true(fabs(cpu->beta - 2) < TINY && fabs(cpu->needed - 6) < TINY && fabs(memory->beta - 4) < TINY);
  const double gib = memory->allocated / 0x1p30;
  assert_true(fabs(s.balance.beta - (12 + 0.1 * gib) / (6 + 0.1 * gib / 4)) < TINY);
  s.p.settings.core_hour = s.p.settings.gpu_hour = s.p.settings.gib_hour = 0; /* no prices: the defaults */
  const double before = s.balance.beta;
  read_balance(&s);
  assert_true(s.balance.beta == before);
  s.p.settings.gib_hour = 1;
  read_balance(&s);
  assert_true(fabs(s.balance.beta - 4) < TINY);
  set_cores(&s, 14); /* threads beside the plan's: no reason for more */
  read_balance(&s);
  assert_true(resource_of(&s, MZ_RESOURCE_CPU)->used == 1);
}

static void beta_falls_with_what_is_allocated_and_with_what_is_used(void **state) {
  (void)state;
  mz_rng rng = mz_rng_at(1, MZ_RNG_TEST, 0, 0);
  int falls = 0, rises = 0;
  for (int i = 0; i < DRAWS; i++) {
    seen s = with_gpus(2);
    s.p.plan.values[MAKERS] = 2 + (int64_t)mz_rng_below(&rng, 6);
    set_stage(&s, MAKE, 1, 0, mz_rng_f64(&rng));
    set_stage(&s, USE, 1, mz_rng_f64(&rng), 0);
    s.p.window.usage.gpu_busy = mz_rng_f64(&rng);
    set_cores(&s, 6 * mz_rng_f64(&rng));
    set_resident(&s, 0.01 + mz_rng_f64(&rng));
    const mz_situation situation = situation_of(&s);
    const mz_assignment more = {6 + 10 * mz_rng_f64(&rng), 0x1p30 * (2 + 10 * mz_rng_f64(&rng)), 1 + mz_rng_f64(&rng)};
    read_balance(&s);
    mz_balance before, after;
    mz_balance_read(&before, &situation, &more);
    mz_assignment less = more;
    const mz_resource r = (mz_resource)mz_rng_below(&rng, MZ_RESOURCES);
    double *const amounts[MZ_RESOURCES] = {&less.cpu, &less.memory, &less.gpu};
    *amounts[r] *= 0.9;
    mz_balance_read(&after, &situation, &less);
    if (after.resources[r].waited != before.resources[r].waited)
      continue; /* with the share of a GPU that is used the blame moves */
    assert_true(after.resources[r].beta <= before.resources[r].beta);
    if (before.resources[r].used > 0.01 && after.resources[r].used < 1)
      assert_true(after.resources[r].beta < before.resources[r].beta);
    if (before.resources[r].waited < 1 / before.beta && after.resources[r].used < 1) assert_true(after.beta < before.beta + TINY);
    falls += after.beta < before.beta;
    rises += after.beta > before.beta;
    mz_balance used;
    s.p.window.usage.rss_peak_bytes *= 1.1;
    s.p.window.usage.core_share_p95 *= 1.1;
    s.p.window.usage.cpu_s *= 1.1;
    mz_balance_read(&used, &situation, &more);
    assert_true(used.beta <= before.beta);
    const mz_resource_balance *memory = &before.resources[MZ_RESOURCE_MEMORY];
    if (memory->beta < MZ_BALANCE_MAX) assert_true(used.resources[MZ_RESOURCE_MEMORY].beta < memory->beta);
  }
  assert_true(falls > DRAWS / 2);
  print_message("beta falls in %d of %d draws, rises where the resource is waited for more than 1 / beta in %d\n", falls, DRAWS,
                rises);
}

static void both_ends_of_a_queue_count(void **state) {
  (void)state;
  seen s = balanced();
  set_stage(&s, USE, 0.6, 0.4, 0); /* users starve: makers are too few */
  read_balance(&s);
  const mz_resource_balance *cpu = resource_of(&s, MZ_RESOURCE_CPU);
  assert_true(fabs(cpu->waited - 0.4) < TINY && cpu->culprit == MAKE && fabs(cpu->beta - 1 / 1.4) < TINY);
  set_stage(&s, USE, 1, 0, 0);
  set_stage(&s, MAKE, 0.7, 0, 0.3); /* makers have no room: users are too few */
  read_balance(&s);
  assert_true(fabs(cpu->waited - 0.3) < TINY && cpu->culprit == USE);
  set_stage(&s, USE, 0.6, 0.4, 0); /* both: the shelf is too short, and makers work 70 % of their time */
  read_balance(&s);
  assert_true(fabs(cpu->waited - 0.1 * 0.7) < TINY && cpu->culprit == MAKE);
  const mz_resource_balance *memory = resource_of(&s, MZ_RESOURCE_MEMORY);
  assert_true(fabs(memory->waited - 0.3) < TINY && memory->culprit == 0);
  s.p.plan.values[SHELF] = 64; /* as long as it may be */
  read_balance(&s);
  assert_true(memory->waited == 0);
}

static void waiting_counts_where_more_can_be_had(void **state) {
  (void)state;
  seen s = balanced();
  set_stage(&s, USE, 0.6, 0.4, 0);
  s.p.pipeline.knobs[MAKERS].max = 8;
  read_balance(&s);
  assert_true(resource_of(&s, MZ_RESOURCE_CPU)->waited == 0 && s.balance.waited_for[MAKE] > 0.39);
  s.p.pipeline.knobs[MAKERS].max = 32;
  s.p.bounds.cpu_max = 12;
  set_cores(&s, 12);
  read_balance(&s);
  assert_true(resource_of(&s, MZ_RESOURCE_CPU)->waited == 0);
  s.p.bounds.cpu_max = 16;
  s.p.pipeline.stages[MAKE].groups = 64; /* 8 trays: a thread for each */
  read_balance(&s);
  assert_true(resource_of(&s, MZ_RESOURCE_CPU)->waited == 0);
  s.p.pipeline.stages[MAKE].groups = 0;
  read_balance(&s);
  assert_true(resource_of(&s, MZ_RESOURCE_CPU)->waited > 0.39);
}

static void stages_wait_for_the_one_that_ends_a_step(void **state) {
  (void)state;
  seen s = balanced();
  s.p.pipeline.queue_count = 0;
  set_stage(&s, USE, 0.25, 0, 0);
  s.p.window.stages[USE].elapsed_s = 2.5;
  read_balance(&s);
  const mz_resource_balance *cpu = resource_of(&s, MZ_RESOURCE_CPU);
  assert_true(fabs(cpu->waited - 0.75) < TINY && cpu->culprit == MAKE);
  s.p.window.stages[USE].elapsed_s = 10;
  s.p.window.stages[USE].busy_s = 40;
  read_balance(&s);
  assert_true(cpu->waited == 0);
}

static void a_gpu_is_waited_for_as_far_as_it_is_busy(void **state) {
  (void)state;
  seen s = with_gpus(2);
  s.p.pipeline.stages[MAKE].device = OVEN; /* both work on it … */
  s.p.pipeline.knobs[OVEN + 1] = s.p.pipeline.knobs[OVEN];
  snprintf(s.p.pipeline.knobs[OVEN + 1].name, MZ_NAME_MAX, "oven 2");
  s.p.pipeline.knob_count++;
  s.p.pipeline.stages[USE].device = OVEN + 1; /* … and may part */
  s.p.plan.values[OVEN + 1] = 1;
  s.p.window.usage.gpu_busy = 0.75;
  set_stage(&s, MAKE, 0.6, 0, 0.4);
  set_stage(&s, USE, 1, 0, 0);
  read_balance(&s);
  const mz_resource_balance *gpu = resource_of(&s, MZ_RESOURCE_GPU), *cpu = resource_of(&s, MZ_RESOURCE_CPU);
  assert_true(gpu->allocated == 1 && fabs(gpu->used - 0.75) < TINY && fabs(gpu->waited - 0.3) < TINY && gpu->culprit == USE);
  assert_true(fabs(cpu->waited - 0.1) < TINY && cpu->culprit == USE);
  const mz_assignment half = {12, 0x1p33, 0.5};
  const mz_situation situation = situation_of(&s);
  mz_balance_read(&s.balance, &situation, &half); /* a device busy for 75 % of the time, of which half was meant for it */
  assert_true(gpu->used == 1);
}

static void what_is_missing_is_unknown(void **state) {
  (void)state;
  seen s = with_gpus(1);
  const mz_window whole = s.p.window;
  const struct {
    mz_sensor sensor;
    mz_resource resource;
    double *value;
  } cases[] = {{MZ_SENSOR_CPU, MZ_RESOURCE_CPU, &s.p.window.usage.core_share_p95},
               {MZ_SENSOR_RSS, MZ_RESOURCE_MEMORY, &s.p.window.usage.rss_peak_bytes},
               {MZ_SENSOR_GPU, MZ_RESOURCE_GPU, &s.p.window.usage.gpu_busy}};
  for (int i = 0; i < 6; i++) {
    s.p.window = whole;
    if (i < 3)
      s.p.window.usage.missing = 1u << cases[i].sensor;
    else
      *cases[i % 3].value = NAN;
    read_balance(&s);
    for (mz_resource r = 0; r < MZ_RESOURCES; r++) assert_true(isnan(resource_of(&s, r)->beta) == (r == cases[i % 3].resource));
    assert_string_equal(resource_of(&s, cases[i % 3].resource)->unknown, "not measured");
    assert_true(isfinite(s.balance.beta));
  }
  double *const waits[] = {&s.p.window.stages[MAKE].wait_out_s, &s.p.window.stages[USE].wait_in_s, &s.p.window.stages[USE].busy_s,
                           &s.p.window.stages[MAKE].elapsed_s, &s.p.window.wall_s};
  for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
    s.p.window = whole;
    *waits[i] = NAN;
    const mz_situation situation = situation_of(&s);
    mz_balance_read(&s.balance, &situation, NULL);
    assert_true(isnan(s.balance.beta) && isnan(resource_of(&s, MZ_RESOURCE_CPU)->beta));
  }
  s.p.window = whole;
  s.p.plan.values[OVEN] = 0;
  read_balance(&s);
  assert_string_equal(resource_of(&s, MZ_RESOURCE_GPU)->unknown, "not in use");
  s = balanced();
  read_balance(&s);
  char text[200];
  mz_balance_text(&s.balance, text, sizeof text);
  assert_string_equal(text, "beta 1.00: cpu 1.00 (used 1.00, waited 0.00), memory 1.00 (used 1.00, waited 0.00), gpu none");
}

/* ---- advice ---- */

static void idle_makers(seen *s) {
  set_stage(s, MAKE, 0.3, 0, 0);
  set_stage(s, USE, 0.9, 0, 0);
  s->p.window.stages[MAKE].elapsed_s = 3; /* they have made enough early */
  set_cores(s, 6);
}

static void two_windows_confirm_and_one_is_rest(void **state) {
  (void)state;
  seen s = balanced();
  idle_makers(&s);
  assert_int_equal(next_advice(&s)->verdict, MZ_BALANCE_IS_OVER);
  assert_false(s.advice.change);
  expect_text(s.advice.reason, "one window only");
  assert_true(next_advice(&s)->change);
  assert_int_equal(s.advice.resource, MZ_RESOURCE_CPU);
  assert_true(s.advice.from == 12 && s.advice.to == 9 && s.advice.plan.values[MAKERS] == 5);
  expect_text(s.advice.reason, "over-allocated: beta 2.00, cpu 2.00 (used 0.50, waited 0.00): cpu 12 → 9, makers 5");
  s.p.plan = s.advice.plan;
  idle_makers(&s);
  assert_false(next_advice(&s)->change);
  expect_text(s.advice.reason, "rest");
  assert_false(next_advice(&s)->change);
  expect_text(s.advice.reason, "one window only");
  assert_true(next_advice(&s)->change); /* the third after the last */
  assert_true(s.advice.from == 9 && s.advice.to == 7);
}

static void a_window_in_balance_or_missing_begins_anew(void **state) {
  (void)state;
  for (int how = 0; how < 3; how++) {
    seen s = balanced();
    idle_makers(&s);
    assert_false(next_advice(&s)->change);
    if (how == 0) set_cores(&s, 11);
    if (how == 1) s.p.window.stages[USE].wait_in_s = NAN;
    if (how == 2) s.p.window.number++;
    if (how < 2) assert_false(next_advice(&s)->change);
    idle_makers(&s);
    assert_false(next_advice(&s)->change);
    assert_true(next_advice(&s)->change);
  }
}

static void an_advice_that_was_not_followed_rests_too(void **state) {
  (void)state;
  seen s = balanced();
  idle_makers(&s);
  next_advice(&s);
  assert_true(next_advice(&s)->change);
  assert_false(next_advice(&s)->change);
  expect_text(s.advice.reason, "rest");
}

/* Over-allocated: CPU, memory where CPU cannot or does not agree, then the GPU. */
static void less_is_taken_in_order(void **state) {
  (void)state;
  seen s = with_gpus(1);
  idle_makers(&s);
  set_resident(&s, 0.3);
  s.p.window.usage.gpu_busy = 0.3;
  next_advice(&s);
  assert_true(next_advice(&s)->change && s.advice.resource == MZ_RESOURCE_CPU);
  s = with_gpus(1);
  set_resident(&s, 0.3); /* cores are in use */
  s.p.window.usage.gpu_busy = 0.3;
  next_advice(&s);
  assert_true(next_advice(&s)->change && s.advice.resource == MZ_RESOURCE_MEMORY);
  assert_int_equal(s.advice.plan.values[SHELF], 12);
  assert_true(s.advice.from - s.advice.to == 4 << 20);
  expect_text(s.advice.skipped, "cpu: its own beta is 1.00");
  s = with_gpus(1);
  s.p.window.usage.gpu_busy = 0.3; /* memory is in use */
  next_advice(&s);
  assert_true(next_advice(&s)->change && s.advice.resource == MZ_RESOURCE_GPU);
  assert_true(s.advice.from == 1 && s.advice.to == 0.75);
  assert_true(mz_plan_equal(&s.p.pipeline, &s.advice.plan, &s.p.plan)); /* no knob has shares of a device */
  assert_string_equal(s.advice.skipped, "cpu: its own beta is 1.00; memory: its own beta is 1.00");
}

/* Under-allocated: GPU first, then CPU, then memory. */
static void more_is_added_in_order(void **state) {
  (void)state;
  seen s = with_gpus(2);
  mz_pipeline *p = &s.p.pipeline;
  p->knobs[OVEN + 1] = p->knobs[OVEN];
  snprintf(p->knobs[OVEN + 1].name, MZ_NAME_MAX, "oven 2");
  p->knob_count++;
  p->stages[MAKE].device = OVEN + 1;
  s.p.plan.values[OVEN + 1] = 1;
  set_stage(&s, MAKE, 0.5, 0, 0.5);
  next_advice(&s);
  assert_true(next_advice(&s)->change && s.advice.resource == MZ_RESOURCE_GPU);
  assert_true(s.advice.to == 2 && s.advice.plan.values[OVEN] == 2 && s.advice.plan.values[OVEN + 1] == 1);

  s = balanced(); /* no GPU: skipped, and recorded */
  set_stage(&s, USE, 0.6, 0.4, 0);
  next_advice(&s);
  assert_true(next_advice(&s)->change && s.advice.resource == MZ_RESOURCE_CPU);
  assert_true(s.advice.from == 12 && s.advice.to == 15 && s.advice.plan.values[MAKERS] == 11);
  assert_string_equal(s.advice.skipped, "gpu: none");

  s = balanced();
  set_stage(&s, MAKE, 0.6, 0, 0.4);
  set_stage(&s, USE, 0.6, 0.4, 0);
  s.p.settings.gib_hour = 1000; /* memory is what costs */
  next_advice(&s);
  assert_true(next_advice(&s)->change && s.advice.resource == MZ_RESOURCE_MEMORY);
  assert_int_equal(s.advice.plan.values[SHELF], 20);
  assert_string_equal(s.advice.skipped, "gpu: none; cpu: its own beta is 1.00");
}

static void nothing_is_advised_of_what_was_not_measured(void **state) {
  (void)state;
  seen s = balanced();
  idle_makers(&s);
  s.p.window.usage.missing |= 1u << MZ_SENSOR_CPU | 1u << MZ_SENSOR_RSS;
  for (int i = 0; i < 6; i++) {
    assert_false(next_advice(&s)->change);
    assert_int_equal(s.advice.verdict, MZ_BALANCE_IS_UNKNOWN);
  }
  expect_text(s.advice.reason, "beta unknown: cpu not measured, memory not measured, gpu none");
  s = balanced();
  idle_makers(&s);
  set_resident(&s, 0.3);
  s.p.window.usage.missing |= 1u << MZ_SENSOR_CPU;
  next_advice(&s);
  assert_true(next_advice(&s)->change && s.advice.resource == MZ_RESOURCE_MEMORY);
  expect_text(s.advice.skipped, "cpu: not measured");
  s.p.window.units = 0;
  assert_false(next_advice(&s)->change);
}

/* ---- steps ---- */

static void a_step_is_a_quarter_at_the_most(void **state) {
  (void)state;
  mz_rng rng = mz_rng_at(2, MZ_RNG_TEST, 0, 0);
  int changes[MZ_RESOURCES] = {0};
  for (int i = 0; i < DRAWS; i++) {
    seen s = with_gpus(1 + (int)mz_rng_below(&rng, 2));
    s.p.plan.values[MAKERS] = 1 + (int64_t)mz_rng_below(&rng, 16);
    s.p.plan.values[USERS] = 1 + (int64_t)mz_rng_below(&rng, 16);
    s.p.plan.values[SHELF] = 1 + (int64_t)mz_rng_below(&rng, 64);
    s.p.settings.gib_hour = mz_rng_below(&rng, 2) ? 0.1 : 1000;
    const bool ends = mz_rng_below(&rng, 2);
    set_stage(&s, MAKE, mz_rng_f64(&rng), 0, ends ? 0 : mz_rng_f64(&rng));
    set_stage(&s, USE, mz_rng_f64(&rng), ends ? 0 : mz_rng_f64(&rng), 0);
    s.p.window.usage.gpu_busy = mz_rng_f64(&rng);
    set_cores(&s, mz_plan_cores(&s.p.pipeline, &s.p.plan) * mz_rng_f64(&rng));
    set_resident(&s, 0.05 + mz_rng_f64(&rng));
    if (mz_rng_below(&rng, 4) == 0) s.p.bounds.cpu_max = mz_plan_cores(&s.p.pipeline, &s.p.plan);
    if (mz_rng_below(&rng, 4) == 0) s.p.bounds.memory_max = mz_plan_bytes(&s.p.pipeline, &s.p.plan, NULL, 0);
    next_advice(&s);
    if (!next_advice(&s)->change) continue;
    const mz_advice *a = &s.advice;
    const mz_resource_balance *r = resource_of(&s, a->resource);
    const double unit = a->resource == MZ_RESOURCE_MEMORY                            ? 1 << 20
                        : a->resource == MZ_RESOURCE_CPU || a->from > 1 || a->to > 1 ? 1
                                                                                     : 0.125;
    changes[a->resource]++;
    assert_true(a->from == r->allocated);
    assert_true(fabs(a->to - a->from) <= fmax(a->from / 4, unit) + TINY);
    assert_true(a->verdict == MZ_BALANCE_IS_OVER ? a->to <= a->from && s.balance.beta > 1.25 && r->beta > 1.25
                                                 : a->to >= a->from && s.balance.beta < 0.95 && r->beta < 0.95);
    assert_true(a->to != a->from || !mz_plan_equal(&s.p.pipeline, &a->plan, &s.p.plan));
    assert_null(mz_plan_refused(&s.p.pipeline, &s.p.bounds, &a->plan));
    if (a->resource == MZ_RESOURCE_MEMORY && a->to < a->from) assert_true(a->to >= 1.1 * s.p.window.usage.rss_peak_bytes - 1);
  }
  print_message("changes: cpu %d, memory %d, gpu %d\n", changes[0], changes[1], changes[2]);
  assert_true(changes[0] > 100 && changes[1] > 20 && changes[2] > 100);
}

static void growth_fits_what_is_free(void **state) {
  (void)state;
  seen s = balanced();
  set_stage(&s, MAKE, 0.6, 0, 0.4);
  set_stage(&s, USE, 0.6, 0.4, 0);
  s.p.settings.gib_hour = 1000;
  s.p.window.usage.available_bytes = 4 << 20; /* four places more are 4 MiB */
  next_advice(&s);
  assert_false(next_advice(&s)->change);
  expect_text(s.advice.skipped, "memory: 4 MiB more, 4 free");
  s.p.window.usage.available_bytes = 5 << 20;
  next_advice(&s);
  assert_true(next_advice(&s)->change);
  s.p.tabu[0] = s.advice.plan;
  s.p.tabu_count = 1;
  for (int i = 0; i < 4; i++) assert_false(next_advice(&s)->change);
  expect_text(s.advice.skipped, "undone lately");
}

static void a_pool_that_is_waited_for_or_busy_gives_nothing(void **state) {
  (void)state;
  seen s = balanced();
  idle_makers(&s);
  set_stage(&s, USE, 0.9, 0.1, 0); /* users wait a little for makers, who are idle for another reason */
  s.p.pipeline.knobs[MAKERS].max = 8;
  next_advice(&s);
  assert_false(next_advice(&s)->change);
  expect_text(s.advice.skipped, "cpu: no pool has a thread to spare");
  s = balanced();
  set_stage(&s, MAKE, 0.9, 0, 0);
  set_stage(&s, USE, 0.9, 0, 0);
  set_cores(&s, 6); /* whatever else the sensor says */
  next_advice(&s);
  assert_false(next_advice(&s)->change);
  expect_text(s.advice.skipped, "cpu: no pool has a thread to spare");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_used_is_needed),
      cmocka_unit_test(beta_falls_with_what_is_allocated_and_with_what_is_used),
      cmocka_unit_test(both_ends_of_a_queue_count),
      cmocka_unit_test(waiting_counts_where_more_can_be_had),
      cmocka_unit_test(stages_wait_for_the_one_that_ends_a_step),
      cmocka_unit_test(a_gpu_is_waited_for_as_far_as_it_is_busy),
      cmocka_unit_test(what_is_missing_is_unknown),
      cmocka_unit_test(two_windows_confirm_and_one_is_rest),
      cmocka_unit_test(a_window_in_balance_or_missing_begins_anew),
      cmocka_unit_test(an_advice_that_was_not_followed_rests_too),
      cmocka_unit_test(less_is_taken_in_order),
      cmocka_unit_test(more_is_added_in_order),
      cmocka_unit_test(nothing_is_advised_of_what_was_not_measured),
      cmocka_unit_test(a_step_is_a_quarter_at_the_most),
      cmocka_unit_test(growth_fits_what_is_free),
      cmocka_unit_test(a_pool_that_is_waited_for_or_busy_gives_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
