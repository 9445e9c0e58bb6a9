/* The balance factor of a plant. */
#include "tests/allocator/balance_fixture.h"

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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_used_is_needed),
      cmocka_unit_test(beta_falls_with_what_is_allocated_and_with_what_is_used),
      cmocka_unit_test(both_ends_of_a_queue_count),
      cmocka_unit_test(waiting_counts_where_more_can_be_had),
      cmocka_unit_test(stages_wait_for_the_one_that_ends_a_step),
      cmocka_unit_test(a_gpu_is_waited_for_as_far_as_it_is_busy),
      cmocka_unit_test(what_is_missing_is_unknown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
