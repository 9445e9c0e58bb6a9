/* Plans of whole runs in a world that is made up: intervals hold what runs do, the cheapest plan is found, what cannot be is said. */
#include "allocator/runs/run_plan.h"
#include "tests/allocator/runs_made.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { CURVES = 256 };
static const double CORES[] = {1, 2, 4}, BATCHES[] = {64, 128, 512};
static const made_world WORLD = {.time_noise = 0.03, .pace_noise = 0.2, .epochs = 60};
static const char *FILL = "'muzero profile bread --score'";

static mz_run_limits limits(double deadline, double target) {
  return (mz_run_limits){.deadline_s = deadline,
                         .target = target,
                         .budget = INFINITY,
                         .price = {1, 20, 0.1},
                         .cores_max = 4,
                         .gpus_max = 0,
                         .moves = 5120,
                         .level = 0.9};
}

static mz_run_planning *plan_of(const mz_curve *curves, int count, const mz_run_limits *l) {
  const mz_pipeline p = bakery();
  mz_run_planning *out;
  assert_int_equal(mz_run_planning_make(&out, curves, count, &p, l, FILL), MZ_OK);
  return out;
}

static void expect_refusal(const mz_curve *curves, int count, const mz_run_limits *l, const char *says) {
  const mz_pipeline p = bakery();
  mz_run_planning *out;
  assert_int_equal(mz_run_planning_make(&out, curves, count, &p, l, FILL), MZ_E_CONFIG);
  assert_null(out);
  if (!strstr(mz_message(), says)) fail_msg("'%s' lacks '%s'", mz_message(), says);
}

static void test_most_runs_keep_what_the_plan_promises(void **state) {
  (void)state;
  enum { WORLDS = 40, RUNS = 10 };
  mz_curve curves[CURVES];
  int in_interval = 0, in_time = 0, reached = 0, runs = 0;
  for (int w = 0; w < WORLDS; w++) {
    const int count = made_grid(&WORLD, CORES, 3, BATCHES, 3, 5, 1 + 1000 * (uint64_t)w, curves);
    const mz_run_limits l = limits(60, 0.8);
    mz_run_planning *p = plan_of(curves, count, &l);
    assert_true(p->feasible);
    const double cores = p->best.amounts[MZ_COURSE_CORES];
    for (int r = 0; r < RUNS; r++, runs++) {
      mz_curve one = made_curve(&WORLD, cores, p->best.batch_size, 500 + 1000 * (uint64_t)w + (uint64_t)r);
      const double seconds = one.epochs[p->best.epochs - 1].wall_s;
      in_interval += seconds >= p->best.seconds.low && seconds <= p->best.seconds.high;
      in_time += seconds <= l.deadline_s;
      reached += mz_curve_best(&one, p->best.epochs) >= l.target;
      free(one.epochs);
    }
    mz_run_planning_free(p);
    made_free(curves, count);
  }
  print_message("in the interval %.3f, in time %.3f, reached %.3f\n", (double)in_interval / runs, (double)in_time / runs,
                (double)reached / runs);
  assert_true(in_interval >= 0.85 * runs && in_interval <= 0.99 * runs);
  assert_true(in_time >= 0.95 * runs);
  assert_true(reached >= 0.9 * runs);
}

/* Cores that are worth less than their price are left out unless the deadline asks for them. */
static void test_the_cheapest_plan_is_taken(void **state) {
  (void)state;
  mz_curve curves[CURVES];
  const made_world still = {.time_noise = 0.001, .pace_noise = 0.001, .epochs = 60};
  const int count = made_grid(&still, CORES, 3, BATCHES, 3, 4, 7, curves);
  mz_run_limits l = limits(INFINITY, 0.8);
  mz_run_planning *loose = plan_of(curves, count, &l);
  assert_true(loose->feasible && loose->best.amounts[MZ_COURSE_CORES] == 1);
  /* by hand: epochs to 0.8 are 10 (1 + B/512) ln 5, seconds 2 (1 + 64/B): the product is least at 181 */
  double least = INFINITY, best = 0;
  for (int b = 0; b < 3; b++) {
    const double epochs = ceil(10 * (1 + BATCHES[b] / 512) * log(5)), seconds = epochs * made_seconds(&still, 1, BATCHES[b]);
    if (seconds < least) least = seconds, best = BATCHES[b];
  }
  assert_true(loose->best.batch_size == best);
  assert_true(fabs(loose->best.seconds.estimate / least - 1) < 0.08); /* an epoch more, for the pace is not quite known */
  l.deadline_s = 0.5 * least;
  mz_run_planning *tight = plan_of(curves, count, &l);
  assert_true(tight->feasible && tight->best.amounts[MZ_COURSE_CORES] == 4);
  assert_true(tight->best.seconds.high <= l.deadline_s && tight->best.cost.high > loose->best.cost.high);
  l.batch_size = 64;
  l.epochs = 20;
  mz_run_planning *fixed = plan_of(curves, count, &l);
  assert_true(fixed->feasible && fixed->best.batch_size == 64 && fixed->best.epochs == 20);
  assert_int_equal(fixed->looked_at, 3); /* cores alone are open */
  mz_run_planning_free(loose);
  mz_run_planning_free(tight);
  mz_run_planning_free(fixed);
  made_free(curves, count);
}

static void test_what_cannot_be_is_said_limit_by_limit(void **state) {
  (void)state;
  mz_curve curves[CURVES];
  const double on[] = {1, 2, 3, 4}, batches[] = {64, 128, 256, 512};
  const int count = made_grid(&WORLD, on, 4, batches, 4, 5, 7, curves);
  mz_run_limits l = limits(5, 0.8);
  l.budget = 1;
  mz_run_planning *p = plan_of(curves, count, &l);
  assert_false(p->feasible);
  assert_true(p->shortfall.deadline_s > 5);
  assert_true(p->shortfall.target > 0.05 && p->shortfall.target < 0.8);
  assert_true(isnan(p->shortfall.budget)); /* money alone does not help */
  l.deadline_s = p->shortfall.deadline_s;
  mz_run_planning *later = plan_of(curves, count, &l);
  assert_true(later->feasible && later->best.seconds.high == l.deadline_s);
  l.deadline_s = 5;
  l.target = p->shortfall.target;
  mz_run_planning *less = plan_of(curves, count, &l);
  assert_true(less->feasible && less->best.score.low >= l.target);
  mz_run_planning_free(p);
  mz_run_planning_free(later);
  mz_run_planning_free(less);
  made_free(curves, count);
}

static void test_cores_that_slow_a_run_down_are_cut(void **state) {
  (void)state;
  enum { SEEDS = 6 };
  mz_curve curves[CURVES];
  const double cores[] = {1, 2, 4, 8, 16};
  const made_world world = {.time_noise = 0.01, .pace_noise = 0.1, .epochs = 40, .unordered = true};
  int count = 0;
  for (int c = 0; c < 5; c++)
    for (int b = 0; b < 3; b++)
      for (uint64_t s = 0; s < SEEDS; s++) curves[count++] = made_curve(&world, cores[c], BATCHES[b], 1 + s);
  mz_run_limits l = limits(INFINITY, 0.8);
  l.cores_max = 16;
  mz_run_planning *p = plan_of(curves, count, &l);
  assert_non_null(strstr(p->time.cut[0], "cores"));
  for (int i = 0; i < p->time.count; i++) assert_true(p->time.places[i].cores <= 4);
  mz_run_planning_free(p);
  made_free(curves, count);
}

static void test_no_plan_holds_less_than_the_limits_ask_for(void **state) {
  (void)state;
  mz_curve curves[CURVES];
  const double on[] = {1, 2, 3, 4}, batches[] = {64, 128, 256, 512};
  const int count = made_grid(&WORLD, on, 4, batches, 4, 5, 7, curves);
  mz_run_limits l = limits(INFINITY, 0.8);
  mz_run_planning *p = plan_of(curves, count, &l);
  assert_true(p->best.amounts[MZ_COURSE_CORES] == 1); /* the cheapest, where there is time */
  mz_run_planning_free(p);
  l.cores_min = 2;
  p = plan_of(curves, count, &l);
  assert_true(p->feasible && p->best.amounts[MZ_COURSE_CORES] == 2);
  for (int i = 0; i < p->count; i++) assert_true(p->choices[i].amounts[MZ_COURSE_CORES] >= 2);
  mz_run_planning_free(p);
  made_free(curves, count);
}

/* The larger a batch, the longer its epochs: no plan counts on less. */
static void test_batches_that_slow_a_run_down_are_cut(void **state) {
  (void)state;
  mz_curve curves[CURVES];
  const double on[] = {1, 2, 3, 4}, batches[] = {64, 128, 256, 512};
  const int count = made_grid(&WORLD, on, 4, batches, 4, 5, 7, curves);
  for (int i = 0; i < count; i++)
    for (int e = 0; e < curves[i].count; e++) curves[i].epochs[e].wall_s *= curves[i].epochs[e].batch_size / 64;
  mz_run_limits l = limits(INFINITY, 0.8);
  mz_run_planning *p = plan_of(curves, count, &l);
  assert_non_null(strstr(p->time.cut[0], "batch_size = 64"));
  assert_true(p->feasible && p->count > 0);
  for (int i = 0; i < p->count; i++) assert_true(p->choices[i].batch_size == 64);
  mz_run_planning_free(p);
  l.batch_size = 512;
  p = plan_of(curves, count, &l); /* as its own runs say */
  assert_true(p->feasible && p->best.batch_size == 512);
  const double each = 8 * made_seconds(&WORLD, p->best.amounts[MZ_COURSE_CORES], 512);
  assert_true(fabs(p->best.seconds.estimate / (p->best.epochs * each) - 1) < 0.15);
  mz_run_planning_free(p);
  made_free(curves, count);
}

/* Batches of 64 rows learn worse than larger ones. */
static void test_batches_that_learn_worse_are_cut(void **state) {
  (void)state;
  mz_curve curves[CURVES];
  const int count = made_grid(&WORLD, CORES, 3, BATCHES, 3, 5, 7, curves);
  for (int i = 0; i < count; i++)
    for (int e = 0; e < curves[i].count; e++) curves[i].epochs[e].score *= curves[i].epochs[e].batch_size == 64 ? 0.5 : 1;
  mz_run_limits l = limits(INFINITY, 0.8);
  mz_run_planning *p = plan_of(curves, count, &l);
  for (int i = 0; i < p->count; i++) assert_true(p->choices[i].batch_size > 64);
  mz_run_planning_free(p);
  l.batch_size = 64;
  l.target = 0.4; /* the half of 0.8 */
  p = plan_of(curves, count, &l);
  assert_true(p->feasible && p->best.batch_size == 64);
  mz_run_planning_free(p);
  l.batch_size = 32; /* no run had it */
  expect_refusal(curves, count, &l, "no run in batches of 32 rows is known, but in 128 to 512");
  made_free(curves, count);
}

static void test_too_little_is_refused_with_what_fills_it(void **state) {
  (void)state;
  mz_curve curves[CURVES];
  const mz_run_limits l = limits(60, 0.8);
  expect_refusal(NULL, 0, &l, "no learning curve of these settings is known: 'muzero profile bread --score' measures some");
  int count = made_grid(&WORLD, CORES, 3, BATCHES, 3, 2, 7, curves);
  expect_refusal(curves, count, &l, "learning curves: the history has 2 of one batch size, and 3 are needed");
  made_free(curves, count);
  count = made_grid(&WORLD, CORES, 3, BATCHES, 3, 5, 7, curves);
  mz_run_limits free_ = l, odd = l, few = l;
  free_.price[0] = free_.price[1] = free_.price[2] = 0;
  expect_refusal(curves, count, &free_, "prices.core_hour");
  odd.batch_size = 96;
  expect_refusal(curves, count, &odd, "--grid batch_size=96");
  few.cores_max = 0.5;
  expect_refusal(curves, count, &few, "limits.cpu_max");
  few = l;
  few.cores_min = few.cores_max = 3; /* 1, 2 and 4 were run */
  expect_refusal(curves, count, &few, "no run on 3 cores and 0 GPUs or more, within the limits, is known (limits.cpu_min");
  mz_run_limits endless = l;
  endless.epochs = INT64_C(40000000000); /* more than an int holds */
  expect_refusal(curves, count, &endless, "train.rounds: they are 40000000000 epochs, and a plan of a whole run has 1000000");
  mz_run_limits now = l;
  now.deadline_s = 0;
  expect_refusal(curves, count, &now, "deadline: 0 seconds");
  for (int i = 0; i < count; i++) curves[i].timed = false;
  expect_refusal(curves, count, &l, "cores: no run of steady plan");
  for (int i = 0; i < count; i++) {
    curves[i].timed = true;
    for (int e = 0; e < curves[i].count; e++) curves[i].epochs[e].score = 0.25;
  }
  expect_refusal(curves, count, &l, "scores never rise");
  made_free(curves, count);
}

/* Runs that somebody stopped early tell neither how slow runs are nor what late epochs take. */
static void test_short_runs_change_nothing(void **state) {
  (void)state;
  enum { SHORT = 40 };
  mz_curve curves[CURVES];
  const int count = made_grid(&WORLD, CORES, 3, BATCHES, 3, 5, 7, curves);
  const mz_run_limits l = limits(60, 0.8);
  mz_run_planning *before = plan_of(curves, count, &l);
  made_world hasty = WORLD;
  hasty.epochs = 4;
  for (int i = 0; i < SHORT; i++) {
    curves[count + i] = made_curve(&hasty, 4, 64, 900 + (uint64_t)i);
    for (int e = 0; e < hasty.epochs; e++) curves[count + i].epochs[e].wall_s /= 3;
  }
  mz_run_planning *after = plan_of(curves, count + SHORT, &l);
  assert_true(after->score.slower == before->score.slower && after->score.degrees == before->score.degrees);
  assert_true(after->best.epochs == before->best.epochs && after->best.batch_size == before->best.batch_size);
  assert_true(after->best.seconds.estimate == before->best.seconds.estimate);
  mz_run_planning_free(before);
  mz_run_planning_free(after);
  made_free(curves, count + SHORT);
}

/* A quarter of an odd number of epochs is no whole one. */
static void test_a_run_of_less_than_a_quarter_tells_no_time(void **state) {
  (void)state;
  mz_curve curves[CURVES];
  mz_epoch_time time;
  const mz_pipeline pipeline = bakery();
  made_world hasty = WORLD;
  int count = made_grid(&WORLD, CORES, 3, BATCHES, 3, 5, 7, curves);
  hasty.epochs = 2;
  curves[count++] = made_curve(&hasty, 3, 64, 900); /* of 7 epochs they are more than a quarter, of 9 less */
  for (int epochs = 7; epochs <= 9; epochs += 2) {
    int found = 0;
    assert_int_equal(mz_epoch_time_fit(&time, curves, count, &pipeline, epochs), MZ_OK);
    for (int i = 0; i < time.count; i++) found += time.places[i].cores == 3;
    assert_int_equal(found, epochs == 7);
  }
  made_free(curves, count);
}

/* One run was quicker than all others there, by other knobs: how much runs differ is known from those all the same. */
static void test_a_single_quick_run_leaves_the_noise_known(void **state) {
  (void)state;
  mz_curve curves[CURVES];
  const mz_run_limits l = limits(INFINITY, 0.8);
  int count = made_grid(&WORLD, CORES, 1, BATCHES, 1, 5, 7, curves);
  mz_curve *quick = &curves[count++];
  *quick = made_curve(&WORLD, 1, 64, 900);
  for (int e = 0; e < quick->count; e++) {
    quick->epochs[e].wall_s /= 2;
    quick->epochs[e].plan.values[KNEADERS] = 2;
  }
  mz_run_planning *p = plan_of(curves, count, &l);
  assert_true(p->feasible && p->best.knobs.values[KNEADERS] == 2);
  assert_true(p->time.degrees == 4 && p->time.noise > 0.005 && p->time.noise < 0.15); /* 0.03 in truth */
  assert_true(p->best.seconds.high > p->best.seconds.estimate && isfinite(p->best.seconds.high));
  mz_run_planning_free(p);
  made_world patient = WORLD;
  patient.epochs = 5 * WORLD.epochs;
  curves[count++] = made_curve(&patient, 1, 64, 901); /* beside it the others tell nothing of so many epochs */
  p = plan_of(curves, count, &l);
  assert_true(p->feasible && p->best.epochs < WORLD.epochs && isfinite(p->best.seconds.high));
  mz_run_planning_free(p);
  made_free(curves, count);
}

static void test_one_seed_on_several_machines_is_one_curve(void **state) {
  (void)state;
  mz_curve curves[CURVES];
  mz_epoch_score score;
  const int count = made_grid(&WORLD, CORES, 3, BATCHES, 1, 4, 7, curves); /* seed 7 on 1, 2 and 4 cores */
  assert_int_equal(mz_epoch_score_init(&score, curves, count, 0.8), MZ_OK);
  assert_int_equal(score.runs, 4);
  assert_true(score.degrees == 1.5); /* 4 runs, their median, and half of them on each side */
  mz_epoch_score_deinit(&score);
  made_free(curves, count);
}

static void test_scores_keep_the_order_and_a_lower_stretch(void **state) {
  (void)state;
  mz_curve curves[CURVES];
  mz_epoch_score score;
  const int count = made_grid(&WORLD, CORES, 3, BATCHES, 3, 5, 7, curves);
  assert_int_equal(mz_epoch_score_init(&score, curves, count, 0.8), MZ_OK);
  assert_true(score.slower > 0.1 && score.slower < 0.5 && score.faster > 0.1 &&
              score.faster < 0.5); /* 0.2 in truth, of few runs */
  for (double e = 2; e <= 60; e++) {
    for (int b = 0; b < 3; b++) {
      const mz_interval at = mz_epoch_score_at(&score, BATCHES[b], e, 0.9),
                        before = mz_epoch_score_at(&score, BATCHES[b], e - 1, 0.9);
      assert_true(at.low <= at.estimate && at.estimate <= at.high);
      assert_true(at.estimate >= before.estimate && at.low >= before.low && at.high >= before.high);
      if (b > 0) assert_true(at.estimate <= mz_epoch_score_at(&score, BATCHES[b - 1], e, 0.9).estimate);
    }
  }
  mz_epoch_score_deinit(&score);
  made_free(curves, count);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_most_runs_keep_what_the_plan_promises),
      cmocka_unit_test(test_the_cheapest_plan_is_taken),
      cmocka_unit_test(test_what_cannot_be_is_said_limit_by_limit),
      cmocka_unit_test(test_cores_that_slow_a_run_down_are_cut),
      cmocka_unit_test(test_no_plan_holds_less_than_the_limits_ask_for),
      cmocka_unit_test(test_batches_that_slow_a_run_down_are_cut),
      cmocka_unit_test(test_batches_that_learn_worse_are_cut),
      cmocka_unit_test(test_too_little_is_refused_with_what_fills_it),
      cmocka_unit_test(test_short_runs_change_nothing),
      cmocka_unit_test(test_a_run_of_less_than_a_quarter_tells_no_time),
      cmocka_unit_test(test_a_single_quick_run_leaves_the_noise_known),
      cmocka_unit_test(test_one_seed_on_several_machines_is_one_curve),
      cmocka_unit_test(test_scores_keep_the_order_and_a_lower_stretch),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
