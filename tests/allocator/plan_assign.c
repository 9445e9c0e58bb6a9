/* Plans that were searched out give up what they do not use. */
#include "allocator/strategies/plan_assign.h"
#include "allocator/strategies/outlook.h"
#include "planted.h"

/* One setter sets the pace: more than two presses stand idle. */
static const mz_plan idle = {.values = {1, 8, 8, 1, 2, 2}};

typedef struct bench {
  shop shop;
  mz_champion *champion;
  mz_analytic model;
  mz_situation situation;
} bench;

static void bench_open(bench *b) {
  *b = (bench){.shop = shop_open("adaptive", 0, 1)};
  b->shop.settings.balance = true;
  assert_int_equal(mz_champion_create(&b->champion, &b->shop.pipeline, SHOP_CORES, NULL, NULL, 8), MZ_OK);
  mz_analytic_init(&b->model, &b->shop.pipeline, SHOP_CORES);
  b->situation = (mz_situation){.pipeline = &b->shop.pipeline,
                                .settings = &b->shop.settings,
                                .bounds = &b->shop.bounds,
                                .plan = &base,
                                .model = &b->model,
                                .champion = b->champion};
}

static void bench_close(bench *b) { mz_champion_free(b->champion); }

static mz_search_result found_of(const bench *b, const mz_plan *plans, int count) {
  mz_search_result r = {.count = count};
  for (int i = 0; i < count; i++) {
    r.kept[i].plan = plans[i];
    r.kept[i].energy = log(mz_outlook_of(&b->situation, &plans[i]).cost);
  }
  return r;
}

static int cores_of(const bench *b, const mz_plan *plan) { return mz_plan_cores(&b->shop.pipeline, plan); }

static void what_stands_idle_is_given_up(void **state) {
  (void)state;
  bench b;
  mz_assigned assigned[MZ_SEARCH_KEPT_MAX];
  bench_open(&b);
  mz_search_result found = found_of(&b, &idle, 1);
  const double energy = found.kept[0].energy;
  mz_plan_assign(&b.situation, &found, assigned);
  assert_int_equal(found.count, 1);
  const mz_plan plan = found.kept[0].plan;
  assert_true(cores_of(&b, &plan) < cores_of(&b, &idle));
  assert_true(cores_of(&b, &plan) <= assigned[0].clamps[MZ_RESOURCE_CPU].amount);
  assert_true(found.kept[0].energy == log(mz_outlook_of(&b.situation, &plan).cost)); /* its own, not that of the plan found */
  assert_true(found.kept[0].energy <= energy + log1p(b.shop.settings.gain_min));
  /* Cores that speed does not need go by demand alone. */
  const int before = cores_of(&b, &plan);
  b.shop.settings.gain_min = 10;
  found = found_of(&b, &idle, 1);
  mz_plan_assign(&b.situation, &found, assigned);
  assert_string_equal(assigned[0].binding, "predicted demand");
  assert_true(cores_of(&b, &found.kept[0].plan) < before);
  /* At no loss at all: where each core counts none is given up. */
  b.shop.settings.gain_min = 0;
  found = found_of(&b, &base, 1);
  mz_plan_assign(&b.situation, &found, assigned);
  assert_true(found.kept[0].energy <= found_of(&b, &base, 1).kept[0].energy);
  const mz_plan tight = {.values = {2, 4, 8, 2, 8, 8}}; /* long queues: the presses set the pace */
  found = found_of(&b, &tight, 1);
  mz_plan_assign(&b.situation, &found, assigned);
  assert_plan(found.kept[0].plan, tight);
  bench_close(&b);
}

static void bounds_decide_before_demand(void **state) {
  (void)state;
  bench b;
  mz_assigned assigned[MZ_SEARCH_KEPT_MAX];
  bench_open(&b);
  b.shop.settings.gain_min = 10; /* whatever it costs */
  b.shop.bounds.cpu_min = 6;
  mz_search_result found = found_of(&b, &idle, 1);
  mz_plan_assign(&b.situation, &found, assigned);
  assert_string_equal(assigned[0].binding, "limits.cpu_min");
  assert_int_equal(cores_of(&b, &found.kept[0].plan), 6);
  b.shop.bounds.cpu_min = 0;
  b.shop.bounds.cpu_max = 3;
  const mz_plan busy = {.values = {1, 1, 8, 1, 2, 2}};
  found = found_of(&b, &busy, 1);
  mz_plan_assign(&b.situation, &found, assigned);
  assert_plan(found.kept[0].plan, busy);
  assert_string_equal(assigned[0].binding, "");
  b.shop.bounds.cpu_max = 1; /* which no plan with three pools keeps */
  found = found_of(&b, &busy, 1);
  mz_plan_assign(&b.situation, &found, assigned);
  assert_int_equal(found.count, 0);
  bench_close(&b);
}

/* As long as the search is warm, more is left. */
static void the_temperature_leaves_room(void **state) {
  (void)state;
  bench b;
  mz_assigned assigned[MZ_SEARCH_KEPT_MAX];
  bench_open(&b);
  double cores[2];
  for (int warm = 0; warm < 2; warm++) {
    mz_search_result found = found_of(&b, &idle, 1);
    found.temperature = 0.2;
    found.cooled = warm ? 0.2 : 0;
    mz_plan_assign(&b.situation, &found, assigned);
    cores[warm] = assigned[0].clamps[MZ_RESOURCE_CPU].wanted;
  }
  assert_true(cores[1] > 1.3 * cores[0]);
  bench_close(&b);
}

static bool is_base(const void *context, const mz_plan *plan) {
  (void)context;
  const mz_pipeline p = shop_pipeline();
  return mz_plan_equal(&p, plan, &base);
}

/* Assigned plans are sorted and differ; none is refused, none was undone lately, none uses more than it is given. */
static void what_is_left_may_be_chosen(void **state) {
  (void)state;
  bench b;
  mz_assigned assigned[MZ_SEARCH_KEPT_MAX];
  bench_open(&b);
  b.situation.tabu = is_base;
  int moved = 0, kept = 0;
  for (uint32_t draw = 0; draw < 200; draw++) {
    mz_plan plans[MZ_SEARCH_KEPT_MAX];
    mz_rng rng = mz_rng_at(draw, MZ_RNG_TEST, 1, 0);
    for (int i = 0; i < MZ_SEARCH_KEPT_MAX; i++) {
      plans[i] = base;
      for (int k = 0; k < SHOP_KNOBS; k++) plans[i].values[k] = (int64_t)1 << mz_rng_below(&rng, 4);
    }
    plans[0] = base;
    mz_search_result found = found_of(&b, plans, MZ_SEARCH_KEPT_MAX);
    mz_plan_assign(&b.situation, &found, assigned);
    for (int i = 0; i < found.count; i++) {
      const mz_plan *plan = &found.kept[i].plan;
      assert_null(mz_plan_refused(&b.shop.pipeline, &b.shop.bounds, plan));
      assert_false(is_base(NULL, plan));
      assert_true(cores_of(&b, plan) <= fmax(assigned[i].clamps[MZ_RESOURCE_CPU].amount, 3)); /* a thread for each pool */
      for (int j = 0; j < i; j++) assert_false(mz_plan_equal(&b.shop.pipeline, plan, &found.kept[j].plan));
      if (i > 0) assert_true(found.kept[i].energy >= found.kept[i - 1].energy);
      moved += assigned[i].binding[0] != '\0';
    }
    kept += found.count;
  }
  assert_in_range(moved, 200, kept);
  bench_close(&b);
}

/* adaptive tries what is assigned, and the decision says so. Without allocate.balance nothing is. */
static void adaptive_follows_it(void **state) {
  (void)state;
  const mz_plan plain = shop_plain();
  for (int on = 0; on < 2; on++) {
    shop s = shop_open("adaptive", 0.01, 3);
    s.settings.balance = on;
    mz_allocator *a = shop_allocator(&s, &plain, NULL);
    mz_decision d;
    mz_allocator_begin(a, 0, 0, &d);
    int tries = 0;
    for (int i = 0; i < 60; i++) {
      shop_phase work;
      shop_work(&s, a, NULL, &work);
      mz_allocator_decide(a, &work.window, &d);
      const bool searched = d.action == MZ_DECISION_TRY && strstr(d.reason, "the best of");
      tries += searched;
      if (searched && on) assert_true(strstr(d.assigned, "cpu ") == d.assigned && strstr(d.assigned, "; memory ") != NULL);
      if (!on || d.action == MZ_DECISION_WAIT) assert_string_equal(d.assigned, "");
    }
    assert_true(tries > 0);
    mz_allocator_free(a);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_stands_idle_is_given_up), cmocka_unit_test(bounds_decide_before_demand),
      cmocka_unit_test(the_temperature_leaves_room),  cmocka_unit_test(what_is_left_may_be_chosen),
      cmocka_unit_test(adaptive_follows_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
