#include "base/machine/machine.h"
#include "base/machine/cgroup.h"
#include "base/file/file.h"
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static char root[64]; /* stands in for /sys/fs/cgroup */
static char self[80]; /* stands in for /proc/self/cgroup */

static int make_root(void **state) {
  (void)state;
  snprintf(root, sizeof root, "/tmp/mz_test_cgroup_XXXXXX");
  if (mkdtemp(root) == NULL) return 1;
  snprintf(self, sizeof self, "%s/self", root);
  return 0;
}

static int remove_root(void **state) {
  (void)state;
  char command[128];
  snprintf(command, sizeof command, "rm -r %s", root);
  return system(command);
}

static void put(const char *folder, const char *name, const char *text) {
  char path[256], file[320];
  snprintf(path, sizeof path, "%s%s", root, folder);
  assert_int_equal(mz_file_mkdirs(path), MZ_OK);
  snprintf(file, sizeof file, "%s/%s", path, name);
  assert_int_equal(mz_file_write_atomic(file, text, strlen(text)), MZ_OK);
}

static void test_v2_the_tightest_limit_on_the_way_counts(void **state) {
  (void)state;
  put("", "self", "0::/a/b\n");
  assert_true(mz_cgroup_cores(root, self) == 0);
  assert_int_equal(mz_cgroup_memory(root, self), 0);
  put("/a/b", "cpu.max", "max 100000\n");
  assert_true(mz_cgroup_cores(root, self) == 0);
  put("/a/b", "cpu.max", "350000 100000\n");
  assert_true(mz_cgroup_cores(root, self) == 3.5);
  put("/a", "cpu.max", "150000 100000\n");
  assert_true(mz_cgroup_cores(root, self) == 1.5);
  put("", "cpu.max", "50000 100000\n");
  assert_true(mz_cgroup_cores(root, self) == 0.5);
  put("/a/b", "memory.max", "max\n");
  put("/a", "memory.max", "1073741824\n");
  assert_int_equal(mz_cgroup_memory(root, self), 1 << 30);
}

static void test_v2_group_outside_of_the_mount_falls_to_the_root(void **state) {
  (void)state;
  put("", "self", "0::/not/mounted/here\n");
  put("", "cpu.max", "200000 100000\n");
  assert_true(mz_cgroup_cores(root, self) == 2);
}

static void test_v1_limits(void **state) {
  (void)state;
  put("", "self", "12:cpuset:/x\n4:cpu,cpuacct:/job\n3:memory:/job\n");
  put("/cpu/job", "cpu.cfs_quota_us", "-1\n");
  put("/cpu/job", "cpu.cfs_period_us", "100000\n");
  put("/memory/job", "memory.limit_in_bytes", "9223372036854771712\n");
  assert_true(mz_cgroup_cores(root, self) == 0);
  assert_int_equal(mz_cgroup_memory(root, self), 0);
  put("/cpu/job", "cpu.cfs_quota_us", "250000\n");
  put("/memory", "memory.limit_in_bytes", "4096\n");
  assert_true(mz_cgroup_cores(root, self) == 2.5);
  assert_int_equal(mz_cgroup_memory(root, self), 4096);
}

static void test_damaged_or_missing_files_are_no_limit(void **state) {
  (void)state;
  assert_true(mz_cgroup_cores(root, "/nowhere/self") == 0);
  put("", "self", "garbage");
  assert_true(mz_cgroup_cores(root, self) == 0);
  put("", "self", "0::/\n");
  static const char *const texts[] = {"", "x y\n", "100000", "-5 100000\n", "1000 0\n"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    put("", "cpu.max", texts[i]);
    assert_true(mz_cgroup_cores(root, self) == 0);
  }
}

static void test_cores_are_whole_and_at_least_one(void **state) {
  (void)state;
  assert_int_equal(mz_cores_granted(8, 0), 8);
  assert_int_equal(mz_cores_granted(8, 3.5), 3);
  assert_int_equal(mz_cores_granted(8, 3.0), 3);
  assert_int_equal(mz_cores_granted(2, 64), 2);
  assert_int_equal(mz_cores_granted(8, 0.5), 1);
  assert_int_equal(mz_cores_granted(8, 0.001), 1);
  assert_int_equal(mz_cores_granted(0, 0), 1);
}

static void test_affinity_is_heeded(void **state) {
  (void)state;
  cpu_set_t before, one;
  assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++) {
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  }
  assert_true(mz_machine_cores() <= CPU_COUNT(&before));
  assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
  assert_int_equal(mz_machine_cores(), 1);
  assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}

static void test_resident_memory_follows_use(void **state) {
  (void)state;
  const size_t size = 64 << 20;
  const uint64_t before = mz_machine_rss();
  assert_true(before > 0 && mz_machine_memory() > before);
  char *block = NULL;
  assert_int_equal(mz_alloc(&block, size, 1), MZ_OK); /* zeroed, hence touched */
  assert_true(mz_machine_rss() > before + size / 2);
  free(block);
  assert_true(mz_machine_rss_peak() > before + size / 2);
}

static void test_memory_left_is_the_least_on_the_way(void **state) {
  (void)state;
  put("", "self", "0::/a/b\n");
  assert_true(isinf(mz_cgroup_memory_left(root, self)));
  put("/a/b", "memory.max", "max\n");
  put("/a/b", "memory.current", "700\n");
  assert_true(isinf(mz_cgroup_memory_left(root, self)));
  put("/a", "memory.max", "1000\n");
  put("/a", "memory.current", "800\n");
  assert_true(mz_cgroup_memory_left(root, self) == 200);
  put("/a", "memory.stat", "anon 300\ninactive_file 500\nactive_file 7\n");
  assert_true(mz_cgroup_memory_left(root, self) == 700); /* such pages are given up first */
  put("/a", "memory.stat", "inactive_file 5000\n");
  assert_true(mz_cgroup_memory_left(root, self) == 1000); /* counters of different moments: never more than the limit */
  put("/a/b", "memory.max", "600\n");
  assert_true(mz_cgroup_memory_left(root, self) == 0); /* above it */
  put("", "self", "4:memory:/job\n");
  put("/memory/job", "memory.limit_in_bytes", "1000\n");
  put("/memory/job", "memory.usage_in_bytes", "900\n");
  put("/memory/job", "memory.stat", "inactive_file 1\ntotal_inactive_file 50\n");
  assert_true(mz_cgroup_memory_left(root, self) == 150);
}

static void test_available_memory_is_what_procfs_and_the_group_leave(void **state) {
  (void)state;
  double bytes = 0;
  put("/proc/self", "cgroup", "0::/a\n");
  char proc[96];
  snprintf(proc, sizeof proc, "%s/proc", root);
  assert_false(mz_memory_available(proc, root, &bytes));
  put("/proc", "meminfo", "MemTotal: 100 kB\nMemFree: 1 kB\n"); /* as of old kernels */
  assert_false(mz_memory_available(proc, root, &bytes));
  put("/proc", "meminfo", "MemTotal: 100 kB\nMemFree: 1 kB\nMemAvailable: 50 kB\n");
  assert_true(mz_memory_available(proc, root, &bytes));
  assert_true(bytes == 50 * 1024);
  put("/a", "memory.max", "10000\n");
  put("/a", "memory.current", "4000\n");
  assert_true(mz_memory_available(proc, root, &bytes));
  assert_true(bytes == 6000);
  const uint64_t here = mz_machine_available_memory();
  assert_true(here > 0 && here <= mz_machine_memory());
}

static void test_files_of_groups_are_found_upwards(void **state) {
  (void)state;
  char path[128], wanted[128];
  put("", "self", "0::/a/b\n");
  assert_false(mz_cgroup_file(root, self, "cpu.pressure", path, sizeof path));
  put("", "cpu.pressure", "");
  assert_true(mz_cgroup_file(root, self, "cpu.pressure", path, sizeof path));
  snprintf(wanted, sizeof wanted, "%s/cpu.pressure", root);
  assert_string_equal(path, wanted);
  put("/a/b", "cpu.pressure", "");
  assert_true(mz_cgroup_file(root, self, "cpu.pressure", path, sizeof path));
  snprintf(wanted, sizeof wanted, "%s/a/b/cpu.pressure", root);
  assert_string_equal(path, wanted);
  assert_false(mz_cgroup_file(root, self, "cpu.pressure", path, 8)); /* no room for it */

  assert_false(mz_cgroup_cpu_stat(root, self, path, sizeof path));
  put("/a/b", "cpu.stat", "");
  put("/a", "cpu.stat", "");
  assert_true(mz_cgroup_cpu_stat(root, self, path, sizeof path));
  snprintf(wanted, sizeof wanted, "%s/a/b/cpu.stat", root);
  assert_string_equal(path, wanted);
  put("/a/b", "cpu.max", "300000 100000\n");
  put("/a", "cpu.max", "200000 100000\n"); /* the one that binds */
  assert_true(mz_cgroup_cpu_stat(root, self, path, sizeof path));
  snprintf(wanted, sizeof wanted, "%s/a/cpu.stat", root);
  assert_string_equal(path, wanted);
}

static void test_model_names_the_kind_of_machine(void **state) {
  (void)state;
  char model[128], again[128], cut[8];
  mz_machine_model(model, sizeof model);
  mz_machine_model(again, sizeof again);
  print_message("%s\n", model);
  assert_string_equal(model, again);
#if defined(__x86_64__)
  assert_non_null(strstr(model, " (family "));
#endif
  assert_non_null(strstr(model, " processors"));
  assert_null(strchr(model, '\n'));
  mz_machine_model(cut, sizeof cut);
  assert_int_equal(strlen(cut), sizeof cut - 1);
  assert_memory_equal(cut, model, sizeof cut - 1);
}

#define WITH_ROOT(test) cmocka_unit_test_setup_teardown(test, make_root, remove_root)

int main(void) {
  const struct CMUnitTest tests[] = {
      WITH_ROOT(test_v2_the_tightest_limit_on_the_way_counts),
      WITH_ROOT(test_v2_group_outside_of_the_mount_falls_to_the_root),
      WITH_ROOT(test_v1_limits),
      WITH_ROOT(test_memory_left_is_the_least_on_the_way),
      WITH_ROOT(test_available_memory_is_what_procfs_and_the_group_leave),
      WITH_ROOT(test_files_of_groups_are_found_upwards),
      cmocka_unit_test(test_model_names_the_kind_of_machine),
      WITH_ROOT(test_damaged_or_missing_files_are_no_limit),
      cmocka_unit_test(test_cores_are_whole_and_at_least_one),
      cmocka_unit_test(test_affinity_is_heeded),
      cmocka_unit_test(test_resident_memory_follows_use),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
