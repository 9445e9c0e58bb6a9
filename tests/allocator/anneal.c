/* Simulated annealing against all plans and against as many random draws, with T_ana's predictions of random pipelines as energy. */
#include "allocator/search/search.h"
#include "base/machine/clock.h"
#include "base/maths/statistics.h"
#include "tests/allocator/support/random_pipeline.h"
#include <math.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef struct stand {
  random_pipeline real;
  mz_analytic model;
  mz_bounds bounds;
  int64_t asked;
} stand;

static void stand_init(stand *s, uint64_t seed, int64_t knob_max) {
  memset(s, 0, sizeof *s);
  random_pipeline_init(&s->real, seed, 16, knob_max);
  s->model = random_pipeline_model(&s->real);
  s->model.pipeline = &s->real.pipeline;
  s->bounds = (mz_bounds){.cpu_max = 64, .memory_max = 1e15};
}

static double predicted(void *context, const mz_plan *plan) {
  stand *s = context;
  s->asked++;
  return log(mz_analytic_predict(&s->model, plan).unit_s);
}

static mz_search_options options_of(stand *s, uint64_t seed) {
  return (mz_search_options){.pipeline = &s->real.pipeline,
                             .bounds = &s->bounds,
                             .start = random_pipeline_plan(&s->real.pipeline, seed),
                             .seed = seed,
                             .energy = predicted,
                             .context = s};
}

static void assert_sound(const mz_search_options *o, const mz_search_result *r) {
  assert_true(r->count <= MZ_SEARCH_KEPT_MAX && r->count <= r->evaluated);
  for (int i = 0; i < r->count; i++) {
    assert_null(mz_plan_refused(o->pipeline, o->bounds, &r->kept[i].plan));
    assert_true(r->kept[i].energy == o->energy(o->context, &r->kept[i].plan));
    assert_true(i == 0 || r->kept[i].energy >= r->kept[i - 1].energy);
    for (int j = 0; j < i; j++) assert_false(mz_plan_equal(o->pipeline, &r->kept[i].plan, &r->kept[j].plan));
  }
}

/* ---- how good it is ---- */

enum { SPACES_MAX = 400 };
typedef struct tally {
  double regret[SPACES_MAX], random[SPACES_MAX], us[SPACES_MAX], share[SPACES_MAX];
  int count;
} tally;

/* Spaces of 1,000 to 20,000 plans: a tenth of fewer is too few to learn anything from. */
static void tally_spaces(tally *t, uint64_t first, uint64_t seeds) {
  static const int64_t knob_max[] = {4, 8, 16};
  t->count = 0;
  for (uint64_t seed = first; seed < first + seeds && t->count < SPACES_MAX; seed++) {
    stand s;
    static mz_search_result all, annealed, drawn;
    stand_init(&s, seed, knob_max[seed % 3]);
    mz_search_options o = options_of(&s, seed);
    mz_space space;
    mz_space_init(&space, o.pipeline, &o.start);
    const int64_t plans = mz_space_plans(&space);
    if (plans < 1000 || plans > 20000) continue;
    mz_search_all(&o, &all);
    s.asked = 0;
    const uint64_t start = mz_clock_ns();
    mz_search_anneal(&o, &annealed);
    t->us[t->count] = (double)(mz_clock_ns() - start) * 1e-3;
    assert_int_equal(annealed.evaluated, s.asked); /* a plan is asked for once */
    assert_true(annealed.evaluated <= plans / 10 && annealed.evaluated <= 2000);
    assert_int_equal(annealed.plans, plans);
    assert_sound(&o, &annealed);
    mz_search_random(&o, &drawn);
    assert_true(drawn.evaluated <= plans / 10);
    t->regret[t->count] = expm1(annealed.kept[0].energy - all.kept[0].energy);
    t->random[t->count] = expm1(drawn.kept[0].energy - all.kept[0].energy);
    t->share[t->count] = (double)annealed.evaluated / (double)plans;
    assert_true(t->regret[t->count] >= 0);
    t->count++;
  }
}

static void test_within_two_percent_of_the_best_of_all_plans(void **state) {
  (void)state;
  static tally t;
  tally_spaces(&t, 101, 600);
  assert_true(t.count >= 200);
  int above = 0, random_above = 0;
  for (int i = 0; i < t.count; i++) {
    above += t.regret[i] > 0.02;
    random_above += t.random[i] > 0.02;
  }
  print_message("%d spaces: above 2 %%: annealing %d, random %d; worst %.2f %%, 95th %.2f %%, random's worst %.1f %%; "
                "median %.1f %% of the plans, %.2f ms\n",
                t.count, above, random_above, 100 * mz_quantile(t.regret, t.count, 1), 100 * mz_quantile(t.regret, t.count, 0.95),
                100 * mz_quantile(t.random, t.count, 1), 100 * mz_median(t.share, t.count), 1e-3 * mz_median(t.us, t.count));
  assert_int_equal(above, 0);
}

/* ---- what it keeps to ---- */

/* The first from `seed` on of more than 5,000 plans and no more than a test can look at all of. */
static void large_space(stand *s, uint64_t seed) {
  for (int64_t plans = 0; plans < 5000 || plans > 200000; seed++) {
    mz_space space;
    stand_init(s, seed, 16);
    const mz_plan least = random_pipeline_least(&s->real.pipeline);
    mz_space_init(&space, &s->real.pipeline, &least);
    plans = mz_space_plans(&space);
  }
}

static void test_the_same_question_has_the_same_answer(void **state) {
  (void)state;
  stand s;
  static mz_search_result a, b, other;
  large_space(&s, 5);
  mz_search_options o = options_of(&s, 5);
  void (*const searches[])(const mz_search_options *, mz_search_result *) = {mz_search_anneal, mz_search_random, mz_search_all};
  for (int i = 0; i < 3; i++) {
    searches[i](&o, &a);
    searches[i](&o, &b);
    assert_memory_equal(&a, &b, sizeof a);
    o.seed++;
    searches[i](&o, &other);
    if (i < 2) assert_memory_not_equal(&a, &other, sizeof a); /* all plans are all plans */
    o.seed--;
  }
}

static bool odd_first_knob(const void *context, const mz_plan *plan) {
  (void)context;
  return plan->values[0] % 2 == 1;
}

static void test_limits_and_tabu_are_never_broken(void **state) {
  (void)state;
  int found = 0;
  for (uint64_t seed = 1; seed < 40; seed++) {
    stand s;
    static mz_search_result r;
    stand_init(&s, seed, 16);
    const mz_plan least = random_pipeline_least(&s.real.pipeline);
    s.bounds.memory_max = 1.5 * mz_plan_bytes(&s.real.pipeline, &least, NULL, 0);
    mz_search_options o = options_of(&s, seed);
    o.tabu = odd_first_knob;
    mz_search_anneal(&o, &r);
    assert_sound(&o, &r);
    for (int i = 0; i < r.count; i++) assert_false(odd_first_knob(NULL, &r.kept[i].plan));
    found += r.count > 0;
    mz_search_random(&o, &r);
    assert_sound(&o, &r);
    for (int i = 0; i < r.count; i++) assert_false(odd_first_knob(NULL, &r.kept[i].plan));
  }
  assert_true(found >= 30); /* of 39: here and there no plan keeps the limits */
}

static double unknown(void *context, const mz_plan *plan) {
  (void)plan;
  ++*(int *)context;
  return NAN;
}

static void test_where_nothing_is_predicted_nothing_is_found(void **state) {
  (void)state;
  stand s;
  static mz_search_result r;
  int asked = 0;
  stand_init(&s, 7, 16);
  mz_search_options o = options_of(&s, 7);
  o.energy = unknown;
  o.context = &asked;
  mz_search_anneal(&o, &r);
  assert_int_equal(r.count, 0);
  assert_int_equal(r.end, MZ_SEARCH_NOTHING);
  assert_true(asked > 0 && asked <= 2000);
  o.bounds = &(mz_bounds){.cpu_max = 64, .memory_max = 1}; /* and where nothing may be */
  asked = 0;
  mz_search_anneal(&o, &r);
  assert_int_equal(r.count + asked, 0);
  assert_int_equal(r.end, MZ_SEARCH_NOTHING);
}

static void test_a_start_that_may_not_be_is_left(void **state) {
  (void)state;
  stand s;
  static mz_search_result r;
  stand_init(&s, 8, 16);
  mz_search_options o = options_of(&s, 8);
  o.start.values[0] = 3; /* no step: one there */
  mz_space space;
  mz_space_init(&space, o.pipeline, &o.start);
  const mz_point point = mz_space_point(&space, &o.start);
  const mz_plan back = mz_space_plan(&space, &point);
  assert_true(mz_plan_equal(o.pipeline, &back, &o.start));
  o.start.values[0] = 1 << 30;
  mz_search_anneal(&o, &r);
  assert_true(r.count > 0);
  assert_sound(&o, &r);
}

static void test_a_small_space_is_looked_at_whole(void **state) {
  (void)state;
  stand s;
  static mz_search_result r;
  stand_init(&s, 9, 16);
  for (int k = 0; k < s.real.pipeline.knob_count; k++)
    if (k > 1) s.real.pipeline.knobs[k].max = s.real.pipeline.knobs[k].min;
  mz_search_options o = options_of(&s, 9);
  for (int k = 0; k < s.real.pipeline.knob_count; k++) o.start.values[k] = s.real.pipeline.knobs[k].min;
  mz_search_anneal(&o, &r);
  assert_int_equal(r.end, MZ_SEARCH_ALL);
  assert_int_equal(r.evaluated, r.plans);
  for (int k = 0; k < 2; k++) s.real.pipeline.knobs[k].max = s.real.pipeline.knobs[k].min;
  mz_search_anneal(&o, &r);
  assert_int_equal(r.plans, 1);
  assert_int_equal(r.count, 1);
  assert_true(mz_plan_equal(o.pipeline, &r.kept[0].plan, &o.start));
}

static void test_the_trace_cools_and_its_best_never_rises(void **state) {
  (void)state;
  stand s;
  static mz_search_result r;
  large_space(&s, 11);
  const mz_search_options o = options_of(&s, 11);
  mz_search_anneal(&o, &r);
  assert_true(r.trace_count > 10 && r.temperature > 0);
  int risen = 0;
  for (int i = 1; i < r.trace_count; i++) {
    assert_true(r.trace[i].best <= r.trace[i - 1].best && r.trace[i].evaluated >= r.trace[i - 1].evaluated);
    risen += r.trace[i].temperature > r.trace[i - 1].temperature;
  }
  assert_true(risen <= r.starts - 1); /* a new chain begins hot */
  assert_true(r.trace[0].accepted > 0.5 && r.trace[r.trace_count - 1].accepted < r.trace[0].accepted);
}

/* Chains begin at temperatures of their own: what is left is a share of that from which it cooled. */
static void test_what_is_left_of_the_temperature_is_a_share(void **state) {
  (void)state;
  int searched = 0;
  for (uint64_t seed = 1; seed <= 60; seed++) {
    stand s;
    static mz_search_result r;
    stand_init(&s, seed, 16);
    const mz_search_options o = options_of(&s, seed);
    mz_search_anneal(&o, &r);
    assert_true(r.cooled >= 0 && r.cooled <= r.temperature);
    assert_int_equal(r.cooled > 0, r.trace_count > 0);
    searched += r.trace_count > 0;
  }
  assert_true(searched >= 30);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_within_two_percent_of_the_best_of_all_plans),
      cmocka_unit_test(test_the_same_question_has_the_same_answer),
      cmocka_unit_test(test_limits_and_tabu_are_never_broken),
      cmocka_unit_test(test_where_nothing_is_predicted_nothing_is_found),
      cmocka_unit_test(test_a_start_that_may_not_be_is_left),
      cmocka_unit_test(test_a_small_space_is_looked_at_whole),
      cmocka_unit_test(test_the_trace_cools_and_its_best_never_rises),
      cmocka_unit_test(test_what_is_left_of_the_temperature_is_a_share),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
