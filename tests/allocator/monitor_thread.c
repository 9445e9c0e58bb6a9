/* The monitor's thread on the procfs and the cgroups there are. */
#include "allocator/sensors/monitor.h"
#include "allocator/sensors/procfs.h"
#include "base/machine/clock.h"
#include "base/threads/thread.h"
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static bool is_missing(const mz_usage *usage, mz_sensor sensor) { return usage->missing >> sensor & 1; }

static void sleep_ms(long ms) { nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL); }

static double tick_s(void) { return 1.0 / (double)sysconf(_SC_CLK_TCK); }

static void spin(double seconds) {
  const uint64_t end = mz_clock_thread_ns() + (uint64_t)(1e9 * seconds);
  while (mz_clock_thread_ns() < end) continue;
}

static mz_monitor *start(double hz) {
  mz_monitor *monitor = NULL;
  const mz_monitor_options options = {.hz = hz, .proc = "/proc", .cgroup = "/sys/fs/cgroup"};
  assert_int_equal(mz_monitor_start(&monitor, &options), MZ_OK);
  return monitor;
}

static void test_thread_samples_this_process(void **state) {
  (void)state;
  mz_usage usage;
  char text[512];
  double cpu_s = 0, spun_s = 0;
  int samples = 0;
  mz_monitor *monitor = start(50);
  for (; samples < 3 || usage.samples == 0; spun_s += 0.1) {
    spin(0.1);
    mz_monitor_take(monitor, &usage);
    samples += usage.samples;
    cpu_s += usage.cpu_s;
  }
  assert_false(is_missing(&usage, MZ_SENSOR_CPU) || is_missing(&usage, MZ_SENSOR_RSS) || is_missing(&usage, MZ_SENSOR_THREADS));
  assert_true(cpu_s >= spun_s - 2 * tick_s());
  assert_true(usage.core_share_p95 > 0 && usage.core_share_p95 <= 1);
  assert_true(usage.rss_peak_bytes >= usage.rss_bytes && usage.rss_bytes > 1e5);
  assert_true(usage.available_bytes > 0);
  mz_monitor_missing(monitor, text, sizeof text);
  print_message("missing here: %s\n", text);

  mz_monitor_pause(monitor, true);
  mz_monitor_take(monitor, &usage);
  sleep_ms(60);
  mz_monitor_take(monitor, &usage);
  assert_int_equal(usage.samples, 0);
  mz_monitor_pause(monitor, false);
  do {
    sleep_ms(5);
    mz_monitor_take(monitor, &usage);
    sleep_ms(50);
  } while (usage.samples == 0); /* and it wakes again */
  mz_monitor_stop(monitor);
}

/* Start, take, pause and stop at every moment of the thread's work. */
static void test_driver_and_thread_at_once(void **state) {
  (void)state;
  for (int i = 0; i < 20; i++) {
    mz_usage usage;
    char text[256];
    mz_monitor *monitor = start(1000);
    for (int j = 0; j < i * 5; j++) {
      mz_monitor_take(monitor, &usage);
      assert_true(usage.wall_s >= 0 && usage.cpu_s >= 0);
      mz_monitor_pause(monitor, j % 3 == 0);
      mz_monitor_missing(monitor, text, sizeof text);
    }
    mz_monitor_stop(monitor);
  }
}

/* ---- threads by name ---- */

static atomic_bool leave;

static void *work_and_stay(void *argument) {
  spin(0.05);
  atomic_store((atomic_int *)argument, 1);
  while (!atomic_load(&leave)) sleep_ms(1);
  return NULL;
}

static void test_threads_by_name(void **state) {
  (void)state;
  pthread_t threads[2];
  atomic_int done[2] = {0};
  atomic_store(&leave, false);
  assert_int_equal(mz_thread_start(&threads[0], "zebra-0", work_and_stay, &done[0]), 0);
  assert_int_equal(mz_thread_start(&threads[1], "zebra-1", work_and_stay, &done[1]), 0);
  while (!atomic_load(&done[0]) || !atomic_load(&done[1])) sleep_ms(1);
  const double both = mz_procfs_threads_cpu_s("/proc", "zebra"), first = mz_procfs_threads_cpu_s("/proc", "zebra-0");
  atomic_store(&leave, true);
  for (int i = 0; i < 2; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
  assert_true(first >= 0.05 - 2 * tick_s() && both >= first + 0.05 - 2 * tick_s());
  assert_true(mz_procfs_threads_cpu_s("/proc", "no such thread") == 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_thread_samples_this_process),
      cmocka_unit_test(test_driver_and_thread_at_once),
      cmocka_unit_test(test_threads_by_name),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
