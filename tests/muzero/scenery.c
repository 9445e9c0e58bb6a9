#include "muzero/compare/scenery.h"
#include "tests/muzero/testing.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* Runs or waits: one that has ended and that nobody has waited for is a zombie, which signals still reach. */
static bool is_alive(pid_t pid) {
  char path[64], state = 'X';
  snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
  FILE *file = fopen(path, "r");
  if (!file) return false;
  const int found = fscanf(file, "%*d (%*[^)]) %c", &state);
  fclose(file);
  return found == 1 && state != 'Z' && state != 'X';
}

static pid_t idle_process(void) {
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    for (;;) pause();
  }
  return child;
}

static void the_machine_is_set_and_put_back(void **state) {
  (void)state;
  mz_scenario s;
  mz_scenery scenery = {0};
  cpu_set_t all, now;
  assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
  expect_ok(mz_scenario_parse(&s, "cores=1@2;neighbour=2@2-3;stream=1@3", 64));
  const pid_t child = idle_process();
  const pid_t pids[] = {0, child};
  expect_ok(mz_scenery_set(&scenery, &s, 1, pids, 2));
  assert_int_equal(sched_getaffinity(child, sizeof now, &now), 0);
  assert_true(CPU_EQUAL(&now, &all));
  expect_ok(mz_scenery_set(&scenery, &s, 2, pids, 2));
  assert_int_equal(sched_getaffinity(child, sizeof now, &now), 0);
  assert_int_equal(CPU_COUNT(&now), 1);
  const pid_t first = scenery.processes[MZ_SCENARIO_NEIGHBOUR][0], second = scenery.processes[MZ_SCENARIO_NEIGHBOUR][1];
  assert_true(is_alive(first) && is_alive(second));
  assert_int_equal(sched_getaffinity(first, sizeof now, &now), 0);
  assert_true(CPU_EQUAL(&now, &all)); /* neighbours run where they like */
  kill(second, SIGKILL);
  siginfo_t info;
  assert_int_equal(waitid(P_PID, (id_t)second, &info, WEXITED | WNOWAIT), 0);
  expect_ok(mz_scenery_set(&scenery, &s, 3, pids, 2));
  assert_int_equal(scenery.processes[MZ_SCENARIO_NEIGHBOUR][0], first);
  assert_true(is_alive(scenery.processes[MZ_SCENARIO_NEIGHBOUR][1])); /* another one */
  assert_int_equal(sched_getaffinity(child, sizeof now, &now), 0);
  assert_true(CPU_EQUAL(&now, &all));
  const pid_t streams = scenery.processes[MZ_SCENARIO_STREAM][0];
  assert_true(is_alive(streams));
  expect_ok(mz_scenery_set(&scenery, &s, 4, pids, 2));
  assert_false(is_alive(first) || is_alive(streams));
  expect_ok(mz_scenery_set(&scenery, &s, 3, pids, 2));
  mz_scenery_clear(&scenery);
  for (int thing = 0; thing < MZ_SCENARIO_THINGS; thing++)
    for (int i = 0; i < MZ_SCENARIO_NEIGHBOURS_MAX; i++) assert_int_equal(scenery.processes[thing][i], 0);
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
}

/* Quota of `own` as the kernel has it. */
static double quota_of(const mz_cgroup_own *own) {
  char path[600];
  double quota = -1, period = 0;
  snprintf(path, sizeof path, "%s/%s", own->folder, own->version_2 ? "cpu.max" : "cpu.cfs_quota_us");
  FILE *in = fopen(path, "r");
  assert_non_null(in);
  const int got = fscanf(in, "%lf %lf", &quota, &period);
  fclose(in);
  if (own->version_2) return got == 2 ? quota / period : 0;
  return quota > 0 ? quota / 1e5 : 0;
}

static bool holds(const mz_cgroup_own *own, pid_t pid) {
  char path[600];
  long member;
  bool found = false;
  snprintf(path, sizeof path, "%s/cgroup.procs", own->folder);
  FILE *in = fopen(path, "r");
  assert_non_null(in);
  while (fscanf(in, "%ld", &member) == 1) found = found || member == pid;
  fclose(in);
  return found;
}

/* Where no control group may be made, as many whole cores are granted. */
static void a_quota_is_set_and_lifted(void **state) {
  (void)state;
  mz_scenario s;
  mz_scenery scenery = {0};
  cpu_set_t now;
  expect_ok(mz_scenario_parse(&s, "quota=0.5@2;quota=1.5@3", 64));
  const pid_t child = idle_process();
  expect_ok(mz_scenery_set(&scenery, &s, 1, &child, 1));
  assert_string_equal(scenery.group.folder, "");
  expect_ok(mz_scenery_set(&scenery, &s, 2, &child, 1));
  assert_int_equal(sched_getaffinity(child, sizeof now, &now), 0);
  if (scenery.no_group) {
    assert_int_equal(CPU_COUNT(&now), 1);
  } else {
    assert_true(holds(&scenery.group, child));
    assert_true(quota_of(&scenery.group) == 0.5);
    expect_ok(mz_scenery_set(&scenery, &s, 3, &child, 1));
    assert_true(quota_of(&scenery.group) == 1.5);
    expect_ok(mz_scenery_set(&scenery, &s, 4, &child, 1));
    assert_true(quota_of(&scenery.group) == 0);
  }
  char folder[sizeof scenery.group.folder];
  strcpy(folder, scenery.group.folder);
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  mz_scenery_clear(&scenery);
  assert_true(folder[0] == '\0' || access(folder, F_OK) != 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_machine_is_set_and_put_back),
                                     cmocka_unit_test(a_quota_is_set_and_lifted)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
