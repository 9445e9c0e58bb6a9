#include "allocator/pipeline/allocation_settings.h"
#include "invented.h"

/* ---- the table ---- */

typedef struct fixture {
  mz_allocation_settings values;
  mz_settings_table table;
  mz_config config;
} fixture;

static void init(fixture *f) {
  memset(f, 0, sizeof *f);
  f->table = mz_allocation_table;
  f->config = (mz_config){.tables = &f->table, .table_count = 1, .values = &f->values};
  mz_config_defaults(&f->config);
}

static void set(fixture *f, const char *pair) { assert_int_equal(mz_config_set_pair(&f->config, pair, "--set"), MZ_OK); }

static void test_defaults_limit_nothing(void **state) {
  (void)state;
  fixture f;
  init(&f);
  const mz_allocation_settings *s = &f.values;
  assert_string_equal(s->strategy, "greedy");
  assert_int_equal(s->objective, MZ_OBJECTIVE_TIME);
  assert_true(s->high == 0.8 && s->low == 0.2 && s->gain_min == 0.03 && s->monitor_hz == 4);
  assert_int_equal(s->windows, 3);
  assert_int_equal(s->start, MZ_START_AUTO);
  assert_true(s->share && s->verify && !s->balance && !s->numeric);
  assert_string_equal(s->predictor, "auto");
  assert_string_equal(s->pretrained, "");
  assert_true(s->policy[0] == '\0' && s->shadow[0] == '\0');
  assert_int_equal(s->search, MZ_SEARCH_ANNEAL);
  assert_true(s->cpu_min == 0 && s->cpu_max == 0 && s->deadline == 0 && s->budget == 0 && s->score == 1e9);
  assert_true(s->gpu_min == 0 && s->gpu_max == 0 && s->memory_min == 0 && s->memory_max == 0);
  assert_true(s->core_hour == 1 && s->gpu_hour == 20 && s->gib_hour == 0.1);
  assert_string_equal(s->cpu, "auto");
}

static void test_each_key_sets_its_own_field(void **state) {
  (void)state;
  fixture f;
  init(&f);
  static const char *const pairs[] = {
      "allocate.strategy=demand", "allocate.objective=cost", "allocate.high=0.9",      "allocate.low=0.1",
      "allocate.gain_min=0.05",   "allocate.windows=5",      "allocate.start=plain",   "monitor.rate=2",
      "allocate.window=40",       "limits.cpu_min=1.5",      "limits.cpu_max=2.5",     "limits.gpu_min=1",
      "limits.gpu_max=2",         "limits.memory_min=1k",    "limits.memory_max=1MiB", "limits.deadline=2h",
      "limits.budget=7",          "limits.score=-3",         "prices.core_hour=2",     "prices.gpu_hour=30",
      "prices.gib_hour=0.2",      "devices.cpu=0-3,4-7",     "allocate.share=off",     "allocate.predictor=ridge",
      "allocate.search=random",   "allocate.verify=off",     "allocate.balance=on",    "allocate.pretrained=x",
      "allocate.numeric=on",      "limits.gpu_memory=2GiB",  "allocate.policy=runs/a", "allocate.shadow=runs/b",
  };
  assert_int_equal(sizeof pairs / sizeof *pairs, mz_allocation_table.count);
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) set(&f, pairs[i]);
  const mz_allocation_settings *s = &f.values;
  assert_string_equal(s->strategy, "demand");
  assert_int_equal(s->objective, MZ_OBJECTIVE_COST);
  assert_true(s->high == 0.9 && s->low == 0.1 && s->gain_min == 0.05 && s->window == 40 && s->windows == 5 && s->monitor_hz == 2);
  assert_int_equal(s->start, MZ_START_PLAIN);
  assert_false(s->share || s->verify);
  assert_true(s->balance && s->numeric);
  assert_true(s->gpu_memory == INT64_C(2) << 30);
  assert_string_equal(s->predictor, "ridge");
  assert_string_equal(s->pretrained, "x");
  assert_string_equal(s->policy, "runs/a");
  assert_string_equal(s->shadow, "runs/b");
  assert_int_equal(s->search, MZ_SEARCH_RANDOM);
  assert_true(s->cpu_min == 1.5 && s->cpu_max == 2.5 && s->gpu_min == 1 && s->gpu_max == 2);
  assert_true(s->memory_min == 1000 && s->memory_max == 1 << 20 && s->deadline == 7200 && s->budget == 7 && s->score == -3);
  assert_true(s->core_hour == 2 && s->gpu_hour == 30 && s->gib_hour == 0.2);
  assert_string_equal(s->cpu, "0-3,4-7");
}

static void test_only_devices_are_exact(void **state) {
  (void)state;
  for (int i = 0; i < mz_allocation_table.count; i++) {
    const mz_setting *row = &mz_allocation_table.rows[i];
    assert_int_equal(row->class_, strncmp(row->key, "devices.", 8) == 0 ? MZ_EXACT : MZ_OPERATIONAL);
    assert_true(strlen(row->help) > 10);
  }
}

static void test_values_out_of_range_name_the_nearest(void **state) {
  (void)state;
  static const char *const wrong[][2] = {
      {"allocate.high=1.5",
       "--set allocate.high=1.5: out of range; allocate.high takes 0 … 1 (share of capacity); nearest valid value: 1"},
      {"allocate.windows=0",
       "--set allocate.windows=0: out of range; allocate.windows takes 1 … 64 (windows); nearest valid value: 1"},
      {"monitor.rate=10", "--set monitor.rate=10: out of range; monitor.rate takes 0 … 5 (Hz); nearest valid value: 5"},
      {"limits.cpu_max=-1",
       "--set limits.cpu_max=-1: out of range; limits.cpu_max takes 0 … 1000000 (cores); nearest valid value: 0"},
      {"limits.cpumax=1", "--set limits.cpumax=1: unknown key 'limits.cpumax'; did you mean 'limits.cpu_max'?"},
      {"allocate.objective=money",
       "--set allocate.objective=money: not a valid value; allocate.objective takes one of time, cost, goodput"},
      {"limits.memory_max=64MB", "--set limits.memory_max=64MB: no such unit; limits.memory_max takes a size with k, M, G, KiB, "
                                 "MiB or GiB, 0 … 1000000G (bytes)"},
  };
  fixture f;
  init(&f);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    assert_int_equal(mz_config_set_pair(&f.config, wrong[i][0], "--set"), MZ_E_CONFIG);
    assert_string_equal(mz_message(), wrong[i][1]);
  }
}

/* ---- bounds ---- */

static const mz_grants machine = {.cores = 8, .gpus = 2, .memory_bytes = 16e9, .available_bytes = 10e9};

static mz_bounds resolve(const char *const *pairs, const mz_grants *grants) {
  fixture f;
  init(&f);
  for (; *pairs != NULL; pairs++) set(&f, *pairs);
  mz_bounds bounds;
  assert_int_equal(mz_bounds_resolve(&bounds, &f.values, grants), MZ_OK);
  return bounds;
}
#define RESOLVE(grants, ...) resolve((const char *const[]){__VA_ARGS__, NULL}, grants)

static void test_bounds_are_the_grant_where_nothing_is_set(void **state) {
  (void)state;
  const mz_bounds b = RESOLVE(&machine, NULL);
  assert_true(b.cpu_min == 0 && b.cpu_max == 8 && b.gpu_min == 0 && b.gpu_max == 2);
  assert_true(b.memory_min == 0 && b.memory_max == 8.5e9);
}

static void test_limits_cut_the_grant_and_are_cut_by_it(void **state) {
  (void)state;
  mz_bounds b = RESOLVE(&machine, "limits.cpu_min=2", "limits.cpu_max=2", "limits.gpu_max=1", "limits.memory_min=1G",
                        "limits.memory_max=2G");
  assert_true(b.cpu_min == 2 && b.cpu_max == 2 && b.gpu_max == 1 && b.memory_min == 1e9 && b.memory_max == 2e9);
  b = RESOLVE(&machine, "limits.cpu_max=64", "limits.gpu_max=5", "limits.memory_max=9G");
  assert_true(b.cpu_max == 8 && b.gpu_max == 2 && b.memory_max == 8.5e9);
  b = RESOLVE(&machine, "limits.cpu_max=1.5");
  assert_true(b.cpu_max == 1.5);
}

static void test_memory_is_bounded_by_what_is_known(void **state) {
  (void)state;
  mz_grants grants = machine;
  grants.memory_bytes = 4e9; /* a control group's */
  assert_true(RESOLVE(&grants, NULL).memory_max == 4e9);
  grants.available_bytes = 0;
  assert_true(RESOLVE(&grants, NULL).memory_max == 4e9);
  grants.memory_bytes = 0;
  assert_true(RESOLVE(&grants, NULL).memory_max == 0x1p60);
  assert_true(RESOLVE(&grants, "limits.memory_max=3G", "limits.memory_min=3G").memory_max == 3e9);
  grants.available_bytes = 2e9;
  assert_true(RESOLVE(&grants, "limits.memory_max=3G").memory_max == 1.7e9);
}

static void expect_contradiction(const char *first, const char *second, const char *message) {
  static const mz_grants machines[] = {{.cores = 1}, {.cores = 2, .memory_bytes = 1e9}, {.cores = 64, .gpus = 8}};
  for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) { /* whatever the machine */
    fixture f;
    init(&f);
    set(&f, first);
    if (second != NULL) set(&f, second);
    mz_bounds bounds = {.cpu_max = -7};
    assert_int_equal(mz_bounds_resolve(&bounds, &f.values, &machines[i]), MZ_E_CONFIG);
    assert_string_equal(mz_message(), message);
    assert_true(bounds.cpu_max == -7);
  }
}

static void test_contradictions_name_both_keys(void **state) {
  (void)state;
  expect_contradiction("limits.cpu_min=4", "limits.cpu_max=2",
                       "limits.cpu_min: 4 exceeds limits.cpu_max 2; lower the one or raise the other");
  expect_contradiction("limits.gpu_min=3", "limits.gpu_max=2",
                       "limits.gpu_min: 3 exceeds limits.gpu_max 2; lower the one or raise the other");
  expect_contradiction("limits.memory_min=2KiB", "limits.memory_max=1KiB",
                       "limits.memory_min: 2048 exceeds limits.memory_max 1024; lower the one or raise the other");
  expect_contradiction("allocate.low=0.9", NULL,
                       "allocate.low: 0.9 is not below allocate.high 0.8; lower the one or raise the other");
  expect_contradiction("allocate.low=0.8", NULL,
                       "allocate.low: 0.8 is not below allocate.high 0.8; lower the one or raise the other");
  expect_contradiction("limits.cpu_max=0.5", NULL,
                       "limits.cpu_max: 0.5 cores; a run takes one core at least; nearest valid value: 1");
}

static void test_cost_needs_a_price(void **state) {
  (void)state;
  static const char *const free_of_charge[] = {"allocate.objective=cost", "prices.core_hour=0", "prices.gib_hour=0", NULL};
  fixture f;
  init(&f);
  for (int i = 0; free_of_charge[i]; i++) set(&f, free_of_charge[i]);
  mz_bounds bounds;
  assert_int_equal(mz_bounds_resolve(&bounds, &f.values, &machine), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "prices.core_hour and prices.gib_hour are 0"));
  set(&f, "prices.gib_hour=0.1");
  assert_int_equal(mz_bounds_resolve(&bounds, &f.values, &machine), MZ_OK);
  set(&f, "prices.gib_hour=0");
  set(&f, "allocate.objective=time");
  assert_int_equal(mz_bounds_resolve(&bounds, &f.values, &machine), MZ_OK);
}

static void expect_beyond(const char *pair, const char *message) {
  fixture f;
  init(&f);
  set(&f, pair);
  mz_bounds bounds;
  assert_int_equal(mz_bounds_resolve(&bounds, &f.values, &machine), MZ_E_CONFIG);
  assert_string_equal(mz_message(), message);
}

static void test_leasts_beyond_the_grant_say_by_how_much(void **state) {
  (void)state;
  expect_beyond("limits.cpu_min=9.5", "limits.cpu_min: 9.5 exceeds the 8 cores granted by 1.5; nearest valid value: 8");
  expect_beyond("limits.gpu_min=3", "limits.gpu_min: 3 exceeds the 2 GPUs granted by 1; nearest valid value: 2");
  expect_beyond(
      "limits.memory_min=9G",
      "limits.memory_min: 9000000000 exceeds the 8500000000 bytes granted by 500000000; nearest valid value: 8500000000");
}

/* ---- plans ---- */

static const mz_bounds wide = {.cpu_max = 6, .gpu_max = 1, .memory_max = 1e12};

static mz_plan plan_of(int64_t kneaders, int64_t trays, int64_t bakers, int64_t oven) {
  return (mz_plan){.values = {kneaders, trays, bakers, 4, oven}};
}

static void test_more_threads_than_cores_are_refused_below_the_grant_only(void **state) {
  (void)state;
  const mz_pipeline pipeline = bakery(); /* four cores and two */
  mz_bounds bounds = wide;
  const mz_plan over = plan_of(12, 1, 8, 1), five = plan_of(12, 1, 1, 1), two = plan_of(1, 1, 1, 0), three = plan_of(2, 1, 1, 0);
  assert_null(mz_plan_refused(&pipeline, &bounds, &over)); /* 20 threads share 6 cores */
  bounds.cpu_max = 5;
  assert_string_equal(mz_plan_refused(&pipeline, &bounds, &over), "limits.cpu_max");
  assert_null(mz_plan_refused(&pipeline, &bounds, &five));
  bounds.cpu_max = 2.5;
  assert_string_equal(mz_plan_refused(&pipeline, &bounds, &three), "limits.cpu_max");
  assert_null(mz_plan_refused(&pipeline, &bounds, &two));
}

static void test_each_limit_refuses_by_its_name(void **state) {
  (void)state;
  const mz_pipeline pipeline = bakery();
  mz_plan plan = bakery_plan();
  mz_bounds bounds = wide;
  assert_null(mz_plan_refused(&pipeline, &bounds, &plan));

  bounds.memory_max = mz_plan_bytes(&pipeline, &plan, NULL, 0);
  assert_null(mz_plan_refused(&pipeline, &bounds, &plan));
  bounds.memory_max -= 1;
  assert_string_equal(mz_plan_refused(&pipeline, &bounds, &plan), "limits.memory_max");

  bounds = wide;
  bounds.cpu_min = 4;
  assert_null(mz_plan_refused(&pipeline, &bounds, &plan));
  bounds.cpu_min = 4.5;
  assert_string_equal(mz_plan_refused(&pipeline, &bounds, &plan), "limits.cpu_min");

  bounds = wide;
  bounds.gpu_min = 1;
  assert_string_equal(mz_plan_refused(&pipeline, &bounds, &plan), "limits.gpu_min");
  plan.values[OVEN] = 2;
  assert_null(mz_plan_refused(&pipeline, &bounds, &plan));
  bounds.gpu_min = bounds.gpu_max = 0;
  assert_string_equal(mz_plan_refused(&pipeline, &bounds, &plan), "limits.gpu_max");
}

static void test_values_beyond_a_knobs_range_are_refused(void **state) {
  (void)state;
  const mz_pipeline pipeline = bakery();
  for (int knob = 0; knob < BAKERY_KNOBS; knob++) {
    mz_plan plan = bakery_plan();
    plan.values[knob] = pipeline.knobs[knob].max;
    assert_null(mz_plan_refused(&pipeline, &wide, &plan));
    plan.values[knob]++;
    assert_string_equal(mz_plan_refused(&pipeline, &wide, &plan), "knob range");
    plan.values[knob] = pipeline.knobs[knob].min - 1;
    assert_string_equal(mz_plan_refused(&pipeline, &wide, &plan), "knob range");
  }
}

static void test_a_plan_within_bounds_stays_there_when_it_gets_smaller(void **state) {
  (void)state;
  for (uint32_t seed = 0; seed < 300; seed++) {
    mz_rng rng = mz_rng_at(seed, MZ_RNG_TEST, 5, 0);
    mz_pipeline pipeline;
    draw_pipeline(&rng, &pipeline);
    pipeline.knobs[0].max = 0; /* devices stay */
    const mz_plan large = draw_plan(&rng, &pipeline);
    const mz_bounds exact = {.cpu_max = mz_plan_cores(&pipeline, &large),
                             .memory_max = mz_plan_bytes(&pipeline, &large, NULL, 0)};
    assert_null(mz_plan_refused(&pipeline, &exact, &large));
    mz_plan small = large;
    for (int i = 0; i < pipeline.knob_count; i++) {
      if (draw(&rng, 0, 1)) small.values[i] = mz_knob_step(&pipeline.knobs[i], large.values[i], -1);
    }
    assert_null(mz_plan_refused(&pipeline, &exact, &small));
    assert_true(mz_plan_cores(&pipeline, &small) <= mz_plan_cores(&pipeline, &large));
  }
}

static void test_price_is_that_of_cores_gpus_and_memory(void **state) {
  (void)state;
  const mz_pipeline pipeline = bakery();
  fixture f;
  init(&f);
  const mz_plan on_cores = plan_of(4, 16, 1, 1), on_gpu = plan_of(4, 16, 1, 2);
  const double gib = mz_plan_bytes(&pipeline, &on_cores, NULL, 0) / (1 << 30);
  assert_true(fabs(mz_plan_price_s(&pipeline, &f.values, &on_cores) - (5 * 1 + gib * 0.1) / 3600) < 1e-15);
  assert_true(fabs(mz_plan_price_s(&pipeline, &f.values, &on_gpu) - (5 * 1 + 20 + gib * 0.1) / 3600) < 1e-15);
  mz_pipeline sharing = pipeline;
  sharing.stages[0].device = OVEN; /* two stages on one GPU: it is paid for once */
  assert_true(fabs(mz_plan_price_s(&sharing, &f.values, &on_gpu) - (5 * 1 + 20 + gib * 0.1) / 3600) < 1e-15);
  set(&f, "prices.core_hour=0");
  set(&f, "prices.gpu_hour=0");
  set(&f, "prices.gib_hour=3600");
  assert_true(fabs(mz_plan_price_s(&pipeline, &f.values, &on_cores) - gib) < 1e-15);
  f.values.memory_min = (int64_t)1 << 50; /* is paid for, whatever the plan needs */
  assert_true(fabs(mz_plan_price_s(&pipeline, &f.values, &on_cores) - (1 << 20)) < 1e-9);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_defaults_limit_nothing),
      cmocka_unit_test(test_each_key_sets_its_own_field),
      cmocka_unit_test(test_only_devices_are_exact),
      cmocka_unit_test(test_values_out_of_range_name_the_nearest),
      cmocka_unit_test(test_bounds_are_the_grant_where_nothing_is_set),
      cmocka_unit_test(test_limits_cut_the_grant_and_are_cut_by_it),
      cmocka_unit_test(test_memory_is_bounded_by_what_is_known),
      cmocka_unit_test(test_contradictions_name_both_keys),
      cmocka_unit_test(test_cost_needs_a_price),
      cmocka_unit_test(test_leasts_beyond_the_grant_say_by_how_much),
      cmocka_unit_test(test_more_threads_than_cores_are_refused_below_the_grant_only),
      cmocka_unit_test(test_each_limit_refuses_by_its_name),
      cmocka_unit_test(test_values_beyond_a_knobs_range_are_refused),
      cmocka_unit_test(test_a_plan_within_bounds_stays_there_when_it_gets_smaller),
      cmocka_unit_test(test_price_is_that_of_cores_gpus_and_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
