/* The analytic model is fitted to windows and probes, and predicts other plans; odd input does it no harm. */
#include "tests/allocator/analytic_cases.h"

/* ---- against the simulation ---- */

/* Windows of a pipeline whose costs the model is not told; rounds vary by 3 %. */
static mz_observation noisy(const random_pipeline *r, const mz_plan *plan, uint64_t seed) {
  mz_observation seen = simulate_units(&r->simulation, plan, seed, 2);
  mz_rng rng = mz_rng_at(seed, MZ_RNG_TEST, 3, 0);
  seen.unit_s *= exp(0.03 * mz_rng_normal(&rng));
  seen.noise = 0.03;
  for (int s = 0; s < r->pipeline.stage_count; s++) {
    const double factor = exp(0.03 * mz_rng_normal(&rng));
    seen.stages[s].cpu_s *= factor;
    seen.stages[s].busy_s *= factor;
  }
  return seen;
}

static void test_a_fit_finds_the_costs(void **state) {
  (void)state;
  enum { PIPELINES = 30, WINDOWS = 24 };
  mz_observation seen[WINDOWS];
  double serial_error[PIPELINES * MZ_STAGES_MAX];
  int serials = 0;
  for (int i = 0; i < PIPELINES; i++) {
    random_pipeline r;
    random_pipeline_init(&r, (uint64_t)i, 8, 64);
    for (int j = 0; j < WINDOWS; j++) {
      const mz_plan plan = random_pipeline_plan(&r.pipeline, (uint64_t)(j / 2));
      seen[j] = noisy(&r, &plan, (uint64_t)j);
    }
    mz_analytic model;
    mz_analytic_init(&model, &r.pipeline, r.pipeline.devices[0].cores);
    mz_analytic_fit(&model, seen, WINDOWS);
    for (int s = 0; s < r.pipeline.stage_count; s++) {
      const mz_sim_truth *truth = &r.simulation.stages[s];
      for (double batch = 1; batch <= r.pipeline.stages[s].groups; batch *= 4) {
        if (batch > 1 && r.pipeline.stages[s].batch < 0) break;
        assert_near(model.stages[s].costs[MZ_DEVICE_CPU].fixed_s / batch + model.stages[s].costs[MZ_DEVICE_CPU].item_s,
                    truth->fixed_s / batch + truth->item_s, 0.1);
      }
      if (truth->lockstep) serial_error[serials++] = fabs(model.stages[s].serial - truth->serial);
    }
    assert_true(fabs(model.log_scale) < 0.15);
  }
  assert_true(spread_of("serial shares", serial_error, serials).median < 0.03);
}

/* The form itself, without what a simulation adds. */
static void test_a_fit_finds_how_far_stages_overlap(void **state) {
  (void)state;
  enum { PLANS = 16 };
  const mz_pipeline pipeline = small(32, 0);
  for (double gamma = 1.2; gamma < 9; gamma *= 1.6) {
    mz_observation seen[PLANS] = {0};
    mz_analytic truth = exact(&pipeline, 0, 4e-3, 2e-3), model;
    truth.gamma = gamma;
    for (int i = 0; i < PLANS; i++) {
      mz_rng rng = mz_rng_at(1, MZ_RNG_TEST, 4, (uint64_t)i);
      seen[i].plan = plan_of(1 << i % 4, 1 << i / 4, 1, 1);
      seen[i].unit_s = 1.3 * mz_analytic_predict(&truth, &seen[i].plan).unit_s * exp(0.03 * mz_rng_normal(&rng));
      seen[i].rounds = 8;
      seen[i].noise = 0.03;
      seen[i].stages[0] = (mz_stage_sample){.items = 100, .cpu_s = 0.4};
      seen[i].stages[1] = (mz_stage_sample){.items = 100, .cpu_s = 0.2};
    }
    mz_analytic_init(&model, &pipeline, 32);
    mz_analytic_fit(&model, seen, PLANS);
    assert_near(model.gamma, gamma, gamma < 4 ? 0.25 : 0.5); /* large ones are all alike: stages overlap nearly wholly */
    assert_near(exp(model.log_scale), 1.3, 0.05);
    assert_true(model.sigma < 0.1);
  }
}

/* Ten plans, two windows each. */
static void fit_to_windows(const random_pipeline *r, mz_analytic *model) {
  enum { WINDOWS = 20 };
  mz_observation seen[WINDOWS];
  for (int j = 0; j < WINDOWS; j++) {
    const mz_plan plan = random_pipeline_plan(&r->pipeline, (uint64_t)(j / 2));
    seen[j] = noisy(r, &plan, (uint64_t)j);
  }
  mz_analytic_init(model, &r->pipeline, r->pipeline.devices[0].cores);
  mz_analytic_fit(model, seen, WINDOWS);
}

/* Plans that were not measured, by a model fitted to ten that were. */
static void test_a_fit_predicts_other_plans(void **state) {
  (void)state;
  enum { PIPELINES = 60, PLANS = 8 };
  double errors[PIPELINES * PLANS];
  int n = 0, inside = 0;
  for (int i = 0; i < PIPELINES; i++) {
    random_pipeline r;
    random_pipeline_init(&r, (uint64_t)(500 + i), 8, 64);
    for (int s = 0; s < r.pipeline.stage_count; s++) random_pipeline_give_way(&r, s);
    mz_analytic model;
    fit_to_windows(&r, &model);
    for (int j = 0; j < PLANS; j++, n++) {
      const mz_plan plan = random_pipeline_plan(&r.pipeline, (uint64_t)(100 + j));
      const double truth = simulate_units(&r.simulation, &plan, 50, 2).unit_s;
      const mz_prediction predicted = mz_analytic_predict(&model, &plan);
      errors[n] = fabs(log(predicted.unit_s / truth));
      inside += truth >= predicted.low && truth <= predicted.high;
    }
  }
  const spread s = spread_of("plans not measured", errors, n);
  printf("%.0f %% inside their 90 %% interval\n", 100.0 * inside / n);
  assert_true(s.median < 0.06 && s.p90 < 0.15);
  assert_true(inside > 0.85 * n && inside < n);
}

/* Returns the median error for plans that were not measured, on machines that are changed so. */
static double median_error(const char *name, void (*change)(random_pipeline *r)) {
  enum { PIPELINES = 30, PLANS = 8 };
  double errors[PIPELINES * PLANS];
  for (int i = 0; i < PIPELINES; i++) {
    random_pipeline r;
    random_pipeline_init(&r, (uint64_t)(500 + i), 16, 64);
    change(&r);
    r.simulation.machine.cores = r.pipeline.devices[0].cores;
    mz_analytic model;
    fit_to_windows(&r, &model);
    for (int j = 0; j < PLANS; j++) {
      const mz_plan plan = random_pipeline_plan(&r.pipeline, (uint64_t)(100 + j));
      const double truth = simulate_units(&r.simulation, &plan, 50, 2).unit_s;
      errors[i * PLANS + j] = fabs(log(mz_analytic_predict(&model, &plan).unit_s / truth));
    }
  }
  return spread_of(name, errors, PIPELINES * PLANS).median;
}

static void without_effects(random_pipeline *r) { (void)r; }
static void with_effects(random_pipeline *r) { assert_int_equal(mz_sim_machine_parse(&r->simulation.machine, "sim:"), MZ_OK); }
static void two_threads_a_core(random_pipeline *r) { r->simulation.machine.smt = 1.3; }
static void two_threads_a_core_known(random_pipeline *r) {
  two_threads_a_core(r);
  r->pipeline.devices[0].whole_cores = r->pipeline.devices[0].cores / 2;
}

/* Hardware threads, caches, stragglers and the rest, at their defaults: what the form does not hold. */
static void test_a_machine_has_effects_that_a_fit_does_not_find(void **state) {
  (void)state;
  assert_true(median_error("with effects", with_effects) > 1.5 * median_error("without", without_effects));
}

/* Which threads share a core has to be known. */
static void test_hardware_threads_share_cores(void **state) {
  (void)state;
  assert_true(median_error("cores known", two_threads_a_core_known) < 0.7 * median_error("cores not known", two_threads_a_core));
}

static void test_one_window_and_probes_predict_other_batches(void **state) {
  (void)state;
  enum { PIPELINES = 40, BATCH_PREDICTED = 16 };
  double errors[PIPELINES * 2];
  int checked = 0;
  for (int i = 0; i < PIPELINES; i++) {
    random_pipeline r;
    random_pipeline_init(&r, (uint64_t)i, 2, 64);
    mz_pipeline probed = r.pipeline;
    for (int s = 0; s < probed.stage_count; s++) {
      mz_pipeline_stage *stage = &probed.stages[s];
      const double batches[] = {1, 8, 64};
      if (stage->batch < 0 || stage->groups < 2 * BATCH_PREDICTED) continue;
      for (int b = 0; b < 3; b++) { /* alone, on an idle machine, an item costs 0.6 of what it does later */
        stage->probes[MZ_DEVICE_CPU].batch[b] = batches[b];
        stage->probes[MZ_DEVICE_CPU].cpu_s[b] =
            0.6 * (r.simulation.stages[s].fixed_s / batches[b] + r.simulation.stages[s].item_s);
      }
      const mz_plan before = random_pipeline_least(&probed);
      mz_plan after = before;
      after.values[stage->batch] = BATCH_PREDICTED;
      const mz_observation seen = noisy(&r, &before, 1);
      mz_analytic model;
      mz_analytic_init(&model, &probed, 2);
      mz_analytic_fit(&model, &seen, 1);
      assert_near(mz_analytic_predict(&model, &before).unit_s, seen.unit_s, 0.01);
      const double truth = simulate_units(&r.simulation, &after, 9, 4).unit_s;
      errors[checked++] = fabs(log(mz_analytic_predict(&model, &after).unit_s / truth));
      memset(stage->probes[MZ_DEVICE_CPU].batch, 0, sizeof stage->probes[MZ_DEVICE_CPU].batch);
    }
  }
  assert_true(checked >= PIPELINES / 2);
  const spread s = spread_of("batches of 16 from a window at 1", errors, checked);
  assert_true(s.p90 < 0.15 && s.worst < 0.25);
}

static void test_a_measured_plan_is_predicted_by_what_was_measured(void **state) {
  (void)state;
  const mz_pipeline pipeline = small(4, 0);
  mz_observation seen[12] = {0};
  for (int i = 0; i < 12; i++) {
    seen[i].plan = plan_of(1 << i % 3, 1, 1, 1);
    seen[i].unit_s = i % 3 == 1 ? 0.5 : 0.4 / (1 << i % 3); /* the middle one is much slower than any model makes it */
    seen[i].rounds = 10;
    seen[i].noise = 0.02;
    seen[i].stages[0] = (mz_stage_sample){.items = 100, .cpu_s = 0.4};
  }
  mz_analytic model;
  mz_analytic_init(&model, &pipeline, 4);
  mz_analytic_fit(&model, seen, 12);
  assert_int_equal(model.plan_count, 3);
  assert_int_equal(model.observations, 12);
  const mz_prediction slow = mz_analytic_predict(&model, &seen[1].plan);
  assert_near(slow.unit_s, 0.5, 0.02);
  assert_true(slow.low < 0.5 && slow.high > 0.5 && slow.high / slow.low < 1.1);
  const mz_plan unseen = plan_of(8, 1, 1, 1);
  const mz_prediction other = mz_analytic_predict(&model, &unseen);
  assert_true(other.high / other.low > 1.5); /* such surprises are to be expected of plans that were not measured */
}

static void test_later_windows_weigh_more(void **state) {
  (void)state;
  const mz_pipeline pipeline = small(4, 0);
  mz_observation seen[128] = {0};
  for (int i = 0; i < 128; i++) {
    const double items = i < 96 ? 100 : 300;
    seen[i].plan = plan_of(1 << i % 3, 1, 1, 1);
    seen[i].stages[0] = (mz_stage_sample){.items = items, .cpu_s = items * (i < 96 ? 4e-3 : 8e-3)};
    seen[i].unit_s = seen[i].stages[0].cpu_s / (1 << i % 3);
    seen[i].rounds = 4;
  }
  mz_analytic model;
  mz_analytic_init(&model, &pipeline, 4);
  mz_analytic_fit(&model, seen, 128);
  assert_true(model.stages[0].items == 300);
  assert_true(model.stages[0].costs[MZ_DEVICE_CPU].item_s >
              4.6e-3); /* 32 windows weigh as much as all before them, and costs by their inverse square */
}

/* A stage that works in every other unit, as evaluation may: the mean is predicted, in the unit's time or apart from it, and the
 * model is not unsure because of it. */
static void predict_now_and_then(bool apart) {
  enum { UNITS = 16 };
  mz_pipeline pipeline = small(2, 0);
  pipeline.queue_count = 0;
  pipeline.stages[2] =
      (mz_pipeline_stage){.name = "c", .step = 1, .threads = -1, .batch = -1, .device = -1, .items = 10, .apart = apart};
  pipeline.stage_count = 3;
  mz_observation seen[UNITS];
  const mz_plan plan = plan_of(1, 1, 1, 1);
  for (int i = 0; i < UNITS; i++) {
    const double busy_s = i % 2 == 0 ? 0.04 : 0;
    seen[i] =
        (mz_observation){.plan = plan, .unit_s = 0.1 + (apart ? 0 : busy_s), .round_s = NAN, .cpu_s = NAN, .rss_bytes = NAN};
    seen[i].stages[0] = (mz_stage_sample){.items = 100, .busy_s = 0.1, .cpu_s = 0.1};
    seen[i].stages[1] = (mz_stage_sample){.items = 100, .busy_s = 0.02, .cpu_s = 0.02};
    if (busy_s > 0) seen[i].stages[2] = (mz_stage_sample){.items = 10, .busy_s = busy_s, .cpu_s = busy_s};
  }
  for (int last = 0; last < 2; last++) { /* whichever came last */
    mz_analytic model;
    mz_analytic_init(&model, &pipeline, 2);
    mz_analytic_fit(&model, seen, UNITS - last);
    const mz_prediction p = mz_analytic_predict(&model, &plan);
    assert_near(p.unit_s + p.apart_s, 0.12, 0.03);
    assert_near(1 + p.apart_s, apart ? 1.02 : 1, 0.003);
    assert_true(model.drift < 0.02);
  }
}

static void test_a_stage_that_works_now_and_then(void **state) {
  (void)state;
  predict_now_and_then(false);
  predict_now_and_then(true);
}

/* ---- odd input ---- */

static void assert_sane(const mz_analytic *model, const mz_plan *plan) {
  const mz_prediction p = mz_analytic_predict(model, plan);
  assert_true(p.unit_s > 0 && isfinite(p.unit_s) && p.low > 0 && p.low <= p.unit_s && p.high >= p.unit_s && isfinite(p.high));
  assert_true(isfinite(model->log_scale) && model->gamma >= 1 && model->gamma <= 10 && model->sigma > 0 &&
              isfinite(model->sigma));
}

static void test_nothing_known_predicts_nothing(void **state) {
  (void)state;
  const mz_pipeline pipeline = small(4, 16);
  const mz_plan plan = plan_of(1, 1, 1, 1);
  mz_analytic model;
  mz_analysis analysis;
  mz_analytic_init(&model, &pipeline, 4);
  assert_true(isnan(mz_analytic_predict(&model, &plan).unit_s) && isnan(mz_analytic_predict(&model, &plan).low));
  mz_analytic_explain(&model, &plan, &analysis);
  assert_true(analysis.step_s[0] == 0);
  mz_analytic_fit(&model, NULL, 0);
  assert_int_equal(model.observations, 0);
  const mz_observation useless[] = {{.plan = plan, .unit_s = NAN}, {.plan = plan, .unit_s = INFINITY}, {.plan = plan}};
  mz_analytic_fit(&model, useless, 3);
  assert_int_equal(model.observations, 0);
  assert_true(isnan(mz_analytic_predict(&model, &plan).unit_s));
}

static void test_probes_alone_predict_something(void **state) {
  (void)state;
  mz_pipeline pipeline = small(4, 16);
  pipeline.stages[0].probes[MZ_DEVICE_CPU].batch[0] = 1, pipeline.stages[0].probes[MZ_DEVICE_CPU].cpu_s[0] = 3e-3;
  pipeline.stages[0].probes[MZ_DEVICE_CPU].batch[1] = 16, pipeline.stages[0].probes[MZ_DEVICE_CPU].cpu_s[1] = 1.125e-3;
  mz_analytic model;
  mz_analytic_init(&model, &pipeline, 4);
  assert_near(model.stages[0].costs[MZ_DEVICE_CPU].fixed_s, 2e-3, 0.01);
  assert_near(model.stages[0].costs[MZ_DEVICE_CPU].item_s, 1e-3, 0.01);
  const mz_plan plan = plan_of(1, 1, 4, 1);
  assert_near(mz_analytic_predict(&model, &plan).unit_s, 0.15, 0.01);
  assert_sane(&model, &plan);
  assert_int_equal(model.observations, 0);
}

static void test_odd_windows_are_survived(void **state) {
  (void)state;
  mz_pipeline pipeline = small(4, 16);
  pipeline.queue_count = 1;
  const mz_plan plan = plan_of(2, 2, 4, 2);
  const mz_stage_sample odd[] = {
      {0},
      {.items = 100}, /* no clock */
      {.cpu_s = 0.1}, /* no items */
      {.items = NAN, .cpu_s = NAN, .elapsed_s = NAN},
      {.items = 100, .cpu_s = INFINITY},
      {.items = 100, .cpu_s = 1e-300, .elapsed_s = 1e300},
      {.items = 1e-9, .cpu_s = 1e9, .busy_s = 1e-9, .elapsed_s = 1},
      {.items = -5, .cpu_s = -1, .busy_s = -1, .elapsed_s = -1},
      {.items = 100, .busy_s = 0.2}, /* wall time is the only clock */
  };
  enum { ODD = sizeof odd / sizeof *odd };
  mz_observation seen[ODD + 1] = {0};
  for (int i = 0; i <= ODD; i++) {
    seen[i] = (mz_observation){.plan = plan, .unit_s = 0.3, .noise = i == 2 ? NAN : i == 3 ? INFINITY : 0, .rounds = i - 2};
    seen[i].plan.values[BATCH] = 1 << i;
    seen[i].stages[0] = (mz_stage_sample){.items = 100, .cpu_s = 0.3, .busy_s = 0.3, .elapsed_s = 0.2};
    seen[i].stages[1] = i < ODD ? odd[i] : seen[i].stages[0];
    mz_analytic model;
    mz_analytic_init(&model, &pipeline, 4);
    mz_analytic_fit(&model, &seen[i], 1);
    assert_int_equal(model.observations, 1);
    assert_sane(&model, &seen[i].plan);
  }
  mz_analytic model;
  mz_analytic_init(&model, &pipeline, 0.5); /* half a core granted */
  mz_analytic_fit(&model, seen, ODD + 1);
  assert_sane(&model, &plan);
  pipeline.queues[0].items = pipeline.stages[0].groups = 0.25; /* less than one of anything */
  pipeline.queues[0].capacity = -1;
  mz_analytic_fit(&model, seen, ODD + 1);
  assert_sane(&model, &plan);
}

static void test_more_plans_than_are_kept(void **state) {
  (void)state;
  enum { WINDOWS = 300 };
  static mz_observation seen[WINDOWS];
  const mz_pipeline pipeline = small(4, 64);
  for (int i = 0; i < WINDOWS; i++) {
    seen[i] = (mz_observation){.plan = plan_of(1, 1, 1 + i % 64, 1 + i), .unit_s = 0.2, .rounds = 4, .noise = 0.02};
    seen[i].stages[0] = (mz_stage_sample){.items = 100, .cpu_s = 0.2};
  }
  mz_analytic model, again;
  memset(&model, 0, sizeof model), memset(&again, 0, sizeof again);
  mz_analytic_init(&model, &pipeline, 4);
  mz_analytic_fit(&model, seen, WINDOWS);
  assert_int_equal(model.plan_count, MZ_RESIDUALS_MAX);
  assert_int_equal(model.observations, 128);
  assert_true(mz_plan_equal(&pipeline, &model.plans[0].plan, &seen[WINDOWS - 1].plan));
  assert_sane(&model, &seen[0].plan);
  mz_analytic_init(&again, &pipeline, 4);
  mz_analytic_fit(&again, seen, WINDOWS);
  mz_analytic_fit(&again, seen, WINDOWS); /* anew: nothing is left of the last fit */
  assert_memory_equal(&model.stages, &again.stages, sizeof model.stages);
  assert_memory_equal(&model.plans, &again.plans, sizeof model.plans);
  assert_true(model.gamma == again.gamma && model.log_scale == again.log_scale && model.sigma == again.sigma);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_fit_finds_the_costs),
                                     cmocka_unit_test(test_a_fit_finds_how_far_stages_overlap),
                                     cmocka_unit_test(test_a_fit_predicts_other_plans),
                                     cmocka_unit_test(test_a_machine_has_effects_that_a_fit_does_not_find),
                                     cmocka_unit_test(test_hardware_threads_share_cores),
                                     cmocka_unit_test(test_one_window_and_probes_predict_other_batches),
                                     cmocka_unit_test(test_a_measured_plan_is_predicted_by_what_was_measured),
                                     cmocka_unit_test(test_a_stage_that_works_now_and_then),
                                     cmocka_unit_test(test_later_windows_weigh_more),
                                     cmocka_unit_test(test_nothing_known_predicts_nothing),
                                     cmocka_unit_test(test_probes_alone_predict_something),
                                     cmocka_unit_test(test_odd_windows_are_survived),
                                     cmocka_unit_test(test_more_plans_than_are_kept)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
