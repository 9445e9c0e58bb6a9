/* The clamps of the patent's assignment, and plans that follow it. */
#include "allocator/balance/assign.h"
#include "tests/allocator/invented.h"
#include "tests/allocator/support/random_pipeline.h"

enum { DRAWS = 20000, PLANS = 400 };
static const double GIB = 0x1p30;

static mz_assignment assigned(const mz_demand *demand, double temperature, const mz_bounds *bounds,
                              mz_clamp clamps[MZ_RESOURCES]) {
  mz_assignment a;
  mz_assign(&a, clamps, demand, temperature, bounds);
  return a;
}

static double log_uniform(mz_rng *rng, double least, double most) { return least * pow(most / least, mz_rng_f64(rng)); }

static mz_demand draw_demand(mz_rng *rng) {
  mz_demand a = {.unit_s = log_uniform(rng, 1e-3, 10),
                 .cpu_s = draw(rng, 0, 9) ? log_uniform(rng, 1e-3, 100) : 0,
                 .gpu_s = draw(rng, 0, 1) ? log_uniform(rng, 1e-3, 30) : 0,
                 .bytes = log_uniform(rng, 1e6, 1e11),
                 .resident = draw(rng, 0, 3) ? log_uniform(rng, 1e6, 1e11) : NAN,
                 .available = draw(rng, 0, 3) ? log_uniform(rng, 1e6, 1e12) : NAN};
  for (int r = 0; r < MZ_RESOURCES; r++) a.spread[r] = draw(rng, 0, 1) ? mz_rng_f64(rng) : 0;
  return a;
}

static mz_bounds draw_bounds(mz_rng *rng) {
  mz_bounds b = {.cpu_max = draw(rng, 1, 128), .gpu_max = draw(rng, 0, 8), .memory_max = log_uniform(rng, 1e7, 1e12)};
  b.cpu_min = draw(rng, 0, (int)b.cpu_max);
  b.gpu_min = draw(rng, 0, (int)b.gpu_max);
  b.memory_min = draw(rng, 0, 1) ? b.memory_max * mz_rng_f64(rng) : 0;
  return b;
}

/* ---- clamps ---- */

static void amounts_are_what_the_formulas_say(void **state) {
  (void)state;
  const mz_bounds bounds = {.cpu_max = 16, .gpu_max = 4, .memory_max = 64 * GIB};
  mz_demand demand = {.unit_s = 2, .cpu_s = 6.8, .gpu_s = 2.4, .bytes = GIB, .resident = GIB / 2, .available = NAN};
  mz_clamp clamps[MZ_RESOURCES];
  mz_assignment a = assigned(&demand, 0, &bounds, clamps); /* 6.8 / (0.85 · 2), 2.4 / (0.8 · 2) */
  assert_true(a.cpu == 4 && a.gpu == 2 && a.memory == GIB);
  a = assigned(&demand, 1, &bounds, clamps); /* half as much again */
  assert_true(a.cpu == 6 && a.gpu == 3 && a.memory == GIB);
  demand.spread[MZ_RESOURCE_CPU] = 0.1; /* 4 + 1.28 · 0.4 */
  demand.spread[MZ_RESOURCE_MEMORY] = 0.5;
  a = assigned(&demand, 0, &bounds, clamps);
  assert_true(a.cpu == 5 && fabs(a.memory / GIB - 1.64) < 1e-12);
  demand.resident = 2 * GIB;
  a = assigned(&demand, 0, &bounds, clamps);
  assert_true(fabs(a.memory / GIB - 2.2) < 1e-12);
  assert_string_equal(clamps[MZ_RESOURCE_MEMORY].binding, "resident memory");
  demand.available = 2 * GIB;
  a = assigned(&demand, 0, &bounds, clamps);
  assert_true(fabs(a.memory / GIB - 1.7) < 1e-12);
  assert_string_equal(clamps[MZ_RESOURCE_MEMORY].binding, "free memory");
}

static void less_than_a_device_is_shared_in_eighths(void **state) {
  (void)state;
  const mz_bounds bounds = {.cpu_max = 16, .gpu_max = 2, .memory_max = GIB};
  mz_clamp clamps[MZ_RESOURCES];
  for (int i = 1; i <= 24; i++) {
    const double devices = i / 8.0;
    const mz_demand demand = {.unit_s = 1, .cpu_s = 1, .gpu_s = 0.8 * (devices - 0.01), .resident = NAN, .available = NAN};
    const mz_assignment a = assigned(&demand, 0, &bounds, clamps);
    assert_true(a.gpu == (i <= 8 ? devices : fmin(ceil(devices), 2)));
    assert_string_equal(clamps[MZ_RESOURCE_GPU].binding, devices > 2 ? "limits.gpu_max" : "");
  }
}

static void amounts_stay_within_the_bounds(void **state) {
  (void)state;
  mz_rng rng = mz_rng_at(1, MZ_RNG_TEST, 0, 0);
  for (int i = 0; i < DRAWS; i++) {
    const mz_demand demand = draw_demand(&rng);
    const mz_bounds b = draw_bounds(&rng);
    mz_clamp clamps[MZ_RESOURCES];
    const mz_assignment a = assigned(&demand, mz_rng_f64(&rng), &b, clamps);
    assert_true(a.cpu >= fmax(1, b.cpu_min) && a.cpu <= b.cpu_max);
    assert_true(a.gpu >= b.gpu_min && a.gpu <= b.gpu_max);
    assert_true(a.memory <= b.memory_max && !(a.memory > 0.85 * demand.available));
    if (!(0.85 * demand.available < b.memory_min)) assert_true(a.memory >= b.memory_min);
    assert_true(8 * a.gpu == floor(8 * a.gpu) && (a.gpu <= 1 || a.gpu == floor(a.gpu)));
    for (mz_resource r = 0; r < MZ_RESOURCES; r++) {
      const mz_clamp *c = &clamps[r];
      assert_true(c->amount == mz_assignment_of(&a, r));
      if ((c->amount != c->wanted) != (c->binding[0] != '\0')) fail_msg("%g of %g: '%s'", c->amount, c->wanted, c->binding);
    }
  }
}

static void amounts_grow_with_demand_and_temperature(void **state) {
  (void)state;
  mz_rng rng = mz_rng_at(2, MZ_RNG_TEST, 0, 0);
  int more = 0;
  for (int i = 0; i < DRAWS; i++) {
    const mz_demand demand = draw_demand(&rng);
    const mz_bounds b = draw_bounds(&rng);
    const double temperature = mz_rng_f64(&rng), factor = 1 + mz_rng_f64(&rng);
    mz_demand grown = demand;
    double warmer = temperature;
    switch (draw(&rng, 0, 5)) {
      case 0: grown.cpu_s *= factor, grown.gpu_s *= factor, grown.bytes *= factor; break;
      case 1: warmer *= factor; break;
      case 2: grown.unit_s /= factor; break;
      case 3: grown.resident *= factor; break;
      case 4: grown.available *= factor; break;
      default:
        for (int r = 0; r < MZ_RESOURCES; r++) grown.spread[r] *= factor;
    }
    mz_clamp clamps[MZ_RESOURCES];
    const mz_assignment before = assigned(&demand, temperature, &b, clamps), after = assigned(&grown, warmer, &b, clamps);
    assert_true(after.cpu >= before.cpu && after.gpu >= before.gpu && after.memory >= before.memory);
    more += after.cpu > before.cpu || after.gpu > before.gpu || after.memory > before.memory;
  }
  assert_true(more > DRAWS / 10);
}

static void what_is_not_predicted_gets_what_the_bounds_allow(void **state) {
  (void)state;
  const mz_bounds bounds = {.cpu_min = 2, .cpu_max = 6, .gpu_max = 1, .memory_max = GIB};
  const mz_demand demand = {.unit_s = NAN, .cpu_s = 1, .bytes = 1e6, .resident = NAN, .available = NAN};
  mz_clamp clamps[MZ_RESOURCES];
  char text[200];
  const mz_assignment a = assigned(&demand, NAN, &bounds, clamps);
  assert_true(a.cpu == 6 && a.gpu == 1 && a.memory == 1e6);
  assert_string_equal(clamps[MZ_RESOURCE_CPU].binding, "not predicted");
  mz_assign_text(clamps, text, sizeof text);
  assert_string_equal(text, "cpu 6 of 2 … 6, not predicted; memory 0.000931 of 0 … 1 GiB; gpu 1 of 0 … 1, not predicted");
}

static void the_bound_that_decided_is_named(void **state) {
  (void)state;
  const mz_bounds bounds = {.cpu_min = 2, .cpu_max = 4, .memory_min = 2 * GIB, .memory_max = 0x1p60};
  mz_demand demand = {.unit_s = 1, .cpu_s = 5.9, .bytes = GIB, .resident = NAN, .available = NAN};
  mz_clamp clamps[MZ_RESOURCES];
  char text[200], cut[24];
  assigned(&demand, 0, &bounds, clamps);
  mz_assign_text(clamps, text, sizeof text);
  assert_string_equal(text, "cpu 4 of 2 … 4, limits.cpu_max binds (wanted 7); "
                            "memory 2 of 2 or more GiB, limits.memory_min binds (wanted 1); gpu none");
  demand.cpu_s = 0.5;
  assigned(&demand, 0, &bounds, clamps);
  assert_string_equal(clamps[MZ_RESOURCE_CPU].binding, "limits.cpu_min");
  mz_assign_text(clamps, cut, sizeof cut);
  assert_int_equal(strlen(cut), sizeof cut - 1);
}

/* ---- demand ---- */

static void spreads_are_of_plans_seen_more_than_once(void **state) {
  (void)state;
  random_pipeline r;
  random_pipeline_init(&r, 3, 8, 64);
  const mz_analytic model = random_pipeline_model(&r);
  const mz_plan a = random_pipeline_least(&r.pipeline);
  mz_plan b = a;
  b.values[0]++;
  const mz_observation history[] = {{.plan = a, .unit_s = 1, .cpu_s = 0.9, .rss_bytes = 100},
                                    {.plan = a, .unit_s = 1, .cpu_s = 1.1, .rss_bytes = NAN},
                                    {.plan = b, .unit_s = 1, .cpu_s = 5, .rss_bytes = 200}};
  const mz_usage usage = {.rss_bytes = 100, .rss_peak_bytes = 120, .available_bytes = 900};
  mz_demand demand;
  mz_demand_read(&demand, &model, &a, 0.5, history, 3, &usage);
  assert_true(fabs(demand.spread[MZ_RESOURCE_CPU] - 0.1 * sqrt(2)) < 1e-12); /* two deviations of a tenth, one mean */
  assert_true(demand.spread[MZ_RESOURCE_MEMORY] == 0);
  assert_true(demand.resident == 120 && demand.available == 1000 && demand.unit_s == 0.5);
  assert_true(demand.bytes == mz_plan_bytes(&r.pipeline, &a, NULL, 0));
  mz_analysis analysis;
  mz_analytic_explain(&model, &a, &analysis);
  double sum = 0;
  for (int s = 0; s < r.pipeline.stage_count; s++) sum += analysis.cpu_s[s];
  assert_true(demand.cpu_s == sum && sum > 0 && demand.gpu_s == 0);
  mz_usage blind = usage;
  blind.missing = 1u << MZ_SENSOR_RSS;
  mz_demand_read(&demand, &model, &a, 0.5, NULL, 0, &blind);
  assert_true(isnan(demand.resident) && isnan(demand.available) && demand.spread[MZ_RESOURCE_CPU] == 0);
}

static void work_on_a_gpu_takes_cores_too(void **state) {
  (void)state;
  mz_pipeline p = bakery();
  mz_plan plan = bakery_plan();
  mz_analytic model;
  p.stages[1].probes[MZ_DEVICE_CPU] = (mz_probes){.batch = {1}, .cpu_s = {0.05}};
  p.stages[1].probes[MZ_DEVICE_CUDA] = (mz_probes){.batch = {1}, .cpu_s = {0.02}, .device_s = {0.01}};
  mz_analytic_init(&model, &p, 6);
  mz_demand cpu, gpu;
  mz_demand_read(&cpu, &model, &plan, 1, NULL, 0, NULL);
  plan.values[OVEN] = 2;
  mz_demand_read(&gpu, &model, &plan, 1, NULL, 0, NULL);
  assert_true(cpu.gpu_s == 0 && fabs(gpu.gpu_s - 0.1) < 1e-6);
  assert_true(fabs(cpu.cpu_s - gpu.cpu_s - 0.3) < 1e-6); /* of 0.5 it leaves 0.2 on the cores */
}

/* ---- plans that follow ---- */

static void a_plan_that_fits_stays(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < PLANS; seed++) {
    random_pipeline r;
    random_pipeline_init(&r, seed, 16, 64);
    const mz_plan plan = random_pipeline_plan(&r.pipeline, seed);
    mz_plan followed = plan;
    const mz_assignment enough = {mz_plan_cores(&r.pipeline, &plan), mz_plan_bytes(&r.pipeline, &plan, NULL, 0), 0};
    assert_true(mz_assign_follow(&r.pipeline, &enough, &followed));
    assert_memory_equal(&followed, &plan, sizeof plan);
  }
}

/* Uses no more, and no thread could be given back; knobs other than threads stay. */
static void pools_shrink_as_little_as_they_have_to(void **state) {
  (void)state;
  int shrunk = 0;
  for (uint64_t seed = 0; seed < PLANS; seed++) {
    random_pipeline r;
    random_pipeline_init(&r, seed, 32, 64);
    const mz_pipeline *p = &r.pipeline;
    const mz_plan plan = random_pipeline_plan(p, seed), least = random_pipeline_least(p);
    for (int cores = mz_plan_cores(p, &plan) - 1; cores > 0; cores--) {
      mz_plan followed = plan;
      const mz_assignment a = {cores, INFINITY, INFINITY};
      assert_true(mz_assign_follow(p, &a, &followed) == (mz_plan_cores(p, &least) <= cores));
      for (int k = 0; k < p->knob_count; k++) {
        assert_in_range(followed.values[k], p->knobs[k].min, plan.values[k]);
        const bool threads = strncmp(p->knobs[k].name, "threads", 7) == 0;
        mz_plan more = followed;
        if (!threads) assert_int_equal(followed.values[k], plan.values[k]);
        if (!threads || followed.values[k] == plan.values[k] || mz_plan_cores(p, &least) > cores) continue;
        more.values[k]++;
        assert_true(mz_plan_cores(p, &more) > cores);
        shrunk++;
      }
    }
  }
  assert_true(shrunk > 1000);
}

static void pools_shrink_in_proportion(void **state) {
  (void)state;
  mz_pipeline p = bakery();
  p.devices[0].cores = 12;
  p.knobs[BAKERS].max = 12;
  p.stages[1].device = -1;
  mz_plan plan = {.values = {8, 16, 4, 4, 0}};
  const mz_assignment half = {6, INFINITY, 0}, one = {1, INFINITY, 0};
  assert_true(mz_assign_follow(&p, &half, &plan));
  assert_int_equal(plan.values[KNEADERS], 4);
  assert_int_equal(plan.values[BAKERS], 2);
  assert_false(mz_assign_follow(&p, &one, &plan)); /* each stage has a thread at least */
  assert_int_equal(mz_plan_cores(&p, &plan), 2);
}

static void memory_follows(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < PLANS; seed++) {
    random_pipeline r;
    random_pipeline_init(&r, seed, 16, 64);
    const mz_plan plan = random_pipeline_plan(&r.pipeline, seed), least = random_pipeline_least(&r.pipeline);
    const double most = mz_plan_bytes(&r.pipeline, &plan, NULL, 0), fewest = mz_plan_bytes(&r.pipeline, &least, NULL, 0);
    for (int i = 0; i < 4; i++) {
      mz_plan followed = plan;
      const mz_assignment a = {INFINITY, fewest + (most - fewest) * i / 4 - (i == 0), 0};
      assert_true(mz_assign_follow(&r.pipeline, &a, &followed) == (i > 0));
      assert_true(i == 0 || mz_plan_bytes(&r.pipeline, &followed, NULL, 0) <= a.memory);
    }
  }
}

static void stages_leave_gpus(void **state) {
  (void)state;
  mz_pipeline p = bakery();
  p.knobs[OVEN].class_ = MZ_EXACT;
  p.devices[1].kind = MZ_DEVICE_CUDA; /* cpu:0, two GPUs */
  p.knobs[TRAYS] = (mz_knob){"hook", MZ_EXACT, MZ_SCALE_CHOICE, 0, 2, ""};
  p.stages[0].batch = -1;
  p.stages[0].device = TRAYS;
  const mz_plan both = {.values = {4, 1, 1, 4, 2}};
  assert_int_equal(mz_plan_gpus(&p, &both), 2);
  mz_plan plan = both;
  assert_true(mz_assign_follow(&p, &(mz_assignment){INFINITY, INFINITY, 1}, &plan));
  assert_true(plan.values[TRAYS] == 1 && plan.values[OVEN] == 1);
  assert_true(mz_assign_follow(&p, &(mz_assignment){INFINITY, INFINITY, 0.5}, &plan)); /* a share of the one device */
  assert_int_equal(mz_plan_gpus(&p, &plan), 1);
  assert_true(mz_assign_follow(&p, &(mz_assignment){INFINITY, INFINITY, 0}, &plan));
  assert_true(plan.values[TRAYS] == 0 && plan.values[OVEN] == 0);
  p.knobs[OVEN].class_ = MZ_NUMERIC; /* is not the allocator's to move */
  plan = both;
  assert_false(mz_assign_follow(&p, &(mz_assignment){INFINITY, INFINITY, 0}, &plan));
  assert_true(plan.values[TRAYS] == 0 && plan.values[OVEN] == 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(amounts_are_what_the_formulas_say),
      cmocka_unit_test(less_than_a_device_is_shared_in_eighths),
      cmocka_unit_test(amounts_stay_within_the_bounds),
      cmocka_unit_test(amounts_grow_with_demand_and_temperature),
      cmocka_unit_test(what_is_not_predicted_gets_what_the_bounds_allow),
      cmocka_unit_test(the_bound_that_decided_is_named),
      cmocka_unit_test(spreads_are_of_plans_seen_more_than_once),
      cmocka_unit_test(work_on_a_gpu_takes_cores_too),
      cmocka_unit_test(a_plan_that_fits_stays),
      cmocka_unit_test(pools_shrink_as_little_as_they_have_to),
      cmocka_unit_test(pools_shrink_in_proportion),
      cmocka_unit_test(memory_follows),
      cmocka_unit_test(stages_leave_gpus),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
