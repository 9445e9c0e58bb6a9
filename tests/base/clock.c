#include "base/machine/clock.h"
#include <time.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_clocks_run_forward(void **state) {
  (void)state;
  uint64_t wall = mz_clock_ns(), cpu = mz_clock_thread_ns();
  volatile uint64_t sink = 0; /* keeps the loop */
  for (int i = 0; i < 1000; i++) {
    for (int k = 0; k < 1000; k++) sink = sink + (uint64_t)k;
    const uint64_t wall_now = mz_clock_ns(), cpu_now = mz_clock_thread_ns();
    assert_true(wall_now >= wall && cpu_now >= cpu);
    wall = wall_now;
    cpu = cpu_now;
  }
  assert_true(cpu > 0);
}

static void test_sleeping_costs_no_cpu_time(void **state) {
  (void)state;
  const uint64_t wall = mz_clock_ns(), cpu = mz_clock_thread_ns();
  const struct timespec nap = {.tv_nsec = 20000000};
  nanosleep(&nap, NULL);
  const uint64_t cpu_spent = mz_clock_thread_ns() - cpu, wall_spent = mz_clock_ns() - wall;
  assert_true(wall_spent >= 20000000);
  assert_true(cpu_spent < wall_spent / 4); /* on a busy machine, too: what others take is no time of this thread */
}

static void test_unix_time_is_that_of_time(void **state) {
  (void)state;
  const double before = (double)time(NULL), now = mz_clock_unix_s(), after = (double)time(NULL);
  assert_true(now >= before - 1 && now <= after + 2); /* time() may lag by a tick */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_clocks_run_forward),
      cmocka_unit_test(test_sleeping_costs_no_cpu_time),
      cmocka_unit_test(test_unix_time_is_that_of_time),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
