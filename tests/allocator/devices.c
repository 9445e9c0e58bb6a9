#include "allocator/pipeline/devices.h"
#include "base/machine/clock.h"
#include <sched.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static int cores[CPU_SETSIZE], core_count; /* that this process may use, in order */

static int note_cores(void **state) {
  (void)state;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  for (int core = 0; core < CPU_SETSIZE; core++) {
    if (CPU_ISSET(core, &set)) cores[core_count++] = core;
  }
  return 0;
}

/* Every core that may be used is in exactly one device, in order; names count up. */
static void expect_partition(const mz_devices *devices) {
  bool seen[MZ_CORES_MAX] = {false};
  int total = 0;
  for (int i = 0; i < devices->count; i++) {
    char name[16];
    snprintf(name, sizeof name, "cpu:%d", i);
    assert_string_equal(devices->items[i].device.name, name);
    assert_int_equal(devices->items[i].device.kind, MZ_DEVICE_CPU);
    assert_int_equal(devices->items[i].device.cores, devices->items[i].core_count);
    assert_true(devices->items[i].core_count > 0);
    for (int c = 0; c < devices->items[i].core_count; c++) {
      const int core = devices->items[i].cores[c];
      assert_false(seen[core]);
      assert_true(c == 0 || core > devices->items[i].cores[c - 1]);
      seen[core] = true;
      total++;
    }
  }
  assert_int_equal(total, core_count);
  for (int i = 0; i < core_count; i++) assert_true(seen[cores[i]]);
}

static void test_auto_covers_the_machine(void **state) {
  (void)state;
  mz_devices devices;
  const uint64_t start = mz_clock_ns();
  assert_int_equal(mz_devices_find(&devices, "auto", "devices.cpu"), MZ_OK);
  print_message("auto: %d devices in %.2f ms\n", devices.count, 1e-6 * (double)(mz_clock_ns() - start));
  assert_true(devices.count >= 1);
  expect_partition(&devices);
}

static void test_auto_heeds_the_affinity_mask(void **state) {
  (void)state;
  cpu_set_t before, one;
  mz_devices devices;
  assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  CPU_SET(cores[core_count - 1], &one);
  assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
  assert_int_equal(mz_devices_find(&devices, "auto", "devices.cpu"), MZ_OK);
  assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
  assert_int_equal(devices.count, 1);
  assert_int_equal(devices.items[0].core_count, 1);
  assert_int_equal(devices.items[0].cores[0], cores[core_count - 1]);
}

/* Machines that hwloc is told of in place of this one. */
static void test_a_device_per_node_with_cores(void **state) {
  (void)state;
  mz_devices devices;
  mz_devices_find_nodes(&devices);
  expect_partition(&devices);
  if (core_count < 2 || cores[0] != 0 || cores[1] != 1) {
    print_message("skipped: invented nodes need cores 0 and 1\n");
    return;
  }
  assert_int_equal(setenv("HWLOC_SYNTHETIC", "numa:2 pu:1", 1), 0);
  mz_devices_find_nodes(&devices);
  assert_int_equal(devices.count, 2);
  assert_int_equal(devices.items[0].cores[0], 0);
  assert_int_equal(devices.items[1].cores[0], 1);
  assert_int_equal(devices.items[0].core_count, 1); /* cores of no node, where there are more, join the last */
  expect_partition(&devices);
  assert_int_equal(setenv("HWLOC_SYNTHETIC", "numa:40 pu:1", 1), 0); /* more nodes than devices, most without a core for us */
  mz_devices_find_nodes(&devices);
  assert_int_equal(devices.count, core_count < MZ_DEVICES_MAX ? core_count : MZ_DEVICES_MAX);
  expect_partition(&devices);
  assert_int_equal(setenv("HWLOC_SYNTHETIC", "nonsense", 1), 0);
  mz_devices_find_nodes(&devices);
  expect_partition(&devices);
  assert_int_equal(unsetenv("HWLOC_SYNTHETIC"), 0);
}

/* Runs under a mask of the first `wanted` cores; false: there are fewer. */
static bool narrow(int wanted, cpu_set_t *before) {
  cpu_set_t some;
  if (core_count < wanted) return false;
  assert_int_equal(sched_getaffinity(0, sizeof *before, before), 0);
  CPU_ZERO(&some);
  for (int i = 0; i < wanted; i++) CPU_SET(cores[i], &some);
  assert_int_equal(sched_setaffinity(0, sizeof some, &some), 0);
  return true;
}

static void test_sets_by_hand(void **state) {
  (void)state;
  mz_devices devices;
  char spec[64];
  if (core_count < 2) {
    print_message("skipped: one core only\n");
    return;
  }
  snprintf(spec, sizeof spec, "%d,%d", cores[1], cores[0]);
  assert_int_equal(mz_devices_find(&devices, spec, "devices.cpu"), MZ_OK);
  assert_int_equal(devices.count, 2);
  assert_int_equal(devices.items[0].cores[0], cores[1]);
  assert_int_equal(devices.items[1].cores[0], cores[0]);
  assert_string_equal(devices.items[1].device.name, "cpu:1");

  snprintf(spec, sizeof spec, "%d+%d", cores[1], cores[0]); /* joined, and in order */
  assert_int_equal(mz_devices_find(&devices, spec, "devices.cpu"), MZ_OK);
  assert_int_equal(devices.count, 1);
  assert_int_equal(devices.items[0].core_count, 2);
  assert_int_equal(devices.items[0].cores[0], cores[0]);
  assert_int_equal(devices.items[0].device.cores, 2);

  snprintf(spec, sizeof spec, "%d", cores[1]); /* not all cores need be used */
  assert_int_equal(mz_devices_find(&devices, spec, "devices.cpu"), MZ_OK);
  assert_int_equal(devices.count, 1);
  assert_int_equal(devices.items[0].core_count, 1);
}

static void test_ranges(void **state) {
  (void)state;
  mz_devices devices;
  cpu_set_t before;
  if (core_count < 2 || cores[1] != cores[0] + 1) {
    print_message("skipped: no two neighbouring cores\n");
    return;
  }
  char spec[64];
  assert_true(narrow(2, &before));
  snprintf(spec, sizeof spec, "%d-%d", cores[0], cores[1]);
  assert_int_equal(mz_devices_find(&devices, spec, "devices.cpu"), MZ_OK);
  assert_int_equal(devices.items[0].core_count, 2);
  snprintf(spec, sizeof spec, "%d-%d", cores[0], cores[0]);
  assert_int_equal(mz_devices_find(&devices, spec, "devices.cpu"), MZ_OK);
  assert_int_equal(devices.items[0].core_count, 1);
  assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}

static void test_mistakes_name_the_part_and_the_cores_there_are(void **state) {
  (void)state;
  mz_devices devices;
  cpu_set_t before;
  char spec[64], there[64], wanted[64];
  assert_true(narrow(1, &before));
  snprintf(there, sizeof there, "cores that this process may use: %d", cores[0]);
  static const char *const specs[] = {"",      "x",     "%d,",   ",%d",   "%d;",         "%d-",  "-%d",  "%d+",
                                      "%d+%d", "%d,%d", "%d-0x", "%d %d", "99999999999", "1023", "1024", "%d,auto"};
  for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
    snprintf(spec, sizeof spec, "%s", specs[i]);
    for (char *at; (at = strstr(spec, "%d")) != NULL;) { /* the one core there is */
      snprintf(wanted, sizeof wanted, "%.*s%d%s", (int)(at - spec), spec, cores[0], at + 2);
      memcpy(spec, wanted, sizeof spec);
    }
    if (strcmp(spec, "1023") == 0 && cores[0] == 1023) continue;
    assert_int_equal(mz_devices_find(&devices, spec, "devices.cpu"), MZ_E_CONFIG);
    assert_non_null(strstr(mz_message(), "devices.cpu"));
    assert_non_null(strstr(mz_message(), there));
  }
  snprintf(spec, sizeof spec, "%d,%d", cores[0], cores[0]);
  assert_int_equal(mz_devices_find(&devices, spec, "devices.cpu"), MZ_E_CONFIG);
  snprintf(wanted, sizeof wanted, "core %d is named twice", cores[0]);
  assert_non_null(strstr(mz_message(), wanted));
  snprintf(spec, sizeof spec, "%d,2000", cores[0]);
  assert_int_equal(mz_devices_find(&devices, spec, "devices.cpu"), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "no core 2000 in '2000'"));
  static const char *const large[] = {"10000", "0010000", "99999999999999999999999"};
  for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
    assert_int_equal(mz_devices_find(&devices, large[i], "devices.cpu"), MZ_E_CONFIG);
    snprintf(wanted, sizeof wanted, "no core %s in '%s'", large[i], large[i]);
    assert_non_null(strstr(mz_message(), wanted));
  }
  snprintf(spec, sizeof spec, "%06d", cores[0]); /* however it is written */
  assert_int_equal(mz_devices_find(&devices, spec, "devices.cpu"), MZ_OK);
  assert_int_equal(devices.items[0].cores[0], cores[0]);
  assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}

static void test_gpus_come_last_and_have_cores_in_turn(void **state) {
  (void)state;
  mz_devices devices = {.count = 2,
                        .items = {{.device = {.name = "cpu:0", .cores = 1}}, {.device = {.name = "cpu:1", .cores = 1}}}};
  mz_pipeline pipeline = {0};
  for (int gpu = 0; gpu < 3; gpu++) assert_true(mz_devices_add_gpu(&devices, gpu + 4, "Model", 7));
  assert_int_equal(devices.count, 5);
  assert_string_equal(devices.items[3].device.name, "cuda:5");
  assert_string_equal(devices.items[3].device.model, "Model");
  assert_true(devices.items[3].number == 5 && devices.items[3].device.memory == 7);
  pipeline.device_count = devices.count;
  for (int d = 0; d < devices.count; d++) pipeline.devices[d] = devices.items[d].device;
  static const int homes[] = {0, 1, 0, 1, 0};
  for (int d = 0; d < devices.count; d++) {
    assert_int_equal(mz_devices_home(&devices, d), homes[d]);
    assert_int_equal(mz_device_home(&pipeline, d), homes[d]);
  }
  devices.count = MZ_DEVICES_MAX;
  assert_false(mz_devices_add_gpu(&devices, 9, "Model", 7));
}

static void test_index_by_name(void **state) {
  (void)state;
  mz_devices devices;
  int index = -1;
  assert_int_equal(mz_devices_find(&devices, "auto", "devices.cpu"), MZ_OK);
  assert_int_equal(mz_devices_index(&devices, "cpu:0", "devices.learning", &index), MZ_OK);
  assert_int_equal(index, 0);
  assert_int_equal(mz_devices_index(&devices, "cpu0", "devices.learning", &index), MZ_E_CONFIG);
  assert_non_null(strstr(mz_message(), "devices.learning: no device 'cpu0'"));
  assert_non_null(strstr(mz_message(), "'cpu:0'"));
  assert_int_equal(mz_devices_index(&devices, "", "devices.learning", &index), MZ_E_CONFIG);
  assert_int_equal(index, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_auto_covers_the_machine),
      cmocka_unit_test(test_a_device_per_node_with_cores),
      cmocka_unit_test(test_auto_heeds_the_affinity_mask),
      cmocka_unit_test(test_sets_by_hand),
      cmocka_unit_test(test_ranges),
      cmocka_unit_test(test_mistakes_name_the_part_and_the_cores_there_are),
      cmocka_unit_test(test_gpus_come_last_and_have_cores_in_turn),
      cmocka_unit_test(test_index_by_name),
  };
  return cmocka_run_group_tests(tests, note_cores, NULL);
}
