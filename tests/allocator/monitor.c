/* Sensors read from invented procfs and cgroup trees. The thread: monitor_thread.c; GPUs: nvml.c. */
#include "allocator/sensors/monitor.h"
#include "base/machine/clock.h"
#include "base/file/file.h"
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static char root[32], proc[48], cgroup[48]; /* stand in for /proc and /sys/fs/cgroup */

/* In place, as the kernel's files change: whoever has it open sees the new text. */
static void put(const char *folder, const char *name, const char *text) {
  char path[256], file[320];
  snprintf(path, sizeof path, "%s/%s", root, folder);
  assert_int_equal(mz_file_mkdirs(path), MZ_OK);
  snprintf(file, sizeof file, "%s/%s", path, name);
  const int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  assert_true(fd >= 0);
  assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
  assert_int_equal(close(fd), 0);
}

static void put_self_stat(int user, int system) {
  char text[256];
  snprintf(text, sizeof text, "42 (a ) name) S 1 42 42 0 -1 4194560 100 0 0 0 %d %d 7 8 20 0 3 0 900 1000 50\n", user, system);
  put("proc/self", "stat", text);
}

static void put_busy(int ticks) { /* half of it stolen; guest time is in user time already */
  char text[256];
  snprintf(text, sizeof text, "cpu  %d 0 0 99999 5000 0 0 %d 77 88\ncpu0 1 2 3 4\nintr 5\n", ticks / 2, ticks - ticks / 2);
  put("proc", "stat", text);
}

static void put_pressure(const char *folder, const char *prefix, const char *suffix, long cpu_us, long memory_us, long io_us) {
  static const char *const names[] = {"cpu", "memory", "io"};
  const long totals[] = {cpu_us, memory_us, io_us};
  for (int i = 0; i < 3; i++) {
    char name[32], text[256];
    snprintf(name, sizeof name, "%s%s%s", prefix, names[i], suffix);
    snprintf(text, sizeof text,
             "some avg10=1.00 avg60=2.00 avg300=0.28 total=%ld\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=999999999\n",
             totals[i]);
    put(folder, name, text);
  }
}

static void put_throttled(long us) {
  char text[128];
  snprintf(text, sizeof text, "usage_usec 5\nnr_throttled 3\nthrottled_usec %ld\nnr_bursts 0\n", us);
  put("cgroup/job", "cpu.stat", text);
}

/* A tree in which nothing is missing but a GPU. */
static int make_trees(void **state) {
  (void)state;
  snprintf(root, sizeof root, "/tmp/mz_test_monitor_XXXXXX");
  if (mkdtemp(root) == NULL) return 1;
  snprintf(proc, sizeof proc, "%s/proc", root);
  snprintf(cgroup, sizeof cgroup, "%s/cgroup", root);
  put_self_stat(100, 50);
  put_busy(1000);
  put("proc/self", "statm", "9000 256 100 1 0 800 0\n");
  put("proc/self", "cgroup", "0::/job\n");
  put("proc", "meminfo", "MemTotal:       16000 kB\nMemFree:         1000 kB\nMemAvailable:    8000 kB\n");
  put("proc/self/task/42", "comm", "actor-0\n");
  put_pressure("proc/pressure", "", "", 0, 0, 0);
  put_throttled(1000);
  return 0;
}

static int remove_trees(void **state) {
  (void)state;
  char command[128];
  snprintf(command, sizeof command, "chmod -R u+rwx %s && rm -r %s", root, root);
  return system(command);
}

static mz_monitor *start(double hz) {
  mz_monitor *monitor = NULL;
  const mz_monitor_options options = {.hz = hz, .proc = proc, .cgroup = cgroup};
  assert_int_equal(mz_monitor_start(&monitor, &options), MZ_OK);
  return monitor;
}

static bool is_missing(const mz_usage *usage, mz_sensor sensor) { return usage->missing >> sensor & 1; }

static void sleep_ms(long ms) { nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL); }

static double tick_s(void) { return 1.0 / (double)sysconf(_SC_CLK_TCK); }

static void test_counters_give_what_they_grew_by(void **state) {
  (void)state;
  mz_usage usage;
  mz_monitor *monitor = start(0);
  put_self_stat(60100, 40050);
  put_busy(101040);
  put_pressure("proc/pressure", "", "", 2000, 4000, 8000);
  put_throttled(251000);
  put("proc/self", "statm", "9000 512 100 1 0 800 0\n");
  sleep_ms(20);
  mz_monitor_take(monitor, &usage);
  for (int i = 0; i < MZ_SENSOR_COUNT; i++) assert_int_equal(is_missing(&usage, i), i == MZ_SENSOR_GPU);
  assert_true(usage.wall_s >= 0.02);
  assert_float_equal(usage.cpu_s, 100000 * tick_s(), 1e-9);
  assert_float_equal(usage.others_cpu_s, 40 * tick_s(), 1e-9);
  assert_float_equal(usage.throttled_s, 0.25, 1e-9);
  assert_float_equal(usage.pressure_cpu * usage.wall_s, 0.002, 1e-9);
  assert_float_equal(usage.pressure_memory * usage.wall_s, 0.004, 1e-9);
  assert_float_equal(usage.pressure_io * usage.wall_s, 0.008, 1e-9);
  assert_float_equal(usage.rss_bytes, 512.0 * (double)sysconf(_SC_PAGESIZE), 1e-9);
  assert_float_equal(usage.rss_peak_bytes, usage.rss_bytes, 1e-9);
  assert_float_equal(usage.available_bytes, 8000 * 1024, 1e-9);
  assert_float_equal(usage.core_share_p95, 1, 1e-12); /* 1000 s of CPU time in some 20 ms: all that is granted */
  assert_int_equal(usage.samples, 0);                 /* without a thread */

  sleep_ms(20);
  mz_monitor_take(monitor, &usage); /* begins anew: nothing has moved since */
  assert_true(usage.cpu_s == 0 && usage.others_cpu_s == 0 && usage.throttled_s == 0 && usage.pressure_io == 0);
  assert_true(usage.core_share_p95 == 0 && usage.rss_bytes > 0);
  mz_monitor_stop(monitor);
}

static double of_others(void *seconds) { return *(double *)seconds; }
static double bytes_of_others(void *seconds) { return 4096 * *(double *)seconds; }

static void test_other_processes_count_as_its_own(void **state) {
  (void)state;
  mz_usage usage;
  double seconds = 7;
  mz_monitor *monitor;
  const mz_monitor_options options = {
      .proc = proc, .cgroup = cgroup, .more_cpu_s = of_others, .more_bytes = bytes_of_others, .more = &seconds};
  assert_int_equal(mz_monitor_start(&monitor, &options), MZ_OK);
  put_self_stat(60100, 40050);
  put_busy(101040);
  seconds = 7.25;
  sleep_ms(20);
  mz_monitor_take(monitor, &usage);
  assert_float_equal(usage.cpu_s, 100000 * tick_s() + 0.25, 1e-9);
  assert_float_equal(usage.others_cpu_s, 40 * tick_s() - 0.25, 1e-9);
  assert_float_equal(usage.rss_bytes, 256.0 * (double)sysconf(_SC_PAGESIZE) + 4096 * 7.25, 1e-9);
  mz_monitor_stop(monitor);
}

static void test_counters_that_run_backwards_are_no_progress(void **state) {
  (void)state;
  mz_usage usage;
  mz_monitor *monitor = start(0);
  put_self_stat(10, 5);
  put_busy(3);
  put_pressure("proc/pressure", "", "", 0, 0, 0);
  put_throttled(7);
  mz_monitor_take(monitor, &usage);
  assert_true(usage.cpu_s == 0 && usage.others_cpu_s == 0 && usage.throttled_s == 0 && usage.pressure_cpu == 0);
  put_self_stat(12, 5); /* and continues from there */
  mz_monitor_take(monitor, &usage);
  assert_float_equal(usage.cpu_s, 2 * tick_s(), 1e-9);
  mz_monitor_stop(monitor);
}

static void test_pressure_of_the_own_group_comes_first(void **state) {
  (void)state;
  mz_usage usage;
  put_pressure("cgroup/job", "", ".pressure", 0, 0, 0);
  mz_monitor *monitor = start(0);
  put_pressure("cgroup/job", "", ".pressure", 1000, 2000, 0);
  put_pressure("proc/pressure", "", "", 5000, 5000, 5000);
  sleep_ms(10);
  mz_monitor_take(monitor, &usage);
  assert_float_equal(usage.pressure_cpu * usage.wall_s, 0.001, 1e-9);
  assert_float_equal(usage.pressure_memory * usage.wall_s, 0.002, 1e-9);
  assert_true(usage.pressure_io == 0);
  mz_monitor_stop(monitor);
}

static void test_throttling_counts_where_the_quota_is(void **state) {
  (void)state;
  mz_usage usage;
  put("proc/self", "cgroup", "0::/job/step\n"); /* the group of the step has no quota, the job's has */
  put("cgroup/job/step", "cpu.stat", "throttled_usec 0\n");
  put("cgroup/job/step", "cpu.max", "max 100000\n");
  put("cgroup/job", "cpu.max", "200000 100000\n");
  mz_monitor *monitor = start(0);
  put_throttled(501000);
  mz_monitor_take(monitor, &usage);
  assert_float_equal(usage.throttled_s, 0.5, 1e-9);
  mz_monitor_stop(monitor);

  put("proc/self", "cgroup", "4:memory:/x\n3:cpu,cpuacct:/old\n"); /* version 1 counts nanoseconds */
  put("cgroup/cpu/old", "cpu.stat", "nr_periods 1\nthrottled_time 1000000000\n");
  monitor = start(0);
  put("cgroup/cpu/old", "cpu.stat", "nr_periods 2\nthrottled_time 3500000000\n");
  mz_monitor_take(monitor, &usage);
  assert_false(is_missing(&usage, MZ_SENSOR_THROTTLED));
  assert_float_equal(usage.throttled_s, 2.5, 1e-9);
  mz_monitor_stop(monitor);
}

static void test_available_memory_heeds_the_group(void **state) {
  (void)state;
  mz_usage usage;
  put("cgroup/job", "memory.max", "4096000\n");
  put("cgroup/job", "memory.current", "3096000\n");
  put("cgroup/job", "memory.stat", "anon 1\nfile 800000\ninactive_file 500000\nactive_file 9\n");
  mz_monitor *monitor = start(0);
  mz_monitor_take(monitor, &usage);
  assert_float_equal(usage.available_bytes, 1500000, 1e-9); /* pages of files that nobody used of late can go */
  put("cgroup/job", "memory.current", "9999999\n");
  mz_monitor_take(monitor, &usage);
  assert_false(is_missing(&usage, MZ_SENSOR_MEMORY)); /* full is not missing */
  assert_true(usage.available_bytes == 0);
  mz_monitor_stop(monitor);
}

/* ---- what is missing ---- */

typedef struct loss {
  const char *folder, *name;
  mz_sensor sensor;
  const char *text; /* in the list for people */
} loss;

static const loss losses[] = {
    {"proc/self", "stat", MZ_SENSOR_CPU, "cpu (no /proc/self/stat)"},
    {"proc/self", "statm", MZ_SENSOR_RSS, "rss (no /proc/self/statm)"},
    {"proc", "stat", MZ_SENSOR_LOAD, "load (no /proc/stat)"},
    {"proc", "meminfo", MZ_SENSOR_MEMORY, "memory (no MemAvailable in /proc/meminfo)"},
    {"proc/pressure", "io", MZ_SENSOR_PRESSURE, "pressure (no /proc/pressure)"},
    {"cgroup/job", "cpu.stat", MZ_SENSOR_THROTTLED, "throttled (no cgroup with a CPU quota)"},
};

static void expect_only_missing(mz_monitor *monitor, const loss *l) {
  mz_usage usage;
  char text[512];
  sleep_ms(1);
  mz_monitor_take(monitor, &usage);
  mz_monitor_missing(monitor, text, sizeof text);
  assert_true(is_missing(&usage, l->sensor));
  assert_non_null(strstr(text, l->text));
  for (int i = 0; i < MZ_SENSOR_COUNT; i++) {
    const bool with_it = l->sensor == MZ_SENSOR_CPU && i == MZ_SENSOR_LOAD; /* others' share needs the own */
    if (i != (int)l->sensor && i != MZ_SENSOR_GPU && !with_it) assert_false(is_missing(&usage, i));
  }
  const double zero[] = {is_missing(&usage, MZ_SENSOR_CPU) ? usage.cpu_s + usage.core_share_p95 : 0,
                         is_missing(&usage, MZ_SENSOR_RSS) ? usage.rss_bytes + usage.rss_peak_bytes : 0,
                         is_missing(&usage, MZ_SENSOR_LOAD) ? usage.others_cpu_s : 0,
                         is_missing(&usage, MZ_SENSOR_MEMORY) ? usage.available_bytes : 0,
                         is_missing(&usage, MZ_SENSOR_PRESSURE) ? usage.pressure_cpu + usage.pressure_io : 0,
                         is_missing(&usage, MZ_SENSOR_THROTTLED) ? usage.throttled_s : 0};
  for (size_t i = 0; i < sizeof zero / sizeof *zero; i++) assert_true(zero[i] == 0);
}

static void test_a_file_that_is_not_there_is_missing_for_good(void **state) {
  for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
    char path[256];
    if (i > 0) assert_int_equal(make_trees(state), 0);
    snprintf(path, sizeof path, "%s/%s/%s", root, losses[i].folder, losses[i].name);
    assert_int_equal(unlink(path), 0);
    mz_monitor *monitor = start(0);
    expect_only_missing(monitor, &losses[i]);
    put_self_stat(500, 500);
    expect_only_missing(monitor, &losses[i]); /* one attempt, and no more */
    mz_monitor_stop(monitor);
    if (i + 1 < sizeof losses / sizeof *losses) assert_int_equal(remove_trees(state), 0);
  }
}

static void test_a_file_that_may_not_be_read_is_missing(void **state) {
  (void)state;
  enum { NOBODY = 65534 };
  char path[256];
  const uid_t self = geteuid();
  snprintf(path, sizeof path, "%s/proc/stat", root);
  assert_int_equal(chmod(path, 0), 0);
  assert_int_equal(chmod(root, 0755), 0);
  if (self == 0 && seteuid(NOBODY) != 0) { /* root may read everything */
    print_message("skipped: cannot stop being root\n");
    return;
  }
  mz_monitor *monitor = start(0);
  expect_only_missing(monitor, &losses[2]);
  mz_monitor_stop(monitor);
  assert_int_equal(seteuid(self), 0);
}

static void test_garbage_is_missing(void **state) {
  static const char *const texts[] = {"",
                                      "garbage",
                                      ")",
                                      "42 (x) S 1 2 3",
                                      "42 (x) S 1 42 42 0 -1 0 0 0 0 0 -5 nan 7",
                                      "cpu  1 2 x",
                                      "some avg10=0.00 total=x",
                                      "some avg10=0.00\nfull total=5\n",
                                      "throttled_usec x\n",
                                      "12",
                                      "\xff\xfe\x01"};
  for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
      put(losses[i].folder, losses[i].name, texts[t]);
      mz_monitor *monitor = start(0);
      expect_only_missing(monitor, &losses[i]);
      mz_monitor_stop(monitor);
    }
    assert_int_equal(remove_trees(state), 0);
    assert_int_equal(make_trees(state), 0);
    mz_monitor *monitor = start(0); /* and a file that turns to garbage later */
    put(losses[i].folder, losses[i].name, "garbage");
    expect_only_missing(monitor, &losses[i]);
    mz_monitor_stop(monitor);
    assert_int_equal(remove_trees(state), 0);
    assert_int_equal(make_trees(state), 0);
  }
}

static void test_nothing_at_all_is_all_missing(void **state) {
  (void)state;
  mz_monitor *monitor = NULL;
  mz_usage usage;
  char text[512];
  const mz_monitor_options options = {.hz = 0, .proc = "/nowhere/proc", .cgroup = "/nowhere/cgroup"};
  assert_int_equal(mz_monitor_start(&monitor, &options), MZ_OK);
  mz_monitor_take(monitor, &usage);
  for (int i = 0; i < MZ_SENSOR_GPU; i++) assert_true(is_missing(&usage, i));
  mz_monitor_missing(monitor, text, sizeof text);
  assert_non_null(strstr(text, "threads (no /proc/self/task)"));
  mz_monitor_missing(monitor, text, 10); /* cut, and ended */
  assert_int_equal(strlen(text), 9);
  mz_monitor_stop(monitor);
  mz_monitor_stop(NULL);
}

/* ---- pause ---- */

static void test_paused_time_does_not_count(void **state) {
  (void)state;
  mz_usage usage;
  const uint64_t begun = mz_clock_ns();
  mz_monitor *monitor = start(0);
  put_self_stat(110, 50);
  mz_monitor_pause(monitor, true);
  const uint64_t paused = mz_clock_ns();
  mz_monitor_pause(monitor, true); /* is paused already */
  put_self_stat(900, 50);
  sleep_ms(60);
  const uint64_t resumed = mz_clock_ns();
  mz_monitor_pause(monitor, false);
  put_self_stat(903, 50);
  mz_monitor_take(monitor, &usage);
  assert_float_equal(usage.cpu_s, 13 * tick_s(), 1e-9);
  assert_true(usage.wall_s <= 1e-9 * (double)(mz_clock_ns() - begun - (resumed - paused)));

  mz_monitor_pause(monitor, true);
  mz_monitor_take(monitor, &usage);
  put_self_stat(950, 50);
  mz_monitor_take(monitor, &usage); /* a window of nothing */
  assert_true(usage.cpu_s == 0 && usage.wall_s == 0 && usage.pressure_cpu == 0);
  assert_true(is_missing(&usage, MZ_SENSOR_RSS) && usage.rss_bytes == 0);
  mz_monitor_stop(monitor);
}

#define WITH_TREES(test) cmocka_unit_test_setup_teardown(test, make_trees, remove_trees)

int main(void) {
  const struct CMUnitTest tests[] = {
      WITH_TREES(test_counters_give_what_they_grew_by),
      WITH_TREES(test_other_processes_count_as_its_own),
      WITH_TREES(test_counters_that_run_backwards_are_no_progress),
      WITH_TREES(test_pressure_of_the_own_group_comes_first),
      WITH_TREES(test_throttling_counts_where_the_quota_is),
      WITH_TREES(test_available_memory_heeds_the_group),
      WITH_TREES(test_a_file_that_is_not_there_is_missing_for_good),
      WITH_TREES(test_a_file_that_may_not_be_read_is_missing),
      WITH_TREES(test_garbage_is_missing),
      cmocka_unit_test(test_nothing_at_all_is_all_missing),
      WITH_TREES(test_paused_time_does_not_count),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
