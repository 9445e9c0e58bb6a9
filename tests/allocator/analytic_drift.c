/* Costs that drift: one stage's grow while another's stay, as self-play's do when games get longer. */
#include "tests/allocator/analytic_cases.h"

enum { WINDOWS = 120 };
static const double A_FIRST_S = 2e-3, B_S = 3e-3, GROWTH = 4, NOISE = 0.01;

static double a_item_s(int window) { return A_FIRST_S * (1 + (GROWTH - 1) * window / (WINDOWS - 1)); }

/* Two pools beside each other on 16 cores, of two threads each; of four and one in every tenth window. */
static mz_observation window_of(const mz_pipeline *pipeline, int window) {
  mz_rng rng = mz_rng_at(7, MZ_RNG_TEST, 6, (uint64_t)window);
  const bool other = window % 10 == 9;
  mz_observation seen = {.plan = plan_of(other ? 4 : 2, other ? 1 : 2, 1, 1), .rounds = 16, .noise = 0.02};
  const double a_s = a_item_s(window) * exp(NOISE * mz_rng_normal(&rng)), b_s = B_S * exp(NOISE * mz_rng_normal(&rng));
  mz_analytic truth = exact(pipeline, 0, a_s, b_s);
  seen.unit_s = mz_analytic_predict(&truth, &seen.plan).unit_s;
  seen.stages[0] = (mz_stage_sample){.items = 100, .busy_s = 100 * a_s, .cpu_s = 100 * a_s};
  seen.stages[1] = (mz_stage_sample){.items = 100, .busy_s = 100 * b_s, .cpu_s = 100 * b_s};
  return seen;
}

static void a_stage_that_drifts_is_known_at_its_newest_cost(void **state) {
  (void)state;
  static mz_observation seen[WINDOWS];
  const mz_pipeline pipeline = small(16, 0);
  mz_analytic model;
  for (int i = 0; i < WINDOWS; i++) seen[i] = window_of(&pipeline, i);
  mz_analytic_init(&model, &pipeline, 16);
  mz_analytic_fit(&model, seen, WINDOWS);
  assert_near(model.stages[0].costs[MZ_DEVICE_CPU].item_s, a_item_s(WINDOWS - 1), 0.06);
  assert_near(model.stages[1].costs[MZ_DEVICE_CPU].item_s, B_S, 0.03);
  const mz_plan b_binds = plan_of(16, 1, 1, 1), a_binds = plan_of(1, 4, 1, 1);
  assert_near(mz_analytic_predict(&model, &b_binds).unit_s, 100 * B_S, 0.06); /* what a's growth adds is not put down to b */
  assert_near(mz_analytic_predict(&model, &a_binds).unit_s, 100 * a_item_s(WINDOWS - 1), 0.1);
}

/* A stage of which windows differ by chance, as one that is short, does not drift. */
static void noise_is_no_drift(void **state) {
  (void)state;
  static mz_observation seen[WINDOWS];
  const mz_pipeline pipeline = small(16, 0);
  mz_analytic model;
  for (int i = 0; i < WINDOWS; i++) {
    mz_rng rng = mz_rng_at(8, MZ_RNG_TEST, 6, (uint64_t)i);
    const double b_s = B_S * exp(0.15 * mz_rng_normal(&rng));
    seen[i] = window_of(&pipeline, 0);
    seen[i].stages[1].cpu_s = seen[i].stages[1].busy_s =
        100 * (i >= WINDOWS - 3 ? 1.2 * B_S : b_s); /* the last three by chance */
  }
  mz_analytic_init(&model, &pipeline, 16);
  mz_analytic_fit(&model, seen, WINDOWS);
  assert_near(model.stages[1].costs[MZ_DEVICE_CPU].item_s, B_S, 0.1);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_stage_that_drifts_is_known_at_its_newest_cost),
                                     cmocka_unit_test(noise_is_no_drift)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
