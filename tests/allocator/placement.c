/* The cores that a simulated machine's threads run on, and what a core that slept costs. */
#include "tests/allocator/mixed.h"

static void assert_near(double value, double wanted, double relative) {
  if (!(fabs(value - wanted) <= relative * fabs(wanted))) fail_msg("%.9g is not within %g of %.9g", value, relative, wanted);
}

/* One thread learns; whoever is woken beside it keeps off its core, so on two cores two stages share one while the other may idle. */
static void test_threads_keep_to_their_cores(void **state) {
  (void)state;
  mz_pipeline pipeline = mixed();
  mz_plan plan = {.values = {1, 4, 1, 1, 4, 0, 0}};
  mz_simulation simulation = plain(&pipeline);
  pipeline.devices[0].cores = 2;
  pipeline.stages[0].items = 1280;
  simulation.stages[1].item_s = 1e-3;
  simulation.stages[0].weight = 1;
  const double shared = mean_s(&simulation, &plan);
  simulation.machine.placed = 1;
  const double apart = mean_s(&simulation, &plan);
  assert_true(apart > 1.1 * shared);
  plan.values[POOL_THREADS] = 2; /* threads that fill what is left have a core each */
  pipeline.stages[0].gives_way = true;
  const double filled = mean_s(&simulation, &plan);
  assert_true(filled < apart && filled < 1.1 * shared);
  pipeline.devices[0].cores = 1; /* there is nothing to keep off */
  const double alone = mean_s(&simulation, &plan);
  simulation.machine.placed = 0;
  assert_near(mean_s(&simulation, &plan), alone, 1e-12);
}

/* One core that is always busy switches from thread to thread. */
static void test_only_cores_that_sleep_have_to_wake(void **state) {
  (void)state;
  mz_pipeline pipeline = mixed();
  const mz_plan plan = {.values = {1, 4, 1, 1, 1, 0, 0}};
  mz_simulation simulation = plain(&pipeline);
  pipeline.stages[0].items = 128; /* what is waited for is the chain */
  pipeline.devices[0].cores = 1;
  const double one = mean_s(&simulation, &plan);
  pipeline.devices[0].cores = 32;
  const double many = mean_s(&simulation, &plan);
  simulation.machine.wake = 1000;
  assert_true(mean_s(&simulation, &plan) > many + 16e-3); /* one for each batch at least */
  pipeline.devices[0].cores = 1;
  assert_true(mean_s(&simulation, &plan) < one + 3e-3);
}

/* A neighbour has the only other core: threads are moved to whatever core is free: placing them changes nothing. */
static void test_a_neighbour_on_the_other_core(void **state) {
  (void)state;
  mz_pipeline pipeline = mixed();
  const mz_plan plan = {.values = {1, 4, 1, 1, 4, 0, 0}};
  mz_simulation simulation = plain(&pipeline);
  pipeline.devices[0].cores = 2;
  pipeline.devices[1].cores = 0;
  pipeline.device_count = 1;
  simulation.machine.cores = 2;
  simulation.machine.neighbour = 1;
  const double shared = mean_s(&simulation, &plan);
  simulation.machine.placed = 1;
  assert_near(mean_s(&simulation, &plan), shared, 1e-12);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_threads_keep_to_their_cores),
                                     cmocka_unit_test(test_only_cores_that_sleep_have_to_wake),
                                     cmocka_unit_test(test_a_neighbour_on_the_other_core)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
