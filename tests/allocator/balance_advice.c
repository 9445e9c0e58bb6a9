/* Advice about a plant's balance. */
#include "tests/allocator/balance_fixture.h"

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

/* A step that is too long for a limit is taken as far as the limit lets it. */
static void more_is_added_up_to_a_limit(void **state) {
  (void)state;
  seen s = balanced();
  s.p.bounds.cpu_max = 13;
  set_cores(&s, 12);
  set_stage(&s, USE, 0.6, 0.4, 0);
  next_advice(&s);
  assert_true(next_advice(&s)->change && s.advice.resource == MZ_RESOURCE_CPU);
  assert_true(s.advice.from == 12 && s.advice.to == 13 && s.advice.plan.values[MAKERS] == 9);

  s = balanced();
  set_stage(&s, MAKE, 0.6, 0, 0.4);
  set_stage(&s, USE, 0.6, 0.4, 0);
  s.p.settings.gib_hour = 1000;
  s.p.bounds.memory_max = mz_plan_bytes(&s.p.pipeline, &s.p.plan, NULL, 0) + 2.5 * s.p.pipeline.queues[0].bytes;
  next_advice(&s);
  assert_true(next_advice(&s)->change && s.advice.resource == MZ_RESOURCE_MEMORY);
  assert_int_equal(s.advice.plan.values[SHELF], 18);
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
      cmocka_unit_test(two_windows_confirm_and_one_is_rest),
      cmocka_unit_test(a_window_in_balance_or_missing_begins_anew),
      cmocka_unit_test(an_advice_that_was_not_followed_rests_too),
      cmocka_unit_test(less_is_taken_in_order),
      cmocka_unit_test(more_is_added_in_order),
      cmocka_unit_test(more_is_added_up_to_a_limit),
      cmocka_unit_test(nothing_is_advised_of_what_was_not_measured),
      cmocka_unit_test(a_step_is_a_quarter_at_the_most),
      cmocka_unit_test(growth_fits_what_is_free),
      cmocka_unit_test(a_pool_that_is_waited_for_or_busy_gives_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
