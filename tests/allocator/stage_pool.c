/* Stages of runs taken together: a seed counts once, all epochs of a stage count, and the quickest and the cheapest of many plans stay. */
#include "course_world.h"
#include "allocator/runs/curve_stage.h"

/* ---- a seed counts once ---- */

static const double TARGET = 0.3;

/* Returns how many stages of that number tell scores of a seed, in batches of that size. */
static int tellers(const mz_curve_stage *items, int item_count, int stage, uint64_t seed) {
  int found = 0;
  for (int i = 0; i < item_count; i++)
    found += items[i].stage == stage && items[i].seed == seed && !items[i].repeats && isfinite(items[i].end);
  return found;
}

static void expect_one_teller(void) {
  mz_curve_stage *items;
  int item_count;
  assert_int_equal(mz_curve_stages(curves, count, EPOCHS, STAGES, TARGET, 0, &items, &item_count), MZ_OK);
  for (int s = 0; s < STAGES; s++) assert_int_equal(tellers(items, item_count, s, 1), 1);
  for (int i = 0; i < item_count; i++) /* what is measured counts, not what a run that had ended would have kept */
    if (!items[i].repeats && (items[i].stage + 1) * EPOCHS_A_STAGE <= curves[count - 1].count) assert_false(items[i].over);
  free(items);
}

/* The same seed learns alike on all cores: whichever run is longer, and whichever was made first. */
static void a_seed_counts_once_though_its_runs_end_at_the_target(void **unused) {
  (void)unused;
  const int SHORT = 12; /* the target is reached by then */
  time_noise = score_noise = 0;
  forget_runs();
  run(1, 64, 1, SHORT);
  run(1, 64, 2, SHORT);
  assert_true(mz_curve_best(&curves[0], SHORT) >= TARGET);
  expect_one_teller();
  forget_runs();
  run(1, 64, 1, SHORT);
  run(1, 64, 2, EPOCHS);
  expect_one_teller();
}

/* ---- long stages ---- */

static void the_noise_scale_of_a_long_stage_is_of_all_its_epochs(void **unused) {
  (void)unused;
  enum { LONG = 300, EARLY = 140, FEW = 4 };
  mz_curve_stage *items;
  int item_count;
  forget_runs();
  run(1, 64, 1, FEW * LONG);
  for (int e = 0; e < FEW * LONG; e++) curves[0].epochs[e].noise_scale = e % LONG < EARLY ? 10 : 20;
  assert_int_equal(mz_curve_stages(curves, count, FEW * LONG, FEW, 2, 0, &items, &item_count), MZ_OK);
  assert_int_equal(item_count, FEW);
  for (int i = 0; i < item_count; i++) assert_float_equal(items[i].noise_scale, 20, 0);
  free(items);
}

/* ---- many plans ---- */

/* More cores are quicker and dearer, and all plans teach the same: none beats another. */
static void the_quickest_and_the_cheapest_of_many_plans_stay(void **unused) {
  (void)unused;
  enum { MANY = 48 };
  const mz_course_fit_options options = asked();
  time_noise = score_noise = 0;
  forget_runs();
  for (int on = 1; on <= MANY; on++) run(1, 64, on, EPOCHS);
  assert_int_equal(mz_course_fit(&fitted, curves, count, &options), MZ_OK);
  assert_int_equal(fitted.course.plans, MZ_COURSE_PLANS_MAX);
  assert_true(plan_of(&fitted.course, 64, 1) >= 0 && plan_of(&fitted.course, 64, MANY) >= 0);
}

static int teardown(void **unused) {
  (void)unused;
  forget_runs();
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_seed_counts_once_though_its_runs_end_at_the_target),
      cmocka_unit_test(the_noise_scale_of_a_long_stage_is_of_all_its_epochs),
      cmocka_unit_test(the_quickest_and_the_cheapest_of_many_plans_stay),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
