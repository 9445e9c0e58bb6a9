/* GPUs, by a library that stands in for NVIDIA's (tests/fake_nvml.c). */
#include "allocator/sensors/monitor.h"
#include "allocator/sensors/nvml.h"
#include <dlfcn.h>
#include <string.h>
#include <time.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const uint32_t gpu_bit = UINT32_C(1) << MZ_SENSOR_GPU;

static void *library; /* held open: whoever asks for libnvidia-ml.so.1 gets it */
static void (*set)(unsigned, unsigned, unsigned long long);
static void (*break_)(int, int, unsigned);
static int (*users)(void);

static int open_fake(void **state) {
  (void)state;
  library = dlopen(FAKE_NVML, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return 1;
  *(void **)&set = dlsym(library, "fake_nvml_set");
  *(void **)&break_ = dlsym(library, "fake_nvml_break");
  *(void **)&users = dlsym(library, "fake_nvml_users");
  if (set == NULL || break_ == NULL || users == NULL) return 1;
  for (unsigned i = 0; i < 3; i++) set(i, 0, 0);
  break_(0, 0, 0);
  return 0;
}

static int close_fake(void **state) {
  (void)state;
  const bool all_ended = users() == 0; /* whoever started the library has shut it down */
  return dlclose(library) == 0 && all_ended ? 0 : 1;
}

static mz_monitor *start(double hz) {
  mz_monitor *monitor = NULL;
  const mz_monitor_options options = {.hz = hz, .proc = "/proc", .cgroup = "/sys/fs/cgroup"};
  assert_int_equal(mz_monitor_start(&monitor, &options), MZ_OK);
  return monitor;
}

static void test_no_library_is_missing(void **state) {
  (void)state;
  assert_null(mz_nvml_load("libno-such-library.so.1"));
  assert_null(mz_nvml_load("libc.so.6")); /* a library, but without the calls */
  void *real = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (real != NULL) {
    dlclose(real);
    print_message("skipped: the rest, as this machine has NVML\n");
    return;
  }
  char text[256];
  mz_usage usage;
  mz_monitor *monitor = start(0);
  mz_monitor_take(monitor, &usage);
  assert_true(usage.missing & gpu_bit);
  assert_true(usage.gpu_busy == 0 && usage.gpu_bytes == 0);
  mz_monitor_missing(monitor, text, sizeof text);
  assert_non_null(strstr(text, "gpu (no NVML)"));
  mz_monitor_stop(monitor);
  assert_int_equal(mz_monitor_gpus(NULL, 0), 0);
}

static void test_names_and_counts(void **state) {
  (void)state;
  char names[3][64] = {"", "", "untouched"};
  assert_int_equal(mz_monitor_gpus(names, 2), 3);
  assert_string_equal(names[0], "Fake GPU 0");
  assert_string_equal(names[1], "Fake GPU 1");
  assert_string_equal(names[2], "untouched");
  assert_int_equal(mz_monitor_gpus(NULL, 0), 3);
  break_(0, 0, 1); /* a device that is lost is left out */
  assert_int_equal(mz_monitor_gpus(names, 2), 2);
  assert_string_equal(names[0], "Fake GPU 1");
  break_(1, 0, 0);
  assert_int_equal(mz_monitor_gpus(names, 2), 0);
}

static void test_busy_is_the_mean_over_devices_in_use(void **state) {
  (void)state;
  mz_usage usage;
  mz_monitor *monitor = start(0);
  set(0, 50, 1000);
  set(1, 0, 500); /* somebody else's */
  set(2, 100, 24);
  mz_monitor_take(monitor, &usage);
  assert_false(usage.missing & gpu_bit);
  assert_float_equal(usage.gpu_busy, 0.75, 1e-12);
  assert_float_equal(usage.gpu_bytes, 1024, 1e-9);
  for (unsigned i = 0; i < 3; i++) set(i, 0, 1000);
  mz_monitor_take(monitor, &usage); /* present and idle: zero, and not missing */
  assert_false(usage.missing & gpu_bit);
  assert_true(usage.gpu_busy == 0 && usage.gpu_bytes == 0);
  mz_monitor_stop(monitor);
}

/* A run that may use one GPU is not told of others; where none of its own is known, of all. */
static void test_own_gpus_are_known_by_identifier(void **state) {
  (void)state;
  static const char own[2][MZ_GPU_UUID] = {"GPU-00000000-2", "GPU-elsewhere"};
  mz_usage usage;
  for (int first = 0; first < 2; first++) {
    mz_monitor *monitor = NULL;
    const mz_monitor_options options = {.proc = "/proc", .cgroup = "/sys/fs/cgroup", .gpus = &own[first], .gpu_count = 2 - first};
    set(0, 100, 1000), set(1, 0, 0), set(2, 40, 24);
    assert_int_equal(mz_monitor_start(&monitor, &options), MZ_OK);
    mz_monitor_take(monitor, &usage);
    assert_false(usage.missing & gpu_bit);
    assert_float_equal(usage.gpu_busy, first == 0 ? 0.4 : 0.7, 1e-12);
    assert_float_equal(usage.gpu_bytes, first == 0 ? 24 : 1024, 1e-9);
    mz_monitor_stop(monitor);
  }
}

static void expect_missing(const char *why) {
  char text[256];
  mz_usage usage;
  mz_monitor *monitor = start(0);
  mz_monitor_take(monitor, &usage);
  assert_true(usage.missing & gpu_bit);
  assert_true(usage.gpu_busy == 0 && usage.gpu_bytes == 0);
  mz_monitor_missing(monitor, text, sizeof text);
  assert_non_null(strstr(text, why));
  mz_monitor_stop(monitor);
}

static void test_what_does_not_answer_is_missing(void **state) {
  (void)state;
  set(0, 50, 1000);
  break_(1, 0, 0);
  expect_missing("gpu (NVML knows none)");
  break_(0, 1, 0);
  expect_missing("gpu (NVML does not tell)");
}

/* The thread opens it; until then it is missing. */
static void test_thread_reads_devices(void **state) {
  (void)state;
  mz_usage usage;
  set(1, 40, 10);
  mz_monitor *monitor = start(200);
  do {
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    mz_monitor_take(monitor, &usage);
  } while (usage.missing & gpu_bit);
  assert_float_equal(usage.gpu_busy, 0.4, 1e-12);
  assert_float_equal(usage.gpu_bytes, 10, 1e-12);
  mz_monitor_stop(monitor);
}

#define WITH_FAKE(test) cmocka_unit_test_setup_teardown(test, open_fake, close_fake)

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_no_library_is_missing),         WITH_FAKE(test_names_and_counts),
      WITH_FAKE(test_busy_is_the_mean_over_devices_in_use), WITH_FAKE(test_own_gpus_are_known_by_identifier),
      WITH_FAKE(test_what_does_not_answer_is_missing),      WITH_FAKE(test_thread_reads_devices),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
