/* The strategy greedy: beside the best of all plans, limits, ties, what it says. */
#include "greedy_stand.h"

static const double TIE = 0.005;

static double cost_of(const stand *s, const mz_plan *plan) {
  const double unit_s = mz_analytic_predict(&s->model, plan).unit_s;
  if (s->settings.objective == MZ_OBJECTIVE_TIME) return unit_s;
  return unit_s * mz_plan_price_s(&s->random.pipeline, &s->settings, plan);
}

static int64_t plans_of(const mz_pipeline *pipeline) {
  int64_t count = 1;
  for (int k = 0; k < pipeline->knob_count; k++) {
    int64_t values = 1;
    for (int64_t v = pipeline->knobs[k].min; v < pipeline->knobs[k].max; values++) v = mz_knob_step(&pipeline->knobs[k], v, 1);
    count *= values;
  }
  return count;
}

/* The next of all plans, like an odometer; false after the last. */
static bool next_plan(const mz_pipeline *pipeline, mz_plan *plan) {
  for (int k = 0; k < pipeline->knob_count; k++) {
    const int64_t up = mz_knob_step(&pipeline->knobs[k], plan->values[k], 1);
    if (up != plan->values[k]) {
      plan->values[k] = up;
      return true;
    }
    plan->values[k] = pipeline->knobs[k].min;
  }
  return false;
}

static double least_cost(const stand *s) {
  mz_plan plan = random_pipeline_least(&s->random.pipeline);
  double least = INFINITY;
  do
    if (may_be(s, &plan)) least = fmin(least, cost_of(s, &plan));
  while (next_plan(&s->random.pipeline, &plan));
  return least;
}

/* True of every proposal. */
static void assert_sound(const stand *s, const mz_proposal *p) {
  const mz_pipeline *pipeline = &s->random.pipeline;
  assert_int_equal(p->change, !mz_plan_equal(pipeline, &p->plan, &s->plan));
  assert_string_equal(p->predictor, "analytic model");
  assert_true(p->prediction.unit_s == mz_analytic_predict(&s->model, &p->plan).unit_s);
  assert_false(p->demanded);
  assert_true(strlen(p->reason) > 20 && strlen(p->reason) < sizeof p->reason - 1);
  if (p->change) {
    assert_true(may_be(s, &p->plan));
    assert_true(cost_of(s, &p->plan) < cost_of(s, &s->plan) * (1 - TIE));
  }
  assert_in_range(p->candidate_count, 1, MZ_CANDIDATES_MAX);
  assert_true(mz_plan_equal(pipeline, &p->candidates[0].plan, &p->plan));
  for (int i = 0; i < p->candidate_count; i++) {
    const mz_candidate *c = &p->candidates[i];
    assert_int_equal(c->why_not[0] == '\0', i == 0);
    assert_true(c->prediction.unit_s == mz_analytic_predict(&s->model, &c->plan).unit_s);
    if (i > 1) assert_true(cost_of(s, &c->plan) >= cost_of(s, &p->candidates[i - 1].plan));
    for (int j = 0; j < i; j++) assert_false(mz_plan_equal(pipeline, &c->plan, &p->candidates[j].plan));
    const bool better = cost_of(s, &c->plan) < cost_of(s, &p->plan) * (1 - TIE);
    if (better) assert_false(may_be(s, &c->plan)); /* left out for a reason */
    if (better && p->binding[0] == '\0') assert_string_equal(c->why_not, "tabu");
  }
}

/* Over random pipelines of at most 20,000 plans, from the least plan and from two random ones. Ties count as equal: what a
 * proposal may lose to the best plan of all by being thrifty is half a percent. */
static void compare_with_all(mz_objective objective, int pipelines) {
  int asked = 0, best = 0;
  double worst = 0;
  for (int i = 0; i < pipelines; i++) {
    stand s;
    stand_init(&s, (uint64_t)i);
    s.settings.objective = objective;
    if (plans_of(&s.random.pipeline) > 20000) continue;
    const double least = least_cost(&s);
    for (int start = 0; start < 3; start++, asked++) {
      if (start > 0) s.plan = random_pipeline_plan(&s.random.pipeline, (uint64_t)(100 * i + start));
      const mz_proposal p = ask(&s);
      assert_sound(&s, &p);
      const double ratio = cost_of(&s, &p.plan) / least;
      best += ratio <= 1 + 2 * TIE;
      worst = fmax(worst, ratio);
    }
  }
  printf("%d of %d proposals within 1 %% of the best of all plans, worst %.2f %% off\n", best, asked, 100 * (worst - 1));
  assert_true(asked >= 2 * pipelines);
  assert_true(best >= 0.95 * asked);
  assert_true(worst < 1.03);
}
static void test_time_is_nearly_as_low_as_any_plans(void **state) {
  (void)state;
  compare_with_all(MZ_OBJECTIVE_TIME, 100);
}
static void test_cost_is_nearly_as_low_as_any_plans(void **state) {
  (void)state;
  compare_with_all(MZ_OBJECTIVE_COST, 60);
}

static bool every_third(const void *context, const mz_plan *plan) {
  uint64_t hash = *(const uint64_t *)context;
  for (int k = 0; k < MZ_PLAN_KNOBS_MAX; k++) hash = (hash ^ (uint64_t)plan->values[k]) * 0x9E3779B97F4A7C15u;
  return (hash >> 40) % 3 == 0;
}

static void test_limits_and_tabu_are_respected(void **state) {
  (void)state;
  int changes = 0, by_memory = 0, by_cores = 0;
  for (int i = 0; i < 100; i++) {
    stand s;
    const uint64_t salt = (uint64_t)i;
    stand_init(&s, (uint64_t)i);
    if (i % 2) s.bounds.cpu_max = fmax(1, s.bounds.cpu_max / 2);
    if (i % 3) s.bounds.memory_max = mz_plan_bytes(&s.random.pipeline, &s.plan, NULL, 0) + (1 << 22);
    if (i % 5) {
      s.situation.tabu = every_third;
      s.situation.tabu_context = &salt;
    }
    const mz_proposal p = ask(&s), again = ask(&s);
    assert_sound(&s, &p);
    assert_true(mz_plan_equal(&s.random.pipeline, &p.plan, &again.plan) && strcmp(p.reason, again.reason) == 0);
    changes += p.change;
    by_memory += strcmp(p.binding, "limits.memory_max") == 0;
    by_cores += strcmp(p.binding, "limits.cpu_max") == 0;
  }
  assert_true(changes > 50 && by_memory > 5 && by_cores > 5);
}

/* ---- one pool of 64 games, and nothing else ---- */

enum { THREADS, BATCH, DEVICE };

static void stand_games(stand *s, double fixed_s, double item_s) {
  memset(s, 0, sizeof *s);
  s->random.pipeline = (mz_pipeline){.name = "games",
                                     .bytes_fixed = 1 << 20,
                                     .stage_count = 1,
                                     .device_count = 2,
                                     .knob_count = 3,
                                     .stages = {{.name = "search",
                                                 .threads = THREADS,
                                                 .batch = BATCH,
                                                 .device = DEVICE,
                                                 .items = 640,
                                                 .groups = 64,
                                                 .bytes_thread = 1 << 20,
                                                 .bytes_slot = 1 << 10}},
                                     .devices = {{.name = "cpu:0", .cores = 2}, {.name = "cpu:1", .cores = 8}},
                                     .knobs = {[THREADS] = {"threads", MZ_EXACT, MZ_SCALE_LOG2, 1, 16},
                                               [BATCH] = {"batch", MZ_EXACT, MZ_SCALE_LOG2, 1, 64},
                                               [DEVICE] = {"device", MZ_EXACT, MZ_SCALE_CHOICE, 0, 1}}};
  s->settings = (mz_allocation_settings){.core_hour = 1};
  s->bounds = (mz_bounds){.cpu_max = 10, .memory_max = 0x1p60};
  s->plan = (mz_plan){.values = {1, 1, 0}};
  mz_analytic_init(&s->model, &s->random.pipeline, 10);
  s->model.sigma = 0;
  s->model.variation = 0;
  s->model.stages[0].costs[MZ_DEVICE_CPU].fixed_s = fixed_s;
  s->model.stages[0].costs[MZ_DEVICE_CPU].item_s = item_s;
  s->situation = (mz_situation){
      .pipeline = &s->random.pipeline, .settings = &s->settings, .bounds = &s->bounds, .plan = &s->plan, .model = &s->model};
}

static void test_one_proposal_jumps_to_the_best_plan(void **state) {
  (void)state;
  stand s;
  stand_games(&s, 1e-3, 1e-4);
  const mz_proposal p = ask(&s);
  assert_sound(&s, &p);
  assert_int_equal(p.plan.values[DEVICE], 1); /* more cores */
  assert_int_equal(p.plan.values[THREADS], 8);
  assert_int_equal(p.plan.values[BATCH], 8); /* as large as still gives each thread a task */
  assert_non_null(strstr(p.reason, "threads 8"));
  assert_non_null(strstr(p.reason, "cpu:1"));
  assert_non_null(strstr(p.reason, "704 ms")); /* 640 · 1.1 ms on one thread */
  assert_non_null(strstr(p.reason, "18 ms"));  /* 640 / 8 · (1 / 8 + 0.1) ms */
  assert_string_equal(p.binding, "");
}

static void test_of_equal_plans_the_leanest(void **state) {
  (void)state;
  stand s;
  stand_games(&s, 0, 1e-3); /* batches save nothing, and more than 8 threads neither */
  s.plan = (mz_plan){.values = {16, 4, 1}};
  mz_proposal p = ask(&s);
  assert_false(p.change); /* nothing is faster: what is in force stays */
  s.plan = (mz_plan){.values = {4, 8, 1}};
  p = ask(&s);
  assert_sound(&s, &p);
  assert_int_equal(p.plan.values[THREADS], 8);
  assert_int_equal(p.plan.values[BATCH], 1);
  s.settings.objective = MZ_OBJECTIVE_COST; /* a core costs what it saves; its memory is not free */
  s.settings.gib_hour = 1;
  s.plan = (mz_plan){.values = {2, 64, 0}};
  p = ask(&s);
  assert_sound(&s, &p);
  assert_true(p.change);
  assert_non_null(strstr(p.reason, "cheaper"));
}

static void test_what_binds_is_named(void **state) {
  (void)state;
  stand s;
  stand_games(&s, 1e-3, 1e-4);
  s.bounds.memory_max = 0x1p20 + 4 * 0x1p20 + 0x1p19; /* four threads */
  mz_proposal p = ask(&s);
  assert_sound(&s, &p);
  assert_int_equal(p.plan.values[THREADS], 4);
  assert_string_equal(p.binding, "limits.memory_max");
  bool shown = false;
  for (int i = 1; i < p.candidate_count; i++) shown = shown || strcmp(p.candidates[i].why_not, "limits.memory_max") == 0;
  assert_true(shown);

  stand_games(&s, 1e-3, 1e-4);
  s.random.pipeline.knobs[THREADS].max = 2;
  p = ask(&s);
  assert_sound(&s, &p);
  assert_int_equal(p.plan.values[THREADS], 2);
  assert_string_equal(p.binding, "knob range");
  assert_non_null(strstr(p.reason, "search stage"));

  stand_games(&s, 1e-3, 1e-4);
  s.bounds.cpu_max = 2; /* of the eight that cpu:1 has */
  p = ask(&s);
  assert_sound(&s, &p);
  assert_int_equal(mz_plan_cores(&s.random.pipeline, &p.plan), 2);
  assert_string_equal(p.binding, "limits.cpu_max");
}

static void test_candidates_say_how_much_slower(void **state) {
  (void)state;
  stand s;
  stand_games(&s, 1e-3, 1e-4);
  s.plan = (mz_plan){.values = {8, 8, 1}};
  const mz_proposal p = ask(&s);
  assert_false(p.change);
  assert_sound(&s, &p);
  assert_int_equal(p.candidate_count, MZ_CANDIDATES_MAX);
  int slower = 0;
  for (int i = 1; i < p.candidate_count; i++) slower += strstr(p.candidates[i].why_not, "% slower") != NULL;
  assert_true(slower >= 4);
  assert_non_null(strstr(p.reason, "keep"));
}

static void test_nothing_known_changes_nothing(void **state) {
  (void)state;
  stand s;
  stand_games(&s, 0, 0);
  const mz_proposal p = ask(&s);
  assert_false(p.change);
  assert_true(mz_plan_equal(&s.random.pipeline, &p.plan, &s.plan));
  assert_int_equal(p.candidate_count, 0);
  assert_true(isnan(p.prediction.unit_s));
  assert_string_equal(p.binding, "");
  assert_non_null(strstr(p.reason, "keep"));
}

static void test_probes_are_enough_to_begin_with(void **state) {
  (void)state;
  stand s;
  stand_games(&s, 0, 0);
  mz_pipeline_stage *stage = &s.random.pipeline.stages[0];
  for (int i = 0; i < 3; i++) {
    stage->probes[MZ_DEVICE_CPU].batch[i] = (double[]){1, 8, 64}[i];
    stage->probes[MZ_DEVICE_CPU].cpu_s[i] = 1e-3 / stage->probes[MZ_DEVICE_CPU].batch[i] + 1e-4;
  }
  mz_analytic_init(&s.model, &s.random.pipeline, 10);
  const mz_proposal p = ask(&s);
  assert_true(p.change);
  assert_sound(&s, &p);
  assert_int_equal(p.plan.values[BATCH], 8);
}

static void test_knobs_that_cannot_move_stay(void **state) {
  (void)state;
  stand s;
  stand_games(&s, 1e-3, 1e-4);
  s.random.pipeline.knobs[BATCH].min = s.random.pipeline.knobs[BATCH].max = 5;
  s.random.pipeline.knobs[DEVICE].min = s.random.pipeline.knobs[DEVICE].max = 1;
  s.plan = (mz_plan){.values = {3, 5, 1}};
  const mz_proposal p = ask(&s);
  assert_sound(&s, &p);
  assert_int_equal(p.plan.values[BATCH], 5);
  assert_int_equal(p.plan.values[DEVICE], 1);
  assert_int_equal(p.plan.values[THREADS], 16); /* 13 tasks on 8 cores: by turns all end sooner than in two rounds of 8 */
}

/* What the model is unsure of must promise more, the more the farther away it is. */
static void test_an_unsure_model_stays_nearer(void **state) {
  (void)state;
  int nearer = 0, farther = 0;
  for (uint64_t seed = 0; seed < 60; seed++) {
    stand s;
    stand_init(&s, seed);
    const mz_proposal sure = ask(&s);
    s.model.sigma = 0.5;
    const mz_proposal unsure = ask(&s);
    const double a = mz_plan_distance(&s.random.pipeline, &s.plan, &sure.plan),
                 b = mz_plan_distance(&s.random.pipeline, &s.plan, &unsure.plan);
    nearer += b < a;
    farther += b > a;
  }
  assert_true(nearer > 5 * farther && nearer > 5);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_an_unsure_model_stays_nearer),
      cmocka_unit_test(test_time_is_nearly_as_low_as_any_plans),
      cmocka_unit_test(test_cost_is_nearly_as_low_as_any_plans),
      cmocka_unit_test(test_limits_and_tabu_are_respected),
      cmocka_unit_test(test_one_proposal_jumps_to_the_best_plan),
      cmocka_unit_test(test_of_equal_plans_the_leanest),
      cmocka_unit_test(test_what_binds_is_named),
      cmocka_unit_test(test_candidates_say_how_much_slower),
      cmocka_unit_test(test_nothing_known_changes_nothing),
      cmocka_unit_test(test_probes_are_enough_to_begin_with),
      cmocka_unit_test(test_knobs_that_cannot_move_stay),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
